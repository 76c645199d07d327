"""Text from files and from other people stays text: a hundred payloads in every place where text comes from."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4
from xml.etree import ElementTree

import pytest

from inspector.browser.payloads import payloads
from inspector.browser.visiting import Visit, inspecting
from inspector.running_inspector import Running, campaign_of
from rarespec.labels.event import Label, LabelEvent
from rarespec.searching.explain.spectral_features import SpectralFeature
from search_rankings import N, survey_with_bands

PAYLOADS = payloads()
ME = "<img src=x onerror=window.hacked=1>"
NAMES_OF_COLUMNS = [f"<img src=x onerror=window.hacked={i}>" for i in range(3)]

FOREIGN = """() => {
  const foreign = "img, svg, iframe, object, embed, video, audio, math, style, base, form[action], main a[href^=j]";
  const isHandler = ({ name }) => /^on/i.test(name);
  const handlers = [...document.querySelectorAll("*")].filter(one => [...one.attributes].some(isHandler));
  return [...document.querySelectorAll(foreign), ...handlers].map(one => one.outerHTML)
    .concat(document.scripts.length === 1 ? [] : ["script"])
    .concat(document.querySelectorAll("link, meta").length === 5 ? [] : ["link or meta"])
    .concat("hacked" in window ? ["hacked"] : []);
}"""
"""What is on the page that the page did not bring, or what has run."""


@pytest.fixture(scope="module")
def hostile(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Running, Visit]]:
    """The payloads are ids, classes, values and names of columns, comments, lines, and names of persons."""
    folder = tmp_path_factory.mktemp("hostile")
    columns = ("class", "subclass", "header", *NAMES_OF_COLUMNS)
    texts: dict[str, list[Any]] = dict.fromkeys(columns, (PAYLOADS * 2)[:N])
    texts |= {"ra": [150.0] * N, "dec": [2.0] * N}  # all of one object
    texts["id"] = [*PAYLOADS, *(f"plain{i}" for i in range(N - len(PAYLOADS)))]
    campaign = campaign_of(survey_with_bands(folder / "<img src=x onerror=alert(1)>.survey", **texts), top=N - 4)
    lines = [SpectralFeature(text, 4000.0 + 40 * i, 0) for i, text in enumerate(PAYLOADS)]
    options = {"person": ME, "lines": lines, "relearn_every": 0}
    with inspecting(browser, campaign, folder, **options) as (server, visit):
        for text in PAYLOADS:
            for who, label in {name_like(text): Label.NO, "Bob": Label.YES, ME: Label.UNSURE}.items():
                server.log.append(LabelEvent(str(uuid4()), text, label, person=who, comment=text))
        visit.reload()
        yield server, visit


def name_like(text: str) -> str:
    """The text as far as it may be the name of a person."""
    return "".join(filter(str.isprintable, text))[:90]


SOME_OR_ALL = pytest.mark.parametrize("n", [8, pytest.param(N, marks=pytest.mark.exhaustive)])


def test_no_id_or_class_becomes_more_than_text_in_the_grid(hostile: tuple[Running, Visit]) -> None:
    server, visit = hostile
    shown: set[str] = set()
    visit.press("g", *["PageUp"] * 4)
    for _ in range(0, len(server.inspection.listing.ids), 60):
        shown |= set(visit.page.locator(".card-id").all_text_contents())
        assert visit.page.evaluate(FOREIGN) == []
        visit.press("PageDown")
    assert shown == set(server.inspection.listing.ids) >= set(PAYLOADS[4:])


@SOME_OR_ALL
def test_nothing_said_about_a_candidate_becomes_more_than_text(hostile: tuple[Running, Visit], n: int) -> None:
    server, visit = hostile
    visit.press("g", *["PageUp"] * 4)
    visit.open_detail()
    for place, id in enumerate(server.inspection.listing.ids[:n]):
        visit.drawn()
        assert visit.selected == id
        _check_candidate(server, visit, place, id)
        visit.press("j")


def _check_candidate(server: Running, visit: Visit, place: int, id: str) -> None:
    assert visit.page.evaluate(FOREIGN) == []
    facts = server.inspection.listing.facts[id]
    assert facts["class"] in visit.text("#object-facts")
    assert all(name in visit.text("#object-catalogue") for name in NAMES_OF_COLUMNS)
    visit.see(f"#place-{place} .name").to_have_text(id)
    if id in PAYLOADS:
        assert visit.page.input_value("#comment") == id
        assert id in visit.text("#object-label")
        assert name_like(id) in visit.text("#object-others")
        assert f"Bob ✓ yes “{id}”" in visit.text("#object-others")


def test_nor_does_one_in_dialogs(hostile: tuple[Running, Visit]) -> None:
    _, visit = hostile
    for key, place in {"d": "#disagreement-list", "Shift+L": "#species-choices", "?": "#help-session"}.items():
        visit.press(key)
        visit.see(f"dialog[open] {place}").to_be_visible()
        assert visit.page.evaluate(FOREIGN) == []
        if key != "?":
            assert all(text in visit.text(place) for text in PAYLOADS)
        visit.press("Escape")


def test_nor_does_one_that_is_drawn_with_others_or_saved(hostile: tuple[Running, Visit], tmp_path: Path) -> None:
    _, visit = hostile
    visit.press("g", *["PageUp"] * 4)
    visit.open_detail()
    assert visit.page.locator("#overlay option").all_text_contents()[1:5] == PAYLOADS[:4]
    visit.press("p", "q")
    visit.see("#legend").to_contain_text(f"known {PAYLOADS[0]}")
    visit.see("#same-object").to_contain_text(f"Same object: {N - 1} other spectra")
    visit.see("#spectrum").to_have_attribute("aria-label", re.compile("with 6 other spectra of the same object"))
    assert visit.page.evaluate(FOREIGN) == []
    visit.press("Shift+S")
    with visit.page.expect_download() as started:
        visit.page.click("[data-save=svg]")
    name = started.value.suggested_filename
    assert name.isascii() and not set(name) & set("<>/\\ '\"")
    started.value.save_as(tmp_path / "saved.svg")
    saved = ElementTree.parse(tmp_path / "saved.svg").getroot()
    assert {one.tag.rpartition("}")[2] for one in saved.iter()} == {"svg", "rect", "path", "clipPath", "text"}
    assert not any(attribute.startswith("on") for one in saved.iter() for attribute in one.attrib)
    visit.press("q", "Shift+P")
    assert visit.page.evaluate(FOREIGN) == []


@SOME_OR_ALL
def test_nor_does_one_that_is_typed(inspected: tuple[Running, Visit], n: int) -> None:
    _, visit = inspected
    visit.open_detail()
    visit.press("y")
    for text in PAYLOADS[:n]:
        visit.press("k", "c")
        visit.page.keyboard.insert_text(text)
        visit.press("Enter", "j")
        assert visit.page.evaluate(FOREIGN) == []
    events = visit.wait_until_saved(1 + len(PAYLOADS[:n]))
    assert [event.comment for event in events[1:]] == PAYLOADS[:n]
