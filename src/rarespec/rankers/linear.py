"""Rankers whose score is one weighted sum of the features."""

from __future__ import annotations

from typing import Any

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from rarespec.rankers.other_arrays import Array, as_numpy, checked_other_rows, is_other_array, like
from rarespec.rankers.ranker import Ranker, Scores, best_first
from rarespec.rankers.rows import BLOCK_ROWS, Rows

ROWS_AT_ONCE = 1 << 18
"""Rows of arrays of other libraries converted at a time: enough to keep a GPU busy."""


class LinearRanker(Ranker):
    """Score = X . coef_. The weights refer to X as it was given, whatever scaling was used inside."""

    coef_: NDArray[np.float64]
    """(d,) float64."""

    def decision_function(self, X: Any) -> Any:
        """Score of each row of X, (n,) float64, in the library of X: the higher, the more like the known examples."""
        if not is_other_array(X):
            return super().decision_function(X)
        check_is_fitted(self)
        return weighted_sums(checked_other_rows(self, X, reset=False), self.coef_)

    def rank(self, X: Any) -> NDArray[np.intp]:
        """Row numbers of X, best first; rows of equal score stay in the order of X."""
        return best_first(as_numpy(self.decision_function(X)))

    def feature_weights(self) -> NDArray[np.float64] | None:
        """(d,) `coef_`."""
        return self.coef_

    def _scores(self, X: Rows) -> Scores:
        return weighted_sums(X, self.coef_)


def weighted_sums(X: Rows, coef: NDArray[np.float64]) -> Scores:
    """X . coef in double precision, whatever the precision of X; in its library."""
    if is_other_array(X):
        return _weighted_sums_there(X, coef)
    scores = np.empty(len(X))
    for start in range(0, len(X), BLOCK_ROWS):
        block = X[start : start + BLOCK_ROWS]
        np.matmul(block.astype(np.float64, copy=False), coef, out=scores[start : start + BLOCK_ROWS])
    return scores


def _weighted_sums_there(X: Array, coef: NDArray[np.float64]) -> Array:
    xp, weights = array_namespace(X), like(X, coef)
    parts = [slice(i, min(i + ROWS_AT_ONCE, X.shape[0])) for i in range(0, max(X.shape[0], 1), ROWS_AT_ONCE)]
    return xp.concat([xp.astype(X[part, :], weights.dtype) @ weights for part in parts])
