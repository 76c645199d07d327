"""Every feature of the page once, by the pointer, at three sizes of the window in light and dark.

By default in the largest window in light and in the smallest in dark; the others are `exhaustive`.

One page walks through all of them, so that each size costs little. What each feature does in detail is tested in the
other files, by the keyboard and at one size.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from conftest import every
from fetching.archive_server import Answer, serving
from inspector.browser.test_look import OVERFLOWING
from inspector.browser.visiting import PHONE, SMALL, TABLET, Visit, inspecting
from inspector.running_inspector import Running, campaign_of
from rarespec.fetching.pictures import service_named
from rarespec.inspector.cutouts import Cutouts
from rarespec.labels.event import Label, LabelEvent, new_event_id
from rarespec.survey import Survey
from sky_pictures import PNG

TOP = 40
SIZES = {"small": SMALL, "tablet": TABLET, "phone": PHONE}
INK = "name => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim()"
HAS_COLOUR = """(canvas, colour) => {
  const one = document.createElement("canvas").getContext("2d"), { width, height } = canvas;
  Object.assign(one, { fillStyle: colour }).fillRect(0, 0, 1, 1);
  const wanted = one.getImageData(0, 0, 1, 1).data.slice(0, 3).join();
  const copy = Object.assign(document.createElement("canvas"), { width, height });  // the page's own is not for reading
  const paper = copy.getContext("2d", { willReadFrequently: true });
  paper.drawImage(canvas, 0, 0);
  const { data } = paper.getImageData(0, 0, width, height);
  for (let i = 0; i < data.length; i += 4) if (data[i + 3] && data.subarray(i, i + 3).join() === wanted) return true;
  return false;
}"""


@pytest.fixture(scope="module")
def walker(browser: Any, survey: Survey, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Running, Visit]]:
    with serving() as sky:
        sky.replies["/cut"] = Answer(PNG, headers={"Content-Type": "image/png"})
        cutouts = Cutouts(service_named(f"{sky.base}/cut?ra={{ra}}&dec={{dec}}"), None)
        folder, look = tmp_path_factory.mktemp("walk"), {"permissions": ["clipboard-read", "clipboard-write"]}
        campaign = campaign_of(survey, top=TOP)
        with inspecting(browser, campaign, folder, relearn_every=0, cutouts=cutouts, **look) as both:
            yield both


LOOKS = [f"{size}-{scheme}" for size in SIZES for scheme in ("light", "dark")]


@pytest.fixture(params=every(5, LOOKS))
def visit(walker: tuple[Running, Visit], request: pytest.FixtureRequest) -> Visit:
    """The page at this size and in this scheme, in the grid, with nothing filtered."""
    size, scheme = request.param.split("-")
    visit = walker[1]
    visit.page.set_viewport_size(SIZES[size])
    visit.page.emulate_media(color_scheme=scheme)
    assert visit.page.evaluate("() => matchMedia('(prefers-color-scheme: dark)').matches") == (scheme == "dark")
    visit.n_before = len(visit.log.events())
    return visit


def reach(visit: Visit, selector: str) -> Any:
    """A control; a narrow window may keep it in a menu, which is opened."""
    control = visit.page.locator(selector)
    if not control.is_visible():
        click_all(visit, ".menu[aria-expanded=false]:visible")
    return control


def click_all(visit: Visit, selector: str) -> None:
    """Click one after the other; a click takes a control out of those that are meant."""
    found = visit.page.locator(selector)
    for _ in range(found.count()):
        if found.count():
            found.first.click()


def click(visit: Visit, *selectors: str) -> None:
    for selector in selectors:
        reach(visit, selector).click()


def close(visit: Visit, dialog: str) -> None:
    visit.page.click(f"#{dialog} button:has-text('Close')")
    visit.see(f"#{dialog}").to_be_hidden()


def close_menus(visit: Visit) -> None:
    click_all(visit, ".menu[aria-expanded=true]:visible")


def test_every_feature_once(walker: tuple[Running, Visit], visit: Visit) -> None:
    server, _ = walker
    walk_the_list(visit)
    walk_the_drawing(visit)
    walk_the_facts(visit)
    walk_the_labels(server, visit)
    walk_the_dialogs(visit)
    assert visit.page.evaluate(OVERFLOWING) == []
    assert visit.page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")


def walk_the_list(visit: Visit) -> None:
    click(visit, "#to-grid", "[data-action=first-page]")
    visit.see(".card canvas >> nth=0").to_be_in_viewport()
    first = visit.text(".card .card-id >> nth=0")
    reach(visit, "#filter-text").fill(first)
    visit.see("#shown-count").to_have_text(f"1 of {TOP} shown")
    click(visit, "#clear-filters")
    n = visit.page.locator(".card[data-label=yes]").count()
    reach(visit, "#filter-label").select_option("is:yes")
    visit.see("#shown-count").to_have_text(f"{n} of {TOP} shown")
    click(visit, "#clear-filters")
    reach(visit, "#sort").select_option("id")
    click(visit, "#sort-direction")
    visit.see("#shown-count").to_contain_text("by id, reversed")
    click(visit, "#clear-filters", "#order")
    visit.see("#order").to_contain_text("Most informative first")
    click(visit, "#order")
    visit.see("#order").to_contain_text("Most likely first")
    click(visit, "[data-action=go-to]")
    visit.page.fill("#go-to-id", first)
    visit.page.click("#go-to-form button:has-text('Go')")
    visit.drawn()
    assert visit.selected == first
    click(visit, "#to-grid", "[data-action=best]", "#to-detail")
    visit.drawn()


def walk_the_drawing(visit: Visit) -> None:
    close_menus(visit)
    canvas = visit.page.locator("#spectrum")
    assert canvas.evaluate(HAS_COLOUR, visit.page.evaluate(INK, "flux")), "drawn in the colours of the scheme"
    for name in ("known", "residual", "same", "errors", "contribution", "lines"):
        before, was = visit.picture(), visit.page.get_attribute(f"#show-{name}", "aria-pressed")
        click(visit, f"#show-{name}")
        visit.see(f"#show-{name}").not_to_have_attribute("aria-pressed", was)
        assert name == "same" or visit.picture() != before, name
        if name == "same":
            visit.see("#same-object").to_contain_text("No other spectrum of this object")
        click(visit, f"#show-{name}")
    for do, back in {"smoother": "rougher", "zoom-in": "reset-zoom", "pan-right": "reset-zoom"}.items():
        before = visit.picture()
        click(visit, f"[data-action={do}]")
        assert do == "pan-right" or visit.picture() != before, do
        click(visit, f"[data-action={back}]")
        assert visit.picture() == before, back
    reach(visit, "#overlay").select_option(label="quasar")
    visit.see("#legend").to_contain_text("template quasar, simulated")
    visit.page.select_option("#overlay", label="nearest known")
    z = visit.page.input_value("#redshift")
    visit.page.locator("#redshift-coarse").fill("0.5")
    visit.see("#redshift").to_have_class(re.compile("by-hand"))
    visit.page.fill("#redshift", "")
    visit.page.press("#redshift", "Enter")
    visit.see("#redshift").to_have_value(z)


def walk_the_facts(visit: Visit) -> None:
    visit.see("#cutout").to_have_attribute("data-shown", visit.selected)
    visit.see("#object-links a >> nth=0").to_have_attribute("href", re.compile("^https://"))
    visit.see("#yield-words").not_to_be_empty()
    click(visit, "[data-action=copy-id]")
    visit.see("#copied").to_have_text("id copied")
    visit.page.fill("#catalogue-search", "ra")
    visit.see("#object-catalogue dt:has(span:text-is('ra')) + dd .unit").to_have_text("deg")
    for _ in range(2):
        visit.page.get_by_label("Favourite: ra", exact=True).click()
    visit.page.fill("#catalogue-search", "")


def walk_the_labels(server: Running, visit: Visit) -> None:
    first = visit.selected
    visit.page.fill("#new-tag", "dC")
    visit.page.press("#new-tag", "Enter")
    visit.see("#tags .tag[aria-pressed=true]").to_contain_text("dC")
    visit.page.fill("#comment", "as it is")
    visit.page.press("#comment", "Enter")
    click(visit, ".say.yes")
    visit.drawn()
    assert visit.selected != first
    click(visit, ".say.no", "[data-action=undo]")
    yes, *_ = visit.wait_until_saved(3)
    assert (yes.spectrum, yes.label, yes.comment, yes.tags) == (first, Label.YES, "as it is", ("dC",))
    click(visit, "[data-action=previous]")
    visit.see("#object-label").to_contain_text("✓ yes")
    click(visit, "[data-action=next]", "#to-grid")
    visit.see(f".card[data-label=yes]:has(.card-id:text-is('{first}'))").to_have_count(1)
    reach(visit, "#filter-tag").select_option("is:dC")
    visit.see("#shown-count").not_to_contain_text(f"{TOP} of")
    click(visit, "#clear-filters")
    server.log.append(LabelEvent(new_event_id(), first, Label.NO, person="Bob"))
    visit.page.evaluate("() => window.dispatchEvent(new Event('focus'))")
    click(visit, "#to-disagreements")
    visit.see(f"#disagreement-list > li[data-id='{first}']").to_contain_text("Bob ✗ no")
    close(visit, "disagreements")


def walk_the_dialogs(visit: Visit) -> None:
    click(visit, "[data-action=export]")
    visit.page.select_option("#export-format", "vot")
    with visit.page.expect_download() as labels:
        visit.page.click("#export-file")
    assert b"<VOTABLE" in labels.value.path().read_bytes()
    close(visit, "export")
    click(visit, "#to-detail")
    visit.drawn()
    click(visit, "[data-action=save-plot]")
    with visit.page.expect_download() as plot:
        visit.page.click("[data-save=png]")
    assert plot.value.path().read_bytes().startswith(b"\x89PNG")
    click(visit, "[data-action=species]")
    visit.page.click("#species-presets >> text=carbon")
    visit.page.click("#species-known")
    close(visit, "species")
    click(visit, "[data-action=help]")
    visit.see("#help-keys").to_contain_text("yes, it is one")
    close(visit, "help")
