"""What the page looks like on small and large screens: everything in sight, and readable in light and dark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from inspector.browser.visiting import LARGE, SMALL, Visit, inspecting
from inspector.running_inspector import campaign_of
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
