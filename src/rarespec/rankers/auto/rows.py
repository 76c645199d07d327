"""What Auto needs of the rows alone, whatever is looked for: found once for all queries on them.

Up to 200 000 rows are joined in two graphs, in the space of signal and in the features as given. Of more, walks need
only the rows around the known ones, and only these are joined.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
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
from rarespec.rankers.auto.walks import reach_rows, step_chances
from rarespec.rankers.neighbours.cell_search import CellSearch
from rarespec.rankers.neighbours.exact import in_threads
from rarespec.rankers.ranker import Flags, Scores
from rarespec.rankers.rows import BLOCK_ROWS, Rows
from rarespec.rankers.svm.kernel import squared_distances
from rarespec.storage.processes import give_back_freed

N_REACHED, N_ALIKE = 5000, 6000
"""Rows of many that are joined: those reached from the known ones, and those most alike to them in each space."""


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
    steps: Mapping[str, csr_array]
    """Part -> (n, n), chances of the steps of its walks; empty for a sample of many rows."""

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
    spaces: Mapping[str, Rows]
    """Part -> these rows in the space of its walks."""
    steps: Mapping[str, csr_array]
    """Part -> chances of the steps of its walks."""


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

    def surroundings(self, known: Flags, others: NDArray[np.intp]) -> Surroundings:
        """Find the rows around the known ones. While more become known, as in a campaign, they stay the same.

        Parameters
        ----------
        known : (n,) bool
            Which rows are known examples.
        others : (m,) int
            Rows that must be there as well.

        Returns
        -------
        Surroundings
            The rows, joined in both spaces.
        """
        known_rows, last = np.flatnonzero(known), self._last
        needed = np.union1d(known_rows, others)
        if last is None or not known[last.known].all() or not np.isin(needed, last.rows).all():
            rows = np.unique(np.concatenate([self._reach(known_rows), *self._alike(known_rows), needed]))
            spaces = {"signal": self._units[rows], "given": np.ascontiguousarray(self.X[rows])}
            steps = {name: step_chances(join_graph(one, len(self.X))) for name, one in spaces.items()}
            self._last = last = Surroundings(known_rows, rows, spaces, steps)
        return last

    def _reach(self, known: NDArray[np.intp]) -> NDArray[np.intp]:
        return reach_rows(known, N_REACHED, lambda rows: self._search.nearest(self._units[rows]))

    @cached_property
    def _search(self) -> CellSearch:
        return CellSearch(self._units, n_neighbours(len(self.X)) + 1, self.cells)

    def _alike(self, known: NDArray[np.intp]) -> list[NDArray[np.intp]]:
        """Find those most alike to any of the known, in each space: no walk from the known need lead to them."""
        units, examples, given = self._units, self._units[known], self.X[known]
        alike = np.empty((2, len(self.X)), np.float32)

        def compare(start: int) -> int:
            block = slice(start, start + BLOCK_ROWS)
            alike[0, block] = (units[block] @ examples.T).max(axis=1)
            alike[1, block] = -squared_distances(self.X[block], given).min(axis=1)
            return start

        list(in_threads(compare, range(0, len(self.X), BLOCK_ROWS), None))
        return [np.argpartition(-one, N_ALIKE)[:N_ALIKE] for one in alike]

    @property
    def _units(self) -> Rows:
        return unit_rows(self.X, self.space)

    def afresh(self) -> Wide:
        """Give the same rows to another query, which finds surroundings of its own; cells are opened once for all."""
        _ = self._search
        other = copy(self)
        other._last = None
        return other


def rows_with(X: Rows, signal: Signal) -> Prepared | Wide:
    """Prepare rows whose signal is known."""
    if signal.graph is None or signal.given is None:
        assert signal.cells is not None
        return Wide(X, signal.space, signal.cells)
    # graphs take most memory on the way, so they come before the rows are copied
    steps = {"signal": step_chances(signal.graph), "given": step_chances(signal.given)}
    give_back_freed()
    return replace(without_steps(X, signal.space), steps=steps)


def without_steps(X: Rows, space: SignalSpace) -> Prepared:
    """Prepare rows that are not joined in a graph, or not yet."""
    Z = space.all_whitened(X)
    units = space.unit_rows(Z)
    root_length = root_lengths(Z)
    Z /= root_length[:, None]
    return Prepared(X, space, Z, root_length, units, {})
