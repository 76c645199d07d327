"""Which wavelength grid a new survey gets: the one that its first spectra call for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

import numpy as np

from rarespec.spectrum import NAMED_GRIDS, Spectra, WavelengthGrid
from rarespec.spectrum.grid import MOST_PIXELS

ENOUGH_SPECTRA = 256
"""Spectra that are asked: more would hardly change the answer, and all of them are read twice."""
ENOUGH_FILES = 64
GRID_OF = {"SDSS": "sdss", "BOSS": "boss", "SDSS-V": "boss", "LAMOST": "lamost", "DESI": "desi"}
"""What the catalogue calls a survey, in capitals -> its grid."""
SAME_STEP = 0.1
"""Steps that differ by less than this fraction are the same sampling."""
FITTING = 0.95
"""A spectrum fits a named grid if so much of it lies inside."""
LONG_END = 0.05
"""Share of the pixels: bad pixels at an end count as not covered when there are more."""


@dataclass(frozen=True, slots=True)
class Call:
    """What one spectrum calls for: the survey that it says it is from, and the grid after its own pixels."""

    survey: str
    grid: WavelengthGrid
    is_binned: bool = False
    """Whether it has more pixels than such a grid may have."""


@dataclass(frozen=True, slots=True)
class GridChoice:
    """A grid, and in words where it comes from."""

    grid: WavelengthGrid
    why: str

    @property
    def record(self) -> dict[str, str]:
        """What the provenance of the survey says about it."""
        return {"grid": str(self.grid), "grid_from": self.why}


def calls_of(spectra: Spectra) -> list[Call]:
    """Ask each spectrum of a stack for the grid that it calls for.

    Parameters
    ----------
    spectra : Spectra
        As a file has them; in the frame of the survey.

    Returns
    -------
    list of Call
        One for each.
    """
    try:
        whole = WavelengthGrid.like(spectra.wavelength)
    except ValueError:  # such spectra are refused when they are stored
        return []
    good = ~spectra.bad
    first, last = good.argmax(axis=1), good.shape[1] - 1 - good[:, ::-1].argmax(axis=1)
    surveys = spectra.catalogue.get("survey", [None] * len(spectra))
    calls = []
    for survey, start, stop in zip(surveys, first.tolist(), last.tolist(), strict=True):
        ends = max(start, good.shape[1] - 1 - stop)
        is_short = start < stop and ends > LONG_END * good.shape[1]
        grid = whole.part(*spectra.wavelength[[start, stop]].tolist()) if is_short else whole
        calls.append(Call(str(survey or "").upper(), grid, good.shape[1] > MOST_PIXELS))
    return calls


def choose_grid(calls: list[Call]) -> GridChoice:
    """Choose the grid that most spectra call for.

    If most are from one survey with a named grid, and fit it, it is that one. Otherwise it has the sampling that is
    most frequent, and reaches over all wavelengths that at least half of the spectra cover.

    Parameters
    ----------
    calls : list of Call
        Of the first spectra; at least one.

    Returns
    -------
    GridChoice
        Depends on the calls and their order alone.
    """
    named = Counter(name for call in calls if (name := _name_for(call)))
    if named:
        name, votes = named.most_common(1)[0]
        if 2 * votes > len(calls):
            return GridChoice(NAMED_GRIDS[name], f"{votes} of the first {len(calls)} spectra are of this survey")
    samplings = Counter((call.grid.spacing, f"{call.grid.step:.3g}") for call in calls)
    usual = samplings.most_common(1)[0][0]
    model = next(call.grid for call in calls if (call.grid.spacing, f"{call.grid.step:.3g}") == usual)
    why = f"what at least half of the first {len(calls)} spectra cover" if len(calls) > 1 else "that of its spectrum"
    if any(call.is_binned for call in calls):
        why += f", in wider pixels than theirs: more than {MOST_PIXELS} are taken only if --grid says so"
    return GridChoice(model.part(*_shared_range(calls)), why)


def _name_for(call: Call) -> str | None:
    name = GRID_OF.get(call.survey)
    if name is None:
        return None
    grid, own = NAMED_GRIDS[name], call.grid
    if own.spacing != grid.spacing or abs(own.step / grid.step - 1) > SAME_STEP:
        return None
    pixel = grid.pixel_of(own.wavelength)
    return name if ((pixel > -0.5) & (pixel < grid.n_pixels - 0.5)).mean() >= FITTING else None


def _shared_range(calls: list[Call]) -> tuple[float, float]:
    """The first and the last wavelength that at least half of the spectra cover."""
    first = np.array([call.grid.wavelength[0] for call in calls])
    last = np.array([call.grid.wavelength[-1] for call in calls])
    ends = np.unique(np.concatenate([first, last]))
    covering = ((first <= ends[:, None]) & (ends[:, None] <= last)).sum(axis=1)
    shared = ends[2 * covering >= len(calls)] if (2 * covering >= len(calls)).any() else ends
    return float(shared[0]), float(shared[-1])


def choose_from_stacks(stacks: Iterable[Spectra]) -> tuple[GridChoice | None, Iterator[Spectra]]:
    """Choose the grid for a stream of spectra from its first ones, and give the stream back whole.

    Parameters
    ----------
    stacks : iterable of Spectra
        In the frame of the survey.

    Returns
    -------
    choice : GridChoice or None
        None if there are no spectra.
    stacks : iterator of Spectra
        All of them.
    """
    stream = iter(stacks)
    seen: list[Spectra] = []
    calls: list[Call] = []
    for stack in stream:
        seen.append(stack)
        calls += calls_of(stack)
        if len(calls) >= ENOUGH_SPECTRA:
            break
    return (choose_grid(calls[:ENOUGH_SPECTRA]) if calls else None), chain(seen, stream)
