"""What Auto needs of the rows alone, whatever is looked for: found once for all queries on them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from rarespec.rankers._auto_edges import n_neighbours, spreading
from rarespec.rankers._known import Rows
from rarespec.rankers._signal_space import SignalSpace, root_lengths, signal_space
from rarespec.rankers.lrga import LRGA
from rarespec.rankers.neighbours import NeighbourGraph, build_neighbours

SMALL = 3000
"""Rows of the largest survey for which LRGA is asked as well."""

RECALL = 0.95
"""Share of the neighbours in the space of signal that must be found: many ways lead to a row."""


@dataclass(frozen=True, eq=False)
class Prepared:
    """Rows in the survey's own space, and how they hang together there."""

    X: Rows
    space: SignalSpace
    halved: NDArray[np.float32]
    """X whitened, each row divided by the root of its length, (n, d)."""
    root_length: NDArray[np.float32]
    """The root of the length of each whitened row, (n,)."""
    units: NDArray[np.float32]
    """The whitened rows weighted by their share of signal, of length 1."""
    S: csr_array
    """(n, n), how what is known spreads."""
    lrga: LRGA | None
    """Prepared on X; None for a large survey."""

    def whitened(self, rows: NDArray[np.intp]) -> NDArray[np.float32]:
        """Some of the rows, (m, d)."""
        return self.halved[rows] * self.root_length[rows, None]

    def is_of(self, X: Rows) -> bool:
        return X is self.X or (X.shape == self.X.shape and np.array_equal(X, self.X))


def prepared(X: Rows, k: int, graph: NeighbourGraph | None, signal_graph: NeighbourGraph | None) -> Prepared:
    space, Z, units = _signal(X, k, graph)
    signal_graph = _joined(units) if signal_graph is None else signal_graph
    _require_rows(signal_graph, X, "signal_graph")
    lrga = LRGA().prepare(X) if len(X) <= SMALL else None
    root_length = root_lengths(Z)
    Z /= root_length[:, None]
    return Prepared(X, space, Z, root_length, units, spreading(signal_graph), lrga)


def signal_graph_of_rows(X: Rows, graph: NeighbourGraph, k: int = 5) -> NeighbourGraph:
    """The neighbours of each row in the space of signal, to be given to several `Auto` on the same X."""
    return _joined(_signal(X, k, graph)[2])


def _joined(units: NDArray[np.float32]) -> NeighbourGraph:
    return build_neighbours(units, n_neighbours(len(units)), target_recall=RECALL)


def _signal(
    X: Rows, k: int, graph: NeighbourGraph | None
) -> tuple[SignalSpace, NDArray[np.float32], NDArray[np.float32]]:
    k = min(k, len(X) - 1)
    graph = build_neighbours(X, k) if graph is None else graph
    _require_rows(graph, X, "graph")
    space = signal_space(X, graph.nearest(k).indices)
    Z = space.all_whitened(X)
    return space, Z, space.unit_rows(Z)


def _require_rows(graph: NeighbourGraph, X: Rows, name: str) -> None:
    if len(graph) != len(X):
        raise ValueError(f"{name}: it has {len(graph)} rows and X has {len(X)}; build it on this X")
