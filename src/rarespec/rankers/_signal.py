"""What takes Auto longest to find of the rows alone: their space of signal, and who is near whom in it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rarespec.rankers._auto_edges import n_neighbours
from rarespec.rankers._known import Rows
from rarespec.rankers._signal_space import RECALL, SignalSpace, signal_space
from rarespec.rankers.neighbours import NeighbourGraph, build_neighbours

WIDE = 200_000
"""More rows than this have no graph, and their space is learned from so many of them."""


@dataclass(frozen=True, eq=False)
class Signal:
    """Of the rows of one feature matrix."""

    n_rows: int
    space: SignalSpace
    graph: NeighbourGraph | None
    """None for more than WIDE rows."""


def signal_of_rows(X: Rows, k: int = 5) -> Signal:
    """To be given to several `Auto` on the same X; noise is measured between k neighbours."""
    if len(X) <= WIDE:
        space = signal_space(X, k)
        return Signal(len(X), space, joined(space.unit_rows(space.all_whitened(X)), len(X)))
    some = np.sort(np.random.default_rng(0).choice(len(X), WIDE, replace=False))
    return Signal(len(X), signal_space(X[some], k), None)


def joined(units: NDArray[np.float32], n: int) -> NeighbourGraph:
    """Rows of length 1, which may be some of n."""
    return build_neighbours(units, n_neighbours(n), target_recall=RECALL)
