"""A running mean, which keeps more of the signal of a faint spectrum than a median does."""

from __future__ import annotations

from typing import Any

from array_api_compat import array_namespace

from rarespec.features.steps.bridging import bridge
from rarespec.features.steps.running_median import WindowFilter

ROWS_PER_BLOCK = 512

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

    Examples
    --------
    >>> import numpy as np
    >>> from rarespec.features import MeanFilter
    >>> MeanFilter(width_pixels=3).fit_transform(np.array([[1.0, 1.0, 4.0, 1.0, 1.0]]))
    array([[1., 2., 2., 2., 1.]])
    """

    def _transform_rows(self, X: Array) -> Array:
        xp, n, width = array_namespace(X), X.shape[0], self._width(X.shape[1])
        starts = range(0, max(n, 1), ROWS_PER_BLOCK)
        blocks = [self._average(xp, X[start : min(start + ROWS_PER_BLOCK, n), :], width) for start in starts]
        return xp.concat(blocks, axis=0)

    def _average(self, xp: Any, rows: Array, width: int) -> Array:
        flux, reach = bridge(rows, min_good=self.min_good).flux, width // 2
        # beyond the ends the first and the last pixel are repeated
        ends = [xp.repeat(flux[:, side], reach, axis=1) for side in (slice(0, 1), slice(-1, None))]
        padded = xp.concat([ends[0], flux, ends[1]], axis=1)
        total = padded[:, : flux.shape[1]]
        for start in range(1, width):
            total = total + padded[:, start : start + flux.shape[1]]
        return total / width

    def _width(self, n_pixels: int) -> int:
        """Pixels of every window: as many as the width has in the middle of the grid."""
        return next(segment.width for segment in self.segments(n_pixels) if segment.stop > n_pixels // 2)
