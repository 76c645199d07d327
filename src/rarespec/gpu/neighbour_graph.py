"""The neighbour graph of a feature matrix, found exactly on a GPU."""

from __future__ import annotations

from typing import Any

import numpy as np

from rarespec.gpu.device import on_device, usable_device
from rarespec.gpu.exact_neighbours import nearest_rows
from rarespec.progress import Progress
from rarespec.rankers.neighbours import NeighbourGraph, build_neighbours
from rarespec.rankers.other_arrays import as_numpy
from rarespec.rankers.rows import fingerprint_of_rows, require_finite


def neighbours_on(asked: str | None, X: Any, k: int, progress: Progress | None = None) -> NeighbourGraph:
    """As `build_neighbours`, on the device that is asked for, and exact there whatever the number of rows.

    Without a GPU the CPU builds the graph, with a warning that says why. X : (n, d) float32 or float64, finite.
    """
    device = usable_device(asked)
    if device is None or len(X) <= max(k, 1):
        return build_neighbours(X, k, progress)
    require_finite(X)
    indices, distances = nearest_rows(on_device(np.ascontiguousarray(X), device), k, progress)
    return NeighbourGraph(
        as_numpy(indices).astype(np.int32), as_numpy(distances).astype(np.float32), 1.0, fingerprint_of_rows(X)
    )
