"""Rankers that learn from how the rows lie among each other: prepared once, asked many times."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from rarespec.rankers._known import Rows, checked_rows
from rarespec.rankers._ranker import Ranker, Scores
from rarespec.rankers._row_identity import fingerprint_of_rows, row_digests
from rarespec.rankers.neighbours import NeighbourGraph, build_neighbours


class GraphRanker(Ranker):
    """A ranker whose scores of the fitted rows come from a graph of them.

    `prepare(X)` does everything that depends on the rows alone; `scores_for(Y)` then answers one or many queries.
    `fit(X, y)` is both for one query. The rows themselves are kept, not copied: new rows are placed among them.

    A row that equals a fitted row gets the score of that row (the highest one, where several fitted rows are equal);
    any other row is scored in the way the method's own page describes. The fitted matrix as a whole gets `scores_`:
    there, and in no other batch, each of several equal rows has a score of its own.
    """

    fitted_rows_: Rows
    """(n, d) float32 or float64, the rows that were prepared."""
    scores_: Scores
    """(n,) float64, scores of the fitted rows."""

    def prepare(self, X: Any, graph: NeighbourGraph | None = None) -> Self:
        """Set up all that depends on X alone, (n, d); `graph` is its neighbour graph when it is already there."""
        self._prepare_rows(checked_rows(self, X, reset=True), graph)
        return self

    def scores_for(self, Y: Any) -> NDArray[np.float64]:
        """Scores of the prepared rows for the queries Y, (n,) or (n, q): 1 = known, 0 = unlabelled, or weights.

        The result has the shape of Y. It does not change `scores_`. Other than in `fit`, unlabelled is 0 and nothing
        else: -1 is a weight, and says that a row is unlike what is looked for.
        """
        if not hasattr(self, "_prepared"):
            raise ValueError(f"this {type(self).__name__} has no prepared rows: call prepare(X) or fit(X, y) first")
        return self._solve(self._checked_queries(Y)).reshape(np.shape(Y))

    def _fit(self, X: Rows, known: NDArray[np.bool_]) -> None:
        self._prepare_rows(X, None)
        self.scores_ = self._solve(known.astype(np.float64)[:, None], fitting=True)[:, 0]

    def _scores(self, X: Rows) -> Scores:
        check_is_fitted(self, "scores_")
        if X.shape == self.fitted_rows_.shape and np.array_equal(X, self.fitted_rows_):
            return self.scores_.copy()
        equal, scores = self._scores_of_equal_rows(X)
        if not equal.all():
            scores[~equal] = self._scores_of_new_rows(X[~equal])
        return scores

    @abstractmethod
    def _prepare(self, X: Rows, graph: NeighbourGraph | None) -> Any:
        """What depends on X alone; kept as `_prepared` for `_solve`. `graph` is that given to `prepare`, or None."""

    @abstractmethod
    def _solve(self, Y: NDArray[np.float64], fitting: bool = False) -> NDArray[np.float64]:
        """Scores (n, q) for the queries Y, (n, q) float64; `fitting` asks for the fit's own report as attributes."""

    @abstractmethod
    def _scores_of_new_rows(self, X: Rows) -> Scores:
        """Scores of rows of which none equals a fitted row."""

    def _prepare_rows(self, X: Rows, graph: NeighbourGraph | None) -> None:
        if hasattr(self, "scores_"):
            del self.scores_  # they would belong to other rows
        self._prepared = self._prepare(X, graph)
        self.fitted_rows_ = X

    def _graph_for(self, X: Rows, k: int, graph: NeighbourGraph | None) -> NeighbourGraph:
        """The k nearest neighbours: from the graph given to `prepare` or as a parameter, or built now."""
        graph = getattr(self, "graph", None) if graph is None else graph
        if graph is None:
            return build_neighbours(X, k)
        if len(graph) != len(X):
            raise ValueError(f"graph: it has {len(graph)} rows and X has {len(X)}; build it on this X")
        if graph.fingerprint != fingerprint_of_rows(X):
            raise ValueError("graph: it was built on different values; build it on this X")
        return graph.nearest(min(k, len(X) - 1))

    def _checked_queries(self, Y: Any) -> NDArray[np.float64]:
        n, queries = len(self.fitted_rows_), np.asarray(Y, dtype=np.float64)
        if queries.ndim not in (1, 2) or len(queries) != n:
            raise ValueError(f"Y has the shape {queries.shape}: it must be ({n},) or ({n}, number of queries)")
        if not np.isfinite(queries).all():
            raise ValueError("Y contains NaN or inf: it must be 1 = known, 0 = unlabelled, or finite weights")
        return queries.reshape(n, -1)

    def _scores_of_equal_rows(self, X: Rows) -> tuple[NDArray[np.bool_], Scores]:
        """Which rows of X equal a fitted row, (m,) bool, and the score of that row, (m,)."""
        fitted = row_digests(self.fitted_rows_)
        order = np.lexsort((-self.scores_, fitted))
        wanted = row_digests(X)
        place = np.minimum(np.searchsorted(fitted, wanted, sorter=order), len(order) - 1)
        best = order[place]
        return fitted[best] == wanted, self.scores_[best]
