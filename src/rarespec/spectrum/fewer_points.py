"""Spectra with as many points as a small picture can show."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.floating]


def mean_points(wavelength: Vector, values: Vector, n: int) -> tuple[Vector, Vector]:
    """Both (p,) -> (m,), m <= n: neighbouring pixels as one point, their mean; NaN where all of them are bad."""
    starts = _starts(len(values), n)
    good = np.isfinite(values)
    count = np.add.reduceat(good, starts, dtype=float)
    total = np.add.reduceat(np.where(good, values, 0), starts, dtype=float)
    mean = np.divide(total, count, out=np.full(len(starts), np.nan), where=count > 0)
    return _middles(wavelength, starts), mean


def extreme_points(wavelength: Vector, values: Vector, n: int) -> tuple[Vector, Vector]:
    """Both (p,) -> (2 m,), 2 m <= n: of neighbouring pixels the lowest and the highest, so that no spike is lost."""
    starts = _starts(len(values), max(n // 2, 1))
    good = np.isfinite(values)
    low = np.minimum.reduceat(np.where(good, values, np.inf), starts)
    high = np.maximum.reduceat(np.where(good, values, -np.inf), starts)
    ends = np.column_stack([low, high])
    ends[~np.isfinite(low)] = np.nan
    return np.repeat(_middles(wavelength, starts), 2), ends.ravel()


def _starts(n_pixels: int, n_points: int) -> NDArray[np.intp]:
    """First pixel of each point; as many pixels to each, the last may have fewer."""
    return np.arange(0, n_pixels, -(-n_pixels // n_points))


def _middles(wavelength: Vector, starts: NDArray[np.intp]) -> Vector:
    stops = np.append(starts[1:], len(wavelength))
    return (wavelength[starts] + wavelength[stops - 1]) / 2
