"""Bad pixels bridged: replaced by the straight line between their good neighbours."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from array_api_compat import array_namespace, device, is_numpy_namespace
from numpy.typing import NDArray

from rarespec.features.steps.step import RowStep

Array = Any
"""An array of NumPy or of any library that follows the array API standard."""


class Bridged(NamedTuple):
    """Spectra without bad pixels.

    Attributes
    ----------
    flux : array
        (n, p), no bad pixels left. A row that is not usable is all NaN.
    n_bridged : array of int
        (n,) how many pixels of the row were bad. In a usable row all of them have been bridged.
    usable : array of bool
        (n,) False where too few pixels are good.
    """

    flux: Array
    n_bridged: Array
    usable: Array


def bridge(flux: Array, bad: Array | None = None, min_good: float = 0.5) -> Bridged:
    """Replace bad pixels by the straight line between their nearest good neighbours in the same row.

    Beyond the first and the last good pixel of a row its value is continued. Distances are counted in pixels. The
    input is never changed, and it is returned as it is when nothing is bad.

    Parameters
    ----------
    flux : array
        Spectra, (n, p) float32 or float64. Pixels that are not finite are bad.
    bad : array of bool, optional
        True where a pixel must not be used either, (n, p).
    min_good : float, optional
        Share of good pixels that a row needs, from 0 to 1. Every usable row has at least one.

    Returns
    -------
    Bridged
        The spectra, how many pixels of each were bad, and which rows are usable.

    Raises
    ------
    ValueError
        If `min_good` is not a share.

    Examples
    --------
    >>> import numpy as np
    >>> from rarespec.features import bridge
    >>> bridge(np.array([[1.0, np.nan, 3.0, np.nan]])).flux
    array([[1., 2., 3., 3.]])
    """
    xp = array_namespace(flux)
    needed = least_good(min_good, flux.shape[1])
    good = xp.isfinite(flux) if bad is None else xp.isfinite(flux) & ~bad
    if bool(xp.all(good)):
        return _nothing_bridged(xp, flux)
    mask = xp.reshape(~good, (-1,))
    (position,) = xp.nonzero(mask)
    n_bad = _per_row(xp, position, *flux.shape)
    n_good = flux.shape[1] - n_bad
    usable = n_good >= needed
    bridged = _with_lines(xp, flux, mask, position)
    return Bridged(_nan_where(xp, bridged, ~usable), n_bad, usable)


class Bridges(NamedTuple):
    """What takes the place of the bad pixels of NumPy rows, found for many rows at once: finding it has its price.

    Attributes
    ----------
    row, pixel : ndarray of int
        (m,) where the bad pixels are, row by row.
    value : ndarray
        (m,) their values on the lines between good neighbours.
    unusable : ndarray of int
        Rows of which too few pixels are good, rising.
    """

    row: NDArray[np.intp]
    pixel: NDArray[np.intp]
    value: NDArray[np.float64]
    unusable: NDArray[np.intp]

    @classmethod
    def across(cls, flux: NDArray[Any], min_good: float = 0.5) -> Bridges:
        """Find the bad pixels of spectra and bridge them, as `bridge` does it.

        Parameters
        ----------
        flux : ndarray
            Spectra, (n, p). Pixels that are not finite are bad.
        min_good : float, optional
            Share of good pixels that a row needs.

        Returns
        -------
        Bridges
            What to write instead.
        """
        n_pixels = flux.shape[1]
        position = np.flatnonzero(~np.isfinite(flux))
        row, pixel = np.divmod(position, n_pixels)
        n_good = n_pixels - np.bincount(row, minlength=len(flux))
        with np.errstate(all="ignore"):
            value = _line_at(np, flux.reshape(-1), position, n_pixels) if len(position) else np.empty(0)
        return cls(row, pixel, value, np.flatnonzero(n_good < least_good(min_good, n_pixels)))

    def write(self, out: NDArray[Any], start: int) -> None:
        """Write what belongs into some of the rows.

        Parameters
        ----------
        out : ndarray
            (m, p) the flux of rows `start` to `start + m`; a view of a larger array will do.
        start : int
            Number of its first row.
        """
        first, last = np.searchsorted(self.row, [start, start + len(out)])
        out[self.row[first:last] - start, self.pixel[first:last]] = self.value[first:last]
        lost = self.unusable - start
        out[lost[(lost >= 0) & (lost < len(out))]] = np.nan


def count_in_rows(marks: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Count the marks of each row, (n,); ten times as fast as a sum of booleans."""
    return np.bitwise_count(np.packbits(marks, axis=1)).sum(axis=1, dtype=np.int64)


