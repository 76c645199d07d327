"""A ranking shows itself: how far to look, the best candidates, what went wrong; names are no markup."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from astropy.coordinates import SkyCoord
from astropy.table import MaskedColumn, QTable, Table

from rarespec.searching.known.known_examples import examples_of
from rarespec.searching.ranking import Ranking
from rarespec.searching.yields.yield_curve import yield_curve
from rarespec.survey import Survey
from search_rankings import HOSTILE, ranking_of, spectra_with_bands, survey_with_bands


@pytest.fixture(scope="module")
def survey(tmp_path_factory: pytest.TempPathFactory) -> Survey:
    return survey_with_bands(tmp_path_factory.mktemp("view") / "b.survey")


@pytest.fixture(scope="module")
def ranking(survey: Survey) -> Ranking:
    return ranking_of(survey, known=[*survey.ids[:4].tolist(), "no-such-id"])


def test_yield_method_first_rows_and_problems(ranking: Ranking) -> None:
    shown = ranking._repr_html_()
    assert shown.count("<tr>") == 11 and "and 30 more" in shown
    assert str(ranking.table["id"][0]) in shown and str(ranking.table["id"][12]) not in shown
    assert "true objects in the first" in shown and "matched_filter" in shown
    assert "&#x27;no-such-id&#x27;" in shown


def test_names_of_files_are_no_markup(ranking: Ranking) -> None:
    shown = ranking._repr_html_()
    listed = ranking.table["id"][:10].tolist()
    assert any(name in listed for name in HOSTILE), "nothing hostile is shown, so nothing is tested"
    assert "<script" not in shown and "<img" not in shown and "<b>C" not in shown and "\u202e" not in shown


def test_unknown_numbers_are_empty_and_long_lists_of_problems_are_cut(ranking: Ranking) -> None:
    table = ranking.table.copy()
    table["z"] = np.nan
    shown = replace(ranking, table=table[:3], problems=[f"problem {i}" for i in range(9)])._repr_html_()
    assert (
        "nan" not in shown and "problem 4" in shown and "problem 5" not in shown and "and 4 more in .problems" in shown
    )


def test_known_examples_out_of_astropy(survey: Survey) -> None:
    """Columns, rows, tables with units or coordinates, and masked cells, which name nothing and are told."""
    ids = survey.ids[:3].tolist()
    table = Table({"id": ids, "ra": survey.catalogue["ra"][:3], "dec": survey.catalogue["dec"][:3]})
    sky = SkyCoord(table["ra"], table["dec"], unit="deg")
    for known in (table["id"], table, QTable({"where": sky}), sky):
        assert examples_of(survey, known).ids == ids
    assert examples_of(survey, table[1]).ids == ids[1:2] and examples_of(survey, np.array(ids[2])).ids == ids[2:]
    partly = examples_of(survey, MaskedColumn(ids, mask=[False, True, False]))
    assert partly.ids == [ids[0], ids[2]] and partly.n_given == 3 and partly.problems == ["a masked value is not an id"]


def test_known_examples_out_of_specutils(survey: Survey) -> None:
    specutils = pytest.importorskip("specutils")
    stack = spectra_with_bands(3)
    for known in (
        stack.to_specutils(),
        [one.to_specutils() for one in stack],
        specutils.SpectrumList(one.to_specutils() for one in stack),
    ):
        examples = examples_of(survey, known)
        assert examples.ids == stack.ids and not examples.problems
    assert examples_of(survey, stack[1].to_specutils()).ids == stack.ids[1:2]
    in_survey = survey[survey.ids[2]].to_specutils()
    assert examples_of(survey, in_survey).rows.tolist() == [2]


def test_the_yield_curve_shows_itself(ranking: Ranking) -> None:
    curve = ranking.yield_curve
    assert curve.can_tell, "no estimate, so no curve is tested"
    assert repr(curve).startswith("<YieldCurve of the first ") and curve.why in repr(curve)
    assert "first 10: about " in repr(curve) and "array(" not in repr(curve)
    shown = curve._repr_html_()
    assert "<svg" in shown and shown.count("<path") == 3 and "true objects in the first" in shown
    assert f"<bdi>{curve.expected[9]:.1f}</bdi>" in shown


def test_a_yield_that_is_not_known_is_words_alone() -> None:
    curve = yield_curve(np.linspace(3, 1, 300), np.array([250, 280, 290]), n_known=3)  # the ranking does not find them
    assert not curve.can_tell and curve.why in repr(curve) and "first 10" not in repr(curve)
    assert "<svg" not in curve._repr_html_() and "no estimate" in curve._repr_html_()


def test_an_explanation_shows_itself(ranking: Ranking) -> None:
    explanation = ranking.explain(str(ranking.table["id"][0]))
    assert repr(explanation).startswith("<Explanation of ") and "array(" not in repr(explanation)
    shown = explanation._repr_html_()
    assert shown.count("<svg") == 2 and "relative to a typical spectrum" in shown
    assert all(f"{band.start:.0f}-{band.stop:.0f} Å" in shown for band in explanation.bands) and explanation.bands
    hostile = replace(explanation, id="<script>\x1b", said="<img src=x>")
    assert "<script" not in hostile._repr_html_() and "<img" not in hostile._repr_html_()
    assert "\x1b" not in repr(hostile) and "\x1b" not in hostile._repr_html_()
