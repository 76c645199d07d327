"""The job itself: here are my objects, find the others."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarespec.features.recipe import Recipe
from rarespec.rankers._ranker import Ranker, best_first
from rarespec.searching.candidates import candidate_table
from rarespec.searching.fitting import hidden_places, ranker_for
from rarespec.searching.known import examples_of
from rarespec.searching.material import Material, material_of
from rarespec.searching.provenance import provenance_of
from rarespec.searching.ranking import Ranking
from rarespec.searching.recipes import recipe_named
from rarespec.searching.selection import Selection
from rarespec.searching.yield_curve import yield_curve
from rarespec.survey import Survey
from rarespec.survey.features import features_of
from rarespec.survey.manifest import WrongUseError

EVERYTHING = Selection()

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
    """
    opened = survey if isinstance(survey, Survey) else Survey.open(survey)
    if not isinstance(top, int) or top < 1:
        raise WrongUseError(f"top: a whole number from 1 up is needed, not {top!r}")
    examples = examples_of(opened, known, radius_arcsec)
    others = None if non_members is None else examples_of(opened, non_members, radius_arcsec)
    features = features_of(opened, recipe_named(recipe) if isinstance(recipe, str) else recipe, progress=progress)
    material = material_of(features, examples, others)
    ranker = ranker_for(method, params or {}, seed, material)
    ranker.fit(material.X, material.known)
    settings = {"method": method, "params": params or {}, "seed": seed, "selection": str(selection)}
    problems = examples.problems + (others.problems if others else []) + material.problems
    return ranked(material, ranker, selection, top, seed, settings, problems)


def ranked(
    material: Material,
    ranker: Ranker,
    selection: Selection,
    top: int,
    seed: int | None,
    settings: dict[str, Any],
    problems: list[str],
) -> Ranking:
    """The ranking that a fitted ranker gives; `seed` is None when it was fitted elsewhere and nothing can be hidden."""
    chosen = selection.chosen(material.features.survey)
    listed = _listed(material, chosen.mask)
    if not listed.any():
        raise WrongUseError(f"nothing is left to rank: {'; '.join(chosen.said)}")
    scores = ranker.decision_function(material.X)
    rows = np.flatnonzero(listed)
    order = rows[best_first(scores[rows])]
    hidden = np.empty(0) if seed is None else hidden_places(ranker, material, scores, listed, seed)
    curve = yield_curve(scores[order], hidden, int(material.known.sum()))
    best = order[:top]
    return Ranking(
        table=candidate_table(material, best, scores[best], curve),
        yield_curve=curve,
        method=settings["method"],
        why=getattr(ranker, "why_", f"ranked by {type(ranker).__name__} from {material.known.sum()} known examples"),
        n_listed=len(rows),
        problems=problems + chosen.said + _unusable(material),
        examples_lost=bool(problems),
        provenance=provenance_of(material, ranker, settings),
        material=material,
        ranker=ranker,
        scores=scores,
    )


def _listed(material: Material, selected: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Rows of the material that may be candidates."""
    listed = ~material.known & ~material.refused
    listed[: len(material.rows)] &= selected[material.rows]
    return listed


def _unusable(material: Material) -> list[str]:
    n = int((~material.features.usable).sum())
    return [f"{n} spectra have no features and cannot be ranked (see features.defects)"] if n else []
