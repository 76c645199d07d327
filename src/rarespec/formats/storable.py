"""Spectra as a survey can hold them: gaps stay open, and tiny flux does not run out of single precision."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rarespec.spectrum import Noted, Spectra

TINY_FLUX = 1e-8
"""Flux below this is in physical units: 1e-17 erg/s/cm2/A is usual, and a survey stores 1 / error^2 as float32."""
FLUX_UNIT = 1e-17
"""Such flux is stored in this unit, that of SDSS, BOSS and DESI."""
GAP = 5.0
"""A step this many times as wide as both steps beside it is a gap, of a detector or between two arms."""
FEWEST_PIXELS = 20
"""Of fewer, no step can be called unusual."""

SCALED = f"flux stored in units of {FLUX_UNIT:g} of the file's own, since its errors are too small for float32"
OPENED = "gaps between neighbouring wavelengths left empty"


def storable(spectra: Spectra, source: str) -> Iterator[Spectra | Noted]:
    """Yield the stack as a survey can hold it, after notes on what was done to it.

    Parameters
    ----------
    spectra : Spectra
        As a reader gives them.
    source : str
        Path of the file.

    Yields
    ------
    Spectra or Noted
        The spectra come last.
    """
    tiny = _is_tiny(spectra)
    if tiny.any():
        yield Noted(source, SCALED, int(tiny.sum()))
        spectra = _scale(spectra, tiny)
    gaps = _gaps(spectra.wavelength)
    if len(gaps):
        yield Noted(source, OPENED, len(spectra))
        spectra = _open_gaps(spectra, gaps)
    yield spectra


def _is_tiny(spectra: Spectra) -> NDArray[np.bool_]:
    if spectra.ivar is None:
        return np.zeros(len(spectra), bool)
    largest = np.max(np.abs(spectra.flux), axis=1, where=~spectra.bad, initial=0.0)
    return (largest > 0) & (largest < TINY_FLUX)


def _scale(spectra: Spectra, rows: NDArray[np.bool_]) -> Spectra:
    factor = np.where(rows, 1 / FLUX_UNIT, 1.0)[:, np.newaxis]
    ivar = None if spectra.ivar is None else spectra.ivar / factor**2
    bad = spectra.bad if ivar is None else spectra.bad | ~(ivar > 0)
    return replace(spectra, flux=spectra.flux.astype(np.float64) * factor, ivar=ivar, bad=bad)


def _gaps(wavelength: NDArray[np.float64]) -> NDArray[np.intp]:
    """Pixels behind which there is a gap."""
    steps = np.diff(wavelength)
    if len(wavelength) < FEWEST_PIXELS:
        return np.empty(0, np.intp)
    return np.flatnonzero(steps[1:-1] > GAP * np.maximum(steps[:-2], steps[2:])) + 1


def _open_gaps(spectra: Spectra, gaps: NDArray[np.intp]) -> Spectra:
    """Put a bad pixel on either side of each gap: else the last pixels would be taken to reach to its middle."""
    wavelength = spectra.wavelength
    before = 2 * wavelength[gaps] - wavelength[gaps - 1]
    behind = 2 * wavelength[gaps + 1] - wavelength[gaps + 2]
    places, added = np.repeat(gaps + 1, 2), np.stack([before, behind], axis=1).ravel()
    return replace(
        spectra,
        wavelength=np.insert(wavelength, places, added),
        flux=np.insert(spectra.flux, places, 0.0, axis=1),
        ivar=None if spectra.ivar is None else np.insert(spectra.ivar, places, 0.0, axis=1),
        bad=np.insert(spectra.bad, places, True, axis=1),
    )
