"""What a search learned, for other spectra: the fitted ranker with the recipe that made its features; and as a file.

Whoever gave a file may have written anything into it: what is read must hold together before it is used.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rarespec.engines.engine import Engine
from rarespec.errors import EngineError, SurveyError, UsageError
from rarespec.features.paper import for_grid
from rarespec.features.recipe import Recipe
from rarespec.rankers.model_file import Model, ModelFileError, as_loaded, save_model
from rarespec.rankers.model_file import load_model as load_ranker
from rarespec.rankers.ranker import Ranker, Scores
from rarespec.searching.ranking import Ranking
from rarespec.searching.request import name_of_recipe, recipe_named
from rarespec.spectrum import Spectra, WavelengthGrid
from rarespec.survey import Survey
from rarespec.survey.features.feature_set import FeatureSet

N_PROBES = 3
"""Made-up spectra that must get features and scores before the model is believed."""


@dataclass(frozen=True, eq=False)
class SearchModel:
    """What a search learned: how to make features of spectra, and how to score them.

    `Ranking.save` writes it and `rarespec.load_model` reads it.

    Parameters
    ----------
    grid : WavelengthGrid
        The wavelengths that spectra must have.
    recipe : Recipe
        Makes the features; fitted.
    ranker : Ranker
        Scores the features; fitted.
    method : str
        Name of the ranker.
    known_ids : list of str
        Ids of the known examples.
    known_features : (m, d) float32 array
        Their features, in the order of the ids; m is at least 1.
    survey : str
        Name of the survey that was searched.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import rarespec
    >>> from rarespec.searching import SearchModel
    >>> sky = rarespec.MockSky(60, {"carbon": 8}, seed=1)
    >>> with TemporaryDirectory() as folder:
    ...     survey = rarespec.Survey.create(f"{folder}/mock.survey")
    ...     report = survey.append(sky)
    ...     carbon = survey.ids[survey.catalogue["class"] == "CARBON"].tolist()
    ...     model = SearchModel.of(rarespec.search(survey, carbon[:4], "matched_filter", top=5))
    >>> scores, unusable = model.score(sky.block(0))
    >>> scores.shape
    (68,)
    """

    grid: WavelengthGrid
    recipe: Recipe
    ranker: Ranker
    method: str
    known_ids: list[str]
    known_features: NDArray[np.float32]
    survey: str

    @classmethod
    def of(cls, ranking: Ranking) -> SearchModel:
        """Take what a search learned; graphs and whatever else can be computed again are left behind.

        Parameters
        ----------
        ranking : Ranking
            The answer of a search.

        Returns
        -------
        SearchModel
            The model.
        """
        rows = ranking.rows
        return cls(
            grid=ranking.survey.grid,
            recipe=rows.features.recipe,
            ranker=as_loaded(ranking.ranker),
            method=ranking.method,
            known_ids=rows.known_ids,
            known_features=rows.X[rows.known],
            survey=ranking.survey.path.name,
        )

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> SearchModel:
        """Read a model from a file; nothing in the file is run as code.

        Parameters
        ----------
        path : path or str
            A file that `Ranking.save` wrote.

        Returns
        -------
        SearchModel
            The model.

        Raises
        ------
        UsageError
            If the file is no model, or a damaged one.
        """
        try:
            model = load_ranker(path)
        except ModelFileError as error:
            raise UsageError(str(error)) from None
        with blame_file(path):
            return _check(model)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write everything that is needed to rank another survey in the same way; nothing of it is code.

        Parameters
        ----------
        path : path or str
            The file; `.safetensors` is the usual ending.

        Returns
        -------
        Path
            The file.

        Raises
        ------
        UsageError
            If the recipe of the features has no name.
        """
        name = name_of_recipe(self.recipe)
        if name is None:
            raise UsageError("cannot save a search with a custom recipe; use a recipe that has a name")
        params = self.recipe.get_params(deep=False)
        extra = {
            "recipe": name,
            "recipe_params": {key: value for key, value in params.items() if key != "grid"},
            "recipe_state": self.recipe.state(),
            "known_features": self.known_features,
            "known_ids": self.known_ids,
            "method": self.method,
            "survey": self.survey,
        }
        fingerprint = self.recipe.fingerprint
        save_model(
            path, self.ranker, recipe_fingerprint=fingerprint, grid=self.grid, known_ids=self.known_ids, extra=extra
        )
        return Path(path)

    def search(self, survey: Survey | str | os.PathLike[str], top: int = 1000, **settings: Any) -> Ranking:
        """Rank a survey with this model.

        Parameters
        ----------
        survey : Survey or path
            The survey, or its directory.
        top : int
            How many candidates to list.
        **settings : dict
            Those of `rarespec.search_with_model`: selection, progress, engine, device.

        Returns
        -------
        Ranking
            The candidates, best first.
        """
        from rarespec.searching.search import search_with_model

        return search_with_model(survey, self, top, **settings)

    def __str__(self) -> str:
        return f"the model of {self.survey}"

    def score(self, spectra: Spectra) -> tuple[Scores, dict[int, str]]:
        """Score spectra that are on the grid of the model.

        Parameters
        ----------
        spectra : Spectra
            n spectra.

        Returns
        -------
        scores : (n,) float64 array
            The scores; NaN for a spectrum that has no features.
        reasons : dict
            Row -> why the spectrum there has no features.
        """
        flux = np.where(spectra.bad, np.float32(np.nan), spectra.flux)
        values, lost_at = self.recipe.transform_and_locate(flux)
        usable = np.flatnonzero(lost_at == 0)
        scores = np.full(len(flux), np.nan)
        if len(usable):
            scores[usable] = self.ranker.decision_function(values[usable].astype(np.float32))
        lost = np.flatnonzero(lost_at).tolist()
        return scores, {i: self.recipe.why_lost(int(lost_at[i])) for i in lost}


