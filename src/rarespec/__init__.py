"""Rank a whole spectroscopic survey so that the rare objects you are looking for come first."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rarespec._version import __version__

if TYPE_CHECKING:
    from rarespec.fetching import fetch as fetch
    from rarespec.formats import read as read
    from rarespec.formats.specutils_objects import from_specutils as from_specutils
    from rarespec.hats.search import search_hats as search_hats
    from rarespec.hats.writing import write_hats as write_hats
    from rarespec.mock import MockSky as MockSky
    from rarespec.searching.model import save_search as save_search
    from rarespec.searching.search import search as search
    from rarespec.searching.search import search_with_model as search_with_model
    from rarespec.searching.selection import Selection as Selection
    from rarespec.spectrum import PAPER_GRID as PAPER_GRID
    from rarespec.spectrum import Defect as Defect
    from rarespec.spectrum import Spectra as Spectra
    from rarespec.spectrum import Spectrum as Spectrum
    from rarespec.spectrum import WavelengthGrid as WavelengthGrid
    from rarespec.survey import Survey as Survey
    from rarespec.survey.features import features_of as features_of
    from rarespec.survey.ingest import ingest as ingest
    from rarespec.survey.manifest import SurveyError as SurveyError
    from rarespec.survey.manifest import WrongUseError as WrongUseError
    from rarespec.survey.neighbours import graph_of as graph_of

_HOME_OF = {
    "PAPER_GRID": "rarespec.spectrum",
    "Defect": "rarespec.spectrum",
    "MockSky": "rarespec.mock",
    "Selection": "rarespec.searching.selection",
    "Spectra": "rarespec.spectrum",
    "Spectrum": "rarespec.spectrum",
    "Survey": "rarespec.survey",
    "SurveyError": "rarespec.survey.manifest",
    "WavelengthGrid": "rarespec.spectrum",
    "WrongUseError": "rarespec.survey.manifest",
    "features_of": "rarespec.survey.features",
    "fetch": "rarespec.fetching",
    "from_specutils": "rarespec.formats.specutils_objects",
    "graph_of": "rarespec.survey.neighbours",
    "ingest": "rarespec.survey.ingest",
    "read": "rarespec.formats",
    "save_search": "rarespec.searching.model",
    "search": "rarespec.searching.search",
    "search_hats": "rarespec.hats.search",
    "search_with_model": "rarespec.searching.search",
    "write_hats": "rarespec.hats.writing",
}
"""Public name -> module. Resolved on first use, so that importing rarespec loads nothing heavy."""

__all__ = ["__version__", *_HOME_OF]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'rarespec' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOME_OF[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
