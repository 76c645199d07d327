"""The space of signal of a survey and the graph in it, which Auto follows: found once, kept with the survey.

    SURVEY/graphs/RECIPE/MODEL/signal/FINGERPRINT-noiseK.npz

FINGERPRINT is that of the features, from which alone both are learned. When the survey grows, the space changes a
little everywhere, and both are found anew.
"""

from __future__ import annotations

from dataclasses import fields
from functools import partial
from pathlib import Path

import numpy as np

from rarespec.gpu.device import usable_device
from rarespec.gpu.neighbour_graph import neighbours_on
from rarespec.rankers._row_identity import fingerprint_of_rows
from rarespec.rankers._signal import WIDE, Signal, signal_of_rows
from rarespec.rankers._signal_space import SignalSpace
from rarespec.survey.feature_set import FeatureSet
from rarespec.survey.kept_arrays import UNREADABLE, keep_if_possible, load_arrays, npz
from rarespec.survey.neighbours import graph_arrays, graph_from, graphs_home, rows_of_graph

FOLDER = "signal"
CELLS = "cells_"
OF_SPACE = tuple(field.name for field in fields(SignalSpace))


def signal_of(features: FeatureSet, k: int = 5, device: str | None = None) -> Signal:
    """Of every usable spectrum; noise is measured between k neighbours. Many spectra have cells and no graph."""
    rows = rows_of_graph(features)
    X = features.usable_values
    path = graphs_home(features) / FOLDER / f"{fingerprint_of_rows(X)}-noise{k}.npz"
    kept = _kept(path, len(X))
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


def _kept(path: Path, n_rows: int) -> Signal | None:
    try:
        kept = load_arrays(path)
        space = SignalSpace(kept["mean"], kept["whitening"], kept["noise"], float(kept["usual_reach"]))
        if n_rows <= WIDE:
            return Signal(n_rows, space, graph_from(kept))
        cells = {name.removeprefix(CELLS): kept[name] for name in kept if name.startswith(CELLS)}
        return Signal(n_rows, space, None, cells) if len(cells["cell_of"]) == n_rows else None
    except UNREADABLE:
        return None
