"""Rankers whose score is one weighted sum of the features."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rarespec.rankers._known import Rows
from rarespec.rankers._ranker import Ranker, Scores

BLOCK_ROWS = 8192
"""Rows converted to float64 at a time: they stay in the cache, and no float64 copy of X is ever made."""


class LinearRanker(Ranker):
    """Score = X . coef_. The weights refer to X as it was given, whatever scaling was used inside."""

    coef_: NDArray[np.float64]
    """(d,) float64."""

    def _scores(self, X: Rows) -> Scores:
        return weighted_sums(X, self.coef_)


def weighted_sums(X: Rows, coef: NDArray[np.float64]) -> Scores:
    """X . coef in double precision, whatever the precision of X."""
    scores = np.empty(len(X))
    for start in range(0, len(X), BLOCK_ROWS):
        block = X[start : start + BLOCK_ROWS]
        np.matmul(block.astype(np.float64, copy=False), coef, out=scores[start : start + BLOCK_ROWS])
    return scores
