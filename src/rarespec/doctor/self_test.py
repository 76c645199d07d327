"""The whole job in seconds: a tiny mock survey, its features, a search, and whether it finds the hidden ones."""

from __future__ import annotations

import tempfile
import time
import traceback
import warnings
from dataclasses import dataclass
from pathlib import Path

from rarespec.doctor.private import without_names

N_COMMON, N_RARE, N_KNOWN = 300, 16, 4
ENOUGH = 0.75
"""Share of the hidden ones that must be among the first candidates, of which twice as many are looked at."""


@dataclass(frozen=True)
class SelfTest:
    """How it went: in a sentence, and what Python said where it failed."""

    passed: bool
    seconds: float
    said: str
    details: str = ""


def self_test() -> SelfTest:
    started = time.monotonic()
    try:
        with tempfile.TemporaryDirectory(prefix="rarespec-doctor-") as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found, hidden = _found_and_hidden(Path(folder))
    except Exception as error:  # whatever it is, it is what the report is for
        said = without_names(f"{type(error).__name__}: {error}")
        return SelfTest(False, time.monotonic() - started, said, without_names(traceback.format_exc()))
    said = f"{found} of {hidden} hidden carbon stars found in the first {2 * hidden} candidates"
    return SelfTest(found >= ENOUGH * hidden, time.monotonic() - started, said)


def _found_and_hidden(folder: Path) -> tuple[int, int]:
    from rarespec.mock.simulate import SkyChoice, simulate_survey
    from rarespec.searching.request import SearchRequest
    from rarespec.searching.search import rank_survey

    choice = SkyChoice(N_COMMON, (("carbon", N_RARE),), seed=5, median_snr=20.0)
    survey = simulate_survey(choice, folder / "tiny.survey", jobs=1)
    rare = survey.ids[survey.catalogue["class"] == "CARBON"].tolist()
    hidden = set(rare[N_KNOWN:])
    ranking = rank_survey(survey, SearchRequest(rare[:N_KNOWN], top=2 * len(hidden)))
    return len(hidden & set(ranking.table["id"].tolist())), len(hidden)
