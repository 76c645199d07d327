"""Spectra made ready to be looked at for artefacts: bridged, smoothed, with noise that their own scatter confirms."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rarespec.features import bridge, median_filter
from rarespec.spectrum import Spectra, WavelengthGrid

Flux = NDArray[np.float32]

TO_SIGMA = 1.4826
"""A normal distribution's standard deviation, in units of its median absolute deviation."""
NEIGHBOURHOOD, FEWEST_PIXELS = 25.0, 7
"""Angstrom of the running median that deviations are measured from, and its pixels on a coarse grid: several times as
wide as an unresolved line, so that it does not follow one."""


@dataclass(frozen=True)
class ArtefactSpectra:
    """n spectra of p pixels, each in units of its mean absolute flux.

    Parameters
    ----------
    wavelength : (1, p) or (n, p) float64 array
        At which the instrument saw each pixel, vacuum Angstrom.
    grid : WavelengthGrid
        Of the pixels.
    flux : (n, p) float32 array
        Bad pixels are bridged.
    around : (n, p) float32 array
        The running median of the flux.
    sigma : (n, p) float32 array
        The noise; from the scatter of the flux itself where `has_errors` is False.
    bad : (n, p) bool array
        Bad pixels.
    has_errors : (n,) bool array
        Whether the errors of a spectrum are known.
    """

    wavelength: NDArray[np.float64]
    grid: WavelengthGrid
    flux: Flux
    around: Flux
    sigma: Flux
    bad: NDArray[np.bool_]
    has_errors: NDArray[np.bool_]

    @cached_property
    def deviation(self) -> Flux:
        """How far each pixel lies off its neighbourhood, in units of the noise, (n, p); 0 where bad."""
        return np.where(self.bad, np.float32(0), (self.flux - self.around) / self.sigma)


def prepare_spectra(spectra: Spectra, grid: WavelengthGrid, rest_frame: bool) -> ArtefactSpectra:
    """Make spectra ready to be searched for artefacts: bridged, in units of their mean flux, with honest noise.

    Parameters
    ----------
    spectra : Spectra
        Spectra on the grid; at least one pixel of each is good.
    grid : WavelengthGrid
        The grid of the survey.
    rest_frame : bool
        Whether spectra were shifted to rest by the `z` of their catalogue; artefacts stay at observed wavelengths.

    Returns
    -------
    ArtefactSpectra
        The spectra, in the same order.
    """
    bad = spectra.bad | ~np.isfinite(spectra.flux)
    unit = _unit(spectra.flux, bad)  # squares of flux in erg/s/cm2/A are too small for single precision
    flux = bridge((spectra.flux / unit).astype(np.float32), bad, min_good=0.0).flux
    around = _running_median(flux, grid)
    given, has_errors = _find_noise(spectra, unit, bad)
    sigma = given * _excess(flux - around, given, bad, has_errors)
    stretch = 1 + np.array(spectra.catalogue["z"], float)[:, None] if rest_frame else np.ones((1, 1))
    return ArtefactSpectra(grid.wavelength * stretch, grid, flux, around, sigma, bad, has_errors)


def _running_median(flux: Flux, grid: WavelengthGrid) -> Flux:
    if np.diff(grid.edges).max() * FEWEST_PIXELS > NEIGHBOURHOOD:
        return median_filter(flux, width_pixels=FEWEST_PIXELS)
    return median_filter(flux, grid, NEIGHBOURHOOD)


