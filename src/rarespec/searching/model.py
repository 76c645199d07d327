"""A search as a file, to be repeated on another survey: the fitted ranker with the recipe that made its features."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

import numpy as np

from rarespec.progress import Progress
from rarespec.rankers.model_file import save_model
from rarespec.searching.block_scores import joined, scores_by_block, scores_of_rows
from rarespec.searching.kept_search import KeptSearch, kept_search, only_of_use, require_finite_scores
from rarespec.searching.material import Material
from rarespec.searching.ranking import Ranking
from rarespec.searching.recipes import name_of_recipe
from rarespec.searching.search import EVERYTHING, device_for, hidden_curve, ranked
from rarespec.searching.selection import Selection
from rarespec.survey import Survey
from rarespec.survey.engine_for import AnyEngine, engine_for
from rarespec.survey.feature_set import FeatureSet
from rarespec.survey.features import features_by
from rarespec.survey.manifest import WrongUseError


def save_search(ranking: Ranking, path: str | os.PathLike[str]) -> Path:
    """Everything that is needed to rank another survey in the same way; nothing of it is code."""
    material, recipe = ranking.material, ranking.material.features.recipe
    name = name_of_recipe(recipe)
    if name is None:
        raise WrongUseError("cannot save a search with a custom recipe; use a recipe that has a name")
    extra = {
        "recipe": name,
        "recipe_params": {key: value for key, value in recipe.get_params(deep=False).items() if key != "grid"},
        "recipe_state": recipe.state(),
        "known_features": material.X[material.known],
        "known_ids": material.ids,
        "method": ranking.method,
        "survey": ranking.survey.path.name,
    }
    save_model(
        path,
        ranking.ranker,
        recipe_fingerprint=recipe.fingerprint,
        grid=ranking.survey.grid,
        known_ids=material.ids,
        extra=extra,
    )
    return Path(path)


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
    device = device_for(device, engine)
    opened = survey if isinstance(survey, Survey) else Survey.open(survey)
    kept = kept_search(model)
    if kept.grid != opened.grid:
        raise WrongUseError(
            f"{model}: the model is for spectra on {kept.grid}, {opened.path} is on {opened.grid}: "
            "ingest the files again with the model's --grid"
        )
    settings = {"method": kept.method, "model": Path(model).name, "learned on": kept.survey}
    with engine_for(engine) as where, only_of_use(model):
        features = features_by(opened, kept.recipe, progress, where, device)
        material = _material(features, kept)  # reads every block here, where a warning of a damaged one is seen
        found = joined(
            [scores_by_block(features, kept.ranker, where), scores_of_rows(kept.ranker, kept.known_features)]
        )
        for scores in found:
            if scores is not None:
                require_finite_scores(scores)
        curve_of = partial(hidden_curve, edges=found.edges)
        return ranked(material, kept.ranker, selection, top, None, settings, [], scores=found.scores, curve_of=curve_of)


def _material(features: FeatureSet, kept: KeptSearch) -> Material:
    """The survey's rows, then the examples that the model learned from; none of these is listed."""
    rows = np.flatnonzero(features.usable)
    X = np.concatenate([features.usable_values, kept.known_features])
    is_known = np.arange(len(X)) >= len(rows)
    here = np.isin(features.survey.ids[rows].astype(str), kept.known_ids)
    refused = np.concatenate([here, np.zeros(len(kept.known_ids), bool)])
    return Material(features, rows, X, is_known, refused, list(kept.known_ids), [])