def load_model(path: str | os.PathLike[str]) -> SearchModel:
    """Read what an earlier search learned, to search another survey with.

    Parameters
    ----------
    path : path or str
        A file that `Ranking.save` wrote.

    Returns
    -------
    SearchModel
        The model. Nothing in the file is run as code.

    Raises
    ------
    UsageError
        If the file is no model, or a damaged one.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import rarespec
    >>> with TemporaryDirectory() as folder:
    ...     survey = rarespec.Survey.create(f"{folder}/mock.survey")
    ...     report = survey.append(rarespec.MockSky(60, {"carbon": 8}, seed=1))
    ...     carbon = survey.ids[survey.catalogue["class"] == "CARBON"].tolist()
    ...     file = rarespec.search(survey, carbon[:4], "matched_filter").save(f"{folder}/carbon.safetensors")
    ...     ranking = rarespec.load_model(file).search(survey, top=5)
    >>> ranking.method
    'matched_filter'
    """
    return SearchModel.load(path)


@contextmanager
def blame_file(path: str | os.PathLike[str] | SearchModel) -> Iterator[None]:
    """Around what a model is asked to do. A wrong number in it may make any step fail, in any way: it is the file's."""
    try:
        yield
    except (UsageError, SurveyError, OSError, EngineError, MemoryError) as error:
        if isinstance(error, UsageError) and str(path) not in str(error):
            raise UsageError(f"{path}: {error}") from None
        raise
    except ModelFileError as error:
        raise UsageError(f"{path}: {error}") from None
    except Exception as error:
        why = f"{type(error).__name__}: {error}"
        raise UsageError(f"{path}: the model does not work ({why}); save it again where it comes from") from error


