"""Steps in the flux where the two or three cameras of a spectrograph meet."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import correlate1d, uniform_filter1d

from rarespec.searching._broad_shape import BroadShape

Values = NDArray[np.float64]
Range = tuple[float, float]

JOINS: dict[str, tuple[Range, ...]] = {
    "sdss": ((5850.0, 6150.0),),
    "boss": ((5850.0, 6150.0),),
    "sdss-v": ((5850.0, 6150.0),),
    "lamost": ((5700.0, 6000.0),),
    "desi": ((5740.0, 5820.0), (7500.0, 7640.0)),
    "mock": ((5850.0, 6150.0),),
}
"""Where cameras overlap, vacuum Angstrom, by the catalogue's `survey` in lower case; others are not judged."""
HALF_WINDOW = 0.02
"""In log10 wavelength, 280 Angstrom at 6000: the flux on either side from which a step is measured."""
HALF_GAP = 0.0015
"""In log10 wavelength, 20 Angstrom at 6000: cameras are blended over some pixels, which are left out."""
DIMMEST = 0.25
"""Of the mean flux: where there is less, steps are shares of this. Dwarfs of class L have almost no flux at 6000."""
COMPARED: Range = (4400.0, 8000.0)
"""Angstrom: the steps elsewhere in the same spectrum with which that at the join is compared."""
FARTHEST = 0.05
"""Redshift above which nothing is judged: breaks of galaxies and broad lines of quasars may lie at any wavelength."""
SMALLEST, SIGNIFICANCE, RATIO = 0.05, 6.0, 2.4
"""A step is flagged that is larger than this share of the flux, than this many errors, and than this many times the
steps that only one in ten places of the same spectrum exceed. The last is what clears stars with molecular bands: with
2.4, fewer than 1 % of mock and template spectra are flagged, among them 1 % of the M dwarfs and no carbon star."""


def has_camera_step(coarse: BroadShape, surveys: Sequence[str | None], redshifts: Values) -> NDArray[np.bool_]:
    """(n,) bool, for spectra of these surveys and redshifts, (n,), NaN where unknown."""
    found = np.zeros(len(coarse.level), bool)
    names = np.array([(name or "").strip().lower() for name in surveys], object)
    names[redshifts > FARTHEST] = ""
    step, error = _steps(coarse)
    for name in set(names.tolist()) & set(JOINS):
        rows = np.flatnonzero(names == name)
        for join in JOINS[name]:
            found[rows] |= _stands_out(step[rows], error[rows], _of_rows(coarse.wavelength, rows), join)
    return found


def _of_rows(wavelength: Values, rows: NDArray[np.intp]) -> Values:
    return wavelength if len(wavelength) == 1 else wavelength[rows]


def _stands_out(step: Values, error: Values, wavelength: Values, join: Range) -> NDArray[np.bool_]:
    """Whether the largest step inside the join is large by itself, by its error, and by those elsewhere."""
    measured = np.isfinite(step)
    inside = measured & (wavelength > join[0]) & (wavelength < join[1])
    # a step at the join is felt as far as the window reaches; half of that is where it is still strong
    near, far = join[0] * 10 ** (-HALF_WINDOW / 2), join[1] * 10 ** (HALF_WINDOW / 2)
    in_range = (wavelength > COMPARED[0]) & (wavelength < COMPARED[1])
    elsewhere = measured & in_range & ((wavelength < near) | (wavelength > far))
    place = np.argmax(np.where(inside, step, -1), axis=1)[:, None]
    largest, its_error = (np.take_along_axis(values, place, axis=1)[:, 0] for values in (step, error))
    usual = _exceeded_by_a_tenth(step, elsewhere)
    large: NDArray[np.bool_] = inside.any(axis=1) & (largest > np.maximum(SMALLEST, RATIO * usual))
    return large & (largest > SIGNIFICANCE * its_error)


def _exceeded_by_a_tenth(values: Values, counted: NDArray[np.bool_]) -> Values:
    """Of the values that count in each row, the one that a tenth of them exceed, (n,); infinite where none counts."""
    ascending = np.sort(np.where(counted, values, np.inf), axis=1)
    place = (0.9 * np.maximum(counted.sum(axis=1) - 1, 0)).astype(np.intp)[:, None]
    return np.take_along_axis(ascending, place, axis=1)[:, 0]


def _steps(coarse: BroadShape) -> tuple[Values, Values]:
    """Size of the step at each bin as a share of the flux around it, and its error, (n, b); NaN near the ends."""
    half, gap = (round(width / coarse.bin_width) for width in (HALF_WINDOW, HALF_GAP))
    step = np.full(coarse.level.shape, np.nan)
    error = step.copy()
    if gap + 3 > half or coarse.level.shape[1] < 2 * half + 1:
        return step, error
    kernel, inner = _step_kernel(half, gap), slice(half, coarse.level.shape[1] - half)
    around = uniform_filter1d(np.abs(coarse.level), 2 * half + 1, axis=1)
    around = np.maximum(around, DIMMEST * around.mean(axis=1, keepdims=True))
    around = np.where(around > 0, around, np.nan)
    step[:, inner] = (np.abs(correlate1d(coarse.level, kernel, axis=1)) / around)[:, inner]
    error[:, inner] = (np.sqrt(correlate1d(coarse.error**2, kernel**2, axis=1)) / around)[:, inner]
    return step, error


@lru_cache(maxsize=8)
def _step_kernel(half: int, gap: int) -> Values:
    """Weights (2 half + 1,) that give the step in a least-squares fit of a parabola with a step in the middle."""
    x = np.arange(-half, half + 1) / half
    used = np.abs(np.arange(-half, half + 1)) > gap
    model = np.column_stack([np.ones_like(x), x, x**2, np.sign(x) / 2])
    kernel = np.zeros(2 * half + 1)
    kernel[used] = np.linalg.pinv(model[used])[-1]
    return kernel
