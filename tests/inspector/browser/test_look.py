"""What the page looks like on small and large screens: everything in sight, and readable in light and dark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from inspector.browser.visiting import LARGE, NARROW, PHONE, SMALL, TABLET, Visit, inspecting
from inspector.running_inspector import campaign_of
from rarespec.labels.campaign import Campaign
from rarespec.survey import Survey

AA = 4.5
"""Contrast of text that the Web Content Accessibility Guidelines ask for at level AA."""

CONTRASTS = """() => {
  const channels = colour => colour.match(/[\\d.]+/g).map(Number);
  const luminance = rgb => rgb.slice(0, 3).map(v => v / 255)
    .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = one => {
    for (; one; one = one.parentElement) {
      const colour = channels(getComputedStyle(one).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  };
  const hasText = one => [...one.childNodes].some(node => node.nodeType === 3 && node.textContent.trim());
  const seen = [...document.querySelectorAll("body *")].filter(one => hasText(one) && one.checkVisibility());
  return seen.map(one => {
    const [a, b] = [channels(getComputedStyle(one).color), behind(one)].map(luminance);
    return [one.outerHTML.slice(0, 80), (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)];
  });
}"""

OUT_OF_SIGHT = """() => [...document.querySelectorAll("button, input, canvas, h1, h2, output, .progress span")]
  .filter(one => one.checkVisibility() && !one.closest("dialog, .cards, .facts, .rank-list"))
  .map(one => [one.outerHTML.slice(0, 80), one.getBoundingClientRect()])
  .filter(([_, box]) => box.right > innerWidth || box.bottom > innerHeight)
  .concat([...document.querySelectorAll(".progress span")].filter(one => one.scrollWidth > one.clientWidth + 1
    && getComputedStyle(one).overflowX === "hidden").map(one => one.outerHTML))"""


FOCUSED = """() => {
  const one = document.querySelector(":focus-visible"), style = one && getComputedStyle(one);
  return one && [one.dataset.action || one.id, style.outlineStyle + style.outlineWidth];
}"""


def low_contrasts(visit: Visit) -> list[Any]:
    measured = visit.page.evaluate(CONTRASTS)
    assert len(measured) > 30
    return [(one, round(contrast, 2)) for one, contrast in measured if contrast < AA]


UNREACHABLE = """() => {
  const shown = [...document.querySelectorAll("button, input, select, a[href], summary")].filter(one =>
    one.checkVisibility() && !one.disabled && !one.closest("dialog, .cards, .rank-list"));
  return shown.filter(one => {
    one.scrollIntoView({ block: "nearest", inline: "nearest" });
    const box = one.getClientRects()[0];
    const [x, y] = [box.left + box.width / 2, box.top + box.height / 2];
    const there = document.elementFromPoint(x, y);
    const isCut = box.left < 0 || box.right > innerWidth + 0.5 || box.top < 0 || box.bottom > innerHeight + 0.5;
    return isCut || !(there && (one.contains(there) || there.contains(one)));
  }).map(one => one.outerHTML.slice(0, 80));
}"""
"""Controls that are cut off or covered, even when they are scrolled to."""

TOO_SMALL = """() => [...document.querySelectorAll("header button, .verdict button, .tools button, .list-bar button")]
  .filter(one => one.checkVisibility()).map(one => [one.textContent, one.getBoundingClientRect()])
  .filter(([_, box]) => box.width < 40 || box.height < 40).map(([words]) => words)"""
"""For a finger."""

OVERFLOWING = """() => [...document.querySelectorAll("button, .progress span, h1, h2, output")]
  .filter(one => one.checkVisibility() && one.scrollWidth > one.clientWidth + 1
    && getComputedStyle(one).textOverflow !== "ellipsis" && getComputedStyle(one).display !== "inline")
  .map(one => one.outerHTML.slice(0, 80))"""
"""Text that does not fit into its own box."""


LONG = (
    "Few are left, or this ranking does not find them: none of your last 30 labels are yes. There is no estimate. " * 2
)

LOOKS = [
    pytest.param(SMALL, "light", id="small-light"),
    pytest.param(LARGE, "dark", id="large-dark"),
    pytest.param(SMALL, "dark", id="small-dark", marks=pytest.mark.exhaustive),
    pytest.param(LARGE, "light", id="large-light", marks=pytest.mark.exhaustive),
]


@pytest.mark.parametrize(("size", "scheme"), LOOKS)
def test_everything_is_in_sight_and_readable(
    browser: Any, survey: Survey, tmp_path: Path, size: dict[str, int], scheme: str
) -> None:
    campaign = campaign_of(survey, top=70)
    with inspecting(browser, campaign, tmp_path, viewport=size, color_scheme=scheme, relearn_every=0) as (_, visit):
        visit.press(*"ynub")
        visit.wait_until_saved(4)
        visit.press("r")
        visit.see("#change").to_contain_text("Re-ranked")
        visit.page.wait_for_load_state("networkidle")
        visit.page.evaluate("words => { document.getElementById('progress-suggestion').textContent = words }", LONG)
        for view, key in {"grid": "g", "detail": "Enter", "help": "?"}.items():
            visit.press(key)
            if view == "detail":
                visit.drawn()
                visit.see("#progress-counts").to_contain_text("Inspected 4")
            visit.page.screenshot(path=tmp_path / f"{view}-{size['width']}-{scheme}.png")
            assert visit.page.evaluate(OUT_OF_SIGHT) == []
            assert visit.page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
            assert low_contrasts(visit) == []


SMALLER = [
    pytest.param(TABLET, "dark", id="tablet-dark"),
    pytest.param(PHONE, "light", id="phone-light"),
    pytest.param(NARROW, "light", id="narrow-light", marks=pytest.mark.exhaustive),
    pytest.param(NARROW, "dark", id="narrow-dark", marks=pytest.mark.exhaustive),
    pytest.param(TABLET, "light", id="tablet-light", marks=pytest.mark.exhaustive),
    pytest.param(PHONE, "dark", id="phone-dark", marks=pytest.mark.exhaustive),
]


@pytest.mark.parametrize(("size", "scheme"), SMALLER)
def test_on_smaller_windows_everything_can_be_reached(
    browser: Any, campaign: Campaign, tmp_path: Path, size: dict[str, int], scheme: str
) -> None:
    look = {"viewport": size, "color_scheme": scheme, "has_touch": size == PHONE}
    with inspecting(browser, campaign, tmp_path, relearn_every=0, **look) as (_, visit):
        visit.press(*"ynub")
        visit.wait_until_saved(4)
        visit.page.evaluate("words => { document.getElementById('progress-suggestion').textContent = words }", LONG)
        for view in ("grid", "detail"):
            visit.press({"grid": "g", "detail": "Enter"}[view])
            if view == "detail":
                visit.drawn()
            _check_reach(visit, size)
            for menu in visit.page.locator(".menu:visible").all():
                menu.click()
            _check_reach(visit, size)
            for menu in visit.page.locator(".menu:visible").all():
                menu.click()
            visit.page.screenshot(path=tmp_path / f"{view}-{size['width']}-{scheme}.png")
            assert low_contrasts(visit) == []
        visit.page.locator("main").evaluate("main => main.scrollTo(0, 0)")
        for label in visit.page.locator(".verdict button").all():
            box = label.bounding_box()
            assert box["y"] + box["height"] <= size["height"], "labels are in sight without scrolling"


def _check_reach(visit: Visit, size: dict[str, int]) -> None:
    assert visit.page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    assert visit.page.evaluate(UNREACHABLE) == []
    assert visit.page.evaluate(OVERFLOWING) == []
    if size == PHONE:
        assert visit.page.evaluate(TOO_SMALL) == []


def test_the_focus_can_be_seen_and_everything_be_reached_by_tab(visit: Visit) -> None:
    visit.open_detail()
    reached = set()
    for _ in range(60):
        visit.press("Tab")
        found = visit.page.evaluate(FOCUSED)
        if found:
            name, outline = found
            assert outline.startswith("solid") and outline != "solid0px"
            reached.add(name)
    assert {
        "yes",
        "no",
        "unsure",
        "bad",
        "next",
        "previous",
        "undo",
        "smoother",
        "lines",
        "comment",
        "redshift",
    } <= reached
