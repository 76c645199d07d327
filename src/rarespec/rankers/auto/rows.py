"""What Auto needs of the rows alone, whatever is looked for: found once for all queries on them.

Up to 200 000 rows are joined in a graph. Of more, "spread" needs only those that it reaches from the known ones, and
only their part of the graph is built.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from rarespec.rankers.auto.signal import (
    Signal,
    SignalSpace,
    join_graph,
    n_neighbours,
    root_lengths,
    unit_rows,
    unusualness,
)
from rarespec.rankers.auto.spread import reach_rows, spreading
from rarespec.rankers.graph.lrga import LRGA
from rarespec.rankers.neighbours.faiss_search import FaissSearch
from rarespec.rankers.neighbours.neighbour_graph import NeighbourGraph
from rarespec.rankers.ranker import Flags, Preparation, Scores
from rarespec.rankers.rows import BLOCK_ROWS, Rows
from rarespec.storage.processes import give_back_freed

SMALL = 3000
"""Rows of the largest survey for which LRGA is asked as well."""

N_REACHED, N_ALIKE = 10_000, 40_000
"""Rows that are joined in a graph: those reached from the known ones, and those most alike to them."""


@dataclass(frozen=True, eq=False)
class Prepared:
    """Rows in the survey's own space, and the graph that joins them there."""

    X: Rows
    space: SignalSpace
    halved: NDArray[np.float32]
    """X whitened, each row divided by the root of its length, (n, d)."""
    root_length: NDArray[np.float32]
    """The root of the length of each whitened row, (n,)."""
    units: NDArray[np.float32]
    """The whitened rows weighted by their share of signal, of length 1."""
    S: csr_array | None
    """(n, n), how what is known spreads; None for a sample of many rows, which are joined elsewhere."""
    lrga: Preparation | None
    """On X; None for a large survey."""

    @property
    def edges(self) -> csr_array:
        assert self.S is not None
        return self.S

    @cached_property
    def unusual(self) -> Scores:
        """How unusual each row is, (n,)."""
        return unusualness(self.X, self.space)

    def whiten(self, rows: NDArray[np.intp]) -> NDArray[np.float32]:
        """Return some of the rows, whitened, (m, d)."""
        return self.halved[rows] * self.root_length[rows, None]


@dataclass(frozen=True, eq=False)
class Surroundings:
    """The rows reached from some known ones, and the graph that joins them."""

    known: NDArray[np.intp]
    rows: NDArray[np.intp]
    """Rising."""
    units: NDArray[np.float32]
    edges: csr_array


@dataclass(eq=False)
class Wide:
    """Many rows in the survey's own space, and the surroundings of what was known last."""

    X: Rows
    space: SignalSpace
    cells: Mapping[str, NDArray[Any]] = field(repr=False)
    _last: Surroundings | None = field(default=None, repr=False)

    @cached_property
    def unusual(self) -> Scores:
        """How unusual each row is, (n,)."""
        return unusualness(self.X, self.space)

    def surroundings(self, known: Flags, refused: Flags) -> Surroundings:
        """Find the rows around the known ones. While more become known, as in a campaign, they stay the same."""
        labelled, last = np.flatnonzero(known | refused), self._last
        if last is None or not known[last.known].all() or not np.isin(labelled, last.rows).all():
            known_rows = np.flatnonzero(known)
            rows = np.union1d(np.union1d(self._reach(known_rows), self._alike(known_rows)), labelled)
            units = self._units[rows]
            self._last = last = Surroundings(
                np.flatnonzero(known), rows, units, spreading(join_graph(units, len(self.X)))
            )
        return last

    def _reach(self, known: NDArray[np.intp]) -> NDArray[np.intp]:
        return reach_rows(known, N_REACHED, lambda rows: self._search.nearest(self._units[rows], np.arange(len(rows))))

    @cached_property
    def _search(self) -> FaissSearch:
        return FaissSearch.restore(self._units, n_neighbours(len(self.X)) + 1, self.cells)

    def _alike(self, known: NDArray[np.intp]) -> NDArray[np.intp]:
        """Those most alike to any of the known: edges that lead from them to the known are not found from the known."""
        units, examples, alike = self._units, self._units[known], np.empty(len(self.X), np.float32)
        for start in range(0, len(alike), BLOCK_ROWS):
            block = slice(start, start + BLOCK_ROWS)
            alike[block] = (units[block] @ examples.T).max(axis=1)
        return np.argpartition(-alike, N_ALIKE)[:N_ALIKE]

    @property
    def _units(self) -> Rows:
        return unit_rows(self.X, self.space)


def rows_with(X: Rows, signal: Signal) -> Prepared | Wide:
    """Prepare rows whose signal is known."""
    if signal.graph is not None:
        return prepare_rows(X, signal.space, signal.graph)
    assert signal.cells is not None
    return Wide(X, signal.space, signal.cells)


def prepare_rows(X: Rows, space: SignalSpace, graph: NeighbourGraph) -> Prepared:
    """Prepare rows whose neighbour graph in the space of signal is known.

    Parameters
    ----------
    X : (n, d) array
        The rows, all finite.
    space : SignalSpace
        The space of signal that was learned from them.
    graph : NeighbourGraph
        Their neighbours in that space.

    Returns
    -------
    Prepared
        With LRGA as well when there are at most SMALL rows.
    """
    lrga = LRGA().prepare(X) if len(X) <= SMALL else None
    S = spreading(graph)  # it takes most memory on the way, so it comes before the rows are copied
    give_back_freed()
    return replace(without_edges(X, space), S=S, lrga=lrga)


def without_edges(X: Rows, space: SignalSpace) -> Prepared:
    """Prepare rows that are not joined in a graph, or not yet."""
    Z = space.all_whitened(X)
    units = space.unit_rows(Z)
    root_length = root_lengths(Z)
    Z /= root_length[:, None]
    return Prepared(X, space, Z, root_length, units, None, None)
