"""The job itself: here are my objects, find the others."""

from __future__ import annotations

import os
from collections.abc import Callable, Sized
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarespec.features.recipe import Recipe
from rarespec.gpu.device import usable_device
from rarespec.memory import give_back_freed
from rarespec.progress import Progress
from rarespec.rankers import Auto
from rarespec.rankers._ranker import Ranker, Scores, best_first
from rarespec.searching.candidates import candidate_table
from rarespec.searching.fitting import fit, hidden_places, ranker_for
from rarespec.searching.known import examples_of
from rarespec.searching.material import Material, material_of
from rarespec.searching.provenance import provenance_of
from rarespec.searching.ranking import Ranking
from rarespec.searching.recipes import recipe_named
from rarespec.searching.selection import Chosen, Selection
from rarespec.searching.yield_curve import YieldCurve, yield_curve
from rarespec.survey import Survey
from rarespec.survey.engine_for import AnyEngine
from rarespec.survey.features import features_of
from rarespec.survey.manifest import WrongUseError

EVERYTHING = Selection()


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
    made = asked(
        survey,
        known,
        method,
        top,
        seed,
        non_members=non_members,
        params=params,
        recipe=recipe,
        selection=selection,
        radius_arcsec=radius_arcsec,
        progress=progress,
        engine=engine,
        device=device,
    )
    material, ranker = made.material, made.ranker
    fit(ranker, material, made.device)
    if isinstance(ranker, Auto):
        ranker.forget_preparation()
    give_back_freed()
    return ranked(material, ranker, selection, top, seed, made.settings, made.problems)


@dataclass(frozen=True, eq=False)
class Asked:
    """A search before anything is learned: the examples found, the features there, the ranker chosen."""

    material: Material
    ranker: Ranker
    """Not fitted; it has the survey's graph where it needs one."""
    selection: Selection
    top: int
    seed: int
    settings: dict[str, Any]
    problems: list[str]
    """What is wrong with the examples."""
    device: str | None
    """The GPU that does the work, where there is one."""


def asked(
    survey: Survey | str | os.PathLike[str],
    known: Any,
    method: str,
    top: int,
    seed: int,
    *,
    non_members: Any,
    params: dict[str, Any] | None,
    recipe: Recipe | str,
    selection: Selection,
    radius_arcsec: float,
    progress: Progress | None,
    engine: AnyEngine = None,
    device: str | None = None,
) -> Asked:
    """All that comes before the ranker learns; the parameters are those of `search`."""
    opened = survey if isinstance(survey, Survey) else Survey.open(survey)
    if not isinstance(top, int) or top < 1:
        raise WrongUseError(f"top must be a whole number of at least 1, not {top!r}")
    device = device_for(device, engine)
    examples = examples_of(opened, known, radius_arcsec)
    others = None if _is_nothing(non_members) else examples_of(opened, non_members, radius_arcsec)
    made_by = recipe_named(recipe) if isinstance(recipe, str) else recipe
    features = features_of(opened, made_by, progress=progress, engine=engine, device=device)
    give_back_freed()
    material = material_of(features, examples, others)
    ranker = ranker_for(method, params or {}, seed, material, device)
    give_back_freed()
    settings = {"method": method, "params": params or {}, "seed": seed, "selection": str(selection)}
    problems = examples.problems + (others.problems if others else []) + material.problems
    return Asked(material, ranker, selection, top, seed, settings, problems, device)


def _is_nothing(given: Any) -> bool:
    return given is None or (isinstance(given, Sized) and not isinstance(given, str) and not len(given))


def device_for(asked: str | None, engine: AnyEngine) -> str | None:
    """The GPU to use; None for the CPU, with one warning when a GPU was asked for and there is none."""
    if asked is not None and engine is not None:
        raise WrongUseError(
            "choose either a Dask cluster (engine, --scheduler) or a GPU of this machine (device, --device)"
        )
    try:
        return usable_device(asked)
    except ValueError as error:
        raise WrongUseError(str(error)) from None


def ranked(
    material: Material,
    ranker: Ranker,
    selection: Selection | Chosen,
    top: int,
    seed: int | None,
    settings: dict[str, Any],
    problems: list[str],
    *,
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
        raise WrongUseError(f"{material.features.survey.path}: there is nothing to rank: {why}")
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
        examples_lost=bool(problems),
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
