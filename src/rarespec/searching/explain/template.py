"""The template: what a ranker looks for, seen as weights on the pixels of a spectrum."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from rarespec.features.recipe import Recipe
from rarespec.rankers.covariance import inverse_square_root, ledoit_wolf
from rarespec.rankers.ranker import Ranker, best_first, best_of, weighted_sums
from rarespec.rankers.rows import BLOCK_ROWS, Rows, require_finite
from rarespec.survey.features.feature_set import FeatureSet

# ---- A recipe in two parts: what turns flux into rescaled flux, and the linear steps that turn this into features.


Vector = NDArray[np.float64]
Spread = tuple[NDArray[np.float64], NDArray[np.float64]]


def rescale_flux(recipe: Recipe, flux: NDArray[np.floating]) -> NDArray[np.floating]:
    """Filter and rescale flux (n, p), NaN where a pixel is bad, as the linear steps of the recipe need it."""
    rows = flux.copy()  # a step may work in the memory it is given
    for step in _steps_before_linear(recipe):
        rows = step.transform(rows)
    return _to_pixels(recipe, rows)


def pixel_weights(recipe: Recipe, weights: Vector) -> Vector:
    """Turn weights (d,) on the features into weights (p,) on the rescaled flux."""
    for step in _linear_steps(recipe):
        weights = step.to_flux(weights)
    for step in _steps_that_thin_out(recipe):
        weights = step.share_among_pixels(weights, step.n_features_in_)
    return weights


def spectrum_of(recipe: Recipe, features: Vector) -> Vector:
    """Find the rescaled flux (p,) that has these features (d,), as far as the linear steps can turn back."""
    rows = features[None, :]
    for step in _linear_steps(recipe):
        rows = step.inverse_transform(rows)
    return _to_pixels(recipe, rows)[0]


def _to_pixels(recipe: Recipe, rows: NDArray[np.floating]) -> NDArray[np.floating]:
    """Rows of rescaled flux with a value for every pixel, also where a step has kept only some of them."""
    for step in _steps_that_thin_out(recipe):
        rows = step.to_pixels(rows, step.n_features_in_)
    return rows


def why_not_linear(recipe: Recipe, n_pixels: int) -> str:
    """Say why features of this recipe are not weighted sums of n_pixels pixels; empty when they are."""
    last = _list_steps(recipe.steps_)[-1]
    linear = _linear_steps(recipe)
    if not linear:
        return f"{type(last).__name__} is not a weighted sum of the flux"
    if not all(hasattr(step, "inverse_transform") for step in linear):
        return f"{type(last).__name__} cannot be inverted from features to flux"
    thinned = _steps_that_thin_out(recipe)
    if (thinned[-1] if thinned else linear[-1]).n_features_in_ != n_pixels:
        given = type(_steps_before_linear(recipe)[-1]).__name__
        return f"{type(last).__name__} is given what {given} measured, not the flux in {n_pixels} pixels"
    return ""


def feature_names(step: Any) -> list[str]:
    """Name each feature of a recipe or step; empty when a step has no names to give."""
    if hasattr(step, "parts_"):
        return [name for part in step.parts_ for name in feature_names(part)]
    if isinstance(step, Recipe):
        return feature_names(step.steps_[-1])
    return [str(name) for name in step.get_feature_names_out()] if hasattr(step, "get_feature_names_out") else []


def _linear_steps(recipe: Recipe) -> list[Any]:
    """List the linear steps at the end of the recipe, the last step first."""
    return list(takewhile(lambda step: hasattr(step, "to_flux"), reversed(_list_steps(recipe.steps_))))


def _steps_before_linear(recipe: Recipe) -> list[Any]:
    steps = _list_steps(recipe.steps_)
    return steps[: len(steps) - len(_linear_steps(recipe))]


def _steps_that_thin_out(recipe: Recipe) -> list[Any]:
    """List the steps before the linear ones that keep only some of the pixels, the last step first."""
    return [step for step in reversed(_steps_before_linear(recipe)) if hasattr(step, "share_among_pixels")]


def _list_steps(steps: list[Any]) -> list[Any]:
    """The steps, with those of a recipe inside the recipe in its place."""
    inner = (_list_steps(step.steps_) if isinstance(step, Recipe) else [step] for step in steps)
    return [step for these in inner for step in these]


TOP = 500
"""How many of the best rows are compared when a stand-in is judged; a tenth of all rows where they are few."""
EXACT = 0.9999
"""Agreement from which two rankings differ by rounding and ties only."""
N_NAMED = 6
"""Features that are named where there is no template."""


@dataclass(frozen=True)
class Template:
    """Weights on the filtered, rescaled flux: a spectrum scores high if its flux is high where the weights are.

    Parameters
    ----------
    wavelength : (p,) float64 array
        Vacuum Angstrom.
    weights : (p,) float64 array
        The weight of each pixel.
    typical : (p,) float64 array
        The mean spectrum of the survey, filtered and rescaled.
    agreement : float
        How well the weighted sum repeats the ranking; 1 means the same order.
    said : str
        What the weights are, in words.

    Examples
    --------
    >>> import numpy as np
    >>> from rarespec import PAPER_GRID
    >>> from rarespec.searching import Template
    >>> flat = np.ones(PAPER_GRID.n_pixels)
    >>> template = Template(PAPER_GRID.wavelength, flat, flat, 1.0, "the weights of a matched filter")
    >>> template.weights.shape
    (3601,)
    """

    wavelength: Vector
    weights: Vector
    typical: Vector
    agreement: float
    said: str


@dataclass(frozen=True)
class NoTemplate:
    """Says why a ranking has no template; it counts as false.

    Parameters
    ----------
    said : str
        Why, in words.
    weights : tuple of (str, float)
        Names of features, each with its weight times its spread, the largest first; empty without names.

    Examples
    --------
    >>> from rarespec.searching import NoTemplate
    >>> bool(NoTemplate("line indices are not weighted sums of the flux"))
    False
    """

    said: str
    weights: tuple[tuple[str, float], ...] = ()

    def __bool__(self) -> bool:
        return False


def template_of(
    ranker: Ranker, X: Rows, scores: Vector, features: FeatureSet, spread: Spread | None = None
) -> Template | NoTemplate:
    """Find what a ranker looked for when it gave these scores.

    A ranker that is a weighted sum of the features (`coef_`) has exactly one template. For any other the template is an
    approximation: the weighted sum that repeats its ranking best, with the top of the list counting most.

    Parameters
    ----------
    ranker : Ranker
        Fitted.
    X : (n, d) array
        Finite features of the rows that were scored.
    scores : (n,) float64 array
        The scores of these rows.
    features : FeatureSet
        From which X was taken.
    spread : (mean, covariance), optional
        Of X, as `ledoit_wolf` gives them, where they are known already.

    Returns
    -------
    Template or NoTemplate
        The weights, or why there are none.
    """
    if spread is None:
        require_finite(X)  # before anything is made of it; with a spread, that has been done
    if scores.shape != (len(X),) or not np.isfinite(scores).all():
        raise ValueError(f"{len(X)} rows need as many finite scores, not an array of shape {scores.shape}")
    if not np.ptp(scores) > 0:
        return NoTemplate("There is no template: all spectra have the same score.")
    coef = ranker.feature_weights()
    covariance = None if spread is None else spread[1]
    wanted = savage_scores(scores)
    weights = stand_in(X, wanted, covariance) if coef is None else np.asarray(coef, np.float64)
    repeated = weighted_sums(X, weights)
    if not np.ptp(repeated) > 0:
        return NoTemplate("There is no template: no weighted sum of the features reproduces this ranking.")
    name, recipe, grid = type(ranker).__name__, features.recipe, features.survey.grid
    if why := why_not_linear(recipe, grid.n_pixels):
        return NoTemplate(f"There is no template in flux space: {why}.", _name_weights(recipe, X, weights))
    agreed = agreement(wanted, savage_scores(repeated))
    said = _in_words(name, coef is not None, agreed, share_in_common(scores, repeated))
    typical = spectrum_of(recipe, X.mean(axis=0, dtype=np.float64) if spread is None else spread[0])
    return Template(grid.wavelength, pixel_weights(recipe, weights), typical, agreed, said)


def stand_in(X: Rows, savage: Vector, covariance: NDArray[np.float64] | None = None) -> Vector:
    """Weights (d,) whose weighted sum of the features follows the order of Savage scores, (n,), the top before all.

    A ridge regression, with the Ledoit-Wolf shrinkage of the covariance as its strength.
    """
    if covariance is None:
        covariance = ledoit_wolf(X)[1]
    wanted = savage - savage.mean()
    starts = range(0, len(X), BLOCK_ROWS)
    blocks = (slice(start, start + BLOCK_ROWS) for start in starts)
    with_scores = sum(wanted[block] @ X[block].astype(np.float64) for block in blocks) / len(X)
    root = inverse_square_root(covariance)
    # covariance^-1 times the covariance with the wanted scores: the normal equations of the ridge regression.
    return root @ (root @ with_scores)


def agreement(savage: Vector, others: Vector) -> float:
    """Top-down correlation of two rankings of the same rows, by their Savage scores: 1 = same order, 0 = unrelated.

    In it the first few hundred of many rows weigh as much as all others.

    References
    ----------
    R. L. Iman, W. J. Conover (1987), "A measure of top-down correlation", Technometrics 29, 351.
    """
    return float(np.corrcoef(savage, others)[0, 1])


def savage_scores(scores: Vector) -> Vector:
    """-ln of the share of rows that stand as high or higher, (n,): near 0 at the bottom, large for the few at the top.

    Of all transformations tried (normal scores, squares, weights on the top) the sums that follow this one repeat the
    top of the paper's rankers best.
    """
    return -np.log((rankdata(-scores) - 0.5) / len(scores))


def share_in_common(scores: Vector, others: Vector) -> float:
    """Compute the share of the top rows that both rankings have there."""
    n_top = n_compared(len(scores))
    return len(np.intersect1d(best_of(scores, n_top), best_of(others, n_top))) / n_top


def n_compared(n: int) -> int:
    return max(min(TOP, n // 10), 1)


def _in_words(name: str, linear: bool, agreed: float, in_common: float) -> str:
    if linear and agreed >= EXACT:
        return f"{name} scores a spectrum by a weighted sum of its flux; these are the weights."
    compared = f"{100 * in_common:.0f} % of the top spectra are the same, top-down correlation {agreed:.2f}"
    if linear:
        return f"{name} scores new spectra by a weighted sum of the flux; those it was trained on differ ({compared})."
    return f"{name} is not a weighted sum of the flux. These weights approximate its ranking ({compared})."


def _name_weights(recipe: Any, X: Rows, weights: Vector) -> tuple[tuple[str, float], ...]:
    names, felt = feature_names(recipe), weights * X.std(axis=0, dtype=np.float64)
    if len(names) != len(weights):
        return ()
    return tuple((names[i], float(felt[i])) for i in best_first(np.abs(felt))[:N_NAMED])
