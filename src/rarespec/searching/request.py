"""What can be asked of a search: the one list, for Python, the command line, campaigns and HATS catalogues alike."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sized
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rarespec.errors import UsageError
from rarespec.features import PaperFeatures, SkyFeatures
from rarespec.features.recipe import Recipe
from rarespec.gpu.device import check_device_name
from rarespec.rankers.by_name import NAMES, by_name
from rarespec.searching.lessons import Lessons
from rarespec.searching.selection import Selection
from rarespec.spectrum import Resolution
from rarespec.storage.text import choose_from
from rarespec.survey.engine_for import AnyEngine

if TYPE_CHECKING:
    from rarespec.searching.model import SearchModel

RECIPES: dict[str, type[Recipe]] = {"paper": PaperFeatures, "sky": SkyFeatures}
"""Name, as the command line and model files have it, -> class; parameters are numbers, text or a wavelength grid."""
EVERYTHING = Selection()


@dataclass(frozen=True, eq=False)
class SearchRequest:
    """What is asked of a search; wrong use is refused when it is made, before anything is read or computed.

    Parameters
    ----------
    known : ids, table, positions, spectra or files
        The known examples, in any form that `rarespec.search` takes.
    method : str
        Name of the ranker.
    top : int
        How many candidates to list.
    seed : int
        Same seed, same ranking.
    non_members : as known, optional
        Objects known not to be of the kind.
    params : mapping, optional
        Parameters of the ranker.
    recipe : Recipe or str
        The features.
    selection : Selection, optional
        Which spectra to list; by default every one.
    radius_arcsec : float
        How far from a given position a spectrum may be.
    engine : address, client or engine, optional
        Where to compute: a Dask cluster, or by default this process.
    device : str, optional
        "cuda" for a GPU.
    model : path or SearchModel, optional
        Rank with what an earlier search learned, instead of `known`.
    known_resolution : float or str, optional
        Resolving power of spectra that are given as examples, 5000, or the width of their lines, ``"1.8A"``; by default
        as their files say. Sharper ones are smoothed to the resolution of the survey, where that is known.
    lessons : Lessons, optional
        What people said of spectra: `rarespec.labels.read_lessons` reads it from a log of labels.

    Raises
    ------
    UsageError
        If neither or both of `known` and `model` are given, or a value cannot be.

    Examples
    --------
    >>> from rarespec.searching.request import SearchRequest
    >>> SearchRequest(["0355-51788-0579"], top=300).method
    'auto'
    >>> SearchRequest(["0355-51788-0579"], "matched_filter", seed=3).settings["seed"]
    3
    """

    known: Any = None
    method: str = "auto"
    top: int = 1000
    seed: int = 0
    non_members: Any = None
    params: Mapping[str, Any] = field(default_factory=dict)
    recipe: Recipe | str = "sky"
    selection: Selection = EVERYTHING
    radius_arcsec: float = 2.0
    engine: AnyEngine = None
    device: str | None = None
    model: str | os.PathLike[str] | SearchModel | None = None
    known_resolution: float | str | None = None
    lessons: Lessons | None = None

    def __post_init__(self) -> None:
        self._replace_nothing()
        if (self.known is None) == (self.model is None):
            raise UsageError("give either known examples or the model of an earlier search")
        _check_kind("params", self.params, Mapping)
        _check_kind("selection", self.selection, Selection)
        _check_kind("recipe", self.recipe, Recipe | str)
        _check_kind("lessons", self.lessons, Lessons | None)
        _check_whole("top", self.top, 1)
        _check_whole("seed", self.seed, 0)
        check_radius(self.radius_arcsec)
        _check_place(self.device, self.engine)
        _check_ranker(self.method, self.params)
        self.make_recipe()
        self.resolution_of_known()
        if self.model is not None:
            self._check_model()

    def _replace_nothing(self) -> None:
        """None, and an empty list of non-members, mean the default."""
        if self.params is None:
            object.__setattr__(self, "params", {})
        if self.selection is None:
            object.__setattr__(self, "selection", EVERYTHING)
        if _is_empty(self.non_members):
            object.__setattr__(self, "non_members", None)

    def make_recipe(self) -> Recipe:
        """Give the recipe of the features, not fitted.

        Returns
        -------
        Recipe
            The recipe that was given, or the one with the name that was given.
        """
        return recipe_named(self.recipe) if isinstance(self.recipe, str) else self.recipe

    def resolution_of_known(self) -> Resolution | None:
        """Give the resolution of spectra that are given as examples; None if their files say it.

        Returns
        -------
        Resolution or None
            As given.

        Raises
        ------
        UsageError
            If it is no resolution.
        """
        try:
            return None if self.known_resolution is None else Resolution.parse(self.known_resolution)
        except ValueError as error:
            raise UsageError(str(error)) from None

    @property
    def settings(self) -> dict[str, Any]:
        """What the provenance of a ranking says of the request."""
        if self.model is not None:
            return {"model": Path(self.model).name if isinstance(self.model, str | os.PathLike) else str(self.model)}
        labels = {} if self.lessons is None else {"labels": dict(self.lessons.about)}
        return {
            "method": self.method,
            "params": dict(self.params),
            "seed": self.seed,
            "selection": str(self.selection),
            **labels,
        }

    def _check_model(self) -> None:
        """A model has learned already; what would have it learn otherwise is refused, not ignored."""
        given = {
            "method": self.method != "auto",
            "non_members": self.non_members is not None,
            "params": self.params,
            "labels": self.lessons is not None,
        }
        if any(given.values()):
            names = ", ".join(name for name, is_given in given.items() if is_given)
            raise UsageError(f"{self.model}: a model has learned already; leave out {names}")


def _is_empty(value: Any) -> bool:
    try:
        return isinstance(value, Sized) and not isinstance(value, str) and not len(value)
    except TypeError:  # a single SkyCoord refuses to tell its length
        return False


def _check_kind(name: str, value: Any, kind: Any) -> None:
    if not isinstance(value, kind):
        raise UsageError(f"{name} cannot be {value!r}")


def _check_whole(name: str, value: Any, least: int) -> None:
    if not isinstance(value, int | np.integer) or value < least:
        raise UsageError(f"{name} must be a whole number of at least {least}, not {value!r}")


def check_radius(radius_arcsec: float) -> None:
    """A UsageError unless this is a radius."""
    if not (np.isfinite(radius_arcsec) and radius_arcsec > 0):
        raise UsageError(f"radius must be a number of arcseconds above 0, not {radius_arcsec}")


def _check_place(device: str | None, engine: AnyEngine) -> None:
    if device is not None and engine is not None:
        raise UsageError(
            "choose either a Dask cluster (engine, --scheduler) or a GPU of this machine (device, --device)"
        )
    try:
        check_device_name(device)
    except ValueError as error:
        raise UsageError(str(error)) from None


def _check_ranker(method: str, params: Mapping[str, Any]) -> None:
    if method not in NAMES:
        raise UsageError(f"there is no method {method!r}; {choose_from(NAMES, method)}")
    _check_parameters(method, by_name(method), params)


def _check_parameters(name: str, kind: Any, params: Mapping[str, Any]) -> None:
    there_are = kind._get_param_names()
    unknown = set(params) - set(there_are)
    if unknown:
        first = min(unknown)
        raise UsageError(f"{name}: has no parameter {', '.join(sorted(unknown))}; {choose_from(there_are, first)}")


def recipe_named(name: str, params: Mapping[str, Any] | None = None) -> Recipe:
    """An unfitted recipe; a UsageError for a name or parameter that there is not."""
    if name not in RECIPES:
        raise UsageError(f"there is no recipe {name!r}; {choose_from(RECIPES, name)}")
    _check_parameters(f"recipe {name}", RECIPES[name], params or {})
    return RECIPES[name](**(params or {}))


def name_of_recipe(recipe: Recipe) -> str | None:
    """The name of this recipe's kind; None for one that was put together by hand."""
    return next((name for name, kind in RECIPES.items() if type(recipe) is kind), None)
