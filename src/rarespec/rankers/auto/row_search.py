"""How Auto finds rows among so many that they are not all joined: near some rows, and alike to the known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from rarespec.rankers.auto.signal import SPACES, SignalSpace, join_graph, n_neighbours, unit_rows
from rarespec.rankers.neighbours.cell_search import Cells, CellSearch
from rarespec.rankers.neighbours.exact import Distances, Indices, in_threads
from rarespec.rankers.neighbours.neighbour_graph import NeighbourGraph
from rarespec.rankers.rows import BLOCK_ROWS, Rows
from rarespec.rankers.svm.kernel import squared_distances
from rarespec.storage.processes import give_back_freed

RowNumbers = NDArray[np.intp]


class RowSearch(Protocol):
    """Searches all n rows of a feature matrix, in the space of signal and as they are given."""

    def nearest(self, space: str, rows: RowNumbers) -> tuple[Indices, Distances]:
        """Find the nearest of each of some rows; a row itself may be among its own.

        Parameters
        ----------
        space : str
            One of SPACES, in which they are near.
        rows : (m,) int
            Row numbers.

        Returns
        -------
        indices : (m, k) int64
            Row numbers, nearest first.
        distances : (m, k) float64
            Euclidean.
        """

    def alike(self, known: RowNumbers, n: int) -> list[RowNumbers]:
        """Find the n rows most alike to any of the known ones.

        Parameters
        ----------
        known : (m,) int
            Row numbers.
        n : int
            How many.

        Returns
        -------
        list of (n,) int
            Row numbers, in any order: in each of SPACES.
        """

    def join(self, rows: Rows) -> NeighbourGraph:
        """Find the graph of some rows, (m, d), with as many neighbours each as befits all n."""

    def let_go(self) -> None:
        """Free what was kept for the next search."""


class CellRows:
    """Rows in cells, of which a search opens those nearby; the cells may miss some neighbours.

    Parameters
    ----------
    X : (n, d) array
        All rows.
    space : SignalSpace
        Their space of signal.
    cells : mapping of str to mapping
        What `group_in_cells` made of the rows in each of SPACES.
    """

    def __init__(self, X: Rows, space: SignalSpace, cells: Mapping[str, Cells]) -> None:
        self._rows = {"signal": unit_rows(X, space), "given": X}
        self._searches = {name: CellSearch(self._rows[name], n_neighbours(len(X)) + 1, cells[name]) for name in SPACES}

    def nearest(self, space: str, rows: RowNumbers) -> tuple[Indices, Distances]:
        """Find the nearest of each of some rows, as `RowSearch.nearest`."""
        return self._searches[space].nearest(self._rows[space][rows])

    def alike(self, known: RowNumbers, n: int) -> list[RowNumbers]:
        """Find the n rows most alike to any of the known, as `RowSearch.alike`."""
        units, X = (self._rows[name] for name in SPACES)
        examples, given = units[known], X[known]
        alike = np.empty((2, len(X)), np.float32)

        def compare(start: int) -> int:
            block = slice(start, start + BLOCK_ROWS)
            alike[0, block] = (units[block] @ examples.T).max(axis=1)
            alike[1, block] = -squared_distances(X[block], given).min(axis=1)
            return start

        list(in_threads(compare, range(0, len(X), BLOCK_ROWS), None))
        return [np.argpartition(-one, n)[:n] for one in alike]

    def join(self, rows: Rows) -> NeighbourGraph:
        """Find the graph of some rows, as `RowSearch.join`."""
        return join_graph(rows, len(self._rows["given"]))

    def let_go(self) -> None:
        """Free the rows of the cells that have been looked into."""
        for search in self._searches.values():
            search.empty()
        give_back_freed()
