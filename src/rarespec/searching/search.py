"""The job itself: here are my objects, find the others."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from rarespec.features.recipe import Recipe
from rarespec.gpu.device import usable_device
from rarespec.memory import give_back_freed
from rarespec.rankers import Auto
from rarespec.rankers._ranker import Ranker, Scores, best_first
from rarespec.searching.block_scores import joined, scores_by_block, scores_of_rows
from rarespec.searching.candidates import candidate_table
from rarespec.searching.fitting import fit, hidden_places, ranker_for
from rarespec.searching.known import examples_of
from rarespec.searching.material import Material, material_of
from rarespec.searching.model import SearchModel, blame_file, require_finite_scores
from rarespec.searching.provenance import provenance_of
from rarespec.searching.ranking import Ranking
from rarespec.searching.request import EVERYTHING, SearchRequest
from rarespec.searching.selection import Chosen, Selection
from rarespec.searching.yield_curve import YieldCurve, yield_curve
from rarespec.survey import Survey
from rarespec.survey.engine_for import AnyEngine, engine_for
from rarespec.survey.feature_set import FeatureSet
from rarespec.survey.features import features_by, features_of
from rarespec.survey.manifest import WrongUseError

Progress = Callable[[int, int], None]
"""Called with how much is done and how much there is in all."""


def search(
    survey: Survey | str | os.PathLike[str],
    known: Any,
    method: str = "auto",
    top: int = 1000,
    seed: int = 0,
    *,
    non_members: Any = None,
    params: dict[str, Any] | None = None,
    recipe: Recipe | str = "paper",
    selection: Selection = EVERYTHING,
    radius_arcsec: float = 2.0,
    progress: Progress | None = None,
    engine: AnyEngine = None,
    device: str | None = None,
) -> Ranking:
    """Rank the spectra of a survey by how alike they are to the known examples.

    Parameters
    ----------
    survey : a Survey, or its directory.
    known : ids; a table, or a file with one, of ids or positions; spectra, or files of spectra of any survey.
    method : name of the ranker; "auto" chooses and combines by how well the known examples are found again.
    top : how many candidates the table holds.
    seed : same seed, same ranking.
    non_members : objects known not to be of the kind, in any form that `known` may have. They are not listed, and
        rankers that can learn from them do.
    params : parameters of the ranker.
    recipe : the features; a name or a recipe.
    selection : which spectra are listed. The ranker learns from all.
    radius_arcsec : how far from a given position a spectrum may be.
    progress : called with the blocks of features done, and in all.
    engine : where features are computed: in this process by default, or on a Dask cluster, given by its address, its
        client or as a DaskCluster. The ranking is the same.
    device : "cuda" for features, neighbour graphs and BaggingTopPush on a GPU; where there is none, a warning says so.
    """
    request = SearchRequest(
        known, method, top, seed, non_members, params or {}, recipe, selection, radius_arcsec, engine, device
    )
    return rank_survey(survey, request, progress)


def rank_survey(
    survey: Survey | str | os.PathLike[str], request: SearchRequest, progress: Progress | None = None
) -> Ranking:
    """The ranking of a survey that is asked for; `progress` is called with the blocks of features done, and in all."""
    if request.model is not None:
        return _rank_with_model(survey, request, progress)
    prepared = prepare_search(survey, request, progress)
    material, ranker = prepared.material, prepared.ranker
    fit(ranker, material, prepared.device)
    if isinstance(ranker, Auto):
        ranker.forget_preparation()
    give_back_freed()
    return ranked(material, ranker, request.selection, request.top, request.seed, request.settings, prepared.problems)


@dataclass(frozen=True, eq=False)
class PreparedSearch:
    """A search before anything is learned: the examples found, the features there, the ranker chosen."""

    request: SearchRequest
    material: Material
    ranker: Ranker
    """Not fitted; it has the survey's graph where it needs one."""
    problems: list[str]
    """What is wrong with the examples."""
    examples_lost: bool
    """Whether one could not be used."""
    device: str | None
    """The GPU that does the work, where there is one."""


def prepare_search(
    survey: Survey | str | os.PathLike[str], request: SearchRequest, progress: Progress | None = None
) -> PreparedSearch:
    """All that comes before the ranker learns."""
    opened = survey if isinstance(survey, Survey) else Survey.open(survey)
    device = usable_device(request.device)
    known = examples_of(opened, request.known, request.radius_arcsec)
    others = None
    if request.non_members is not None:
        others = examples_of(opened, request.non_members, request.radius_arcsec)
    features = features_of(opened, request.make_recipe(), progress=progress, engine=request.engine, device=device)
    give_back_freed()
    material = material_of(features, known, others)
    ranker = ranker_for(request, material, device)
    give_back_freed()
    problems = known.problems + (others.problems if others else []) + material.problems
    lost = known.lost or bool(others and others.lost) or bool(material.problems)
    return PreparedSearch(request, material, ranker, problems, lost, device)


