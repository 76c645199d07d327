"""A running mean, which keeps more of the signal of a faint spectrum than a median does, at every pixel or at some."""

from __future__ import annotations

from typing import Any

import numpy as np
from array_api_compat import array_namespace, is_numpy_array
from numpy.typing import NDArray

from rarespec.features.steps.bridging import Bridges, bridge
from rarespec.features.steps.running_median import WindowFilter
from rarespec.spectrum import WavelengthGrid

ROWS_PER_BLOCK = 64
"""Rows of NumPy that are filtered at a time: they are read once for each pixel of the window, and should stay in
cache."""

Array = Any


class MeanFilter(WindowFilter):
    """Bridge the bad pixels of each spectrum, then take the running mean.

    A mean of normal noise scatters by a fifth less than a median of as many pixels. It does not remove spikes: bad
    pixels must be marked.

    Parameters
    ----------
    grid : WavelengthGrid, optional
        Wavelengths of the columns of X. By default the paper's grid when X has its 3601 columns.
    width_angstrom : float, optional
        Width of the window at the middle of the grid. All windows have as many pixels.
    width_pixels : int, optional
        An odd number of pixels instead of a width in Angstrom; needs no grid.
    min_good : float, optional
        Share of good pixels that a spectrum needs. With fewer it comes out as a row of NaN.
    every : int, optional
        Keep the mean around every second pixel, or around fewer: with windows that overlap, little is lost, and
        whatever comes next has less to do.

    Examples
    --------
    >>> import numpy as np
    >>> from rarespec.features import MeanFilter
    >>> MeanFilter(width_pixels=3).fit_transform(np.array([[1.0, 1.0, 4.0, 1.0, 1.0]]))
    array([[1., 2., 2., 2., 1.]])
    >>> MeanFilter(width_pixels=3, every=2).fit_transform(np.array([[1.0, 1.0, 4.0, 1.0, 1.0]]))
    array([[1., 2., 1.]])
    """

    def __init__(
        self,
        grid: WavelengthGrid | None = None,
        width_angstrom: float = 10.0,
        width_pixels: int | None = None,
        min_good: float = 0.5,
        every: int = 1,
    ) -> None:
        super().__init__(grid, width_angstrom, width_pixels, min_good)
        self.every = every

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Name the pixels that are kept."""
        return super().get_feature_names_out(input_features)[:: self.every]

    def to_pixels(self, kept: NDArray[Any], n_pixels: int) -> NDArray[Any]:
        """Give each pixel the value of the nearest one that was kept.

        Parameters
        ----------
        kept : ndarray
            (..., m), a value for every pixel that `transform` keeps.
        n_pixels : int
            Pixels of a spectrum.

        Returns
        -------
        ndarray
            (..., n_pixels).
        """
        return kept[..., self._nearest_kept(n_pixels)]

    def share_among_pixels(self, weights: NDArray[Any], n_pixels: int) -> NDArray[Any]:
        """Divide the weight of each pixel that was kept among those that it stands for.

        A weighted sum of kept pixels is that of `to_pixels` of them with these weights.

        Parameters
        ----------
        weights : ndarray
            (..., m).
        n_pixels : int
            Pixels of a spectrum.

        Returns
        -------
        ndarray
            (..., n_pixels).
        """
        stand_for = np.bincount(self._nearest_kept(n_pixels), minlength=weights.shape[-1])
        return self.to_pixels(weights / stand_for, n_pixels)

    def _nearest_kept(self, n_pixels: int) -> NDArray[np.intp]:
        last = (n_pixels - 1) // self.every
        return np.minimum((np.arange(n_pixels) + self.every // 2) // self.every, last)

    def transpose(self, weights: NDArray[Any], n_pixels: int) -> NDArray[Any]:
        """Turn weights on filtered pixels into weights on the pixels before: their weighted sums are the same.

        Parameters
        ----------
        weights : (m, k) ndarray
            Weights of the pixels that `transform` keeps.
        n_pixels : int
            Pixels of a spectrum.

        Returns
        -------
        (n_pixels, k) ndarray
            Each pixel has its share of every window that it is in.
        """
        width = self._width(n_pixels)
        reach = width // 2
        padded = np.zeros((n_pixels + 2 * reach, weights.shape[1]))
        for start in range(width):
            padded[start : start + n_pixels : self.every] += weights / width
        before = padded[reach : reach + n_pixels]
        before[0] += padded[:reach].sum(axis=0)  # beyond the ends the first and the last pixel were repeated
        before[-1] += padded[reach + n_pixels :].sum(axis=0)
        return before

    def _transform_rows(self, X: Array) -> Array:
        width = self._width(X.shape[1])
        if not is_numpy_array(X):
            return self._average(array_namespace(X), X, width)
        out = np.empty((len(X), -(-X.shape[1] // self.every)), X.dtype)
        padded = np.empty((min(ROWS_PER_BLOCK, len(X)), X.shape[1] + width - 1), X.dtype)
        bridges = Bridges.across(X, self.min_good)
        for start in range(0, len(X), ROWS_PER_BLOCK):
            rows = X[start : start + ROWS_PER_BLOCK]
            inside = padded[: len(rows), width // 2 : width // 2 + X.shape[1]]
            inside[...] = rows
            bridges.write(inside, start)
            self._average_into(out[start : start + len(rows)], padded[: len(rows)], width)
        return out

    def _average_into(self, out: NDArray[Any], padded: NDArray[Any], width: int) -> None:
        """As `_average`, to the last bit, without a new array for every sum; `padded` has room beyond the ends."""
        n_pixels, reach = padded.shape[1] - width + 1, width // 2
        padded[:, :reach] = padded[:, reach : reach + 1]
        padded[:, reach + n_pixels :] = padded[:, reach + n_pixels - 1 : reach + n_pixels]
        if width == 1:
            out[...] = padded[:, :: self.every]
            return
        np.add(padded[:, : n_pixels : self.every], padded[:, 1 : 1 + n_pixels : self.every], out=out)
        for start in range(2, width):
            out += padded[:, start : start + n_pixels : self.every]
        out /= width

    def _average(self, xp: Any, rows: Array, width: int) -> Array:
        flux, reach = bridge(rows, min_good=self.min_good).flux, width // 2
        # beyond the ends the first and the last pixel are repeated
        ends = [xp.repeat(flux[:, side], reach, axis=1) for side in (slice(0, 1), slice(-1, None))]
        padded = xp.concat([ends[0], flux, ends[1]], axis=1)
        n_pixels = flux.shape[1]
        total = padded[:, : n_pixels : self.every]
        for start in range(1, width):
            total = total + padded[:, start : start + n_pixels : self.every]
        return total / width

    def _width(self, n_pixels: int) -> int:
        """Pixels of every window: as many as the width has in the middle of the grid."""
        return next(segment.width for segment in self.segments(n_pixels) if segment.stop > n_pixels // 2)
