"""Reload, restart, a network that fails: one is where one was, and no label is lost or doubled."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from inspector.browser.visiting import Visit, serving, visiting
from inspector.running_inspector import Running
from rarespec.inspector.server import address
from rarespec.labels.campaign import Campaign
from rarespec.labels.event import Label
from rarespec.labels.log import LabelLog


def test_a_reload_returns_to_the_same_candidate_and_view(visit: Visit) -> None:
    visit.open_detail()
    visit.press("y", "n", "j", "j")
    visit.wait_until_saved(2)
    here = visit.selected
    visit.reload()
    assert visit.page.get_attribute("body", "data-view") == "detail"
    assert visit.selected == here
    visit.see("#rank-list .mark:not(:empty)").to_have_text(["✓", "✗"])
    visit.press("g")
    visit.reload()
    assert visit.page.get_attribute("body", "data-view") == "grid"
    assert visit.selected == here


def test_a_new_visit_begins_at_the_first_uninspected(browser: Any, inspected: tuple[Running, Visit]) -> None:
    server, visit = inspected
    visit.press("y", "n")
    visit.wait_until_saved(2)
    with visiting(browser, server.port, server.secrets.token, server.log) as other:
        assert other.selected == server.inspection.listing.ids[2]


@pytest.fixture
def offline(visit: Visit) -> Iterator[Callable[[bool], None]]:
    """Cuts the network, and mends it after the test whatever happened: other tests have the same browser."""
    yield visit.page.context.set_offline
    visit.page.context.set_offline(False)


def test_without_a_network_labels_wait_and_are_saved_once(visit: Visit, offline: Callable[[bool], None]) -> None:
    visit.open_detail()
    for key in ("j", "k"):  # the next spectrum has been fetched: nobody can label what was not seen
        visit.press(key)
        visit.drawn()
    offline(True)
    visit.press("y", "n")
    visit.see("#warning").to_contain_text("2 labels are not saved yet")
    visit.see("#rank-list .mark.saving").to_have_text(["✓…", "✗…"])
    assert visit.log.events() == []
    offline(False)
    events = visit.wait_until_saved(2)
    visit.see("#warning").to_be_hidden()
    assert [event.label for event in events] == [Label.YES, Label.NO]
    visit.complaints.clear()  # the browser reports every request that failed


def test_an_answer_that_is_lost_is_asked_for_again_with_the_same_event(visit: Visit) -> None:
    visit.open_detail()
    bodies = []

    def lose_the_first_answer(route: Any) -> None:
        bodies.append(json.loads(route.request.post_data))
        answer = route.fetch()
        if len(bodies) > 1:
            route.fulfill(response=answer)
        else:
            route.abort()

    visit.answer("**/api/labels", lose_the_first_answer)
    visit.press("y")
    visit.see("#saved").to_contain_text("saved: yes")
    assert len(bodies) == 2 and bodies[0] == bodies[1]
    assert [event.event_id for _, event in visit.log.events()] == [bodies[0]["event_id"]]
    visit.complaints.clear()


def test_labels_that_wait_outlast_a_reload(visit: Visit) -> None:
    visit.open_detail()
    visit.answer("**/api/labels", lambda route: route.abort())
    first = visit.selected
    visit.press("y")
    visit.see("#warning").to_be_visible()
    visit.reload()
    assert "dialog: beforeunload" in visit.complaints
    visit.see("#place-0 .mark").to_have_text("✓…")
    assert visit.log.events() == []
    visit.page.unroute("**/api/labels")
    assert [(event.spectrum, event.label) for event in visit.wait_until_saved(1)] == [(first, Label.YES)]
    visit.complaints.clear()


def test_a_label_is_not_lost_to_a_list_that_was_read_before_it(visit: Visit) -> None:
    visit.open_detail()
    held = []
    visit.answer("**/api/candidates?start=0&n=500", lambda route: held.append(route))
    visit.page.evaluate("() => window.dispatchEvent(new Event('focus'))")
    while not held:
        visit.page.evaluate("() => 0")  # while it waits for an answer, it hears of the request
    answer = held[0].fetch()
    visit.press("y")
    visit.wait_until_saved(1)
    (route,) = held
    assert answer.json()["candidates"][0]["label"] is None
    with visit.page.expect_request_finished(lambda request: request == route.request):
        route.fulfill(response=answer)
    visit.press("g")
    visit.see(".card:first-child .mark").to_have_text("✓ yes")


def test_a_label_that_is_refused_is_told_and_taken_off(visit: Visit) -> None:
    visit.open_detail()
    first = visit.selected
    visit.press("c")
    visit.page.keyboard.type("odd")
    visit.press("Enter")
    refusal = {
        "status": 400,
        "content_type": "application/json",
        "body": json.dumps({"error": "the disk is <b>full</b>"}),
    }
    visit.answer("**/api/labels", lambda route: route.fulfill(**refusal))
    visit.press("y")
    visit.see("#notice-words").to_have_text(
        f"The label “yes” of {first} was refused and is NOT saved: the disk is <b>full</b>"
    )
    visit.see("#rank-list .mark:not(:empty)").to_have_count(0)
    visit.press("k")
    visit.see("#comment").to_have_value("odd")
    visit.page.click("#notice-close")
    visit.see("#notice").to_be_hidden()
    visit.complaints.clear()


def test_after_a_restart_of_the_server_the_labels_go_to_it(browser: Any, campaign: Campaign, tmp_path: Path) -> None:
    with LabelLog(tmp_path / "labels.sqlite") as log, ExitStack() as visits:
        with serving(campaign, log, 0) as (port, secrets):
            visit = visits.enter_context(visiting(browser, port, secrets.token, log))
            visit.open_detail()
            visit.press("y")
            visit.wait_until_saved(1)
        visit.press("n")
        visit.see("#warning").to_contain_text("1 label is not saved yet")
        with serving(campaign, log, port) as (_, secrets):
            visit.see("#warning").to_contain_text("open the address that it printed")
            assert len(log.events()) == 1
            visit.page.context.new_page().goto(address(port, secrets.token))
            visit.see("#warning").to_be_hidden()
            assert [event.label for event in visit.wait_until_saved(2)] == [Label.YES, Label.NO]


def test_another_person_on_the_same_port_gets_no_labels(browser: Any, campaign: Campaign, tmp_path: Path) -> None:
    with LabelLog(tmp_path / "labels.sqlite") as log, ExitStack() as visits:
        with serving(campaign, log, 0) as (port, secrets):
            visit = visits.enter_context(visiting(browser, port, secrets.token, log))
        visit.press("n")
        visit.see("#warning").to_contain_text("1 label is not saved yet")
        with serving(campaign, log, port, person="Bob") as (_, secrets):
            visit.page.context.new_page().goto(address(port, secrets.token))
            visit.see("#warning").to_contain_text("to Bob")
            assert log.events() == []
