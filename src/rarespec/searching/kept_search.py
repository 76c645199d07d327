"""What a search left in a model file, and that it holds together: whoever gave the file may have written anything."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarespec.engines.engine import EngineError
from rarespec.features.for_grid import for_grid
from rarespec.features.recipe import Recipe
from rarespec.rankers._ranker import Ranker
from rarespec.rankers.model_file import Model, ModelFileError, load_model
from rarespec.searching.recipes import recipe_named
from rarespec.spectrum import WavelengthGrid
from rarespec.survey.manifest import SurveyError, WrongUseError

N_PROBES = 3
"""Made-up spectra that must get features and scores before the model is believed."""


@dataclass(frozen=True, eq=False)
class KeptSearch:
    """Of a search: what makes features of spectra on the grid, and what scores them."""

    grid: WavelengthGrid
    recipe: Recipe
    ranker: Ranker
    method: str
    known_ids: list[str]
    known_features: NDArray[np.float32]
    """(m, d), m >= 1, in the order of the ids."""
    survey: str
    """The name of the survey that was searched."""


def kept_search(path: str | os.PathLike[str]) -> KeptSearch:
    """The search in this file; a WrongUseError that names it when it cannot be used."""
    try:
        model = load_model(path)
    except ModelFileError as error:
        raise WrongUseError(str(error)) from None
    with only_of_use(path):
        return _search(model)


@contextmanager
def only_of_use(path: str | os.PathLike[str]) -> Iterator[None]:
    """Around what a model is asked to do. A wrong number in it may make any step fail, in any way: it is the file's."""
    try:
        yield
    except (SurveyError, OSError, EngineError, MemoryError) as error:
        if isinstance(error, WrongUseError) and str(path) not in str(error):
            raise WrongUseError(f"{path}: {error}") from None
        raise
    except ModelFileError as error:
        raise WrongUseError(f"{path}: {error}") from None
    except Exception as error:
        why = f"{type(error).__name__}: {error}"
        raise WrongUseError(f"{path}: the model does not work ({why}); ask its author to save it again") from error


def _search(model: Model) -> KeptSearch:
    needed = {"recipe", "recipe_params", "recipe_state", "known_features", "known_ids", "method"}
    missing = needed - set(model.extra)
    if missing or model.wavelength_grid is None:
        lacking = ", ".join(sorted(missing)) or "wavelength grid"
        raise ModelFileError(f"has no {lacking}; it was not saved by a search")
    kept = KeptSearch(
        grid=model.wavelength_grid,
        recipe=_recipe(model, model.wavelength_grid),
        ranker=model.ranker,
        method=_text(model, "method"),
        known_ids=_ids(model.extra["known_ids"]),
        known_features=_known_features(model),
        survey=_text(model, "survey") if "survey" in model.extra else "",
    )
    if len(kept.known_ids) != len(kept.known_features):
        raise ModelFileError(
            f"has {len(kept.known_ids)} ids of known examples and features of {len(kept.known_features)}; do not use it"
        )
    _require_work(kept)
    return kept


def _text(model: Model, name: str) -> str:
    value = model.extra[name]
    if not isinstance(value, str):
        raise ModelFileError(f"its {name} is not text; do not use it")
    return value


def _ids(value: Any) -> list[str]:
    if not isinstance(value, list) or not value or not all(isinstance(one, str) for one in value):
        raise ModelFileError("the ids of its known examples are not text; do not use it")
    return value


def _known_features(model: Model) -> NDArray[np.float32]:
    value, wanted = model.extra["known_features"], int(getattr(model.ranker, "n_features_in_", 0))
    if not isinstance(value, np.ndarray) or value.dtype.kind != "f" or value.ndim != 2 or value.shape[1] != wanted:
        raise ModelFileError(f"the features of its known examples are not {wanted} numbers each; do not use it")
    with np.errstate(over="ignore"):
        features = value.astype(np.float32)
    if not np.isfinite(features).all():
        raise ModelFileError("the features of its known examples are not finite; do not use it")
    return features


def _recipe(model: Model, grid: WavelengthGrid) -> Recipe:
    """The recipe that made the model's features, for spectra on this grid."""
    name, params, state = (model.extra[part] for part in ("recipe", "recipe_params", "recipe_state"))
    if not isinstance(name, str) or not isinstance(params, dict) or not isinstance(state, dict):
        raise ModelFileError("its recipe is not valid; do not use it")
    recipe = for_grid(recipe_named(name, params), grid)
    model.require_recipe(recipe.fingerprint)
    arrays = {key: _numbers(key, value) for key, value in state.items()}
    if "n_features_in" not in arrays or arrays["n_features_in"] != grid.n_pixels:
        raise ModelFileError(f"its recipe does not fit the {grid.n_pixels} pixels of its grid; do not use it")
    return recipe.restore(arrays)


def _numbers(name: str, value: Any) -> NDArray[Any]:
    """Numbers alone come back from a file as such, and count as arrays without a dimension."""
    array = np.asarray(value)
    if array.dtype.kind not in "biuf" or not np.isfinite(array).all():
        raise ModelFileError(f"{name} of its recipe has numbers that are not finite; do not use it")
    return array


def _require_work(kept: KeptSearch) -> None:
    """Spectra of any shape must get as many features as the ranker wants, and finite scores."""
    flux = np.random.default_rng(0).normal(10.0, 1.0, (N_PROBES, kept.grid.n_pixels)).astype(np.float32)
    values, lost_at = kept.recipe.transform_and_locate(flux)
    if values.shape != (N_PROBES, kept.known_features.shape[1]) or lost_at.any():
        raise ModelFileError("its recipe does not give the features that its ranker needs; do not use it")
    rows = np.concatenate([values.astype(np.float32), kept.known_features])
    require_finite_scores(kept.ranker.decision_function(rows))


def require_finite_scores(scores: NDArray[np.floating]) -> None:
    if not np.isfinite(scores).all():
        raise ModelFileError("the model gives scores that are not finite; do not use it")
