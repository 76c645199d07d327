"""The neighbour graph of a survey in the space of signal, which Auto follows: built once, kept with the survey.

    SURVEY/graphs/RECIPE/MODEL/signal/FINGERPRINT.npz

FINGERPRINT is that of the features: the space is learned from them and from their own graph alone. When the survey
grows, the space changes a little everywhere, and the graph is built anew.
"""

from __future__ import annotations

import numpy as np

from rarespec.rankers._auto_prepared import signal_graph_of_rows
from rarespec.rankers._row_identity import fingerprint_of_rows
from rarespec.rankers.neighbours import NeighbourGraph
from rarespec.survey.features import FeatureSet
from rarespec.survey.kept_arrays import keep_if_possible, npz
from rarespec.survey.neighbours import graph_arrays, graph_of, graphs_home, read_graph, rows_of_graph

FOLDER = "signal"


def signal_graph_of(features: FeatureSet, k: int = 5) -> NeighbourGraph:
    """Neighbours in the space of signal of every usable spectrum; k is that of the graph on which noise is measured."""
    rows = rows_of_graph(features)
    X: np.ndarray = features.values[rows]
    path = graphs_home(features) / FOLDER / f"{fingerprint_of_rows(X)}-noise{k}.npz"
    kept = read_graph(path)
    if kept is not None:
        return kept[0]
    graph = signal_graph_of_rows(X, graph_of(features, k), k)
    if keep_if_possible(path, npz(graph_arrays(graph, rows))):
        for other in set(path.parent.glob("*.npz")) - {path}:
            other.unlink(missing_ok=True)
    return graph
