"""The inspector who knows the truth: what is looked at, when it is learned from, and that learning finds more."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from rarespec.errors import UsageError
from rarespec.features import PaperFeatures
from rarespec.labels.campaign import Campaign
from rarespec.labels.event import Label
from rarespec.labels.simulated_inspector import simulate_looks
from search_rankings import N_RARE, survey_with_bands


class Shelf:
    """A list that turns round whenever it learns, and remembers when it did."""

    def __init__(self, ids: str) -> None:
        self.ids, self.learned = list(ids), []

    def list_ids(self, order: str) -> list[str]:
        assert order == "informative"
        return self.ids

    def relearn(self, labels: Mapping[str, Label]) -> None:
        self.learned.append("".join(id.upper() if label is Label.YES else id for id, label in labels.items()))
        self.ids = self.ids[::-1]


def test_the_next_that_nobody_looked_at_is_looked_at() -> None:
    shelf = Shelf("abcdefgh")
    found = simulate_looks(shelf, {"a", "h", "c", "x"}, 7, 2, "informative")
    assert shelf.learned == ["Ab", "AbHg", "AbHgCd"]
    assert found.tolist() == [True, False, True, False, True, False, False]


def test_a_list_that_ends_is_told() -> None:
    with pytest.raises(UsageError, match="ends after 3 of 4 looks"):
        simulate_looks(Shelf("abc"), {"a"}, 4, 2, "informative")
    with pytest.raises(UsageError, match="at least 1"):
        simulate_looks(Shelf("abc"), {"a"}, 0)


def test_looking_at_a_campaign_finds_the_others(tmp_path) -> None:
    survey = survey_with_bands(tmp_path / "a.survey")
    rare = survey.ids[:N_RARE].tolist()
    given = {"method": "matched_filter", "params": {"method": "lda"}, "recipe": PaperFeatures(n_components=10)}
    campaign = Campaign.start(survey, rare[:1], top=50, **given)
    fixed = [id in rare for id in campaign.list_ids()[:30]]
    found = simulate_looks(campaign, rare, 30, 3)
    assert campaign.revision == 9 and found.sum() >= sum(fixed) and found.sum() >= N_RARE - 3
