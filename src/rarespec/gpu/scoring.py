"""The rows with the highest weighted sums: scored in single precision where they are, the best again in double."""

from __future__ import annotations

from typing import Any

import numpy as np
from array_api_compat import array_namespace, device, is_numpy_array, is_torch_array
from numpy.typing import NDArray

Array = Any

LEAST_MORE, SHARE_MORE = 64, 8
"""How many rows beyond k are scored again: a share of k, and at least so many."""


def top_rows(X: Array, weights: NDArray[np.float64], k: int) -> tuple[Array, Array]:
    """The k rows of X, (n, d), with the highest X . weights, best first: numbers (k,) int64 and scores (k,) float64.

    Equal scores stay in the order of the rows. The rows are those of a search in double precision.
    """
    xp = array_namespace(X)
    n, k = X.shape[0], min(k, X.shape[0])
    there = xp.asarray(weights, device=device(X))
    rough = X @ xp.astype(there, X.dtype)
    candidates = _highest(rough, min(n, k + max(LEAST_MORE, k // SHARE_MORE)))
    found = _best_of(X, candidates, there, k)
    if candidates.shape[0] < n:
        least = found[1][-1] - _rounding(X, candidates, there)
        if bool(xp.min(xp.take(rough, candidates)) >= least):  # rows that were left out might belong to the best
            (candidates,) = xp.nonzero(rough >= xp.astype(least, rough.dtype))
            found = _best_of(X, candidates, there, k)
    return found


def _best_of(X: Array, candidates: Array, weights: Array, k: int) -> tuple[Array, Array]:
    xp = array_namespace(X)
    candidates = xp.sort(candidates)
    scores = xp.astype(xp.take(X, candidates, axis=0), weights.dtype) @ weights
    order = xp.argsort(-scores, stable=True)[:k]
    return xp.take(candidates, order), xp.take(scores, order)


def _rounding(X: Array, candidates: Array, weights: Array) -> Array:
    """By how much a score in the precision of X may be wrong, judged by the best rows, four times over."""
    xp = array_namespace(X)
    terms = xp.abs(xp.astype(xp.take(X, candidates, axis=0), weights.dtype)) @ xp.abs(weights)
    return 4 * (X.shape[1] + 2) * float(xp.finfo(X.dtype).eps) * xp.max(terms)


def _highest(scores: Array, count: int) -> Array:
    """Places of the highest scores, in any order."""
    if is_torch_array(scores):
        return scores.topk(count, sorted=False).indices
    if is_numpy_array(scores):
        return np.argpartition(scores, len(scores) - count)[len(scores) - count :]
    return array_namespace(scores).argsort(scores, descending=True)[:count]
