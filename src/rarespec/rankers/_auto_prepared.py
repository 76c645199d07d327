"""What Auto needs of the rows alone, whatever is looked for: found once for all queries on them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from rarespec.memory import give_back_freed
from rarespec.rankers._auto_edges import spreading
from rarespec.rankers._auto_unusual import unusualness
from rarespec.rankers._known import Rows
from rarespec.rankers._ranker import Scores
from rarespec.rankers._signal_space import SignalSpace, root_lengths
from rarespec.rankers.lrga import LRGA
from rarespec.rankers.neighbours import NeighbourGraph

SMALL = 3000
"""Rows of the largest survey for which LRGA is asked as well."""


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
    S: csr_array | None
    """(n, n), how what is known spreads; None for a sample of many rows, which are joined elsewhere."""
    lrga: LRGA | None
    """Prepared on X; None for a large survey."""

    @property
    def edges(self) -> csr_array:
        assert self.S is not None
        return self.S

    @cached_property
    def unusual(self) -> Scores:
        """How unusual each row is, (n,)."""
        return unusualness(self.X, self.space)

    def whitened(self, rows: NDArray[np.intp]) -> NDArray[np.float32]:
        """Some of the rows, (m, d)."""
        return self.halved[rows] * self.root_length[rows, None]

    def is_of(self, X: Rows) -> bool:
        return same_rows(X, self.X)


def same_rows(X: Rows, Y: Rows) -> bool:
    return X is Y or (X.shape == Y.shape and np.array_equal(X, Y))


def prepared(X: Rows, space: SignalSpace, graph: NeighbourGraph) -> Prepared:
    """Rows whose graph in the space of signal is known."""
    lrga = LRGA().prepare(X) if len(X) <= SMALL else None
    S = spreading(graph)  # it takes most memory on the way, so it comes before the rows are copied
    give_back_freed()
    return replace(without_edges(X, space), S=S, lrga=lrga)


def without_edges(X: Rows, space: SignalSpace) -> Prepared:
    Z = space.all_whitened(X)
    units = space.unit_rows(Z)
    root_length = root_lengths(Z)
    Z /= root_length[:, None]
    return Prepared(X, space, Z, root_length, units, None, None)
