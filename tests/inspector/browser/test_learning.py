"""Re-ranking from the page: on a key or after a few labels, without losing one's place."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from inspector.browser.visiting import Visit, inspecting
from inspector.running_inspector import Running, campaign_of
from rarespec.survey import Survey

TOP = 60


@pytest.fixture
def learning(browser: Any, survey: Survey, tmp_path: Path) -> Iterator[tuple[Running, Visit]]:
    campaign = campaign_of(survey, n_known=2, top=TOP)
    with inspecting(browser, campaign, tmp_path, relearn_every=3) as both:
        yield both


def test_re_ranked_on_a_key_the_same_candidate_stays_and_what_moved_is_shown(learning: tuple[Running, Visit]) -> None:
    server, visit = learning
    visit.open_detail()
    visit.press("y", "n", *"jjj")
    here = visit.selected
    visit.press("r")
    visit.see("#change").to_contain_text("with 1 yes, 1 no")
    assert visit.selected == here
    place = server.inspection.listing.ids.index(here)
    visit.see(f"#place-{place}[aria-selected=true] .name").to_have_text(here)
    moved = {id: old for id, old in server.inspection.listing.moved.items() if old is not None}
    assert moved, "nothing moved, so nothing is tested"
    visit.press("g")
    for id in [id for id in server.inspection.listing.ids[:30] if id in moved][:5]:
        new = server.inspection.listing.facts[id]["rank"]
        arrow = "▲" if moved[id] > new else "▼"
        card = visit.page.locator(".card").filter(has=visit.page.get_by_text(id, exact=True))
        assert card.locator(".moved").text_content() == f"{arrow} {abs(moved[id] - new)}"
        card.click()
        assert f"rank{new}, was {moved[id]}chance" in visit.text("#object-facts")
    visit.page.click("[data-action=first-page]")
    assert "rank1 when labelledchance" in visit.text("#object-facts")


def test_it_learns_by_itself_after_a_few_labels(learning: tuple[Running, Visit]) -> None:
    server, visit = learning
    visit.open_detail()
    visit.press("y", "u", "n")
    visit.wait_until_saved(3)
    assert server.inspection.campaign.revision == 0, "unsure teaches nothing"
    visit.press("b")
    visit.see("#change").to_contain_text("with 1 yes, 1 no")
    assert server.inspection.campaign.revision == 1


def test_an_undo_counts_as_a_label_and_a_comment_does_not(learning: tuple[Running, Visit]) -> None:
    server, visit = learning
    visit.open_detail()
    visit.press("y", "n", "k", "c")
    visit.page.keyboard.type("faint")
    visit.press("Enter")
    visit.wait_until_saved(3)
    assert server.inspection.campaign.revision == 0
    visit.press("z", "z")
    visit.see("#change").to_contain_text("with 1 yes, 0 no")


def test_at_the_end_of_the_list(browser: Any, survey: Survey, tmp_path: Path) -> None:
    with inspecting(browser, campaign_of(survey, top=3), tmp_path, relearn_every=0) as (_, visit):
        visit.open_detail()
        visit.press(*"ynnn")
        visit.wait_until_saved(4)
        visit.see("#progress-suggestion").to_have_text("Re-rank for more: every candidate in the list has a label.")
        visit.press("i")
        visit.see("#saved").to_have_text("Every candidate in the list has a label.")
        visit.press("r")
        visit.see("#position").to_have_text("place 3 of 6, rank 3 when labelled")


def test_what_rose_above_is_next_and_what_was_skipped_is_not(learning: tuple[Running, Visit]) -> None:
    server, visit = learning
    visit.open_detail()
    visit.press("y")
    skipped = visit.selected
    visit.press(*"jjjjj", "r")
    visit.see("#change").to_contain_text("Re-ranked")
    ids, seen = server.inspection.listing.ids, {skipped}
    place = ids.index(visit.selected)
    passed = {visit.text(f"#place-{i} .name") for i in range(place)}
    visit.press("n")
    visit.wait_until_saved(2)
    assert visit.selected not in seen
    assert visit.selected in passed or ids.index(visit.selected) == place + 1


def test_most_informative_first_on_a_key(learning: tuple[Running, Visit]) -> None:
    server, visit = learning
    visit.press("j")
    here = visit.selected
    visit.press("m")
    visit.see("#order").to_contain_text("Most informative first")
    assert server.inspection.listing.order == "informative"
    assert visit.selected == here
    visit.reload()
    visit.see("#order").to_contain_text("Most informative first")
    visit.see(".card:first-child .card-id").to_have_text(server.inspection.listing.ids[0])


def test_a_ranking_made_elsewhere_is_noticed(learning: tuple[Running, Visit]) -> None:
    server, visit = learning
    visit.press("y")
    visit.wait_until_saved(1)
    server.inspection.relearn().result()
    visit.press("u")
    visit.see(".card .moved:not(:empty)").not_to_have_count(0)
    assert visit.selected in server.inspection.listing.ids


def test_after_a_re_rank_what_was_fetched_ahead_is_shown_until_the_newest_comes(
    learning: tuple[Running, Visit],
) -> None:
    server, visit = learning
    visit.open_detail()
    visit.press("y")
    visit.wait_until_saved(1)
    visit.page.wait_for_load_state("networkidle")
    held: list[Any] = []
    visit.answer("**/api/spectrum*", lambda route: held.append(route))
    visit.press("r")
    visit.see("#change").to_contain_text("with 1 yes")
    visit.press("j")
    visit.drawn()
    visit.see("#plot-note").to_be_hidden()
    old = visit.picture()
    wanted = f"id={visit.selected}"
    while not any(wanted in route.request.url for route in held):
        visit.page.wait_for_event("request")
    for route in held:
        route.continue_()
    visit.page.unroute("**/api/spectrum*")
    visit.page.wait_for_load_state("networkidle")
    visit.page.wait_for_function("old => document.getElementById('spectrum').toDataURL() !== old", arg=old)
    assert server.inspection.campaign.revision == 1
