"""The list: sorted, filtered, and one candidate found by its id, with the keyboard as before."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from inspector.browser.visiting import Visit, inspecting
from inspector.running_inspector import Running, campaign_of
from rarespec.survey import Survey
from search_rankings import N, survey_with_bands

TOP = 100


@pytest.fixture(scope="module")
def varied(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Running, Visit]]:
    """Classes and S/N differ."""
    folder = tmp_path_factory.mktemp("varied")
    columns: dict[str, list[Any]] = {
        "class": ["C" if i < 20 else ("M", "K", None)[i % 3] for i in range(N)],
        "subclass": [f"sub{i % 7}" for i in range(N)],
        "snr": [float(i % 50) if i % 11 else None for i in range(N)],
    }
    survey = survey_with_bands(folder / "a.survey", **columns)
    with inspecting(browser, campaign_of(survey, top=TOP), folder, relearn_every=0) as both:
        yield both


@pytest.fixture
def listed(varied: tuple[Running, Visit]) -> tuple[Running, Visit]:
    """The whole list in the grid, at its beginning."""
    _, visit = varied
    visit.press("Escape", "g")
    if visit.page.locator("#clear-filters").is_visible():
        visit.page.click("#clear-filters")
    visit.page.click("[data-action=first-page]")
    return varied


def shown(visit: Visit) -> list[str]:
    return visit.page.locator(".card-id").all_text_contents()


def facts_of(server: Running) -> list[dict[str, Any]]:
    return [server.inspection.listing.facts[id] for id in server.inspection.listing.ids]


def test_filters_together_and_cleared_with_one_click(listed: tuple[Running, Visit]) -> None:
    server, visit = listed
    facts = facts_of(server)
    visit.see("#shown-count").to_have_text(f"{TOP} of {TOP} shown")
    visit.page.select_option("#filter-class", "is:M")
    wanted = [one["id"] for one in facts if one["class"] == "M"]
    visit.see("#shown-count").to_have_text(f"{len(wanted)} of {TOP} shown")
    assert shown(visit) == wanted[:60]
    visit.page.fill("#filter-snr", "20")
    wanted = [one["id"] for one in facts if one["class"] == "M" and (one["snr"] or 0) >= 20]
    visit.see("#shown-count").to_have_text(f"{len(wanted)} of {TOP} shown")
    assert shown(visit) == wanted and 0 < len(wanted) < 60
    visit.page.click("#clear-filters")
    visit.see("#shown-count").to_have_text(f"{TOP} of {TOP} shown")
    assert shown(visit) == [one["id"] for one in facts[:60]] and visit.page.input_value("#filter-snr") == ""


def test_text_is_sought_in_id_class_and_subclass(listed: tuple[Running, Visit]) -> None:
    server, visit = listed
    visit.press("/")
    visit.page.keyboard.type("SUB3 k")
    visit.press("Enter")
    wanted = [one["id"] for one in facts_of(server) if one["subclass"] == "sub3" and one["class"] == "K"]
    assert shown(visit) == wanted and len(wanted) > 1
    visit.press("j")
    assert visit.selected == wanted[1], "keys move within what is shown"


def test_flags_are_chosen_by_name(listed: tuple[Running, Visit]) -> None:
    server, visit = listed
    server.inspection.read_ahead.result()
    visit.reload()
    flagged = [one["id"] for one in facts_of(server) if one["flags"]]
    visit.page.select_option("#filter-flag", "none")
    visit.see("#shown-count").to_have_text(f"{TOP - len(flagged)} of {TOP} shown")
    visit.page.select_option("#filter-flag", "some")
    visit.see("#shown-count").to_have_text(f"{len(flagged)} of {TOP} shown")


def test_what_matches_nothing_is_said_and_nothing_is_labelled(listed: tuple[Running, Visit]) -> None:
    _, visit = listed
    visit.page.fill("#filter-text", "no such text")
    visit.see("#shown-count").to_contain_text("0 of ")
    visit.see("#page-number").to_have_text("Nothing matches the filter.")
    visit.page.locator("#filter-text").blur()
    visit.press("y")
    visit.see("#saved").to_have_text("Nothing is shown, so nothing was labelled.")
    visit.press("Enter")
    visit.see("#rank-list").to_contain_text("Nothing matches the filter.")
    visit.see("#position").to_contain_text("not among those shown")
    visit.page.click("#clear-filters")
    visit.see("#position").to_contain_text(f"of {TOP}, rank")
    assert visit.log.events() == []


KEYS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "snr": lambda one: (one["snr"] is None, -(one["snr"] or 0)),
    "id": lambda one: one["id"],
    "class": lambda one: f"{one['class'] or ''} {one['subclass']}".strip().lower(),
    "chance": lambda one: (one["chance"] is None, -(one["chance"] or 0)),
    "rank": lambda one: one["rank"],
}


@pytest.mark.parametrize("sort", KEYS)
def test_sorts(listed: tuple[Running, Visit], sort: str) -> None:
    server, visit = listed
    visit.page.fill("#filter-snr", "10")
    visit.page.select_option("#sort", sort)
    visit.see("#shown-count").to_contain_text(", by ")
    visit.page.click("[data-action=first-page]")  # the candidate that is selected stays so, on whatever page
    plain = [one for one in facts_of(server) if one["id"].startswith("s") and (one["snr"] or 0) >= 10]
    wanted = [one["id"] for one in sorted(plain, key=KEYS[sort])]  # the hostile ids collate in their own way
    found = [id for id in shown(visit) if id.startswith("s")]
    assert found == wanted[: len(found)] and len(found) > 40
    visit.page.click("#sort-direction")
    visit.see("#shown-count").to_contain_text(", reversed")
    visit.page.click("[data-action=first-page]")
    assert shown(visit)[:3] != found[:3]


def test_place_and_rank_are_two_things(listed: tuple[Running, Visit]) -> None:
    server, visit = listed
    visit.page.select_option("#sort", "snr")
    visit.page.click("[data-action=first-page]")
    visit.press("Enter")
    visit.drawn()
    facts = server.inspection.listing.facts[visit.selected]
    assert facts["rank"] != 1
    visit.see("#position").to_have_text(f"place 1 of {TOP}, rank {facts['rank']}")
    visit.see("#place-0 .rank").to_have_text(str(facts["rank"]))
    told = visit.text("#place-0 .told")
    assert f"S/N {facts['snr']:.0f}" in told and "%" in told
    visit.press("m")  # another order of the server, which the sort would hide
    visit.see("#order").to_contain_text("Most informative first")
    visit.see("#shown-count").to_have_text(f"{TOP} of {TOP} shown")
    visit.press("m")
    visit.see("#order").to_contain_text("Most likely first")


def test_going_to_an_id(listed: tuple[Running, Visit]) -> None:
    server, visit = listed
    ids = server.inspection.listing.ids
    target = next(id for id in ids[40:] if id.startswith("s"))
    visit.page.select_option("#filter-class", "is:C")
    visit.page.locator("#filter-class").blur()
    visit.press("a")
    visit.page.fill("#go-to-id", target)
    visit.press("Enter")
    visit.see("#go-to").to_be_hidden()
    visit.drawn()
    assert visit.selected == target and visit.page.input_value("#filter-class") == "is:C"
    absent = next(f"s{i:03d}" for i in range(20, N) if f"s{i:03d}" not in ids)
    words = {
        "s0": "ids of the list contain it",
        "s000": "s000 is a known example, so it is not a candidate.",
        absent: f"{absent} is in the survey, but not among the {TOP} candidates of this list; --top lists more.",
        "<b>x</b>": "No spectrum of the survey has the id <b>x</b>.",
    }
    visit.press("a")
    for text, said in words.items():
        visit.page.fill("#go-to-id", text)
        visit.press("Enter")
        visit.see("#go-to-words").to_contain_text(said)
    visit.press("Escape")
    assert visit.selected == target


def test_the_next_key_counts_though_the_field_of_a_closed_dialog_still_has_the_focus(
    listed: tuple[Running, Visit],
) -> None:
    _, visit = listed
    visit.press("a")
    visit.see("#go-to").to_be_visible()
    focused = visit.page.evaluate("""() => {
        document.getElementById("go-to").close();
        const { activeElement } = document;
        const key = { key: "E", code: "KeyE", shiftKey: true, bubbles: true, cancelable: true };
        activeElement.dispatchEvent(new KeyboardEvent("keydown", key));
        return activeElement.id;
    }""")
    assert focused == "go-to-id"
    visit.see("#export").to_be_visible()
    visit.press("Escape")
    visit.see("#export").to_be_hidden()


def test_a_label_stays_in_sight_and_re_ranking_keeps_the_choice(browser: Any, survey: Survey, tmp_path: Path) -> None:
    with inspecting(browser, campaign_of(survey, top=30), tmp_path, relearn_every=0) as (_, visit):
        visit.page.select_option("#filter-label", "none")
        visit.page.select_option("#sort", "id")
        visit.page.locator("#sort").blur()
        visit.page.click("[data-action=first-page]")
        first = shown(visit)[:3]
        visit.press("y", "n")
        visit.wait_until_saved(2)
        assert visit.selected == first[2] and shown(visit)[:3] == first
        visit.see(".card >> nth=0").to_have_attribute("data-label", "yes")
        visit.press("r")
        visit.see("#change").to_contain_text("Re-ranked")
        visit.see("#shown-count").to_contain_text(", by id")
        assert visit.selected == first[2] and not set(first[:2]) & set(shown(visit))
        visit.press("z")  # what an undo is about comes back into sight
        visit.see("#saved").to_contain_text("undone")
        assert visit.selected == first[1] and first[1] in shown(visit)
