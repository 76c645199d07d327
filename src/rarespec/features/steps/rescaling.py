"""Spectra brought to one scale, each by itself: min-max, unit norm, robust percentiles, continuum.

Bad pixels (not finite) take no part and come out as NaN. A spectrum without contrast, or without good pixels, has no
scale: it comes out as a row of NaN, and `unusable` names it.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from array_api_compat import array_namespace, is_numpy_array
from numpy.typing import NDArray

from rarespec.features.steps.step import RowStep

__all__ = ["MinMax", "RobustPercentiles", "UnitNorm"]

ROWS_PER_BLOCK = 64
"""A block is read four times and written twice: it should stay in cache."""

Array = Any


class _Rescaling(RowStep):
    """(row - offset) / scale, for an offset and a scale that each row has of its own."""

    why_unusable = "no contrast: all good pixels are equal, or none is good"

    @abstractmethod
    def _offset_and_scale(self, xp: Any, rows: Array, good: Array | None) -> tuple[Array, Array]:
        """Each (n, 1), in the type of the rows (n, p). `good` is None when all are. No scale: 0 or not finite."""

    def _transform_rows(self, X: Array) -> Array:
        if is_numpy_array(X):
            return self._blockwise(X, np.empty(X.shape, X.dtype))
        xp = array_namespace(X)
        X, offset, scale = self._prepare(xp, X)
        return (X - offset) / scale

    def _blockwise(self, X: NDArray[Any], out: NDArray[Any]) -> NDArray[Any]:
        for first in range(0, len(X), ROWS_PER_BLOCK):
            block = slice(first, first + ROWS_PER_BLOCK)
            rows, offset, scale = self._prepare(array_namespace(X), X[block])
            np.subtract(rows, offset, out=out[block])
            np.divide(out[block], scale, out=out[block])
        return out

    def _prepare(self, xp: Any, rows: Array) -> tuple[Array, Array, Array]:
        """Rows with NaN for bad pixels, their offset, and their scale: NaN where there is none."""
        with np.errstate(all="ignore"):
            finite = xp.isfinite(rows)
            good = None if bool(xp.all(finite)) else finite
            rows = rows if good is None else xp.where(good, rows, xp.nan)
            offset, scale = self._offset_and_scale(xp, rows, good)
        return rows, *_nan_unless_usable(xp, offset, scale)


def _nan_unless_usable(xp: Any, offset: Array, scale: Array) -> tuple[Array, Array]:
    usable = (scale > 0) & xp.isfinite(scale) & xp.isfinite(offset)
    return xp.where(usable, offset, xp.nan), xp.where(usable, scale, xp.nan)


class MinMax(_Rescaling):
    """Rescale each spectrum to 0 at its lowest and 1 at its highest pixel, as in Du et al. (2016).

    One spike that is left over squeezes all the rest of a spectrum: filter first.

    Parameters
    ----------
    copy : bool, optional
        False rescales a NumPy array of floating-point numbers in its own memory.

    Examples
    --------
    >>> import numpy as np
    >>> from rarespec.features import MinMax
    >>> MinMax().fit_transform(np.array([[2.0, 4.0, 6.0]]))
    array([[0. , 0.5, 1. ]])
    """

    def __init__(self, copy: bool = True) -> None:
        self.copy = copy

    def _transform_rows(self, X: Array) -> Array:
        if self.copy or not is_numpy_array(X):
            return super()._transform_rows(X)
        return self._blockwise(X, X)

    def _prepare(self, xp: Any, rows: Array) -> tuple[Array, Array, Array]:
        """The lowest and the highest pixel show by themselves whether all are finite: no other look is needed."""
        low, high = _range(xp, rows, None)
        if not bool(xp.all(xp.isfinite(low) & xp.isfinite(high))):
            return super()._prepare(xp, rows)
        with np.errstate(over="ignore"):
            return rows, *_nan_unless_usable(xp, low, high - low)

    def _offset_and_scale(self, xp: Any, rows: Array, good: Array | None) -> tuple[Array, Array]:
        low, high = _range(xp, rows, good)
        return low, high - low


class UnitNorm(_Rescaling):
    """Divide each spectrum by its Euclidean norm.

    Examples
    --------
    >>> import numpy as np
    >>> from rarespec.features import UnitNorm
    >>> UnitNorm().fit_transform(np.array([[3.0, 4.0]]))
    array([[0.6, 0.8]])
    """

    def _offset_and_scale(self, xp: Any, rows: Array, good: Array | None) -> tuple[Array, Array]:
        low, high = _range(xp, rows, good)
        # Relative to the largest pixel, or the squares would overflow or vanish in float32.
        peak = xp.maximum(xp.abs(low), xp.abs(high))
        relative = rows / peak if good is None else xp.where(good, rows / peak, 0.0)
        norm = peak * xp.sqrt(xp.sum(relative * relative, axis=1, keepdims=True))
        return xp.zeros_like(norm), xp.where(high > low, norm, 0.0)


class RobustPercentiles(_Rescaling):
    """Rescale each spectrum to 0 at its `low` and 1 at its `high` percentile; the few pixels beyond lie outside [0, 1].

    Parameters
    ----------
    low : float, optional
        Lower percentile of the good pixels, interpolated linearly as `numpy.percentile` does.
    high : float, optional
        Upper percentile.

    Raises
    ------
    ValueError
        On use, unless 0 <= low < high <= 100.

    Examples
    --------
    >>> import numpy as np
    >>> from rarespec.features import RobustPercentiles
    >>> RobustPercentiles(25, 75).fit_transform(np.array([[0.0, 1.0, 2.0, 3.0, 100.0]]))
    array([[-0.5,  0. ,  0.5,  1. , 49.5]])
    """

    why_unusable = "no contrast between the two percentiles, or no good pixels"

    def __init__(self, low: float = 1.0, high: float = 99.0) -> None:
        self.low = low
        self.high = high

    def _offset_and_scale(self, xp: Any, rows: Array, good: Array | None) -> tuple[Array, Array]:
        if not 0 <= self.low < self.high <= 100:
            raise ValueError(f"percentiles must satisfy 0 <= low < high <= 100, not {self.low} and {self.high}")
        low, high = _percentiles(xp, rows, good, (self.low, self.high))
        return low, high - low


def _range(xp: Any, rows: Array, good: Array | None) -> tuple[Array, Array]:
    """Lowest and highest good pixel, each (n, 1); infinite where no pixel is good."""
    below, above = (rows, rows) if good is None else (xp.where(good, rows, xp.inf), xp.where(good, rows, -xp.inf))
    return xp.min(below, axis=1, keepdims=True), xp.max(above, axis=1, keepdims=True)


def _percentiles(xp: Any, rows: Array, good: Array | None, percentiles: tuple[float, ...]) -> list[Array]:
    """Of the good pixels, each (n, 1)."""
    ascending = xp.sort(rows if good is None else xp.where(good, rows, xp.inf), axis=1, stable=False)
    n_good = xp.full_like(rows[:, :1], rows.shape[1]) if good is None else _count(xp, good, rows.dtype)
    found = []
    for percentile in percentiles:
        position = xp.where(n_good > 0, (n_good - 1) * (percentile / 100), 0.0)
        below = xp.floor(position)
        left, right = (_at(xp, ascending, place) for place in (below, xp.ceil(position)))
        found.append(left + (right - left) * (position - below))
    return found


def _count(xp: Any, good: Array, dtype: Any) -> Array:
    return xp.astype(xp.sum(xp.astype(good, xp.int64), axis=1, keepdims=True), dtype)


def _at(xp: Any, ascending: Array, place: Array) -> Array:
    return xp.take_along_axis(ascending, xp.astype(place, xp.int64), axis=1)
