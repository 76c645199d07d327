"""The rows that take part in a search: the spectra of a survey that have features, then examples from elsewhere."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rarespec.errors import UsageError
from rarespec.rankers.covariance import ledoit_wolf
from rarespec.rankers.linear_map import LinearMap, whitening_of
from rarespec.rankers.rows import fingerprint_of_rows
from rarespec.searching.known.known_examples import Examples
from rarespec.spectrum import Spectra
from rarespec.survey import Survey
from rarespec.survey.features.feature_set import FeatureSet

Mask = NDArray[np.bool_]
Numbers = NDArray[np.intp]


class FeatureMatrix:
    """Features of all rows, and what depends only on them: computed once, however often other rows become known."""

    def __init__(self, features: FeatureSet, elsewhere: NDArray[np.float32] | None = None) -> None:
        self.features = features
        own = features.usable_values  # before `usable`, which is then known without reading again
        self.survey_rows: Numbers = np.flatnonzero(features.usable)
        """Row in the survey of each of the first rows."""
        self.values: NDArray[np.float32] = (
            own if elsewhere is None or not len(elsewhere) else np.concatenate([own, elsewhere])
        )
        """(n, d), n >= len(survey_rows)."""

    @property
    def n_from_elsewhere(self) -> int:
        return len(self.values) - len(self.survey_rows)

    @cached_property
    def fingerprint(self) -> str:
        """Tells this matrix from any other; that of a large survey takes seconds."""
        return fingerprint_of_rows(self.values) if self.n_from_elsewhere else self.features.fingerprint

    @cached_property
    def spread(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean and covariance of all rows, as `ledoit_wolf` gives them; a large survey keeps its own."""
        return ledoit_wolf(self.values)[:2] if self.n_from_elsewhere else self.features.spread

    @cached_property
    def to_white(self) -> LinearMap:
        """To rows of unit covariance."""
        return whitening_of(*self.spread)

    @cached_property
    def place_of(self) -> Numbers:
        """Number here of each row of the survey; -1 for a spectrum without features."""
        place = np.full(len(self.features), -1)
        place[self.survey_rows] = np.arange(len(self.survey_rows))
        return place


@dataclass(frozen=True, eq=False)
class SearchRows:
    """The features of all rows of a search, and which rows are known or refused.

    A `place` is the number of a row in here.

    Parameters
    ----------
    matrix : FeatureMatrix
        The features.
    known : (n,) bool array
        Known examples.
    refused : (n,) bool array
        Rows that are not listed: known non-members, and what cannot be judged.
    known_ids : list of str
        Ids of the known examples, in the order of the rows.
    elsewhere : Spectra or None
        The examples that are not in the survey, in the order of the last rows; None with features alone.
    """

    matrix: FeatureMatrix
    known: Mask
    refused: Mask
    known_ids: list[str]
    elsewhere: Spectra | None = None

    def __len__(self) -> int:
        return len(self.matrix.values)

    @property
    def X(self) -> NDArray[np.float32]:
        """(n, d) features."""
        return self.matrix.values

    @property
    def features(self) -> FeatureSet:
        return self.matrix.features

    @property
    def survey(self) -> Survey:
        return self.matrix.features.survey

    @property
    def survey_rows(self) -> Numbers:
        """Row in the survey of each of the first rows."""
        return self.matrix.survey_rows

    @property
    def n_from_elsewhere(self) -> int:
        return self.matrix.n_from_elsewhere

    @property
    def refused_ids(self) -> list[str]:
        return _ids(self.features, self.survey_rows[self.refused[: len(self.survey_rows)]])

    def places_of(self, survey_rows: Numbers) -> Numbers:
        """Find the places of these rows of the survey, (k,); -1 for one without features, and for row -1."""
        return np.where(survey_rows < 0, -1, self.matrix.place_of[survey_rows])

    def may_be_listed(self, selected: Mask) -> Mask:
        """Find the rows that may be candidates, (n,) bool; `selected` is of the survey's rows."""
        listed: Mask = ~self.known & ~self.refused
        listed[: len(self.survey_rows)] &= selected[self.survey_rows]
        return listed

    def relabel(self, known: Mask, refused: Mask) -> SearchRows:
        """Make the same rows with others known and refused; those from elsewhere stay known."""
        in_survey = _ids(self.features, self.survey_rows[known[: len(self.survey_rows)]])
        elsewhere = self.known_ids[len(self.known_ids) - self.n_from_elsewhere :]
        return replace(self, known=known, refused=refused, known_ids=in_survey + elsewhere)


def gather_rows(
    features: FeatureSet, known: Examples, refused: Examples | None = None, own: FeatureMatrix | None = None
) -> tuple[SearchRows, list[str]]:
    """Gather the rows of a search.

    Parameters
    ----------
    features : FeatureSet
        Of the survey.
    known : Examples
        The known examples.
    refused : Examples, optional
        The known non-members.
    own : FeatureMatrix, optional
        The features of the survey's spectra alone, where they were put together before.

    Returns
    -------
    rows : SearchRows
        The usable spectra of the survey, and last the examples from elsewhere.
    problems : list of str
        What is wrong with the examples, one line each.

    Raises
    ------
    UsageError
        If no known example has features, or every usable spectrum is known.
    """
    values, elsewhere, problems = _features_elsewhere(features, known.spectra)
    matrix = own if own is not None and not len(values) else FeatureMatrix(features, values)
    place, rows = matrix.place_of, matrix.survey_rows
    problems += [f"{id}: is known but has no features" for id in _ids(features, known.rows[place[known.rows] < 0])]
    is_known = _mask(matrix, known.rows)
    is_known[len(rows) :] = True
    is_refused = _mask(matrix, np.empty(0, np.intp) if refused is None else refused.rows)
    both = _ids(features, rows[(is_known & is_refused)[: len(rows)]])
    problems += [f"{id}: given both as known and as a non-member; treated as known" for id in both]
    if not is_known.any():
        raise UsageError(f"{features.survey.path}: no known example can be used: {'; '.join(problems[:5])}")
    if is_known.all():
        raise UsageError(f"{features.survey.path}: every usable spectrum is known; there is nothing to rank")
    ids = _ids(features, rows[is_known[: len(rows)]]) + (elsewhere.ids if elsewhere else [])
    return SearchRows(matrix, is_known, is_refused & ~is_known, ids, elsewhere), problems


def _mask(matrix: FeatureMatrix, survey_rows: Numbers) -> Mask:
    mask, places = np.zeros(len(matrix.values), bool), matrix.place_of[survey_rows]
    mask[places[places >= 0]] = True
    return mask


def _ids(features: FeatureSet, rows: Numbers) -> list[str]:
    """Read the ids of these rows only: all ids of a large survey take as much memory as its features."""
    return features.survey.catalogue_at(rows, ["id"])["id"]


def _features_elsewhere(
    features: FeatureSet, spectra: Spectra | None
) -> tuple[NDArray[np.float32], Spectra | None, list[str]]:
    """Features of examples that are not in the survey, these examples, and what is wrong with the others."""
    if spectra is None or not len(spectra):
        return np.empty((0, 0), np.float32), None, []
    flux = np.where(spectra.bad, np.nan, spectra.flux).astype(np.float32)
    values, lost_at = features.recipe.transform_and_locate(flux)
    problems = [
        f"{id}: is known but has no features ({features.recipe.why_lost(int(number))})"
        for id, number in zip(spectra.ids, lost_at, strict=True)
        if number
    ]
    usable = np.flatnonzero(lost_at == 0)
    return values[usable].astype(np.float32), spectra.take(usable) if len(usable) else None, problems
