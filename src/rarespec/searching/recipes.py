"""Recipes of features by the name that the command line and model files use."""

from __future__ import annotations

from typing import Any

from rarespec.features import PaperFeatures
from rarespec.features.recipe import Recipe
from rarespec.survey.manifest import WrongUseError

RECIPES: dict[str, type[Recipe]] = {"paper": PaperFeatures}
"""Name -> class, each with parameters that are numbers, text or a wavelength grid."""


def recipe_named(name: str, params: dict[str, Any] | None = None) -> Recipe:
    """An unfitted recipe; a WrongUseError for a name or parameter that there is not."""
    if name not in RECIPES:
        raise WrongUseError(f"there is no recipe {name!r}; choose from {', '.join(RECIPES)}")
    unknown = set(params or {}) - set(RECIPES[name]._get_param_names())
    if unknown:
        there_are = ", ".join(RECIPES[name]._get_param_names())
        raise WrongUseError(f"recipe {name}: has no parameter {', '.join(sorted(unknown))}; choose from {there_are}")
    return RECIPES[name](**(params or {}))


def name_of_recipe(recipe: Recipe) -> str | None:
    """The name of this recipe's kind; None for one that was put together by hand."""
    return next((name for name, kind in RECIPES.items() if type(recipe) is kind), None)
