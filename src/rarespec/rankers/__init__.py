"""Feature vectors and a few known examples to scores: scikit-learn estimators, y: 1 = known, 0 = unlabelled."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rarespec.public_names import hand_out
from rarespec.rankers.by_name import CLASS_OF, MODULE_OF
from rarespec.rankers.by_name import NAMES as NAMES
from rarespec.rankers.by_name import by_name as by_name
from rarespec.rankers.by_name import name_of as name_of

if TYPE_CHECKING:
    from rarespec.rankers.auto.auto import Auto as Auto
    from rarespec.rankers.bipartite.bipartite_boosting import BipartiteBoosting as BipartiteBoosting
    from rarespec.rankers.bipartite.bipartite_logistic import BipartiteLogistic as BipartiteLogistic
    from rarespec.rankers.graph.emr import EMR as EMR
    from rarespec.rankers.graph.graph_ranker import GraphRanker as GraphRanker
    from rarespec.rankers.graph.label_propagation import LabelPropagation as LabelPropagation
    from rarespec.rankers.graph.label_propagation import ManifoldRanking as ManifoldRanking
    from rarespec.rankers.graph.lrga import LRGA as LRGA
    from rarespec.rankers.matched_filter import MatchedFilter as MatchedFilter
    from rarespec.rankers.model_file import Model as Model
    from rarespec.rankers.model_file import ModelFileError as ModelFileError
    from rarespec.rankers.model_file import load_model as load_model
    from rarespec.rankers.model_file import save_model as save_model
    from rarespec.rankers.neighbours.neighbour_graph import NeighbourGraph as NeighbourGraph
    from rarespec.rankers.neighbours.neighbour_graph import build_neighbours as build_neighbours
    from rarespec.rankers.ranker import Fit as Fit
    from rarespec.rankers.ranker import Kept as Kept
    from rarespec.rankers.ranker import LinearRanker as LinearRanker
    from rarespec.rankers.ranker import Needs as Needs
    from rarespec.rankers.ranker import Preparation as Preparation
    from rarespec.rankers.ranker import PreparingRanker as PreparingRanker
    from rarespec.rankers.ranker import Ranker as Ranker
    from rarespec.rankers.svm.bagging_svm import BaggingSVM as BaggingSVM
    from rarespec.rankers.svm.biased_svm import BiasedSVM as BiasedSVM
    from rarespec.rankers.svm.ocsvm import OCSVM as OCSVM
    from rarespec.rankers.svm.svdd import SVDD as SVDD
    from rarespec.rankers.toppush.bagging_top_push import BaggingTopPush as BaggingTopPush
    from rarespec.rankers.toppush.top_push import TopPush as TopPush

_HOME_OF = {kind: MODULE_OF[name] for name, kind in CLASS_OF.items()} | {
    "Fit": "ranker",
    "GraphRanker": "graph.graph_ranker",
    "Kept": "ranker",
    "LinearRanker": "ranker",
    "Model": "model_file",
    "ModelFileError": "model_file",
    "Needs": "ranker",
    "NeighbourGraph": "neighbours.neighbour_graph",
    "Preparation": "ranker",
    "PreparingRanker": "ranker",
    "Ranker": "ranker",
    "build_neighbours": "neighbours.neighbour_graph",
    "load_model": "model_file",
    "save_model": "model_file",
}
"""Public name -> module of this room, imported on first use."""

__getattr__, __dir__, __all__ = hand_out(__name__, _HOME_OF | dict.fromkeys(("NAMES", "by_name", "name_of"), "by_name"))
