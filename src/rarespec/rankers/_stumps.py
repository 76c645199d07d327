"""Steps at thresholds of single features: binning, the search for the best one, and sums of many."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from rarespec.rankers.rows import BLOCK_ROWS, Rows

Array = NDArray[np.float64]
Bins = NDArray[np.uint8]
"""(d, n): for each feature and row, the number of that feature's candidate thresholds below the value."""

N_THRESHOLDS = 255
"""Candidates for each feature; a bin number then fits one byte."""
N_SAMPLE = 65536
"""Rows, evenly spaced, whose quantiles give the candidates."""
LARGEST_LOGIT = 9.0


def candidate_thresholds(X: Rows) -> Array:
    """(d, 255) float64, rising along each feature, from the smallest 1e-4 of the values to the largest 1e-4.

    They lie closer together in the tails (evenly in the logit of the quantile), for rare rows are found there.
    """
    levels = expit(np.linspace(-LARGEST_LOGIT, LARGEST_LOGIT, N_THRESHOLDS))
    sample = X[:: max(1, len(X) // N_SAMPLE)]
    return np.stack([np.quantile(column.astype(np.float64), levels) for column in sample.T])


def bin_numbers(X: Rows, thresholds: Array) -> Bins:
    """Where each value of X lies among its feature's thresholds, (d, n) uint8: value > thresholds[b] if bin > b."""
    bins = np.empty(X.shape[::-1], dtype=np.uint8)
    for start in range(0, len(X), BLOCK_ROWS):
        for feature, column in enumerate(X[start : start + BLOCK_ROWS].T):
            bins[feature, start : start + BLOCK_ROWS] = np.searchsorted(thresholds[feature], column)
    return bins


def best_step(bins: Bins, signed_weights: Array) -> tuple[int, int, float]:
    """Feature, candidate and edge of the step that tells positive from negative weights best.

    The edge of a step is the sum of the signed weights, (n,), above its threshold: from -1 to 1 if the positive weights
    sum to 1 and the negative ones to -1, as is assumed here. The first of the largest absolute edges is taken.
    """
    edges = np.empty((len(bins), N_THRESHOLDS))
    for feature, numbers in enumerate(bins):
        in_bin = np.bincount(numbers, weights=signed_weights, minlength=N_THRESHOLDS + 1)
        edges[feature] = -np.cumsum(in_bin)[:-1]  # above a threshold = all (0) less those below it
    best = np.unravel_index(np.argmax(np.abs(edges)), edges.shape)
    return int(best[0]), int(best[1]), float(edges[best])


def step_sums(X: Rows, features: NDArray[np.intp], thresholds: Array, weights: Array) -> Array:
    """Sum over the steps of weight where the feature exceeds the threshold, (n,); features and the rest are (t,)."""
    tables = [_table(thresholds[features == feature], weights[features == feature]) for feature in np.unique(features)]
    sums = np.zeros(len(X))
    for start in range(0, len(X), BLOCK_ROWS):
        block, block_sums = X[start : start + BLOCK_ROWS], sums[start : start + BLOCK_ROWS]
        for feature, (sorted_thresholds, totals) in zip(np.unique(features), tables, strict=True):
            block_sums += totals[np.searchsorted(sorted_thresholds, block[:, feature])]
    return sums


def _table(thresholds: Array, weights: Array) -> tuple[Array, Array]:
    """One feature's steps as a staircase: thresholds, (k,), sorted, and the height between them, (k + 1,)."""
    order = np.argsort(thresholds, kind="stable")
    return thresholds[order], np.concatenate([[0.0], np.cumsum(weights[order])])
