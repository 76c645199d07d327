"""A mock sky onto disk: straight into a survey, or as the files a real survey would publish."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from rarespec.errors import SurveyError, UsageError
from rarespec.mock.files import native_wavelength, write_files
from rarespec.mock.sky import MockSky
from rarespec.progress import Progress
from rarespec.spectrum import PAPER_GRID, Spectra, WavelengthGrid
from rarespec.storage.processes import Died, available_cores, map_in_order
from rarespec.survey import Precision, Survey
from rarespec.survey.store.intake import append_to

Shared = TypeVar("Shared")
Result = TypeVar("Result")


@dataclass(frozen=True)
class SkyChoice:
    """What to simulate; everything depends on these settings alone.

    Parameters
    ----------
    n : int
        Common objects.
    rare : tuple of (str, int)
        Rare classes, each with how many objects.
    seed : int
        Same seed, same survey.
    median_snr : float
        Median signal-to-noise ratio.
    layout : str, optional
        A layout of survey files, whose pixels are then simulated; by default those of `grid`.
    grid : WavelengthGrid
        The pixels that are simulated without a layout.
    precision : Precision
        How precisely a survey stores them.

    Examples
    --------
    >>> from rarespec.mock import SkyChoice
    >>> SkyChoice(1000, (("carbon", 20),), seed=3, layout="sdss").layout
    'sdss'
    """

    n: int
    rare: tuple[tuple[str, int], ...] = ()
    seed: int = 0
    median_snr: float = 12.0
    layout: str | None = None
    grid: WavelengthGrid = field(default=PAPER_GRID)
    precision: Precision = field(default_factory=Precision)


@lru_cache(maxsize=1)
def sky_of(choice: SkyChoice) -> MockSky:
    wavelength = native_wavelength(choice.layout) if choice.layout else choice.grid.wavelength
    return MockSky(choice.n, dict(choice.rare), choice.seed, wavelength, choice.median_snr)


def simulate_survey(
    choice: SkyChoice, into: str | os.PathLike[str], jobs: int | None = None, progress: Progress | None = None
) -> Survey:
    """Make a new survey of a mock sky.

    If the same simulation was killed before it ended, it is finished.

    Parameters
    ----------
    choice : SkyChoice
        What to simulate.
    into : path or str
        The directory of the survey.
    jobs : int, optional
        Processes; by default one per core. One does its work in this process.
    progress : callable, optional
        Called with the spectra done, and in all.

    Returns
    -------
    Survey
        The survey.

    Raises
    ------
    UsageError
        If something else is in this directory.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from rarespec.mock import SkyChoice, simulate_survey
    >>> with TemporaryDirectory() as folder:
    ...     print(len(simulate_survey(SkyChoice(20, (("carbon", 2),)), f"{folder}/mock.survey", jobs=1)))
    22
    """
    action = f"simulate {choice}"
    survey = _find_begun(into, action, choice.grid) or Survey.create(into, choice.grid, precision=choice.precision)
    sky = sky_of(choice)

    def stacks() -> Iterator[Spectra]:
        n_done = 0
        for _, stack in _map_blocks(block_of, choice, sky.n_blocks, jobs):
            yield _alive(stack)
            n_done += len(_alive(stack))
            if progress:
                progress(n_done, len(sky))

    try:
        append_to(survey, stacks(), action=action)
    except BaseException:
        shutil.rmtree(survey.path)  # a part of a mock survey is of no use, and would be in the way of the next try
        raise
    return Survey.open(into)


def _find_begun(into: str | os.PathLike[str], action: str, grid: WavelengthGrid) -> Survey | None:
    """The survey that is there, if nothing but this was ever done to it."""
    try:
        survey = Survey.open(into)
    except UsageError:
        return None
    is_same = survey.grid == grid and all(entry.get("action") == action for entry in survey.manifest.provenance)
    return survey if is_same else None


def simulate_files(
    choice: SkyChoice, out: str | os.PathLike[str], jobs: int | None = None, progress: Progress | None = None
) -> list[Path]:
    """Write a mock sky as survey files.

    Parameters
    ----------
    choice : SkyChoice
        What to simulate; it must have a layout.
    out : path or str
        The directory, made if it does not exist.
    jobs : int, optional
        Processes; by default one per core. One does its work in this process.
    progress : callable, optional
        Called with the spectra done, and in all.

    Returns
    -------
    list of Path
        The files.

    Raises
    ------
    ValueError
        If there is no layout.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from rarespec.mock import SkyChoice, simulate_files
    >>> with TemporaryDirectory() as folder:
    ...     paths = simulate_files(SkyChoice(2, layout="sdss"), folder, jobs=1)
    ...     print(len(paths), paths[0].suffix)
    2 .fits
    """
    if choice.layout is None:
        raise ValueError("simulated files need a layout, such as sdss")
    Path(out).mkdir(parents=True, exist_ok=True)
    sky, paths = sky_of(choice), []
    blocks = _map_blocks(write_block, (choice, os.fspath(out)), sky.n_blocks, jobs)
    n_done = 0
    for _, written in blocks:
        some, n_spectra = _alive(written)
        paths += some
        n_done += n_spectra
        if progress:
            progress(n_done, len(sky))
    return paths


def _map_blocks(
    function: Callable[[Shared, int], Result], shared: Shared, n_blocks: int, jobs: int | None
) -> Iterator[tuple[int, Result | Died]]:
    """Each block in turn. What one process would do is done here: to start another takes longer than a small sky."""
    n_processes = min(jobs or available_cores(), n_blocks)
    if n_processes > 1:
        yield from map_in_order(function, shared, range(n_blocks), n_processes)
    else:
        yield from ((i, function(shared, i)) for i in range(n_blocks))


def block_of(choice: SkyChoice, i: int) -> Spectra:
    return sky_of(choice).block(i)


def write_block(task: tuple[SkyChoice, str], i: int) -> tuple[list[Path], int]:
    choice, out = task
    assert choice.layout
    sky = sky_of(choice)
    spectra = sky.block(i)
    return write_files(spectra, choice.layout, out, first_index=i * sky.block_rows), len(spectra)


def _alive(result: Result | Died | None) -> Result:
    if isinstance(result, Died) or result is None:
        raise SurveyError("a worker process was killed, perhaps for lack of memory; try again with --jobs 1")
    return result
