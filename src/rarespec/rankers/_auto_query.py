"""What every part of Auto is given: the rows in the survey's own space, and which known ones are hidden in turn."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rarespec.rankers._known import Rows
from rarespec.rankers._signal_space import SignalSpace

MAX_HIDDEN = 12
"""Known rows that are hidden in turn, at most."""

MAX_COMPARED = 20_000
"""Unlabelled rows among which the places of hidden ones are counted."""


@dataclass(frozen=True, eq=False)
class Query:
    """Row numbers refer to X and Z."""

    space: SignalSpace
    X: Rows
    Z: NDArray[np.float32]
    """X whitened, (n, d)."""
    known: NDArray[np.intp]
    """One row of each group of equal ones."""
    unlabelled: NDArray[np.intp]
    hidden: NDArray[np.intp]
    """Known rows that are hidden in turn; none when only one is known."""
    compared: NDArray[np.intp]
    """Unlabelled rows among which hidden ones are placed."""
    rng: np.random.Generator
    seed: int

    def places(self, compared: NDArray[np.floating], hidden: NDArray[np.floating]) -> NDArray[np.float64]:
        """Place of each hidden row among all unlabelled ones, (h,); `compared` has scores (c, h), or (c,) for all."""
        before = (compared.reshape(len(compared), -1) > hidden).sum(axis=0)
        return 1 + before * (len(self.unlabelled) / len(compared))


def query_of(space: SignalSpace, X: Rows, Z: NDArray[np.float32], known: NDArray[np.bool_], seed: int) -> Query:
    rng = np.random.default_rng(seed)
    unlabelled, rows = np.flatnonzero(~known), np.flatnonzero(known)
    # a copy of an example would find it when it is hidden, however poor the ranking
    rows = rows[np.sort(np.unique(X[rows], axis=0, return_index=True)[1])]
    hidden = some(rows, MAX_HIDDEN, rng) if len(rows) > 1 else rows[:0]
    return Query(space, X, Z, rows, unlabelled, hidden, some(unlabelled, MAX_COMPARED, rng), rng, seed)


def some(rows: NDArray[np.intp], n: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """n of these rows in rising order; all when there are no more."""
    return rows if len(rows) <= n else np.sort(rng.choice(rows, n, replace=False))