def _unit(flux: NDArray[np.floating], bad: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Mean absolute flux of the good pixels, (n, 1); 1 where it is 0."""
    mean = mean_where(np.abs(flux), ~bad)[:, None]
    return np.where(mean > 0, mean, 1.0)


def _find_noise(spectra: Spectra, unit: NDArray[np.float64], bad: NDArray[np.bool_]) -> tuple[Flux, NDArray[np.bool_]]:
    """Noise (n, p), the mean of a row where it is not known, 1 where the row has none; and which rows have."""
    if spectra.ivar is None:
        return np.ones(bad.shape, np.float32), np.zeros(len(bad), bool)
    known = ~bad & (spectra.ivar > 0) & np.isfinite(spectra.ivar)
    has_errors = known.sum(axis=1) > 0.5 * (~bad).sum(axis=1)
    sigma: Flux = (np.where(known, spectra.ivar, 1) ** -0.5 / unit).astype(np.float32)
    ordinary = np.where(has_errors, mean_where(sigma, known), 1).astype(np.float32)[:, None]
    return np.where(known & has_errors[:, None], sigma, ordinary), has_errors


def _excess(residual: Flux, sigma: Flux, bad: NDArray[np.bool_], has_errors: NDArray[np.bool_]) -> Flux:
    """By how much the scatter exceeds the noise given, (n, 1): errors are often too small, and are never made smaller.

    The scatter alone is the noise of rows without errors. Fine structure of bright stars counts as scatter too, which
    makes every test more cautious.
    """
    scatter = TO_SIGMA * median_where(np.abs(residual / sigma), ~bad)
    smallest = np.finfo(np.float32).tiny ** 0.5  # of a spectrum without any scatter, such as a model
    return np.maximum(scatter, np.where(has_errors, 1, smallest)).astype(np.float32)[:, None]


def mean_where(values: NDArray[np.floating], counted: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Average the values that count in each row, (n,); 0 where none does."""
    return np.where(counted, values, 0).sum(axis=1, dtype=np.float64) / np.maximum(counted.sum(axis=1), 1)


def median_where(values: Flux, counted: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Take the median of the values that count in each row, (n,), the upper one of two; 0 where none does."""
    n = counted.sum(axis=1)
    ascending = np.sort(np.where(counted, values, np.float32(np.inf)), axis=1)
    middle = np.minimum(n // 2, values.shape[1] - 1)[:, None]
    return np.where(n > 0, np.take_along_axis(ascending, middle, axis=1)[:, 0], 0.0)


# ---- The broad shape of spectra: means in bins of equal ratio of wavelengths, with errors.


BIN = 5e-4
"""Width of a bin in log10 wavelength, 7 Angstrom at 6000; a pixel of the grid where that is wider."""
SMOOTHING = 0.006
"""Width in log10 wavelength of the running median over bins, 80 Angstrom at 6000: lines vanish, bands stay."""
OF_A_MEDIAN = 1.25
"""Error of a median of normal values relative to that of their mean."""


@dataclass(frozen=True)
class BroadShape:
    """n spectra in b bins.

    Parameters
    ----------
    wavelength : (1, b) or (n, b) float64 array
        Bin centres as the instrument saw them.
    level : (n, b) float64 array
        Median of neighbouring bins.
    error : (n, b) float64 array
        The error of one bin.
    bin_width : float
        In log10 wavelength.
    n_smoothed : int
        How many bins each median is taken of.
    """

    wavelength: NDArray[np.float64]
    level: NDArray[np.float64]
    error: NDArray[np.float64]
    bin_width: float
    n_smoothed: int

    @property
    def level_error(self) -> NDArray[np.float64]:
        return self.error * (OF_A_MEDIAN / self.n_smoothed**0.5)


def measure_broad_shape(spectra: ArtefactSpectra) -> BroadShape:
    log_wavelength = np.log10(spectra.grid.wavelength)
    width = max(BIN, float(np.diff(log_wavelength).max()))
    # The factor keeps rounding from putting the first pixel of a bin into the bin before.
    bin_of = np.floor((log_wavelength - log_wavelength[0]) / width * (1 + 1e-9)).astype(int)
    starts = np.flatnonzero(np.diff(bin_of, prepend=-1))
    n_pixels = np.diff(np.append(starts, len(bin_of)))
    means = np.add.reduceat(spectra.flux, starts, axis=1, dtype=np.float64) / n_pixels
    error = np.sqrt(np.add.reduceat(spectra.sigma**2, starts, axis=1, dtype=np.float64)) / n_pixels
    n_smoothed = 2 * int(SMOOTHING / width / 2) + 1
    level = median_filter(means, width_pixels=n_smoothed)
    centre = np.add.reduceat(spectra.wavelength, starts, axis=1) / n_pixels
    return BroadShape(centre, level, error, width, n_smoothed)
