"""The catalogue panel with hundreds of columns, and what can be copied."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from inspector.browser.visiting import Visit, inspecting
from inspector.running_inspector import Running, campaign_of
from search_rankings import N, survey_with_bands

N_COLUMNS = 450
SEXAGESIMAL = """async (places) => {
  const { sexagesimal } = await import("/static/copying.js");
  return places.map((place) => sexagesimal(...place));
}"""


@pytest.fixture(scope="module")
def wide(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Running, Visit]]:
    folder = tmp_path_factory.mktemp("wide")
    columns: dict[str, list[Any]] = {f"mag_{i:03d}": [0.1 * i + row for row in range(N)] for i in range(N_COLUMNS)}
    survey = survey_with_bands(folder / "a.survey", is_good=[True] * N, **columns)
    look = {"permissions": ["clipboard-read", "clipboard-write"]}
    with inspecting(browser, campaign_of(survey, top=20), folder, relearn_every=0, **look) as both:
        both[1].open_detail()
        yield both


def terms(visit: Visit) -> list[str]:
    return visit.page.locator("#object-catalogue dt:not([hidden]) span").all_text_contents()


def test_a_column_is_found_by_its_name(wide: tuple[Running, Visit]) -> None:
    _, visit = wide
    visit.see("#catalogue-count").to_contain_text(" columns")
    assert len(terms(visit)) > N_COLUMNS
    visit.press("f")
    visit.page.keyboard.type("MAG_44")
    assert terms(visit) == [f"mag_{i}" for i in range(440, 450)]
    visit.see("#catalogue-count").to_contain_text("10 of ")
    visit.press("Enter", "j")  # the search stays for the next candidate
    visit.drawn()
    assert terms(visit) == [f"mag_{i}" for i in range(440, 450)]
    visit.page.fill("#catalogue-search", "nothing like it")
    visit.see("#catalogue-none").to_be_visible()
    visit.page.fill("#catalogue-search", "")


def test_values_and_units_are_written_for_reading(wide: tuple[Running, Visit]) -> None:
    server, visit = wide
    value = "#object-catalogue dt:has(span:text-is('{}')) + dd"
    visit.see(value.format("is_good")).to_have_text("yes")
    visit.see(value.format("ra")).to_have_text(f"{server.inspection.listing.facts[visit.selected]['ra']:.0f} deg")


def test_favourites_come_first_and_are_kept(wide: tuple[Running, Visit]) -> None:
    _, visit = wide
    for name in ("mag_123", "mag_007"):
        visit.page.get_by_label(f"Favourite: {name}").click()
    assert terms(visit)[:2] == ["mag_123", "mag_007"]
    visit.reload()
    visit.drawn()
    assert terms(visit)[:2] == ["mag_123", "mag_007"]
    visit.page.get_by_label("Favourite: mag_123").click()
    assert terms(visit)[0] == "mag_007" and terms(visit).count("mag_123") == 1


def test_id_and_position_are_copied(wide: tuple[Running, Visit]) -> None:
    server, visit = wide
    facts = server.inspection.listing.facts[visit.selected]
    copied = "() => navigator.clipboard.readText()"
    visit.page.click("[data-action=copy-id]")
    visit.see("#copied").to_have_text("id copied")
    assert visit.page.evaluate(copied) == visit.selected
    visit.page.click("[data-action=copy-degrees]")
    visit.see("#copied").to_have_text("degrees copied")
    assert visit.page.evaluate(copied) == f"{facts['ra']:.6f} {facts['dec']:+.6f}"
    visit.page.click("[data-action=copy-sexagesimal]")
    visit.see("#copied").to_have_text("h m s copied")
    assert visit.page.evaluate(copied).count(":") == 4


def test_hours_and_minutes_are_those_of_astropy(wide: tuple[Running, Visit]) -> None:
    from astropy.coordinates import SkyCoord

    places = [(0.0, 0.0), (217.39152, -1.23456), (14.999999999, -0.0001), (180.0, -89.5), (10.684708, 41.26875)]
    sky = SkyCoord([ra for ra, _ in places], [dec for _, dec in places], unit="deg")
    hours = sky.ra.to_string("hour", sep=":", precision=3, pad=True)
    degrees = sky.dec.to_string("deg", sep=":", precision=2, pad=True, alwayssign=True)
    found = wide[1].page.evaluate(SEXAGESIMAL, [*places, (359.9999999999, 1.0)])
    assert found[:-1] == [f"{ra} {dec}" for ra, dec in zip(hours, degrees, strict=True)]
    assert found[-1] == "00:00:00.000 +01:00:00.00"