def ranked(
    material: Material,
    ranker: Ranker,
    selection: Selection | Chosen,
    top: int,
    seed: int | None,
    settings: dict[str, Any],
    problems: list[str],
    *,
    examples_lost: bool | None = None,
    scores: Scores | None = None,
    curve_of: Callable[..., YieldCurve] | None = None,
    table_of: Callable[..., Any] = candidate_table,
    provenance: Callable[..., dict[str, Any]] = provenance_of,
) -> Ranking:
    """The ranking that a fitted ranker gives; `seed` is None when it was fitted elsewhere and nothing can be hidden.

    `scores`, (n,), are those of the material's rows where they are known already. `curve_of`, `table_of` and
    `provenance` are called as `hidden_curve`, `candidate_table` and `provenance_of` are; whoever ranks the same survey
    again and again gives ones that keep what they have found.
    """
    chosen = selection.chosen(material.features.survey) if isinstance(selection, Selection) else selection
    listed = listed_rows(material, chosen.mask)
    if not listed.any():
        why = "; ".join(chosen.said) or "every usable spectrum is known or a non-member"
        raise WrongUseError(f"{material.features.survey.path}: nothing is left to rank: {why}")
    scores = ranker.decision_function(material.X) if scores is None else scores
    rows = np.flatnonzero(listed)
    order = rows[best_first(scores[rows])]
    curve = (curve_of or hidden_curve)(ranker, material, scores, listed, order, seed)
    best = order[:top]
    return Ranking(
        table=table_of(material, best, scores[best], curve),
        yield_curve=curve,
        method=settings["method"],
        why=getattr(ranker, "why_", f"ranked by {type(ranker).__name__} from {material.known.sum()} known examples"),
        n_listed=len(rows),
        problems=problems + chosen.said + _unusable(material),
        examples_lost=bool(problems) if examples_lost is None else examples_lost,
        provenance=provenance(material, ranker, settings),
        material=material,
        ranker=ranker,
        scores=scores,
    )


def hidden_curve(
    ranker: Ranker,
    material: Material,
    scores: Scores,
    listed: NDArray[np.bool_],
    order: NDArray[np.intp],
    seed: int | None,
    edges: Scores | None = None,
) -> YieldCurve:
    """From where the known examples come to stand when they are hidden; `order` has the listed rows, best first.

    edges : (n,) edge scores of the material's rows, where the ranker has such and they are known already
    """
    hidden = hidden_places(ranker, material, scores, listed, seed)
    falling = falling_scores(ranker, material, scores, order) if edges is None else np.sort(edges[order])[::-1]
    return yield_curve(falling, hidden, int(material.known.sum()))


def falling_scores(ranker: Ranker, material: Material, scores: Scores, order: NDArray[np.intp]) -> Scores:
    """Scores of the listed rows, falling, on a scale on which the edge of a group shows."""
    if not hasattr(ranker, "edge_scores"):
        return scores[order]
    edge: Scores = np.sort(ranker.edge_scores(material.X)[order])[::-1]
    return edge


def listed_rows(material: Material, selected: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """(n,) which rows of the material may be candidates; `selected` is of the survey's rows."""
    listed = ~material.known & ~material.refused
    listed[: len(material.rows)] &= selected[material.rows]
    return listed


def _unusable(material: Material) -> list[str]:
    n = int((~material.features.usable).sum())
    return [f"{n} spectra have no features and cannot be ranked (see features.defects)"] if n else []


def search_with_model(
    survey: Survey | str | os.PathLike[str],
    model: str | os.PathLike[str],
    top: int = 1000,
    *,
    selection: Selection = EVERYTHING,
    progress: Progress | None = None,
    engine: AnyEngine = None,
    device: str | None = None,
) -> Ranking:
    """Rank a survey with what a search on another one learned; both must be on the same wavelength grid.

    engine : where features and scores are computed, block by block, as in `search`
    device : "cuda" for features on a GPU, as in `search`
    """
    request = SearchRequest(model=model, top=top, selection=selection, engine=engine, device=device)
    return rank_survey(survey, request, progress)


def _rank_with_model(
    survey: Survey | str | os.PathLike[str], request: SearchRequest, progress: Progress | None = None
) -> Ranking:
    """As `rank_survey`, where the request names a model."""
    model = cast(str, request.model)
    device = usable_device(request.device)
    opened = survey if isinstance(survey, Survey) else Survey.open(survey)
    kept = SearchModel.load(model)
    if kept.grid != opened.grid:
        raise WrongUseError(
            f"{model}: the model is for spectra on {kept.grid}, {opened.path} is on {opened.grid}: "
            "ingest the files again with the model's --grid"
        )
    settings = {"method": kept.method, "model": Path(model).name, "learned on": kept.survey}
    with engine_for(request.engine) as where, blame_file(model):
        features = features_by(opened, kept.recipe, progress, where, device)
        material = _material(features, kept)  # reads every block here, where a warning of a damaged one is seen
        found = joined(
            [scores_by_block(features, kept.ranker, where), scores_of_rows(kept.ranker, kept.known_features)]
        )
        for scores in found:
            if scores is not None:
                require_finite_scores(scores)
        curve_of = partial(hidden_curve, edges=found.edges)
        return ranked(
            material,
            kept.ranker,
            request.selection,
            request.top,
            None,
            settings,
            [],
            scores=found.scores,
            curve_of=curve_of,
        )


def _material(features: FeatureSet, kept: SearchModel) -> Material:
    """The survey's rows, then the examples that the model learned from; none of these is listed."""
    rows = np.flatnonzero(features.usable)
    X = np.concatenate([features.usable_values, kept.known_features])
    is_known = np.arange(len(X)) >= len(rows)
    here = np.isin(features.survey.ids[rows].astype(str), kept.known_ids)
    refused = np.concatenate([here, np.zeros(len(kept.known_ids), bool)])
    return Material(features, rows, X, is_known, refused, list(kept.known_ids), [])
