"""What Auto needs of the rows alone, whatever is looked for: found once for all queries on them.

Up to 200 000 rows are joined in two graphs, in the space of signal and in the features as given. Of more, walks need
only the rows around the known ones, and only these are joined.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from rarespec.rankers.auto.row_search import CellRows, RowSearch
from rarespec.rankers.auto.signal import SPACES, Signal, SignalSpace, root_lengths, unit_rows, unusualness
from rarespec.rankers.auto.walks import reach_rows, step_chances
from rarespec.rankers.ranker import Flags, Scores
from rarespec.rankers.rows import Rows
from rarespec.storage.processes import give_back_freed

N_REACHED, N_ALIKE = 5000, 6000
"""Rows of many that are joined: those reached from the known ones and those most alike to them, in each space."""


@dataclass(frozen=True, eq=False)
class Prepared:
    """Rows in the survey's own space, and the graph that joins them there."""

    X: Rows
    space: SignalSpace
    halved: NDArray[np.float32]
    """X whitened in part, each row divided by the root of its length, (n, d)."""
    root_length: NDArray[np.float32]
    """The root of the length of each of these rows, (n,)."""
    units: NDArray[np.float32]
    """The whitened rows weighted by their share of signal, of length 1."""
    steps: Mapping[str, csr_array]
    """Part -> (n, n), chances of the steps of its walks; empty for a sample of many rows."""

    @cached_property
    def unusual(self) -> Scores:
        """How unusual each row is, (n,)."""
        return unusualness(self.X, self.space)

    def whiten_in_part(self, rows: NDArray[np.intp]) -> NDArray[np.float32]:
        """Return some of the rows, whitened in part, (m, d)."""
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
    search: RowSearch = field(repr=False)
    """Finds rows among them."""
    _last: Surroundings | None = field(default=None, repr=False)
    _is_shared: bool = False
    """Whether other queries search the same rows."""

    @cached_property
    def unusual(self) -> Scores:
        """How unusual each row is, (n,)."""
        return unusualness(self.X, self.space)

    def surroundings(self, known: Flags, leads: NDArray[np.intp], others: NDArray[np.intp]) -> Surroundings:
        """Find the rows around the known ones and the leads. While more become known, they stay the same.

        Parameters
        ----------
        known : (n,) bool
            Which rows are known examples.
        leads : (l,) int
            Rows from which walks may start as well.
        others : (m,) int
            Rows that must be there as well.

        Returns
        -------
        Surroundings
            The rows, joined in both spaces.
        """
        known_rows, last = np.flatnonzero(known), self._last
        starts = np.union1d(known_rows, leads)
        needed = np.union1d(starts, others)
        if last is None or not known[last.known].all() or not np.isin(needed, last.rows).all():
            # a kind that one space hides is reached in the other; no walk need lead to those that are alike
            reached = [reach_rows(starts, N_REACHED, partial(self.search.nearest, space)) for space in SPACES]
            rows = np.unique(np.concatenate([*reached, *self.search.alike(starts, N_ALIKE), needed]))
            if not self._is_shared:
                self.search.let_go()  # before the rows are joined, which takes memory too
            spaces = {"signal": unit_rows(self.X, self.space)[rows], "given": np.ascontiguousarray(self.X[rows])}
            steps = {name: step_chances(self.search.join(one)) for name, one in spaces.items()}
            self._last = last = Surroundings(known_rows, rows, spaces, steps)
        return last

    def afresh(self) -> Wide:
        """Give the same rows to another query, which finds surroundings of its own; cells are opened once for all."""
        other = copy(self)
        other._last, other._is_shared = None, True
        return other


def rows_with(X: Rows, signal: Signal) -> Prepared | Wide:
    """Prepare rows whose signal is known."""
    if signal.graph is None or signal.given is None:
        return Wide(X, signal.space, _search_of(X, signal))
    # graphs take most memory on the way, so they come before the rows are copied
    steps = {"signal": step_chances(signal.graph), "given": step_chances(signal.given)}
    give_back_freed()
    return replace(without_steps(X, signal.space), steps=steps)


def _search_of(X: Rows, signal: Signal) -> RowSearch:
    if signal.search is not None:
        return signal.search
    assert signal.cells is not None
    return CellRows(X, signal.space, signal.cells)


def without_steps(X: Rows, space: SignalSpace) -> Prepared:
    """Prepare rows that are not joined in a graph, or not yet."""
    units = space.all_units(X)
    Z = space.all_whitened_in_part(X)
    root_length = root_lengths(Z)
    Z /= root_length[:, None]
    return Prepared(X, space, Z, root_length, units, {})
