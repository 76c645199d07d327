"""A recipe in two parts: what turns flux into rescaled flux, and the linear steps that turn this into features."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarespec.features.recipe import Recipe

Vector = NDArray[np.float64]


def rescaled(recipe: Recipe, flux: NDArray[np.floating]) -> NDArray[np.floating]:
    """Flux (n, p), NaN where a pixel is bad, as the linear steps of the recipe are given it: filtered and rescaled."""
    rows = flux.copy()  # a step may work in the memory it is given
    for step in _steps_before_linear(recipe):
        rows = step.transform(rows)
    return rows


def pixel_weights(recipe: Recipe, weights: Vector) -> Vector:
    """Weights (d,) on the features as weights (p,) on the rescaled flux."""
    for step in _linear_steps(recipe):
        weights = step.to_flux(weights)
    return weights


def spectrum_of(recipe: Recipe, features: Vector) -> Vector:
    """The rescaled flux (p,) that has these features (d,), as far as the linear steps can turn back."""
    rows = features[None, :]
    for step in _linear_steps(recipe):
        rows = step.inverse_transform(rows)
    return rows[0]


def why_not_linear(recipe: Recipe, n_pixels: int) -> str:
    """Why features of this recipe cannot be seen as weighted sums of n_pixels pixels; empty when they can."""
    last = _flat(recipe.steps_)[-1]
    linear = _linear_steps(recipe)
    if not linear:
        return f"{type(last).__name__} is not a weighted sum of the flux"
    if not all(hasattr(step, "inverse_transform") for step in linear):
        return f"{type(last).__name__} cannot be inverted from features to flux"
    if linear[-1].n_features_in_ != n_pixels:
        given = type(_steps_before_linear(recipe)[-1]).__name__
        return f"{type(last).__name__} is given what {given} measured, not the flux in {n_pixels} pixels"
    return ""


def feature_names(step: Any) -> list[str]:
    """One name for each feature of a recipe or step; empty when a step has none to give."""
    if hasattr(step, "parts_"):
        return [name for part in step.parts_ for name in feature_names(part)]
    if isinstance(step, Recipe):
        return feature_names(step.steps_[-1])
    return [str(name) for name in step.get_feature_names_out()] if hasattr(step, "get_feature_names_out") else []


def _linear_steps(recipe: Recipe) -> list[Any]:
    """The last step first."""
    return list(takewhile(lambda step: hasattr(step, "to_flux"), reversed(_flat(recipe.steps_))))


def _steps_before_linear(recipe: Recipe) -> list[Any]:
    steps = _flat(recipe.steps_)
    return steps[: len(steps) - len(_linear_steps(recipe))]


def _flat(steps: list[Any]) -> list[Any]:
    """The steps, with those of a recipe inside the recipe in its place."""
    return list(_each(steps))


def _each(steps: list[Any]) -> Iterator[Any]:
    for step in steps:
        if isinstance(step, Recipe):
            yield from _each(step.steps_)
        else:
            yield step