def _check(model: Model) -> SearchModel:
    needed = {"recipe", "recipe_params", "recipe_state", "known_features", "known_ids", "method"}
    missing = needed - set(model.extra)
    if missing or model.wavelength_grid is None:
        lacking = ", ".join(sorted(missing)) or "wavelength grid"
        raise ModelFileError(f"has no {lacking}: it was not saved by a search")
    kept = SearchModel(
        grid=model.wavelength_grid,
        recipe=_recipe(model, model.wavelength_grid),
        ranker=model.ranker,
        method=_text(model, "method"),
        known_ids=_ids(model.extra["known_ids"]),
        known_features=_read_known_features(model),
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
        raise ModelFileError(f"its {name} is no text; do not use it")
    return value


def _ids(value: Any) -> list[str]:
    if not isinstance(value, list) or not value or not all(isinstance(one, str) for one in value):
        raise ModelFileError("the ids of its known examples are no texts; do not use it")
    return value


def _read_known_features(model: Model) -> NDArray[np.float32]:
    value, wanted = model.extra["known_features"], model.ranker.n_features_in_
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
        raise ModelFileError("its recipe is not one; do not use it")
    recipe = for_grid(recipe_named(name, params), grid)
    model.require_recipe(recipe.fingerprint)
    arrays = {key: _numbers(key, value) for key, value in state.items()}
    if "n_features_in" not in arrays or arrays["n_features_in"] != grid.n_pixels:
        raise ModelFileError(f"its recipe is not for the {grid.n_pixels} pixels of its grid; do not use it")
    return recipe.restore(arrays)


def _numbers(name: str, value: Any) -> NDArray[Any]:
    """Numbers alone come back from a file as such, and count as arrays without a dimension."""
    array = np.asarray(value)
    if array.dtype.kind not in "biuf" or not np.isfinite(array).all():
        raise ModelFileError(f"{name} of its recipe holds no finite numbers; do not use it")
    return array


def _require_work(kept: SearchModel) -> None:
    """Spectra of any shape must get as many features as the ranker wants, and finite scores."""
    flux = np.random.default_rng(0).normal(10.0, 1.0, (N_PROBES, kept.grid.n_pixels)).astype(np.float32)
    values, lost_at = kept.recipe.transform_and_locate(flux)
    if values.shape != (N_PROBES, kept.known_features.shape[1]) or lost_at.any():
        raise ModelFileError("its recipe does not make the features that its ranker wants; do not use it")
    rows = np.concatenate([values.astype(np.float32), kept.known_features])
    require_finite_scores(kept.ranker.decision_function(rows))


def require_finite_scores(scores: NDArray[np.floating]) -> None:
    if not np.isfinite(scores).all():
        raise ModelFileError("the model gives scores that are not finite; do not use it")


# ---- Scores of a survey under a fitted ranker, block by block, wherever an engine runs; the ranker travels once.


class RowScores(NamedTuple):
    """scores (n,), and edges (n,): on a scale on which the end of a kind shows; None where that of the scores does."""

    scores: Scores
    edges: Scores | None


def scores_by_block(features: FeatureSet, ranker: Ranker, engine: Engine) -> RowScores:
    """Of the spectra that have features."""
    return join_scores(engine.map(_scores_of_block, (features, ranker), range(features.survey.n_blocks)))


def scores_of_rows(ranker: Ranker, X: NDArray[np.floating]) -> RowScores:
    """Of these rows, (n, d)."""
    if not len(X):
        return RowScores(np.empty(0), None)
    return RowScores(ranker.decision_function(X), ranker.edge_scores(X))


def join_scores(parts: Iterable[RowScores]) -> RowScores:
    """One after the other."""
    parts = list(parts)
    edges = [part.edges for part in parts if part.edges is not None]
    return RowScores(np.concatenate([part.scores for part in parts]), np.concatenate(edges) if edges else None)


def _scores_of_block(shared: tuple[FeatureSet, Ranker], i: int) -> RowScores:
    features, ranker = shared
    block = features.block(i)
    return scores_of_rows(ranker, block["values"][block["lost_at"] == 0])