class Bridge(RowStep):
    """Bridge the bad pixels of each spectrum, for recipes without a median filter, which does it too.

    Parameters
    ----------
    min_good : float, optional
        Share of good pixels that a spectrum needs. With fewer it comes out as a row of NaN.

    Examples
    --------
    >>> import numpy as np
    >>> from rarespec.features import Bridge
    >>> Bridge().fit_transform(np.array([[1.0, np.nan, 3.0]]))
    array([[1., 2., 3.]])
    """

    why_unusable = "too few good pixels"

    def __init__(self, min_good: float = 0.5) -> None:
        self.min_good = min_good

    def _transform_rows(self, X: Array) -> Array:
        return bridge(X, min_good=self.min_good).flux


def least_good(min_good: float, n_pixels: int) -> int:
    """How many good pixels a row of this length needs; the small number forgives the rounding of 0.07 * 100."""
    if not 0 <= min_good <= 1:
        raise ValueError(f"min_good must be a fraction of the pixels, from 0 to 1, not {min_good}")
    return max(math.ceil(min_good * n_pixels - 1e-9), 1)


def _per_row(xp: Any, position: Array, n_rows: int, row_length: int) -> Array:
    """How many of these ascending flat positions lie in each row."""
    edges = xp.arange(n_rows + 1, dtype=position.dtype, device=device(position)) * row_length
    before = xp.searchsorted(position, edges)
    return before[1:] - before[:-1]


def _nothing_bridged(xp: Any, flux: Array) -> Bridged:
    n, where = flux.shape[0], device(flux)
    return Bridged(flux, xp.zeros(n, dtype=xp.int64, device=where), xp.ones(n, dtype=xp.bool, device=where))


def _nan_where(xp: Any, flux: Array, unusable: Array) -> Array:
    if not bool(xp.any(unusable)):
        return flux
    return xp.where(unusable[:, None], xp.asarray(xp.nan, dtype=flux.dtype, device=device(flux)), flux)


def _with_lines(xp: Any, flux: Array, mask: Array, position: Array) -> Array:
    """Only the bad pixels are touched. In rows without a good pixel the result means nothing."""
    if position.shape[0] == 0:
        return flux
    pixels = xp.reshape(flux, (-1,))
    with np.errstate(all="ignore"):
        values = xp.astype(_line_at(xp, pixels, position, flux.shape[1]), flux.dtype)
    return xp.reshape(_place_values(xp, pixels, mask, position, values), flux.shape)


def _line_at(xp: Any, pixels: Array, position: Array, row_length: int) -> Array:
    """Values on the lines that bridge these flat positions, (n bad,) float64."""
    first, last, run = _runs(xp, position, row_length)
    starts_row, ends_row = first % row_length == 0, (last + 1) % row_length == 0
    # A run at the end of a row has a good pixel on one side only: that one serves for both.
    left = xp.where(starts_row, last + 1, first - 1)
    right = xp.where(ends_row, first - 1, last + 1)
    distance = xp.where(starts_row | ends_row, xp.inf, xp.astype(right - left, xp.float64))
    left_value, right_value = (xp.take(_pixel_values(xp, pixels, side), run) for side in (left, right))
    share = xp.astype(position - xp.take(left, run), xp.float64) / xp.take(distance, run)
    return left_value * (1 - share) + right_value * share


def _pixel_values(xp: Any, pixels: Array, position: Array) -> Array:
    inside = xp.clip(position, 0, pixels.shape[0] - 1)
    return xp.astype(xp.take(pixels, inside), xp.float64)


def _runs(xp: Any, position: Array, row_length: int) -> tuple[Array, Array, Array]:
    """The first and the last position of each run of neighbouring bad pixels, and in which run each position lies."""
    follows = (position[1:] == position[:-1] + 1) & (position[1:] % row_length != 0)
    edge = xp.ones(1, dtype=xp.bool, device=device(position))
    starts, ends = xp.concat([edge, ~follows]), xp.concat([~follows, edge])
    return position[starts], position[ends], xp.cumulative_sum(xp.astype(starts, xp.int64)) - 1


def _place_values(xp: Any, pixels: Array, mask: Array, position: Array, values: Array) -> Array:
    if is_numpy_namespace(xp):
        pixels = pixels.copy()
        pixels[position] = values
        return pixels
    # The array API has no assignment to a list of positions: gather instead of scatter.
    order = xp.cumulative_sum(xp.astype(mask, xp.int64)) - 1
    order = xp.where(order < 0, xp.zeros_like(order), order)
    return xp.where(mask, xp.take(values, order), pixels)
