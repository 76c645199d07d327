"""What takes Auto longest to find of the rows alone: their space of signal, and who is near whom in it."""

from __future__ import annotations

from dataclasses import dataclass

from rarespec.rankers._auto_edges import n_neighbours
from rarespec.rankers._known import Rows
from rarespec.rankers._signal_space import RECALL, SignalSpace, signal_space
from rarespec.rankers.neighbours import NeighbourGraph, build_neighbours


@dataclass(frozen=True, eq=False)
class Signal:
    """Of the rows of one feature matrix."""

    space: SignalSpace
    graph: NeighbourGraph

    def __len__(self) -> int:
        return len(self.graph)


def signal_of_rows(X: Rows, k: int = 5) -> Signal:
    """To be given to several `Auto` on the same X; noise is measured between k neighbours."""
    space = signal_space(X, k)
    units = space.unit_rows(space.all_whitened(X))
    return Signal(space, build_neighbours(units, n_neighbours(len(X)), target_recall=RECALL))
