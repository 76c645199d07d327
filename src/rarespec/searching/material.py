"""What a ranker is given: the features of a survey, followed by those of known examples from elsewhere."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rarespec.features.recipe import Recipe
from rarespec.searching.known import Examples
from rarespec.spectrum import Spectra
from rarespec.survey.feature_set import FeatureSet
from rarespec.survey.manifest import WrongUseError


@dataclass(frozen=True, eq=False)
class Material:
    """Rows are the spectra of the survey that have features, then the examples that are not in it."""

    features: FeatureSet
    rows: NDArray[np.intp]
    """Row in the survey of each of the first rows."""
    X: NDArray[np.float32]
    """(n, d), n >= len(rows)."""
    known: NDArray[np.bool_]
    """(n,) known examples."""
    refused: NDArray[np.bool_]
    """(n,) known non-members."""
    ids: list[str]
    """Of the known examples, in the order of the rows."""
    problems: list[str]
    """Examples that have no features, and why."""
    elsewhere: Spectra | None = None
    """The examples that are not in the survey, in the order of the last rows; None when only features are known."""

    @property
    def n_from_elsewhere(self) -> int:
        return len(self.X) - len(self.rows)


def material_of(features: FeatureSet, known: Examples, refused: Examples | None = None) -> Material:
    """The matrix and its marks; a WrongUseError when no known example has features."""
    X = features.usable_values  # before `usable`, which is then known without reading again
    rows = np.flatnonzero(features.usable)
    place = np.full(len(features), -1)
    place[rows] = np.arange(len(rows))
    from_elsewhere, elsewhere, problems = _features_elsewhere(features, known.spectra)
    problems += [f"{id}: is known but has no features" for id in _ids(features, known.rows[place[known.rows] < 0])]
    X = np.concatenate([X, from_elsewhere]) if elsewhere else X
    is_known, is_refused = np.zeros(len(X), bool), np.zeros(len(X), bool)
    is_known[place[known.rows[place[known.rows] >= 0]]] = True
    is_known[len(rows) :] = True
    if refused is not None:
        is_refused[place[refused.rows[place[refused.rows] >= 0]]] = True
        problems += _contradictions(features, rows, is_known, is_refused)
        is_refused &= ~is_known
    if not is_known.any():
        raise WrongUseError(f"{features.survey.path}: no known example can be used: {'; '.join(problems[:5])}")
    if is_known.all():
        raise WrongUseError(f"{features.survey.path}: every usable spectrum is known; there is nothing to rank")
    ids = _ids(features, rows[is_known[: len(rows)]]) + (elsewhere.ids if elsewhere else [])
    return Material(features, rows, X, is_known, is_refused, ids, problems, elsewhere)


def _ids(features: FeatureSet, rows: NDArray[np.intp]) -> list[str]:
    """Of these rows alone: all ids of a large survey take as much memory as its features."""
    return features.survey.catalogue_at(rows, ["id"])["id"]


def _contradictions(
    features: FeatureSet, rows: NDArray[np.intp], known: NDArray[np.bool_], refused: NDArray[np.bool_]
) -> list[str]:
    both = (known & refused)[: len(rows)]
    return [f"{id}: given both as known and as a non-member; treated as known" for id in _ids(features, rows[both])]


def _features_elsewhere(
    features: FeatureSet, spectra: Spectra | None
) -> tuple[NDArray[np.float32], Spectra | None, list[str]]:
    """Features of examples that are not in the survey, these examples, and what is wrong with the others."""
    if spectra is None or not len(spectra):
        return np.empty((0, features.usable_values.shape[1]), np.float32), None, []
    flux = np.where(spectra.bad, np.nan, spectra.flux).astype(np.float32)
    recipe: Recipe = features.recipe
    values, lost_at = recipe.transform_and_locate(flux)
    problems = [
        f"{id}: is known but has no features ({recipe.why_lost(int(number))})"
        for id, number in zip(spectra.ids, lost_at, strict=True)
        if number
    ]
    usable = np.flatnonzero(lost_at == 0)
    return values[usable].astype(np.float32), spectra.take(usable) if len(usable) else None, problems
