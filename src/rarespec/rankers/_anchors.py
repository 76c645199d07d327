"""Anchors: a few points that stand for all rows, and the weights with which each row hangs on those near to it.

Notation (Xu et al. 2011, section 3): p anchors u_k, the r nearest of which carry a row x; z_k = K(|x - u_k| / h) with
the Epanechnikov kernel K(t) = 3/4 (1 - t^2) for t <= 1, and h the distance from x to the r-th nearest anchor.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from rarespec.rankers.exact_neighbours import exact_nearest, in_threads
from rarespec.rankers.rows import Rows, row_digests

Anchors = NDArray[np.float64]
"""(p, d) float64."""

ROWS_AT_ONCE = 1024
"""Rows compared with all anchors at a time: their similarities stay in the cache of one core."""


def draw_anchors(X: Rows, n_anchors: int, random: np.random.RandomState) -> Anchors:
    """Rows drawn without repetition, no two equal; fewer than asked for when X has fewer different rows.

    They are drawn from the rows in an order that their contents decide, so the order of X does not matter.
    """
    _, first_of_equals = np.unique(row_digests(X), return_index=True)
    drawn = random.permutation(len(first_of_equals))[:n_anchors]
    return X[first_of_equals[drawn]].astype(np.float64)


def k_means(X: Rows, anchors: Anchors, n_iterations: int) -> Anchors:
    """Lloyd's iterations from these anchors. One that no row is nearest to stays where it is.

    Not scikit-learn's KMeans, which is as fast: it adds up rows per thread, so digits could depend on their number.
    """
    for _ in range(n_iterations):
        sums, counts = _sums_by_anchor(X, anchors)
        occupied = counts > 0
        moved = anchors.copy()
        moved[occupied] = sums[occupied] / counts[occupied, None]
        if np.array_equal(moved, anchors):
            break
        anchors = moved
    return anchors


def _sums_by_anchor(X: Rows, anchors: Anchors) -> tuple[Anchors, NDArray[np.int64]]:
    """Sum (p, d) and number (p,) of the rows nearest to each anchor, added up in the order of X."""
    nearest = nearest_anchor(X, anchors)
    sums = np.zeros_like(anchors)
    for start in range(0, len(X), ROWS_AT_ONCE):
        block = X[start : start + ROWS_AT_ONCE].astype(np.float64)
        sums += _one_in_each_row(nearest[start : start + len(block)], len(anchors)).T @ block
    return sums, np.bincount(nearest, minlength=len(anchors))


def nearest_anchor(X: Rows, anchors: Anchors) -> NDArray[np.int64]:
    """(n,) which anchor is nearest to each row: that of the largest u.x - |u|^2 / 2, about the anchors' mean."""
    nearest, centre = np.empty(len(X), np.int64), anchors.mean(axis=0)
    scale = float(np.abs(anchors - centre).max()) or 1.0  # squares of large or small values stay in range
    u = ((anchors - centre) / scale).T
    half_squares = 0.5 * (u**2).sum(axis=0)

    def fill(start: int) -> int:
        similarities = ((X[start : start + ROWS_AT_ONCE] - centre) / scale) @ u
        similarities -= half_squares
        similarities.argmax(axis=1, out=nearest[start : start + ROWS_AT_ONCE])
        return start

    for _ in in_threads(fill, range(0, len(X), ROWS_AT_ONCE), None):
        pass
    return nearest


def _one_in_each_row(columns: NDArray[np.int64], n_columns: int) -> Any:
    n = len(columns)
    return csr_array((np.ones(n), columns, np.arange(n + 1)), (n, n_columns))


def anchor_weights(X: Rows, anchors: Anchors, n_nearest: int) -> csr_array:
    """Z, (n, p) float64 with n_nearest entries a row, of which that of the farthest is 0; rows are not normalised.

    A row at distance 0 from all its anchors has no bandwidth; it gets the kernel's largest value, 3/4, on each.
    """
    indices, distances = exact_nearest(anchors, X, n_nearest)
    bandwidths = distances[:, -1:]
    relative = np.divide(distances, bandwidths, out=np.zeros_like(distances), where=bandwidths > 0)
    weights = 0.75 * (1.0 - relative**2)
    shape = len(X), len(anchors)
    return csr_array((weights.ravel(), indices.ravel().astype(np.int32), np.arange(len(X) + 1) * n_nearest), shape)
