"""Everything that a bug report should say, and what is wrong in it."""

from __future__ import annotations

import os
import webbrowser
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rarespec._version import __version__
from rarespec.doctor.machine import machine_facts
from rarespec.doctor.places import Place, place, temporary_folder
from rarespec.doctor.private import without_names
from rarespec.doctor.self_test import SelfTest, self_test
from rarespec.doctor.software import Package, needed_packages, optional_packages
from rarespec.survey import Survey
from rarespec.survey.location import is_remote, location
from rarespec.survey.manifest import SurveyError, WrongUseError


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
        found += [f"{one.name} (optional): {one.problem}" for one in self._broken()]
        must = [one for one in self.places if one.needed]
        found += [f"{one.what} {one.path}: not writable: {one.problem}" for one in must if one.problem]
        found += [f"{one.what} {one.path}: less than 1 GB is free" for one in must if one.little_room]
        found += [f"survey {self.survey.path}: {self.survey.problem}"] if self.survey and self.survey.problem else []
        return found + ([] if self.self_test.passed else [f"self-test: {self.self_test.said}"])

    def _broken(self) -> list[Package]:
        """Optional packages that are there and cannot be used; one that is not there is no problem."""
        return [one for packages in self.optional.values() for one in packages if one.version and one.problem]


def checkup(survey: Path | None = None) -> Checkup:
    """Look at everything; a WrongUseError when there is no such survey."""
    opened = None if survey is None else _seen(survey)
    return Checkup(
        machine={"rarespec": __version__} | machine_facts(),
        needed=needed_packages(),
        optional=optional_packages(),
        gpu=_gpu(),
        browser=_browser(),
        places=_places(survey),
        survey=opened,
        self_test=self_test(),
    )


def _seen(path: Path) -> SurveySeen:
    shown = without_names(str(path))
    try:
        survey = Survey.open(path)
    except WrongUseError:
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
