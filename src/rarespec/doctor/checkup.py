"""Everything that a bug report should say, and what is wrong in it."""

from __future__ import annotations

import os
import tempfile
import time
import traceback
import warnings
import webbrowser
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rarespec._version import __version__
from rarespec.doctor.machine import Place, machine_facts, place, temporary_folder
from rarespec.doctor.software import Package, list_needed_packages, optional_packages, without_names
from rarespec.errors import SurveyError, UsageError
from rarespec.survey import Survey
from rarespec.survey.store.location import is_remote, location

# ---- The whole job in seconds: a tiny mock survey, its features, a search, and whether it finds the hidden ones.


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
            found, hidden = _count_files(Path(folder))
    except Exception as error:  # whatever it is, it is what the report is for
        said = without_names(f"{type(error).__name__}: {error}")
        return SelfTest(False, time.monotonic() - started, said, without_names(traceback.format_exc()))
    said = f"{found} of {hidden} hidden carbon stars found in the first {2 * hidden} candidates"
    return SelfTest(found >= ENOUGH * hidden, time.monotonic() - started, said)


def _count_files(folder: Path) -> tuple[int, int]:
    from rarespec.mock.simulate import SkyChoice, simulate_survey
    from rarespec.searching.request import SearchRequest
    from rarespec.searching.search import rank_survey

    choice = SkyChoice(N_COMMON, (("carbon", N_RARE),), seed=5, median_snr=20.0)
    survey = simulate_survey(choice, folder / "tiny.survey", jobs=1)
    rare = survey.ids[survey.catalogue["class"] == "CARBON"].tolist()
    hidden = set(rare[N_KNOWN:])
    ranking = rank_survey(survey, SearchRequest(rare[:N_KNOWN], top=2 * len(hidden)))
    return len(hidden & set(ranking.table["id"].tolist())), len(hidden)


@dataclass(frozen=True)
class SurveySeen:
    """A survey that was opened, or why it could not be."""

    path: str
    said: str
    problem: str | None


@dataclass(frozen=True)
class Checkup:
    machine: dict[str, str]
    needed: list[Package]
    optional: dict[str, list[Package]]
    gpu: str
    browser: str
    places: list[Place]
    survey: SurveySeen | None
    self_test: SelfTest

    @property
    def problems(self) -> list[str]:
        """What keeps rarespec from working, one line each."""
        found = [f"{one.name}: {one.problem}" for one in self.needed if one.problem]
        found += [] if self.needed else ["rarespec is not installed as a package; install it with pip"]
        found += [f"{one.name} (optional): {one.problem}" for one in self._broken_packages()]
        must = [one for one in self.places if one.needed]
        found += [f"{one.what} {one.path}: not writable: {one.problem}" for one in must if one.problem]
        found += [f"{one.what} {one.path}: less than 1 GB is free" for one in must if one.little_room]
        found += [f"survey {self.survey.path}: {self.survey.problem}"] if self.survey and self.survey.problem else []
        return found + ([] if self.self_test.passed else [f"self-test: {self.self_test.said}"])

    def _broken_packages(self) -> list[Package]:
        """Optional packages that are there and cannot be used; one that is not there is no problem."""
        return [one for packages in self.optional.values() for one in packages if one.version and one.problem]


def checkup(survey: Path | None = None) -> Checkup:
    """Look at everything; a UsageError when there is no such survey."""
    opened = None if survey is None else _look_at_survey(survey)
    return Checkup(
        machine={"rarespec": __version__} | machine_facts(),
        needed=list_needed_packages(),
        optional=optional_packages(),
        gpu=_gpu(),
        browser=_browser(),
        places=_places(survey),
        survey=opened,
        self_test=self_test(),
    )


def _look_at_survey(path: Path) -> SurveySeen:
    shown = without_names(str(path))
    try:
        survey = Survey.open(path)
    except UsageError:
        raise
    except SurveyError as error:
        return SurveySeen(shown, "cannot be opened", without_names(str(error)))
    grid = survey.grid
    kept = f"{len(survey)} spectra of {grid.n_pixels} pixels, {len(survey.catalogue.columns)} columns"
    return SurveySeen(shown, f"{kept}; run `rarespec verify` to check every file", None)


def _places(survey: Path | None) -> list[Place]:
    places = [temporary_folder(), place("working directory", Path.cwd())]
    if survey is not None and not is_remote(location(survey)):
        places.append(place("survey directory", Path(survey)))
    return places


def _gpu() -> str:
    """What a search on a graphics card would find."""
    from rarespec.gpu.device import why_not

    try:
        reason = why_not("cuda")
        return _device_name() if reason is None else reason.removeprefix("device=cuda").lstrip(": ")
    except Exception as error:  # a broken library may raise anything
        return without_names(f"{type(error).__name__}: {error}")


def _device_name() -> str:
    import torch

    return f"{torch.cuda.get_device_name(0)}, torch {torch.__version__}, CUDA {torch.version.cuda}"


def _browser() -> str:
    try:
        found: Any = webbrowser.get()
    except webbrowser.Error:
        return "none found; open the address that `rarespec inspect` prints"
    return os.path.basename(getattr(found, "name", "") or type(found).__name__)
