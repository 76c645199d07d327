"""A ranker on the rows of a search, and how it finds the known examples again when they are hidden."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarespec.evaluation.hiding import MIN_KNOWN, hide_known
from rarespec.gpu.device import on_device
from rarespec.rankers import by_name
from rarespec.rankers.auto.signal import Signal
from rarespec.rankers.neighbours.neighbour_graph import build_neighbours, extend_neighbours
from rarespec.rankers.ranker import Fit, Kept, Preparation, Ranker, Scores
from rarespec.searching.request import SearchRequest
from rarespec.searching.rows import SearchRows
from rarespec.searching.yields.yield_curve import places_among
from rarespec.storage.processes import available_cores, give_back_freed
from rarespec.survey.features.neighbours import graph_of, signal_of, signal_on

MAX_FOLDS = 10
"""Up to so many known examples are hidden one at a time, more in so many groups."""


def ranker_for(request: SearchRequest) -> Ranker:
    """Make the ranker that the request asks for, unfitted."""
    ranker = by_name(request.method)(**request.params)
    if "random_state" in ranker.get_params() and "random_state" not in request.params:
        ranker.set_params(random_state=request.seed)
    return ranker


def prepare(ranker: Ranker, rows: SearchRows, device: str | None = None) -> Preparation:
    """Prepare a ranker on the rows of a search, with what the survey keeps for it.

    Parameters
    ----------
    ranker : Ranker
        The ranker, not fitted.
    rows : SearchRows
        All rows of the search.
    device : str, optional
        GPU that builds graphs and, where the ranker can learn there, holds the rows. By default the CPU.

    Returns
    -------
    Preparation
        Can be fitted many times.
    """
    needs = ranker.needs()
    kept = Kept(
        graph=None if needs.graph is None else _graph(rows, needs.graph, device),
        signal=None if needs.signal is None else _signal(rows, needs.signal, device),
        rows_on_device=on_device(rows.X, device) if device and needs.rows_on_device else None,
    )
    give_back_freed()  # building a graph frees large arrays, and the ranker is about to need memory
    return ranker.prepare(rows.X, kept)


def hidden_places(
    fit: Fit, known: NDArray[np.bool_], scores: Scores, listed: NDArray[np.bool_], seed: int | None
) -> NDArray[np.int64]:
    """Find where each known example ranks among the listed rows when it is hidden.

    Parameters
    ----------
    fit : Fit
        The fitted ranker.
    known : (n,) bool array
        Which rows are known examples.
    scores : (n,) float64 array
        Of all rows.
    listed : (n,) bool array
        Which rows may be candidates.
    seed : int or None
        Of the hiding; None when the ranker was fitted elsewhere.

    Returns
    -------
    (m,) int64 array
        Places, 1 = first. Empty with one known example, and when the ranker was fitted elsewhere and has not hidden
        any.
    """
    if known.sum() < MIN_KNOWN:
        return np.empty(0, np.int64)
    if fit.hidden_scores is not None:
        return places_among(scores[listed], fit.hidden_scores)
    if seed is None or fit.preparation is None:
        return np.empty(0, np.int64)
    folds = list(hide_known(known, MAX_FOLDS, seed))
    without = fit.preparation.scores_for(np.column_stack([fold.y for fold in folds]), available_cores())
    found = [places_among(one[listed], one[fold.hidden]) for fold, one in zip(folds, without.T, strict=True)]
    return np.concatenate(found)


def _graph(rows: SearchRows, k: int, device: str | None) -> Any:
    graph = graph_of(rows.features, k, device=device)
    if not rows.n_from_elsewhere:
        return graph
    possible = min(k, len(rows.X) - 1)
    if graph.n_neighbours < possible:  # a survey of so few spectra that each has fewer neighbours than it will have
        return build_neighbours(rows.X, possible)
    return extend_neighbours(graph, rows.X)


def _signal(rows: SearchRows, k: int, device: str | None) -> Signal | None:
    """Find the signal of the survey; of all rows if examples from elsewhere take part, as these change it."""
    if not rows.n_from_elsewhere:
        return signal_of(rows.features, k, device)
    return signal_on(device, rows.X, k) if device else None  # on the CPU the ranker finds it by itself
