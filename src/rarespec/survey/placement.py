"""Spectra as a file has them -> spectra as a survey stores them: on the grid, with coverage and S/N, bad ones named."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarespec.spectrum import Defect, DefectError, Reason, Spectra, WavelengthGrid, resample, to_rest_frame
from rarespec.spectrum.spectra import COMMON_COLUMNS


def place(spectra: Spectra, grid: WavelengthGrid, rest_frame: bool = False) -> Iterator[Spectra | Defect]:
    """Put a stack on the grid (and at rest); spectra that have nothing to show there come as defects.

    Parameters
    ----------
    spectra : Spectra
        As a file has them.
    grid : WavelengthGrid
        Of the survey.
    rest_frame : bool
        Shift each spectrum to its rest frame by its redshift.

    Yields
    ------
    Spectra or Defect
        With the columns that every survey has: coverage of the grid, the share of the spectrum outside it, S/N, and
        whether errors are known.
    """
    for part in at_rest(spectra) if rest_frame else [spectra]:
        if isinstance(part, Defect):
            yield part
            continue
        try:
            placed = resample(part, grid)
        except DefectError as error:
            yield from (_defect(part, i, error.reason, error.detail) for i in range(len(part)))
            continue
        yield from _usable(placed, part, share_outside(part, grid))


def share_outside(spectra: Spectra, grid: WavelengthGrid) -> NDArray[np.float64]:
    """Find which share of the good pixels of each spectrum lies outside a grid.

    Parameters
    ----------
    spectra : Spectra
        As a file has them.
    grid : WavelengthGrid
        Of the survey.

    Returns
    -------
    (n,) float64 array
        Between 0 and 1; 0 for a spectrum without good pixels.
    """
    pixel = grid.pixel_of(spectra.wavelength)
    is_outside = (pixel < -0.5) | (pixel > grid.n_pixels - 0.5)
    if not is_outside.any():
        return np.zeros(len(spectra))
    n_good = (~spectra.bad).sum(axis=1)
    return (~spectra.bad[:, is_outside]).sum(axis=1) / np.maximum(n_good, 1)


def at_rest(spectra: Spectra) -> Iterator[Spectra | Defect]:
    """Shift spectra to rest, one stack each, since each has a redshift of its own."""
    redshifts = spectra.catalogue.get("z") or [None] * len(spectra)
    for i, z in enumerate(redshifts):
        if z is None or not np.isfinite(z) or z <= -1:
            yield _defect(
                spectra, i, Reason.NO_REDSHIFT, f"z = {z}; give a redshift with --join, or leave out --rest-frame"
            )
        else:
            yield to_rest_frame(spectra.take(np.array([i])), float(z))


def _usable(placed: Spectra, original: Spectra, outside: NDArray[np.float64]) -> Iterator[Spectra | Defect]:
    good = ~placed.bad
    coverage = good.mean(axis=1)
    usable = coverage > 0
    for i in np.flatnonzero(~usable).tolist():
        yield _defect(placed, i, *_why_unusable(original, i))
    if usable.any():
        kept = placed if usable.all() else placed.take(np.flatnonzero(usable))
        yield _describe(kept, coverage[usable], outside[usable])


def _why_unusable(original: Spectra, i: int) -> tuple[Reason, str]:
    with np.errstate(over="ignore"):
        good = ~original.bad[i] & np.isfinite(original.flux[i].astype(np.float32))
    if original.ivar is not None:
        good &= original.ivar[i] > 0
    if not good.any():
        return Reason.NO_GOOD_PIXELS, "every pixel is flagged, not finite or has zero weight"
    return Reason.NO_OVERLAP, "all its good pixels lie outside the survey's grid"


def _describe(spectra: Spectra, coverage: NDArray[np.float64], outside: NDArray[np.float64]) -> Spectra:
    """Add the columns that every survey has: the common ones, how grid and spectrum overlap, if errors are known."""
    columns: dict[str, list[Any]] = {name: [None] * len(spectra) for name in COMMON_COLUMNS}
    columns |= spectra.catalogue
    columns["snr"] = [_snr(spectra, i) if snr is None else snr for i, snr in enumerate(columns["snr"])]
    columns["coverage"] = coverage.round(6).tolist()
    columns["outside"] = outside.round(6).tolist()
    columns["has_ivar"] = [spectra.ivar is not None] * len(spectra)
    return Spectra(spectra.wavelength, spectra.flux, spectra.ivar, spectra.bad, columns)


def _snr(spectra: Spectra, i: int) -> float | None:
    """Compute the median signal-to-noise ratio per good pixel."""
    if spectra.ivar is None:
        return None
    good = ~spectra.bad[i]
    return float(np.median(spectra.flux[i, good] * np.sqrt(spectra.ivar[i, good])))


def _defect(spectra: Spectra, i: int, reason: Reason, detail: str) -> Defect:
    source = spectra.catalogue.get("source", [""] * len(spectra))[i] or ""
    return Defect(source, reason, detail, spectra.ids[i])
