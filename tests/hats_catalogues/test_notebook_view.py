"""A ranking of a HATS catalogue shows itself: what was scored, the best candidates, what went wrong."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from astropy.table import Table

from rarespec.hats.ranking import Account, HatsRanking
from rarespec.searching.yields.yield_curve import YieldCurve
from search_rankings import ranking_of, survey_with_bands

HOSTILE = "<script>alert(1)</script>\u202e"


@pytest.fixture(scope="module")
def sample_yield(tmp_path_factory: pytest.TempPathFactory) -> YieldCurve:
    return ranking_of(survey_with_bands(tmp_path_factory.mktemp("hats-view") / "b.survey")).yield_curve


@pytest.fixture
def ranking() -> HatsRanking:
    ids = [HOSTILE, *(f"s{i:05d}" for i in range(1, 14))]
    columns = {"rank": range(1, 15), "id": ids, "z": [np.nan, *[0.5] * 13], "score": np.linspace(2, 1, 14)}
    account = Account(read=1203, scored=1201, not_listed=1, unusable=Counter({"no features": 2}))
    account.example["no features"] = "s77777"
    return HatsRanking(
        table=Table(columns), account=account, unread={"Norder=1/Npix=7": "cut off"}, empty=[], method="auto",
        why=f"learned {HOSTILE}", lesson_problems=[], examples_lost=False, sample_yield=None,
        provenance={"catalogue": HOSTILE},
    )  # fmt: skip


def test_what_was_scored_first_rows_and_problems(ranking: HatsRanking) -> None:
    shown = ranking._repr_html_()
    assert "Ranking of 1\u202f200 spectra" in shown
    assert shown.count("<tr>") == 11
    assert "s00009" in shown and "s00010" not in shown and "and 4 more in .table" in shown
    assert "cut off" in shown and "s77777" in shown
    assert "nan" not in shown


def test_names_of_catalogues_are_no_markup(ranking: HatsRanking) -> None:
    shown = ranking._repr_html_()
    assert "alert(1)" in shown and "<script" not in shown and "\u202e" not in shown


def test_a_yield_is_said_to_be_that_of_the_sample(ranking: HatsRanking, sample_yield: YieldCurve) -> None:
    assert "sample" not in ranking._repr_html_()
    shown = replace(ranking, sample_yield=sample_yield)._repr_html_()
    assert "Estimate for the training sample only: " in shown and "true objects in the first" in shown
