"""Rankers that learn from how the rows lie among each other: prepared once, asked many times."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarespec.rankers.neighbours.neighbour_graph import NeighbourGraph, build_neighbours
from rarespec.rankers.ranker import Flags, Kept, Needs, PreparingRanker, Scores
from rarespec.rankers.rows import Rows, fingerprint_of_rows, row_digests, same_rows


class GraphRanker(PreparingRanker):
    """A ranker whose scores of the fitted rows come from a graph of them.

    `prepare(X)` does everything that depends on the rows alone; `scores_for(Y)` of what it gives then answers one or
    many queries. The rows themselves are kept, not copied: new rows are placed among them.

    A row that equals a fitted row gets the score of that row (the highest one, where several fitted rows are equal);
    any other row is scored in the way the method's own page describes. The fitted matrix as a whole gets `scores_`:
    there, and in no other batch, each of several equal rows has a score of its own.

    Examples
    --------
    >>> import numpy as np
    >>> from rarespec.rankers import LabelPropagation
    >>> X = np.array([[0.0], [1.0], [2.0], [10.0], [11.0]])
    >>> preparation = LabelPropagation(n_neighbours=1).prepare(X)
    >>> queries = np.array([[1, 0], [0, 0], [0, 0], [0, 1], [0, 0]])
    >>> (preparation.scores_for(queries) > 0).T.astype(int)  # the rows that each query reaches
    array([[1, 1, 1, 0, 0],
           [0, 0, 0, 1, 1]])
    """

    answers_together = True

    fitted_rows_: Rows
    """(n, d) float32 or float64, the rows that were prepared."""
    scores_: Scores
    """(n,) float64, scores of the fitted rows."""

    def _learn(self, ready: Any, X: Rows, known: Flags, refused: Flags) -> None:
        self.fitted_rows_ = X
        self.scores_ = self._solve(ready, known.astype(np.float64)[:, None], fitting=True)[:, 0]

    def _solve_together(self, ready: Any, Y: NDArray[np.float64]) -> NDArray[np.float64]:
        return self._solve(ready, Y)

    def _scores(self, X: Rows) -> Scores:
        if same_rows(X, self.fitted_rows_):
            return self.scores_.copy()
        equal, scores = self._scores_of_equal_rows(X)
        if not equal.all():
            scores[~equal] = self._scores_of_new_rows(X[~equal])
        return scores

    @abstractmethod
    def _solve(self, ready: Any, Y: NDArray[np.float64], fitting: bool = False) -> NDArray[np.float64]:
        """Scores (n, q) for the queries Y, (n, q) float64; `fitting` asks for the fit's own report as attributes."""

    @abstractmethod
    def _scores_of_new_rows(self, X: Rows) -> Scores:
        """Scores of rows of which none equals a fitted row."""

    def _scores_of_equal_rows(self, X: Rows) -> tuple[NDArray[np.bool_], Scores]:
        """Which rows of X equal a fitted row, (m,) bool, and the score of that row, (m,)."""
        fitted = row_digests(self.fitted_rows_)
        order = np.lexsort((-self.scores_, fitted))
        wanted = row_digests(X)
        place = np.minimum(np.searchsorted(fitted, wanted, sorter=order), len(order) - 1)
        best = order[place]
        return fitted[best] == wanted, self.scores_[best]


class NeighbourGraphRanker(GraphRanker):
    """A ranker on the graph of nearest neighbours, with the parameters `n_neighbours` and `graph`."""

    n_neighbours: int
    graph: NeighbourGraph | None

    def needs(self) -> Needs:
        """Ask for the neighbour graph, unless it is a parameter."""
        return Needs(graph=self.n_neighbours if self.graph is None else None)

    def _graph_for(self, X: Rows, k: int, kept: Kept) -> NeighbourGraph:
        """The k nearest neighbours: from the graph that was kept or is a parameter, or built now."""
        graph = self.graph if kept.graph is None else kept.graph
        if graph is None:
            return build_neighbours(X, k)
        if len(graph) != len(X):
            raise ValueError(f"graph: it has {len(graph)} rows and X has {len(X)}; build it on this X")
        if graph.fingerprint != fingerprint_of_rows(X):
            raise ValueError("graph: it was built on different values; build it on this X")
        return graph.nearest(min(k, len(X) - 1))
