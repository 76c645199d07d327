"""A huge survey made of a small one: every common spectrum many times, each time with fresh noise."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rarespec.engines.here import compute_ahead
from rarespec.errors import UsageError
from rarespec.progress import Progress
from rarespec.spectrum.spectra import Catalogue
from rarespec.storage.processes import available_cores
from rarespec.survey import Survey
from rarespec.survey.store import arrays
from rarespec.survey.store.precision import ERRORS_CODES, LINEAR, STEPS_PER_OCTAVE, Stored
from rarespec.survey.store.writer import SurveyWriter, provenance_entry

NOISE_PIXELS = 1 << 20
"""Noise that is drawn for a block; every row reads it from another place on."""
BLOCKS_A_COMMIT = 16


def replicate(
    survey: Survey,
    into: str | os.PathLike[str],
    n_spectra: int,
    rare: str,
    seed: int = 0,
    progress: Progress | None = None,
) -> Survey:
    """Make a survey of any size out of a packed one.

    Spectra are copied as they are stored, in whole steps, and get as much noise again as they have: what takes a
    minute for a million would take an hour if each were simulated. Rare objects come once; in further copies the
    spectrum before takes their place.

    Parameters
    ----------
    survey : Survey
        The small survey; its flux is in steps of the noise.
    into : path or str
        The directory of the new survey.
    n_spectra : int
        How many at least; only whole blocks are written.
    rare : str
        Class of the objects that are not to be repeated.
    seed : int
        Of the noise.
    progress : callable, optional
        Called with the spectra done, and in all.

    Returns
    -------
    Survey
        The new survey.

    Raises
    ------
    UsageError
        If the survey is exact, or has no whole block.
    """
    whole = [i for i, record in enumerate(survey.manifest.blocks) if record.rows == survey.manifest.block_rows]
    if survey.precision.step is None or not whole:
        raise UsageError(f"{survey.path}: to replicate, give a survey in steps of its noise with a whole block")
    size = survey.manifest.block_rows
    n_blocks = -(-n_spectra // size)
    jobs = ((whole[i % len(whole)], i // len(whole), i) for i in range(n_blocks))
    work = partial(_copy_block, survey, rare, seed)
    entry = provenance_entry("replicate", of=str(survey.path.name), spectra=n_spectra, seed=seed)
    if Path(into).exists():
        raise UsageError(f"{into}: already exists; choose another directory")
    with SurveyWriter(Path(into), survey.grid, block_rows=size, precision=survey.precision) as writer:
        for n_done, (packed, catalogue) in enumerate(compute_ahead(work, jobs, available_cores()), start=1):
            writer.add_packed_block(packed, catalogue)
            if n_done % BLOCKS_A_COMMIT == 0 or n_done == n_blocks:
                writer.commit(provenance=(entry,))
            if progress:
                progress(n_done * size, n_blocks * size)
    return Survey.open(into)


def _copy_block(survey: Survey, rare: str, seed: int, job: tuple[int, int, int]) -> tuple[Stored, Catalogue]:
    """Read a block, and give it fresh noise and ids of its own."""
    block, copy, number = job
    packed = {name: arrays.stored_block(survey.path, name, block, survey.manifest) for name in survey.precision.arrays}
    catalogue = survey.catalogue.block(block).to_pydict()
    if copy:
        _replace(packed, catalogue, _common_before(np.array(catalogue["class"], str) == rare))
        catalogue["id"] = [f"{id}-{copy}" for id in catalogue["id"]]
    _add_noise(packed, survey.precision.step or 0.0, np.random.default_rng([seed, number]))
    return packed, catalogue


def _common_before(rare: NDArray[np.bool_]) -> NDArray[np.intp]:
    """For each row the last common one up to it, or the first common one."""
    last = np.maximum.accumulate(np.where(rare, -1, np.arange(len(rare))))
    return np.where(last < 0, np.argmin(rare), last)


def _replace(packed: Stored, catalogue: Catalogue, rows: NDArray[np.intp]) -> None:
    for name, values in packed.items():
        packed[name] = values[rows]
    for name, column in catalogue.items():
        if name != "id":
            catalogue[name] = [column[row] for row in rows]


def _add_noise(packed: Stored, step: float, rng: np.random.Generator) -> None:
    """Add as much noise as there is, in whole steps, where a code is a number of steps; the errors grow with it."""
    codes, n_pixels = packed["flux"], packed["flux"].shape[1]
    noise = np.rint(rng.standard_normal(NOISE_PIXELS, np.float32) / step).astype(np.int16)
    for row, start in zip(codes, rng.integers(0, NOISE_PIXELS - n_pixels, len(codes)).tolist(), strict=True):
        row += noise[start : start + n_pixels] * (np.abs(row) < LINEAR - 1000)
    known = packed["ivar"] > 0
    packed["ivar"] = np.where(known, np.minimum(packed["ivar"].astype(np.int16) + STEPS_PER_OCTAVE, ERRORS_CODES), 0)
    packed["ivar"] = packed["ivar"].astype(np.uint8)
