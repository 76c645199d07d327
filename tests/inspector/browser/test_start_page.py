"""The start page in a browser: hostile names are text, a search starts from ids, a tab left open does no harm."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from inspector.browser.test_accessibility import serious_findings
from inspector.browser.visiting import PHONE, Visit, visiting
from inspector.running_inspector import campaign_of
from inspector.test_start_page import Started, started
from rarespec.labels.kinds import path_beside, start_of_log
from rarespec.labels.log import LabelLog
from rarespec.survey import Survey

HOSTILE = '"><img src=x onerror=alert(1)>.survey'


@pytest.fixture
def folder(survey: Survey, tmp_path: Path) -> Path:
    for name in (HOSTILE, "b.survey"):
        shutil.copytree(survey.path, tmp_path / name)
    campaign_of(Survey.open(tmp_path / "b.survey")).keep(start_of_log(path_beside(tmp_path / "b.survey")))
    return tmp_path


def test_a_search_is_started_and_a_tab_left_open_does_no_harm(browser: Any, folder: Path) -> None:
    with started(folder) as start, LabelLog(path_beside(folder / "b.survey")) as log:
        with visiting(browser, start.port, start.secrets.token, log, viewport=PHONE, color_scheme="dark") as visit:
            visit.see(".survey h3").to_have_text([HOSTILE, "b.survey"])
            visit.see("button.continue").to_have_text("Continue: 0 labels")
            check_look(visit)
            visit.page.get_by_label("Known ids").first.fill("s000,s001, s002")
            visit.page.get_by_text("Start", exact=True).first.click()
            visit.see("#survey").to_have_text(HOSTILE)
            visit.ready()
            leave_in_another_tab(visit, start)
            visit.press("y")
            visit.see("#warning").to_contain_text("these labels belong to")
            assert log.events() == []
        assert visit.complaints and all("403" in text for text in visit.complaints)  # the refusal, and nothing else


def leave_in_another_tab(visit: Visit, start: Started) -> None:
    """And open the other survey there."""
    other = visit.page.context.new_page()
    other.goto(f"http://127.0.0.1:{start.port}/")
    other.wait_for_selector("body[data-ready=true]")
    other.click("#menu")
    other.click("#leave")
    other.locator(".survey", has_text="b.survey").locator("button.continue").click()
    other.locator("#survey", has_text="b.survey").wait_for(state="attached")
    visit.see("#survey").to_have_text(HOSTILE)


def check_look(visit: Visit) -> None:
    width = visit.page.evaluate("document.documentElement.scrollWidth")
    assert width <= PHONE["width"]
    axe = pytest.importorskip("axe_playwright_python", reason="axe-playwright-python is not installed")
    visit.page.evaluate((Path(axe.__file__).parent / "axe.min.js").read_text(encoding="utf-8"))
    assert serious_findings(visit, "grid") == []
