"""Spectra with as many points as a thumbnail shows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rarespec.inspector.pixel_errors import weights_of
from rarespec.spectrum import Spectrum

POINTS = 160


def thumbnails_of(spectra: Sequence[Spectrum]) -> NDArray[np.float32]:
    """(n, 160) float32: mean flux in bins of as many pixels, weighted by inverse variance; NaN without a good pixel."""
    rows = [_binned(spectrum.flux, weights_of(spectrum)) for spectrum in spectra]
    return np.array(rows, dtype="<f4").reshape(len(rows), POINTS)


def _binned(flux: NDArray[np.floating], weights: NDArray[np.float32]) -> NDArray[np.float64]:
    starts = np.arange(POINTS) * len(flux) // POINTS  # where pixels are fewer than points, one is shown several times
    weight = np.add.reduceat(weights, starts, dtype=np.float64)
    total = np.add.reduceat(np.where(weights > 0, flux * weights, 0.0), starts, dtype=np.float64)
    return np.divide(total, weight, out=np.full(POINTS, np.nan), where=weight > 0)
