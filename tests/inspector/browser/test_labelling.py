"""Labels by the keyboard: each key press is one event of the log, and one can take it back."""

from __future__ import annotations

from collections import Counter
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import pytest

from inspector.browser.visiting import Visit, inspecting
from inspector.running_inspector import campaign_of
from rarespec.labels.event import Label
from rarespec.labels.merging import find_standing_labels
from rarespec.survey import Survey


def test_each_key_gives_its_label_and_moves_on(visit: Visit) -> None:
    visit.open_detail()
    ids = []
    for key in "ynub":
        ids.append(visit.selected)
        visit.press(key)
    events = visit.wait_until_saved(4)
    assert [event.label for event in events] == [Label.YES, Label.NO, Label.UNSURE, Label.BAD]
    assert [event.spectrum for event in events] == ids and len(set(ids)) == 4
    assert [event.rank for event in events] == [1, 2, 3, 4]
    assert {event.person for event in events} == {"Ada"} and {event.revision for event in events} == {0}
    visit.see("#rank-list .mark:not(:empty)").to_have_text(["✓", "✗", "?", "⚠"])
    visit.see("#saved").to_have_text(f"{ids[3]} saved: bad data")


def test_labels_are_given_in_the_grid_too(visit: Visit) -> None:
    visit.press("y", "n")
    visit.wait_until_saved(2)
    visit.see("#cards .card:nth-child(-n+3) .mark").to_have_text(["✓ yes", "✗ no", ""])
    visit.see("#cards [aria-selected=true] .card-head b:first-child").to_have_text("rank 3")


def test_buttons_do_what_keys_do(labeller: Visit) -> None:
    labeller.open_detail()
    first, place = labeller.selected, int(labeller.text("#position").split()[1])
    labeller.page.click("button[data-action=yes]")
    assert labeller.selected != first
    labeller.press("Space")  # not once more the button: the next candidate
    assert [event.label for event in labeller.wait_until_saved(1)] == [Label.YES]
    labeller.see("#position").to_contain_text(f"place {place + 2} of")


@pytest.mark.parametrize("key", ["z", pytest.param("Control+z", marks=pytest.mark.exhaustive)])
def test_undo_is_an_event_and_returns_to_the_candidate(labeller: Visit, key: str) -> None:
    labeller.open_detail()
    first = labeller.selected
    labeller.press("y", key)
    given, taken_back = labeller.wait_until_saved(2)
    assert taken_back.undoes == given.event_id
    assert labeller.selected == first
    labeller.see("#object-label").to_have_text("Not inspected yet")


def test_undo_reaches_back_before_a_reload(visit: Visit) -> None:
    visit.open_detail()
    first = visit.selected
    visit.press("n")
    visit.wait_until_saved(1)
    visit.reload()
    visit.press("z")
    visit.see("#object-id").to_have_text(first)
    visit.see("#object-label").to_have_text("Not inspected yet")
    assert find_standing_labels(event for _, event in visit.log.events()) == {}


def test_undo_of_a_second_label_brings_the_first_back(labeller: Visit) -> None:
    labeller.open_detail()
    labeller.press("y", "k", "n", "z")
    labeller.wait_until_saved(3)
    labeller.see("#object-label").to_contain_text("✓ yes")


def test_nothing_left_to_undo_is_said(browser: Any, campaign: Any, tmp_path: Path) -> None:
    with inspecting(browser, campaign, tmp_path) as (_, visit):
        visit.press("z")
        visit.see("#saved").to_have_text("Nothing left to undo.")
        visit.complaints.clear()  # the browser reports every answer of 404


def test_a_held_key_labels_once(labeller: Visit) -> None:
    labeller.open_detail()
    labeller.page.keyboard.down("y")
    labeller.page.keyboard.down("y")
    labeller.page.keyboard.up("y")
    labeller.press("n")
    assert [event.label for event in labeller.wait_until_saved(2)] == [Label.YES, Label.NO]


def test_keys_do_nothing_while_typing_or_with_other_keys(labeller: Visit) -> None:
    labeller.open_detail()
    first = labeller.selected
    labeller.press("Control+y", "Alt+n", "Meta+b", "Shift+U")
    labeller.press("c")
    labeller.page.keyboard.type("by no means unsure")
    labeller.press("Escape")
    labeller.page.focus("#redshift")
    labeller.page.keyboard.type("n")
    labeller.press("Escape")
    assert labeller.selected == first
    labeller.press("y")
    assert [event.label for event in labeller.wait_until_saved(1)] == [Label.YES]


def test_a_comment_is_saved_with_a_label_that_is_there(labeller: Visit) -> None:
    labeller.open_detail()
    labeller.press("y", "k", "c")
    labeller.page.keyboard.type("strong C₂ <b>bands</b>")
    labeller.press("Enter")
    event = labeller.wait_until_saved(2)[-1]
    assert (event.label, event.comment) == (Label.YES, "strong C₂ <b>bands</b>")
    labeller.see("#object-label").to_contain_text("“strong C₂ <b>bands</b>”")


def test_a_comment_without_a_label_waits_for_it(visit: Visit) -> None:
    visit.open_detail()
    visit.press("c")
    visit.page.keyboard.type("looks odd")
    visit.press("Enter")
    visit.see("#comment-state").to_contain_text("not saved yet")
    visit.press("j", "k")
    visit.reload()
    visit.see("#comment").to_have_value("looks odd")
    visit.press("u")
    event = visit.wait_until_saved(1)[-1]
    assert (event.label, event.comment) == (Label.UNSURE, "looks odd")


@pytest.mark.parametrize("n", [35, pytest.param(100, marks=pytest.mark.exhaustive)])
def test_many_labels_by_key_while_the_ranking_learns(browser: Any, survey: Survey, tmp_path: Path, n: int) -> None:
    campaign = campaign_of(survey, top=190)
    keys = list(islice(cycle("ynnub"), n))
    with inspecting(browser, campaign, tmp_path, relearn_every=10) as (_, visit):
        visit.open_detail()
        seen = []
        for key in keys:
            seen.append(visit.selected)
            visit.press(key)
        events = visit.wait_until_saved(n)
        visit.see("#change").to_contain_text("Re-ranked")
        visit.see("#relearn:not([aria-busy])").to_have_count(1)
    assert [event.spectrum for event in events] == seen
    assert len(set(seen)) == n
    words = {"y": Label.YES, "n": Label.NO, "u": Label.UNSURE, "b": Label.BAD}
    assert Counter(event.label for event in events) == Counter(words[key] for key in keys)
    assert campaign.revision > 0
