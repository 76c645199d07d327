"""What Auto needs of the rows alone, whatever is looked for: found once for all queries on them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from rarespec.rankers._auto_edges import spreading
from rarespec.rankers._known import Rows
from rarespec.rankers._signal import Signal, signal_of_rows
from rarespec.rankers._signal_space import SignalSpace, root_lengths
from rarespec.rankers.lrga import LRGA

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
    S: csr_array
    """(n, n), how what is known spreads."""
    lrga: LRGA | None
    """Prepared on X; None for a large survey."""

    def whitened(self, rows: NDArray[np.intp]) -> NDArray[np.float32]:
        """Some of the rows, (m, d)."""
        return self.halved[rows] * self.root_length[rows, None]

    def is_of(self, X: Rows) -> bool:
        return X is self.X or (X.shape == self.X.shape and np.array_equal(X, self.X))


def prepared(X: Rows, k: int, signal: Signal | None) -> Prepared:
    signal = signal_of_rows(X, k) if signal is None else signal
    if len(signal) != len(X):
        raise ValueError(f"signal: it has {len(signal)} rows and X has {len(X)}; find it on this X")
    Z = signal.space.all_whitened(X)
    units = signal.space.unit_rows(Z)
    lrga = LRGA().prepare(X) if len(X) <= SMALL else None
    root_length = root_lengths(Z)
    Z /= root_length[:, None]
    return Prepared(X, signal.space, Z, root_length, units, spreading(signal.graph), lrga)
