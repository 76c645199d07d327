"""Several people at a time: where they are, and how they settle a disagreement."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest

from inspector.browser.test_hostile_text import FOREIGN
from inspector.browser.visiting import Visit
from inspector.running_inspector import Running
from rarespec.inspector.whereabouts import Whereabouts
from rarespec.labels.event import Label, LabelEvent

LOOK_AGAIN = "() => window.dispatchEvent(new Event('focus'))"


@pytest.fixture
def bob(looked_at: tuple[Running, Visit]) -> Iterator[Whereabouts]:
    """Somebody else with the same log."""
    bob = Whereabouts(looked_at[0].log.path, "Bob <img src=x onerror=window.hacked=1>")
    yield bob
    bob.close()


def test_the_page_shows_where_somebody_is_and_goes_there(looked_at: tuple[Running, Visit], bob: Whereabouts) -> None:
    server, visit = looked_at
    id = server.inspection.listing.ids[7]
    bob.tell(id)
    bob.others()
    visit.page.evaluate(LOOK_AGAIN)
    rank = server.inspection.listing.facts[id]["rank"]
    visit.see(".whereabouts").to_have_text(f"Bob <img src=x onerror=window.hacked=1> is at rank {rank}")
    visit.see(".card .here:not(:empty)").to_have_count(1)
    assert visit.page.evaluate(FOREIGN) == []
    visit.page.click(".whereabouts")
    visit.drawn()
    assert visit.selected == id
    visit.see("#place-7 .here").to_have_attribute("title", "Bob <img src=x onerror=window.hacked=1> is here")
    visit.page.evaluate(LOOK_AGAIN)  # which tells the others that we are here now
    visit.see(".whereabouts").to_have_count(1)
    bob.close()
    visit.page.evaluate(LOOK_AGAIN)
    visit.see(".whereabouts").to_have_count(0)
    visit.see(".here:not(:empty)").to_have_count(0)


def test_the_page_tells_where_one_is(looked_at: tuple[Running, Visit], bob: Whereabouts) -> None:
    server, visit = looked_at
    visit.press("j", "j", "j")
    with visit.page.expect_response("**/api/place"):
        visit.page.evaluate(LOOK_AGAIN)
    assert server.inspection.whereabouts is not None
    assert server.inspection.whereabouts.here == visit.selected == server.inspection.listing.ids[3]


def disagree(server: Running, id: str, own: Label | None) -> None:
    said = {"Bob": Label.YES, "Cleo": Label.NO} | ({"Ada": own} if own else {})
    for who, label in said.items():
        server.log.append(LabelEvent(str(uuid4()), id, label, person=who, comment=f"as {who} sees it"))


def test_one_agrees_with_another(inspected: tuple[Running, Visit]) -> None:
    server, visit = inspected
    first, second = server.inspection.listing.ids[4:6]
    for id in (first, second):
        disagree(server, id, Label.NO)
    visit.n_before = 6
    visit.press("d")
    item = f"#disagreement-list > li[data-id='{first}']"
    for words in ("Ada ✗ no “as Ada sees it”", "Bob ✓ yes “as Bob sees it”", "Cleo ✗ no", "together: no"):
        visit.see(item).to_contain_text(words)
    visit.see(f"{item} time").to_have_count(3)
    visit.page.click(f"{item} >> text=Agree with Bob: yes")
    (event,) = visit.wait_until_saved(1)
    assert (event.spectrum, event.label, event.person) == (first, Label.YES, "Ada")
    assert event.comment == "as Ada sees it; agreed with Bob"
    visit.see(item).to_contain_text("together: yes")  # of Bob and Ada against Cleo
    visit.see(item).to_contain_text("Ada ✓ yes")
    assert server.inspection.history().merged[first].label is Label.YES


def test_one_keeps_ones_own_with_a_reason(inspected: tuple[Running, Visit]) -> None:
    server, visit = inspected
    id = server.survey_id_off_the_list()
    disagree(server, id, Label.UNSURE)
    visit.n_before = 3
    visit.press("d")
    visit.page.click("text=Keep mine: unsure")
    visit.see(".settle input").to_be_focused()
    assert len(server.log.events()) == 3  # nothing without a reason
    visit.page.keyboard.type("the blue end is noise")
    visit.page.click("text=Keep mine: unsure")
    (event,) = visit.wait_until_saved(1)
    assert (event.spectrum, event.label, event.comment) == (id, Label.UNSURE, "the blue end is noise")
    visit.see("#disagreement-list").to_contain_text("Ada ? unsure “the blue end is noise”")


def test_one_looks_and_comes_back(inspected: tuple[Running, Visit]) -> None:
    server, visit = inspected
    ids = server.inspection.listing.ids[10:30]
    for id in ids:
        disagree(server, id, None)
    visit.press("d")
    visit.see("text=Keep mine").to_have_count(0)  # one has said nothing yet
    visit.page.click(f".look >> text='{ids[17]}'")
    visit.drawn()
    assert visit.selected == ids[17]
    visit.see("#to-disagreements.back").to_be_visible()
    visit.press("d")
    visit.see(f"li[data-id='{ids[17]}'] .look").to_be_focused()
    visit.see(f"li[data-id='{ids[17]}']").to_be_in_viewport()
    visit.see("#to-disagreements.back").to_have_count(0)
