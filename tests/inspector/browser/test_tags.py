"""Tags by the keyboard, and the labels as a file from the page."""

from __future__ import annotations

from inspector.browser.payloads import payloads
from inspector.browser.visiting import Visit
from inspector.running_inspector import Running
from rarespec.labels.event import Label


def new_tag(visit: Visit, name: str) -> None:
    visit.press("t")
    visit.page.keyboard.insert_text(name)
    visit.press("Enter")


def test_a_tag_waits_for_the_label_and_has_a_key_from_then_on(inspected: tuple[Running, Visit]) -> None:
    server, visit = inspected
    visit.open_detail()
    new_tag(visit, "dC")
    visit.see("#tag-state").to_contain_text("saved with your label")
    visit.reload()
    visit.see("#tags .tag[aria-pressed=true]").to_have_text("dC 1")
    visit.press("y", "1", "n", "k", "1")
    first, second, without = visit.wait_until_saved(3)
    assert (first.label, first.tags) == (Label.YES, ("dC",))
    chance = server.inspection.listing.facts[first.spectrum]["chance"]
    assert first.chance == (chance if chance == chance else None)
    assert (second.label, second.tags) == (Label.NO, ("dC",))
    assert (without.label, without.tags) == (Label.NO, ())
    visit.press("z")
    visit.see("#object-label").to_contain_text("[dC]")
    visit.see("#place-0 .tag-words").to_have_text("dC")


def test_hostile_tags_stay_text(visit: Visit) -> None:
    visit.open_detail()
    visit.press("y", "k")
    short = [text.strip() for text in payloads() if 0 < len(text.strip()) <= 20 and text.isprintable()]
    names = [name for name in dict.fromkeys(short) if not {",", ";"} & set(name)][:8]
    assert names
    for name in names:
        new_tag(visit, name)
    visit.wait_until_saved(1 + len(names))
    assert all(name in visit.text("#tags") and name in visit.text("#object-label") for name in names)
    assert visit.page.locator("#tags > :not(button), #object-label > :not(b)").count() == 0


def test_labels_are_saved_as_a_file_from_the_page(visit: Visit) -> None:
    visit.open_detail()
    new_tag(visit, "dC")
    visit.press("y", "n", "Shift+E")
    visit.see("#export").to_be_visible()
    visit.page.select_option("#export-tag", "dC")
    with visit.page.expect_download() as started:
        visit.page.click("#export-file")
    assert started.value.suggested_filename == "labels.sqlite-dC-labels.csv"
    rows = started.value.path().read_text().splitlines()
    assert len(rows) == 2 and rows[0].startswith("id,label,person,at,comment,tags,ra,dec,z,class")
    visit.see("#export-state").to_contain_text("Saved as")


def test_the_list_is_filtered_by_tag(visit: Visit) -> None:
    visit.open_detail()
    new_tag(visit, "dC")
    visit.press("y", "n")
    visit.wait_until_saved(2)
    visit.page.select_option("#filter-tag", "is:dC")
    visit.see(".rank-row .name").to_have_count(1)
    visit.see(".rank-row .tag-words").to_have_text("dC")
