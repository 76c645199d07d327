"""The report in headless Chromium: sorting, jumps, downloads, hostile names, both colour schemes, narrow windows."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rarespec.plots.search_report import write_page
from rarespec.searching.explain.portrait import portraits_of
from rarespec.searching.ranking import Ranking
from search_rankings import HOSTILE, ranking_of, survey_with_bands

WIDTHS = (1280, 768, 390)
SCHEMES = ("light", "dark")


@pytest.fixture(scope="module")
def ranking(tmp_path_factory: pytest.TempPathFactory) -> Ranking:
    snr = [float(3 + (7 * i) % 23) for i in range(200)]
    snr[12] = float("nan")
    return ranking_of(survey_with_bands(tmp_path_factory.mktemp("survey") / "a.survey", snr=snr))


@pytest.fixture(scope="module")
def report(ranking: Ranking, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_page(ranking, portraits_of(ranking, 20), tmp_path_factory.mktemp("report") / "report.html")


@pytest.fixture(scope="module")
def short_report(ranking: Ranking, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A scan looks at every element, and those of one candidate are like those of the next."""
    return write_page(ranking, portraits_of(ranking, 3), tmp_path_factory.mktemp("report") / "short.html")


@pytest.fixture
def page(browser: Any, report: Path) -> Iterator[Any]:
    with browser.new_context(viewport={"width": 1280, "height": 800}) as window:
        page = window.new_page()
        said: list[str] = []
        page.on("console", lambda message: said.append(message.text))
        page.on("dialog", lambda dialog: (said.append(dialog.message), dialog.accept()))
        page.on("request", lambda request: said.append(request.url))
        page.goto(report.as_uri())
        yield page
        outside = [one for one in said if not one.startswith((report.as_uri(), "data:"))]
        assert outside == [], outside


def column(page: Any, number: int) -> list[str]:
    return [text.strip() for text in page.locator(f".overview tbody td:nth-child({number})").all_text_contents()]


def test_a_click_sorts_and_a_second_one_turns_round(page: Any) -> None:
    heading = page.locator(".overview th", has_text="S/N")
    heading.locator("button").click()
    assert heading.get_attribute("aria-sort") == "descending"
    falling = column(page, 4)
    numbers = [float(one) for one in falling if one != "–"]
    assert numbers == sorted(numbers, reverse=True) and len(set(numbers)) > 5
    assert falling[-1] == "–" and len(numbers) == len(falling) - 1
    heading.locator("button").press("Enter")
    assert heading.get_attribute("aria-sort") == "ascending"
    rising = column(page, 4)
    assert [float(one) for one in rising[:-1]] == sorted(numbers) and rising[-1] == "–"
    page.locator(".overview th button", has_text="rank").click()
    assert column(page, 1) == [str(rank) for rank in range(1, 21)]


def test_jumps_lead_to_the_candidate_and_back(page: Any) -> None:
    page.locator(".overview a[href='#rank-15']").click()
    place = page.locator("#rank-15").evaluate("one => one.getBoundingClientRect().top")
    assert 0 <= place < 800
    page.locator("#rank-15 a", has_text="overview").click()
    assert abs(page.locator("#overview").evaluate("one => one.getBoundingClientRect().top")) < 100


def test_the_table_is_downloaded_as_it_is_written(page: Any, tmp_path: Path) -> None:
    with page.expect_download() as started:
        page.get_by_role("link", name="CSV", exact=True).click()
    assert started.value.suggested_filename == "candidates.csv"
    started.value.save_as(tmp_path / "c.csv")
    with open(tmp_path / "c.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["rank"] for row in rows] == [str(rank) for rank in range(1, 21)]


def test_without_scripts_the_table_reads_as_ranked(browser: Any, report: Path) -> None:
    with browser.new_context(java_script_enabled=False) as window:
        page = window.new_page()
        page.goto(report.as_uri())
        assert column(page, 1) == [str(rank) for rank in range(1, 21)]
        assert page.locator(".overview button").count() == 0 and not page.locator(".with-script").is_visible()


def test_hostile_names_are_words(page: Any) -> None:
    names = column(page, 2)
    assert {HOSTILE[0], HOSTILE[1]} <= set(names)
    assert page.locator("script").count() == 1 and page.locator("img").count() == 0


def test_no_other_script_would_run_even_as_markup(browser: Any, report: Path, tmp_path: Path) -> None:
    added = "<script>document.title = 'ran'</script><b onclick=\"document.title = 'ran'\">press</b>"
    copy = tmp_path / "report.html"
    copy.write_text(report.read_text().replace("</h1>", f"</h1>{added}"))
    with browser.new_context() as window:
        page = window.new_page()
        page.goto(copy.as_uri())
        page.get_by_text("press", exact=True).click()
        assert page.title().startswith("Search in")
        page.locator(".overview th button").first.click()  # while that of the report does run
        assert page.locator("th[aria-sort]").count() == 1


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_is_wider_than_the_window(browser: Any, report: Path, width: int) -> None:
    with browser.new_context(viewport={"width": width, "height": 800}) as window:
        page = window.new_page()
        page.goto(report.as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        legible = page.locator(".of-up, .of-across, .legend").evaluate_all(
            "all => all.every((one) => { const at = one.getBoundingClientRect();"
            " return at.left >= 0 && at.right <= innerWidth; })"
        )
        assert legible


def test_plots_follow_the_colour_scheme(page: Any) -> None:
    def seen() -> set[str]:
        of = "all => all.map((one) => getComputedStyle(one).stroke + getComputedStyle(one).fill)"
        return set(page.locator(".picture path").evaluate_all(of))

    page.emulate_media(color_scheme="light")
    light = seen()
    page.emulate_media(color_scheme="dark")
    assert light and not {one for one in light & seen() if one != "nonenone"}


@pytest.mark.parametrize("scheme", SCHEMES)
def test_nothing_serious_bars_the_way_for_anybody(browser: Any, short_report: Path, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    with browser.new_context(color_scheme=scheme, bypass_csp=True) as window:
        page = window.new_page()
        page.goto(short_report.as_uri())
        found = axe.Axe().run(page).response["violations"]
    serious = [one for one in found if one["impact"] in ("serious", "critical")]
    assert not serious, [
        (one["id"], one["nodes"][0]["html"][:200], one["nodes"][0]["failureSummary"]) for one in serious
    ]
