"""The broad shape of spectra: means in bins of equal ratio of wavelengths, with errors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rarespec.features import median_filter
from rarespec.searching._artefact_spectra import ArtefactSpectra

BIN = 5e-4
"""Width of a bin in log10 wavelength, 7 Angstrom at 6000; a pixel of the grid where that is wider."""
SMOOTHING = 0.006
"""Width in log10 wavelength of the running median over bins, 80 Angstrom at 6000: lines vanish, bands stay."""
OF_A_MEDIAN = 1.25
"""Error of a median of normal values relative to that of their mean."""


@dataclass(frozen=True)
class BroadShape:
    """n spectra in b bins.

    wavelength : (1, b) or (n, b) float64, bin centres as the instrument saw them
    level, error : (n, b) float64, median of neighbouring bins and the error of one bin
    bin_width : in log10 wavelength
    n_smoothed : how many bins each median is taken of
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
    bin_of = np.floor((log_wavelength - log_wavelength[0]) / width * (1 + 1e-9)).astype(int)
    starts = np.flatnonzero(np.diff(bin_of, prepend=-1))
    n_pixels = np.diff(np.append(starts, len(bin_of)))
    means = np.add.reduceat(spectra.flux, starts, axis=1, dtype=np.float64) / n_pixels
    error = np.sqrt(np.add.reduceat(spectra.sigma**2, starts, axis=1, dtype=np.float64)) / n_pixels
    n_smoothed = 2 * int(SMOOTHING / width / 2) + 1
    level = median_filter(means, width_pixels=n_smoothed)
    centre = np.add.reduceat(spectra.wavelength, starts, axis=1) / n_pixels
    return BroadShape(centre, level, error, width, n_smoothed)
