"""What takes Auto longest to find of the rows alone: their space of signal, and who is near whom in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarespec.rankers._auto_edges import n_neighbours
from rarespec.rankers._faiss_neighbours import FaissSearch
from rarespec.rankers._known import Rows
from rarespec.rankers._row_identity import row_digests
from rarespec.rankers._signal_space import RECALL, SignalSpace, signal_space
from rarespec.rankers._unit_rows import unit_rows
from rarespec.rankers.neighbours import NeighbourGraph, build_neighbours

WIDE = 200_000
"""More rows than this have no graph but cells, and their space is learned from so many of them."""

Neighbours = Callable[[Rows, int], NeighbourGraph]

N_SAMPLE = 300
"""Rows on which it is measured whether enough neighbours are found by looking into the cells nearby."""


@dataclass(frozen=True, eq=False)
class Signal:
    """Of the rows of one feature matrix."""

    n_rows: int
    space: SignalSpace
    graph: NeighbourGraph | None
    """None for more than WIDE rows."""
    cells: Mapping[str, NDArray[Any]] | None = None
    """What `FaissSearch` keeps; None for no more than WIDE rows."""


def signal_of_rows(X: Rows, k: int = 5, neighbours: Neighbours | None = None) -> Signal:
    """To be given to several `Auto` on the same X; noise is measured between k neighbours.

    neighbours : what finds them for the graph, of rows and a number; a search that is nearly exact by default
    """
    if len(X) <= WIDE:
        space = signal_space(X, k)
        return Signal(len(X), space, joined(space.all_units(X), len(X), neighbours))
    some = np.sort(np.random.default_rng(0).choice(len(X), WIDE, replace=False))
    space = signal_space(X[some], k)
    return Signal(len(X), space, None, _cells(unit_rows(X, space)))


def joined(units: NDArray[np.float32], n: int, neighbours: Neighbours | None = None) -> NeighbourGraph:
    """Rows of length 1, which may be some of n."""
    if neighbours is not None:
        return neighbours(units, n_neighbours(n))
    return build_neighbours(units, n_neighbours(n), target_recall=RECALL)


def _cells(units: Rows) -> dict[str, NDArray[Any]]:
    sample = units[np.random.default_rng(0).choice(len(units), N_SAMPLE, replace=False)]
    order, k = np.argsort(row_digests(units)), n_neighbours(len(units)) + 1
    return FaissSearch(units, order, sample, k, own_first=True, target_recall=RECALL, seed=0).kept()
