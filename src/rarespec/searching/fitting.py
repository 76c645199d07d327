"""A ranker fitted for a query, and how it finds the known examples again when they are hidden."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from rarespec.engines.here import computed_ahead
from rarespec.evaluation.hiding import MIN_KNOWN, Hiding, hide_known
from rarespec.gpu.device import on_device
from rarespec.processes import available_cores
from rarespec.rankers import BaggingTopPush, by_name
from rarespec.rankers._graph_ranker import GraphRanker
from rarespec.rankers._ranker import Ranker, Scores
from rarespec.rankers.by_name import NAMES
from rarespec.rankers.neighbours import build_neighbours, extend_neighbours
from rarespec.searching.marks import marks_for
from rarespec.searching.material import Material
from rarespec.searching.yield_curve import places_among
from rarespec.survey.manifest import WrongUseError
from rarespec.survey.neighbours import graph_of
from rarespec.survey.signal import signal_of

MAX_FOLDS = 10
"""Up to so many known examples are hidden one at a time; more are hidden in so many groups."""


def ranker_for(method: str, params: dict[str, Any], seed: int, material: Material, device: str | None = None) -> Ranker:
    """The ranker of this name, unfitted, with the survey's graph where it needs one."""
    if method not in NAMES:
        raise WrongUseError(f"there is no method {method!r}; choose from {', '.join(NAMES)}")
    kind = by_name(method)
    unknown = set(params) - set(kind._get_param_names())
    if unknown:
        there_are = ", ".join(kind._get_param_names())
        raise WrongUseError(f"{method}: has no parameter {', '.join(sorted(unknown))}; choose from {there_are}")
    ranker = kind(**params)
    allowed = ranker.get_params()
    if "random_state" in allowed and "random_state" not in params:
        ranker.set_params(random_state=seed)
    if "graph" in allowed and "n_neighbours" in allowed:
        ranker.set_params(graph=_graph(material, allowed["n_neighbours"], device))
    if "signal" in allowed and not material.n_from_elsewhere:
        ranker.set_params(signal=signal_of(material.features, allowed["n_neighbours"], device))
    return ranker


def fit(ranker: Ranker, material: Material, device: str | None = None) -> None:
    """Let it learn; on the GPU where it can."""
    X = on_device(material.X, device) if device and isinstance(ranker, BaggingTopPush) else material.X
    ranker.fit(X, marks_for(ranker, material.known, material.refused))


def hidden_places(
    ranker: Ranker, material: Material, scores: Scores, listed: NDArray[np.bool_], seed: int | None
) -> NDArray[np.int64]:
    """Where each known example comes to stand among the listed rows when it is hidden, (m,), 1 = first.

    Empty with one known example, and when the ranker was fitted elsewhere (`seed` is None) and has not hidden any then.
    """
    if material.known.sum() < MIN_KNOWN:
        return np.empty(0, np.int64)
    if hasattr(ranker, "hidden_scores_"):  # it has hidden them itself
        return places_among(scores[listed], ranker.hidden_scores_)
    if seed is None:
        return np.empty(0, np.int64)
    folds = list(hide_known(material.known, MAX_FOLDS, seed))
    pairs = zip(folds, _scores(ranker, folds, material), strict=True)
    found = [places_among(refitted[listed], refitted[fold.hidden]) for fold, refitted in pairs]
    return np.concatenate(found)


def _scores(ranker: Ranker, folds: list[Hiding], material: Material) -> list[Scores]:
    if isinstance(ranker, GraphRanker):
        return list(ranker.scores_for(np.column_stack([fold.y for fold in folds])).T)

    def refitted(fold: Hiding) -> Scores:
        return clone(ranker).fit(material.X, fold.y).decision_function(material.X)

    with threadpool_limits(1, user_api="blas"):  # threads of BLAS would wait for each other
        return list(computed_ahead(refitted, folds, available_cores()))


def _graph(material: Material, k: int, device: str | None) -> Any:
    graph = graph_of(material.features, k, device=device)
    if not material.n_from_elsewhere:
        return graph
    possible = min(k, len(material.X) - 1)
    if graph.n_neighbours < possible:  # a survey of so few spectra that each has fewer neighbours than it will have
        return build_neighbours(material.X, possible)
    return extend_neighbours(graph, material.X)
