"""What is left in a list of which a part has been looked at."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rarespec.features import PaperFeatures
from rarespec.labels.campaign import Campaign
from rarespec.labels.event import Label
from rarespec.searching.yields.after_looks import yield_after_looks
from rarespec.searching.yields.yield_curve import yield_curve
from search_rankings import N_RARE, survey_with_bands

N, N_MEMBERS = 5000, 80
PLACES = np.array([4, 11, 19, 28, 40, 47, 55, 63, 70, 78])
"""Of hidden examples among 80 members that stand first."""


def scores() -> np.ndarray:
    """A group that stands apart from the bulk, falling."""
    rng = np.random.default_rng(1)
    return -np.sort(-np.concatenate([rng.normal(8, 1, N_MEMBERS), rng.normal(0, 1, N - N_MEMBERS)]))


def after(n_looked: int, n_found: int) -> object:
    return yield_after_looks(scores()[n_looked:], PLACES, 10, n_looked, n_found)


def test_before_the_first_look_it_is_the_yield_curve() -> None:
    np.testing.assert_array_equal(after(0, 0).expected, yield_curve(scores(), PLACES, 10).expected)


@pytest.mark.parametrize("n_looked", [10, 40, 60])
def test_what_was_found_is_no_longer_expected(n_looked: int) -> None:
    curve = after(n_looked, n_looked)
    left = N_MEMBERS - n_looked
    assert curve.n_total_low <= left <= curve.n_total_high and abs(curve.n_total - left) < 0.35 * N_MEMBERS
    assert curve.chance[0] > 0.6 and len(curve.expected) == N - n_looked


def test_looks_that_find_nothing_lower_what_is_expected() -> None:
    assert after(150, 80).n_total < after(85, 80).n_total < after(60, 60).n_total
    assert after(150, 80).stopping_rank < 20


@pytest.mark.parametrize(("n_looked", "n_found"), [(1, 0), (50, 3), (79, 79), (300, 80), (4980, 80)])
def test_the_curve_is_in_order(n_looked: int, n_found: int) -> None:
    curve = after(n_looked, n_found)
    k = np.arange(1, N - n_looked + 1)
    assert (np.diff(curve.chance) <= 0).all() and (curve.low <= curve.expected).all()
    assert (curve.expected <= curve.high).all() and (curve.high <= k).all() and (curve.low >= 0).all()
    assert (np.diff(curve.low) >= 0).all() and (np.diff(curve.high) >= 0).all()
    assert curve.n_total == curve.expected[-1] and f"{n_looked} labels" in curve.why


def test_where_nothing_can_be_told_nothing_is_told() -> None:
    curve = yield_after_looks(scores()[20:], np.array([], int), 3, 20, 15)
    assert not curve.can_tell and np.isnan(curve.expected).all() and len(curve.high) == N - 20
    assert curve.high[-1] == curve.n_total_high == N - 20 and curve.stopping_rank is None


def test_labels_tell_how_pure_the_top_is() -> None:
    alone = [yield_after_looks(scores()[20:], np.array([], int), 1, 20, found) for found in (0, 20)]
    assert alone[0].chance[0] + 0.3 < alone[1].chance[0] and alone[0].n_total < alone[1].n_total


def test_a_campaign_still_expects_the_others_after_it_has_found_many(tmp_path: Path) -> None:
    survey = survey_with_bands(tmp_path / "a.survey")
    rare, params = survey.ids[:N_RARE].tolist(), {"method": "lda"}
    campaign = Campaign.start(survey, rare[:8], "matched_filter", params=params, recipe=PaperFeatures(n_components=10))
    found = [id for id in campaign.list_ids() if id in rare][:6]
    campaign.relearn(dict.fromkeys(found, Label.YES))
    left = len(rare) - 8 - 6
    curve = campaign.ranking.yield_curve
    assert curve.n_total_low <= left <= curve.n_total_high and curve.n_total > left / 3
    assert campaign.progress(dict.fromkeys(found, Label.YES)).expected_remaining == pytest.approx(
        (curve.n_total_low, curve.n_total, curve.n_total_high)
    )
