"""Labelling blind in the page: nothing of the others shows before one's own label."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from inspector.browser.visiting import Visit, inspecting
from inspector.running_inspector import Running
from rarespec.labels.campaign import Campaign
from rarespec.labels.event import Label, LabelEvent


@pytest.fixture
def blind(browser: Any, campaign: Campaign, tmp_path: Path) -> Iterator[tuple[Running, Visit]]:
    with inspecting(browser, campaign, tmp_path, relearn_every=0, blind=True) as (server, visit):
        for id in server.inspection.listing.ids[:2]:
            server.log.append(LabelEvent(str(uuid4()), id, Label.NO, person="Bob", comment="only noise"))
        visit.reload()
        yield server, visit


def test_others_are_hidden_until_one_has_labelled(blind: tuple[Running, Visit]) -> None:
    _, visit = blind
    visit.see("#blind").to_be_visible()
    visit.open_detail()
    visit.see("#object-others").to_have_text("Hidden until you label this spectrum.")
    visit.see("#progress-counts").to_contain_text("Inspected 0")
    assert "Bob" not in visit.page.content() and "only noise" not in visit.page.content()
    visit.press("y")
    visit.wait_until_saved(3)
    visit.press("k")
    visit.see("#object-others").to_have_text("Bob ✗ no “only noise”. People disagree (≠).")
    visit.see("#place-0 .differs").to_have_text("≠")
    visit.see("#place-1 .differs").to_have_text("")
    visit.press("z")
    visit.see("#object-others").to_have_text("Hidden until you label this spectrum.")
    visit.see("#place-0 .differs").to_have_text("")


def test_only_ones_own_disagreements_are_listed(blind: tuple[Running, Visit]) -> None:
    _, visit = blind
    visit.press("d")
    visit.see("#disagreement-list").to_have_text("No disagreements so far.")
    visit.see("#disagreements-blind").to_be_visible()
    visit.press("Escape", "y")
    visit.wait_until_saved(3)
    visit.see(".card:first-child .differs").to_have_text("≠")
    visit.press("d")
    visit.see("#disagreement-list > li").to_have_count(1)


def test_who_is_not_blind_is_told_nothing_of_it(visit: Visit) -> None:
    visit.see("#blind").to_be_hidden()
    visit.press("d")
    visit.see("#disagreements-blind").to_be_hidden()
