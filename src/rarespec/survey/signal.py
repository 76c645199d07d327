"""The space of signal of a survey and the graph in it, which Auto follows: found once, kept with the survey.

    SURVEY/graphs/RECIPE/MODEL/signal/FINGERPRINT-noiseK.npz

FINGERPRINT is that of the features, from which alone both are learned. When the survey grows, the space changes a
little everywhere, and both are found anew.
"""

from __future__ import annotations

from dataclasses import fields
from functools import partial

import numpy as np

from rarespec.gpu.device import usable_device
from rarespec.gpu.neighbour_graph import neighbours_on
from rarespec.rankers.signal import WIDE, Signal, SignalSpace, signal_of_rows
from rarespec.survey.feature_set import FeatureSet
from rarespec.survey.kept_arrays import Arrays, checked, keep_if_possible, made_of_kept, npz, require_no_links
from rarespec.survey.neighbours import graph_arrays, graph_from, graphs_home, rows_of_graph

FOLDER = "signal"
CELLS = "cells_"
MOST = float(np.finfo(np.float64).max)
OF_SPACE = tuple(field.name for field in fields(SignalSpace))


def signal_of(features: FeatureSet, k: int = 5, device: str | None = None) -> Signal:
    """Of every usable spectrum; noise is measured between k neighbours. Many spectra have cells and no graph."""
    X = features.usable_values
    rows = rows_of_graph(features)
    path = graphs_home(features) / FOLDER / f"{features.fingerprint}-noise{k}.npz"
    require_no_links(features.survey.path, path.parent)
    kept = made_of_kept(path, partial(_signal_from, *X.shape))
    if kept is not None:
        return kept
    signal = signal_of_rows(X, k, partial(neighbours_on, device) if usable_device(device) else None)
    arrays = {name: np.array(getattr(signal.space, name)) for name in OF_SPACE}
    arrays |= {f"{CELLS}{name}": values for name, values in (signal.cells or {}).items()}
    if signal.graph is not None:
        arrays |= graph_arrays(signal.graph, rows)
    if keep_if_possible(path, npz(arrays)):
        for other in set(path.parent.glob("*.npz")) - {path}:
            other.unlink(missing_ok=True)
    return signal


def _signal_from(n: int, d: int, kept: Arrays) -> Signal:
    """Of n rows of d features; a ValueError for arrays that cannot be theirs."""
    space = SignalSpace(
        checked(kept, "mean", np.float64, (d,), -MOST, MOST),
        checked(kept, "whitening", np.float64, (d, d), -MOST, MOST),
        checked(kept, "noise", np.float64, (d,), 0, 1),
        float(checked(kept, "usual_reach", np.float64, (), -MOST, MOST)),
    )
    if n <= WIDE:
        return Signal(n, space, graph_from(kept, n))
    return Signal(n, space, None, _cells_from(n, d, kept))


def _cells_from(n: int, d: int, kept: Arrays) -> Arrays:
    """What `FaissSearch.kept` gave for n rows; faiss itself would look wherever a wrong number leads."""
    cells = {name.removeprefix(CELLS): values for name, values in kept.items() if name.startswith(CELLS)}
    n_cells = len(cells["centroids"])
    single = float(np.finfo(np.float32).max)
    checked(cells, "centroids", np.float32, (n_cells, d), -single, single)
    checked(cells, "cell_of", np.int32, (n,), 0, n_cells - 1)
    order = checked(cells, "order", np.int32, (n,), 0, n - 1)
    if (np.bincount(order, minlength=n) != 1).any():
        raise ValueError("order has rows twice")
    checked(cells, "centre", np.float64, (d,), -MOST, MOST)
    checked(cells, "scale", np.float64, (), float(np.finfo(np.float64).tiny), MOST)
    checked(cells, "n_probes", np.int64, (), 1, n_cells)
    checked(cells, "recall", np.float64, (), 0, 1)
    return cells
