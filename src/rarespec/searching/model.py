"""A search as a file, to be repeated on another survey: the fitted ranker with the recipe that made its features."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarespec.features.for_grid import for_grid
from rarespec.features.recipe import Recipe
from rarespec.rankers.model_file import Model, ModelFileError, load_model, save_model
from rarespec.searching.block_scores import joined, scores_by_block, scores_of_rows
from rarespec.searching.material import Material
from rarespec.searching.ranking import Ranking
from rarespec.searching.recipes import name_of_recipe, recipe_named
from rarespec.searching.search import EVERYTHING, Progress, device_for, hidden_curve, ranked
from rarespec.searching.selection import Selection
from rarespec.spectrum import WavelengthGrid
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
        raise WrongUseError("only a search with a recipe that has a name can be saved, not one put together by hand")
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
    try:
        kept = load_model(model)
        recipe = _recipe(kept, opened, Path(model))
    except ModelFileError as error:
        raise WrongUseError(str(error)) from None
    with engine_for(engine) as where:
        features = features_by(opened, recipe, progress, where, device)
        material = _material(features, kept)  # reads every block here, where a warning of a damaged one is seen
        in_survey = scores_by_block(features, kept.ranker, where)
    found = joined([in_survey, scores_of_rows(kept.ranker, material.X[len(material.rows) :])])
    settings = {"method": kept.extra["method"], "model": Path(model).name, "learned on": kept.extra["survey"]}
    curve_of = partial(hidden_curve, edges=found.edges)
    return ranked(material, kept.ranker, selection, top, None, settings, [], scores=found.scores, curve_of=curve_of)


def _recipe(model: Model, survey: Survey, path: Path) -> Recipe:
    if model.wavelength_grid != survey.grid:
        raise WrongUseError(
            f"{path}: the model is for spectra on {model.wavelength_grid}, {survey.path} is on {survey.grid}: "
            "ingest the files again with the model's --grid"
        )
    return recipe_of(model, survey.grid, path)


def recipe_of(model: Model, grid: WavelengthGrid, path: Path) -> Recipe:
    """The recipe that made the model's features, for spectra on this grid; a ModelFileError when it has none."""
    missing = {"recipe", "recipe_params", "recipe_state", "known_features", "known_ids", "method"} - set(model.extra)
    if missing:
        raise ModelFileError(f"{path}: has no {', '.join(sorted(missing))}: it was not saved by a search")
    recipe = for_grid(recipe_named(model.extra["recipe"], model.extra["recipe_params"]), grid)
    return recipe.restore(model.extra["recipe_state"])


def _material(features: FeatureSet, model: Model) -> Material:
    """The survey's rows, then the examples that the model learned from; none of these is listed."""
    known: NDArray[Any] = model.extra["known_features"]
    X = np.concatenate([features.usable_values, known.astype(np.float32)])
    rows = np.flatnonzero(features.usable)
    is_known = np.arange(len(X)) >= len(rows)
    here = np.isin(features.survey.ids[rows].astype(str), model.extra["known_ids"])
    refused = np.concatenate([here, np.zeros(len(known), bool)])
    return Material(features, rows, X, is_known, refused, list(model.extra["known_ids"]), [])
