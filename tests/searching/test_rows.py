"""The rows of a search: which take part, what is known of them, and that their matrix is looked at once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rarespec.errors import UsageError
from rarespec.features import PaperFeatures
from rarespec.searching import rows as rows_module
from rarespec.searching.known.known_examples import examples_of
from rarespec.searching.relearning import Relearning
from rarespec.searching.request import SearchRequest
from rarespec.searching.rows import SearchRows, gather_rows
from rarespec.searching.search import prepare_search
from rarespec.survey import Survey
from rarespec.survey.features import feature_set
from rarespec.survey.features.computing import features_of
from search_rankings import spectra_with_bands, survey_with_bands

RECIPE = PaperFeatures(n_components=10)


@pytest.fixture(scope="module")
def survey(tmp_path_factory: pytest.TempPathFactory) -> Survey:
    return survey_with_bands(tmp_path_factory.mktemp("rows") / "a.survey")


def gathered(survey: Survey, known: object, refused: object = None) -> tuple[SearchRows, list[str]]:
    others = None if refused is None else examples_of(survey, refused)
    return gather_rows(features_of(survey, RECIPE), examples_of(survey, known), others)


def test_examples_from_elsewhere_come_after_the_survey(survey: Survey) -> None:
    rows, problems = gathered(survey, [survey.ids[3], spectra_with_bands(2)], [survey.ids[5]])
    assert problems == [] and rows.n_from_elsewhere == 2 and len(rows) == len(survey) + 2
    assert np.flatnonzero(rows.known).tolist() == [3, len(survey), len(survey) + 1]
    assert rows.known_ids == [survey.ids[3], "elsewhere00000", "elsewhere00001"] and rows.refused_ids == [survey.ids[5]]
    listed = rows.may_be_listed(np.arange(len(survey)) < 8)
    assert np.flatnonzero(listed).tolist() == [0, 1, 2, 4, 6, 7]
    assert rows.places_of(np.array([7, -1, 0])).tolist() == [7, -1, 0]


def test_other_rows_may_be_known(survey: Survey) -> None:
    rows, _ = gathered(survey, [survey.ids[3], spectra_with_bands(1)])
    known = rows.known.copy()
    known[[3, 9]] = False, True
    other = rows.relabel(known, np.zeros(len(rows), bool))
    assert other.known_ids == [survey.ids[9], "elsewhere00000"] and other.matrix is rows.matrix
    assert rows.known_ids == [survey.ids[3], "elsewhere00000"]


def test_what_is_known_goes_before_what_is_refused(survey: Survey) -> None:
    rows, problems = gathered(survey, survey.ids[:2].tolist(), survey.ids[1:3].tolist())
    assert rows.refused_ids == [survey.ids[2]] and "treated as known" in problems[0]
    with pytest.raises(UsageError, match="every usable spectrum is known"):
        gathered(survey, survey.ids.tolist())


@pytest.mark.parametrize("from_elsewhere", [False, True])
def test_the_matrix_is_hashed_once(survey: Survey, from_elsewhere: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    opened, hashed = Survey.open(Path(survey.path)), []
    for module in (feature_set, rows_module):
        true = module.fingerprint_of_rows
        monkeypatch.setattr(module, "fingerprint_of_rows", lambda X, true=true: hashed.append(len(X)) or true(X))
    known = [survey.ids[0], survey.ids[1], *([spectra_with_bands(1)] if from_elsewhere else [])]
    request = SearchRequest(known, "label_propagation", 20, recipe=RECIPE)
    relearning = Relearning(prepare_search(opened, request))
    prints = {relearning.ranking(some).provenance["features_fingerprint"] for some in ([], [survey.ids[2]])}
    assert len(prints) == 1
    assert hashed == [len(survey), *([len(survey) + 1] if from_elsewhere else [])]
