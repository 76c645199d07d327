"""Grid and detail, help, other people, and everything that is said about a candidate."""

from __future__ import annotations

from uuid import uuid4

from inspector.browser.visiting import Visit
from inspector.running_inspector import Running
from rarespec.labels.event import Label, LabelEvent
from rarespec.searching.links import BY_POSITION

TYPED = {"Space": " ", "→": "ArrowRight", "←": "ArrowLeft", "↑": "ArrowUp", "↓": "ArrowDown", "Esc": "Escape", "−": "-"}


def test_grid_and_detail_by_keys(looker: Visit) -> None:
    for key, view in {"Enter": "detail", "Escape": "grid", "c": "detail"}.items():
        looker.press(key)
        assert looker.page.get_attribute("body", "data-view") == view
    looker.press("Escape", "g")  # first out of the comment
    assert looker.page.get_attribute("body", "data-view") == "grid"


def test_moving_in_the_grid(looked_at: tuple[Running, Visit]) -> None:
    server, visit = looked_at
    ids = server.inspection.listing.ids
    across = visit.page.locator("#cards").evaluate(
        "cards => [...cards.children].filter(one => one.offsetTop === cards.children[0].offsetTop).length"
    )
    places = [1, 2, 3, 2, 2 + across, 2, 60, 0]
    keys = ("j", "Space", "ArrowRight", "ArrowLeft", "ArrowDown", "ArrowUp", "PageDown", "PageUp")
    for key, place in zip(keys, places, strict=True):
        visit.press(key)
        assert visit.selected == ids[place], key
    visit.page.dblclick(".card >> nth=4")
    visit.drawn()
    assert visit.selected == ids[4]


def test_next_uninspected_skips_and_wraps(inspected: tuple[Running, Visit]) -> None:
    server, visit = inspected
    ids = server.inspection.listing.ids
    visit.press("y", "j", "n", "i")
    assert visit.selected == ids[4]
    visit.press("Shift+I")
    assert visit.selected == ids[1]
    visit.press("k", "i")
    assert visit.selected == ids[1]


def test_help_names_every_key(looker: Visit) -> None:
    looker.press("?")
    looker.see("#help").to_be_visible()
    looker.press("y")
    assert looker.log.events() == []
    written = looker.page.locator("#help-keys kbd").all_text_contents()
    for key in [*"ynubjkzoewlgcrmi0?+-af/", "⇧L", "Space", "Enter", "Esc", "Ctrl+Z"]:
        assert TYPED.get(key, key) in [TYPED.get(one, one) for one in written], key
    looker.press("Escape")
    looker.see("#help").to_be_hidden()
    assert looker.page.get_attribute("body", "data-view") == "grid"


def test_every_key_has_a_button(looker: Visit) -> None:
    actions = looker.page.evaluate("async () => (await import('/static/keys.js')).KEYS.map(one => one.action)")
    buttons = looker.page.locator("[data-action]").evaluate_all("all => all.map(one => one.dataset.action)")
    for_the_mouse = {"up", "down", "comment", "filter", "find-column", "tag", "new-tag"}  # there are cards and fields
    for_the_mouse |= {"next-overlay", "previous-overlay"}  # there is a list to choose from
    for_the_mouse |= {f"redshift-{by}" for by in ("up", "down", "far-up", "far-down")}  # there are sliders
    assert set(actions) - set(buttons) == for_the_mouse


def test_what_is_said_about_a_candidate(inspected: tuple[Running, Visit]) -> None:
    server, visit = inspected
    visit.open_detail()
    facts = server.inspection.listing.facts[visit.selected]
    shown = visit.text(".facts")
    for value in (facts["class"], f"{facts['snr']:.1f}", f"{facts['ra']:.5f}", facts["nearest_known"], "Catalogue"):
        assert value in shown
    links = visit.page.locator("#object-links a")
    assert [link.get_attribute("rel") for link in links.all()] == ["noopener noreferrer"] * len(BY_POSITION)
    assert all(link.get_attribute("href").startswith("https://") for link in links.all())
    visit.see("#yield-words").not_to_be_empty()
    visit.see("#progress-counts").to_have_text("Inspected 0: 0 found, 0 no, 0 unsure, 0 bad data")
    visit.press("y")
    visit.see("#progress-counts").to_have_text("Inspected 1: 1 found, 0 no, 0 unsure, 0 bad data")


def test_labels_of_others_and_disagreement(inspected: tuple[Running, Visit]) -> None:
    server, visit = inspected
    first = server.inspection.listing.ids[0]
    server.log.append(LabelEvent(str(uuid4()), first, Label.NO, person="Bob"))
    visit.open_detail()
    visit.press("y")
    visit.wait_until_saved(2)
    visit.reload()
    visit.press("d")
    visit.see("#disagreement-list > li").to_have_count(1)
    visit.page.click("#disagreement-list .look")
    assert visit.selected == first
    visit.see("#object-others").to_have_text("Bob ✗ no. People disagree (≠).")
    visit.see("#place-0 .differs").to_have_text("≠")


PLACE = """async (hash) => {
  const { placeInAddress } = await import("/static/place.js");
  location.hash = hash;
  return placeInAddress();
}"""


def test_an_address_that_says_nonsense_is_no_fault(visit: Visit) -> None:
    for hash in ("%E0%A4%A", "<img src=x onerror=alert(1)>", "detail", "other/s012"):
        assert visit.page.evaluate(PLACE, f"#detail/{hash}" if hash.startswith("%") else f"#{hash}") is None
    visit.page.goto(f"http://127.0.0.1:{visit.port}/#detail/no-such-id")
    visit.reload()
    visit.see("#object-id").not_to_be_empty()
