"""The rows with the highest weighted sums: scored in single precision where they are, the best again in double."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from array_api_compat import array_namespace, device, is_numpy_array, is_torch_array
from numpy.typing import NDArray

Array = Any

LEAST_MORE, SHARE_MORE = 64, 8
"""How many rows beyond k are scored again: a share of k, and at least so many."""


def top_rows(X: Array, weights: NDArray[np.float64], k: int) -> tuple[Array, Array]:
    """Find the k rows with the highest weighted sums, best first.

    Rows are scored in their own precision where they are, and the best again in double precision: the result is that of
    a search in double precision. Equal scores stay in the order of the rows.

    Parameters
    ----------
    X : (n, d) array
        Rows of any array library.
    weights : (d,) float64
        Weights of the features.
    k : int
        How many rows; all if there are fewer.

    Returns
    -------
    rows : (k,) int64
        Row numbers.
    scores : (k,) float64
        X . weights of these rows.

    Examples
    --------
    >>> import numpy as np
    >>> from rarespec.gpu import top_rows
    >>> rows, scores = top_rows(np.array([[1.0, 0.0], [0.0, 3.0], [2.0, 2.0]]), np.array([1.0, 1.0]), 2)
    >>> rows.tolist(), scores.tolist()
    ([2, 1], [4.0, 3.0])
    """
    xp = array_namespace(X)
    n, k = X.shape[0], min(k, X.shape[0])
    there = xp.asarray(weights, device=device(X))
    rough = X @ xp.astype(there, X.dtype)
    candidates, lowest = _highest(rough, min(n, k + max(LEAST_MORE, k // SHARE_MORE)))
    best = _best_of(X, candidates, there, k)
    if candidates.shape[0] < n:
        least = best.scores[-1] - best.rounding
        if bool(lowest >= least):  # rows that were left out might belong to the best
            (candidates,) = xp.nonzero(rough >= xp.astype(least, rough.dtype))
            best = _best_of(X, candidates, there, k)
    return best.rows, best.scores


class _Best(NamedTuple):
    """The best rows; `rounding` is four times the error that a score in the precision of X may have in them."""

    rows: Array
    scores: Array
    rounding: Array


def _best_of(X: Array, candidates: Array, weights: Array, k: int) -> _Best:
    xp = array_namespace(X)
    candidates = xp.sort(candidates)
    rows = xp.astype(xp.take(X, candidates, axis=0), weights.dtype)
    scores, terms = rows @ weights, xp.abs(rows) @ xp.abs(weights)
    order = xp.argsort(scores, descending=True, stable=True)[:k]
    rounding = xp.max(terms) * (4 * (X.shape[1] + 2) * float(xp.finfo(X.dtype).eps))
    return _Best(xp.take(candidates, order), xp.take(scores, order), rounding)


def _highest(scores: Array, count: int) -> tuple[Array, Array]:
    """Places of the highest scores, in any order, and the lowest of these scores."""
    if is_torch_array(scores):
        found = scores.topk(count, sorted=False)
        return found.indices, found.values.min()
    if is_numpy_array(scores):
        places = np.argpartition(scores, len(scores) - count)[len(scores) - count :]
        return places, scores[places].min()
    xp = array_namespace(scores)
    places = xp.argsort(scores, descending=True)[:count]
    return places, xp.take(scores, places)[-1]
