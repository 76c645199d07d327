"""What every ranker is: feature vectors and known examples in, one score for each row out, higher = more alike."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import ClassifierTags
from sklearn.utils.validation import check_is_fitted

from rarespec.rankers._known import Rows, checked_known, checked_rows

Scores = NDArray[np.float64]
"""One score for each row, (n,)."""


class Ranker(BaseEstimator, ABC):
    """A scikit-learn estimator with `fit(X, y)`, `decision_function(X)` and `rank(X)`.

    y marks each row: 1 = known example, 0 = unlabelled (not: negative). What `fit` learns is kept in attributes whose
    names end in `_` and which hold arrays and plain values only, so that a model file can hold any ranker.
    """

    learns_from_non_members: ClassVar[bool] = False
    """Whether `fit` takes y = -1 for rows that are known not to be of the kind."""

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from feature vectors X, (n, d), and y, (n,): 1 = known, 0 = unlabelled."""
        rows = checked_rows(self, X, reset=True)
        self._fit(rows, checked_known(rows, y))
        return self

    def decision_function(self, X: Any) -> Scores:
        """Score of each row of X, (n,) float64: the higher, the more like the known examples."""
        check_is_fitted(self)
        return self._scores(checked_rows(self, X, reset=False))

    def rank(self, X: Any) -> NDArray[np.intp]:
        """Row numbers of X, best first; rows of equal score stay in the order of X."""
        return best_first(self.decision_function(X))

    @abstractmethod
    def _fit(self, X: Rows, known: NDArray[np.bool_]) -> None:
        """X is finite, (n, d) float32 or float64; known is (n,) bool with at least one of each."""

    @abstractmethod
    def _scores(self, X: Rows) -> Scores:
        """X is finite, (n, d) float32 or float64, with as many columns as in fit."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.classifier_tags = ClassifierTags(multi_class=False)  # y has two values; there is no `predict`
        return tags


def best_first(scores: Scores) -> NDArray[np.intp]:
    """Positions in order of falling score; ties stay in their order."""
    order = np.argsort(-scores)
    in_order = scores[order]
    if (in_order[1:] == in_order[:-1]).any():  # the plain sort is twice as fast, but shuffles ties
        return np.argsort(-scores, kind="stable")
    return order
