"""The drawing of a spectrum answers to keys, wheel and mouse, and is there before it is asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from inspector.browser.visiting import Visit, inspecting
from inspector.running_inspector import Running
from rarespec.inspector.lines import PRESETS
from rarespec.labels.campaign import Campaign

HATCHED = """(canvas, ranges) => {
  const left = 60, right = canvas.clientWidth - 14, hatch = [0xb9, 0xc0, 0xc8];
  const { data, width } = canvas.getContext("2d").getImageData(0, 8, canvas.width, 200);
  const isHatch = i => data[i + 3] > 60 && hatch.every((value, k) => Math.abs(data[i + k] - value) < 7);
  const places = Array.from({ length: data.length / 4 }, (_, i) => i);
  return ranges.map(([from, to]) => {
    const share = i => (i % width - left) / (right - left);
    const inside = places.filter(i => share(i) > from && share(i) < to);
    return inside.filter(i => isHatch(4 * i)).length / inside.length;
  });
}"""
"""Share of the pixels with the colour of the hatch between shares of the width."""

WORDS_OF_KEYS = {
    "+": "smoothed by 3 pixels",
    "-": "smoothed by 1 pixels",
    "o": "with the known",
    "e": "with errors",
    "w": "with the contribution",
    "v": "with the residual",
    "l": "with lines",
}


def test_keys_change_the_drawing_and_its_description_and_back(looker: Visit) -> None:
    looker.open_detail()
    before, described = looker.picture(), looker.described()
    for key, words in WORDS_OF_KEYS.items():
        looker.press(key)
        assert looker.picture() != before, key
        assert (words in described) != (words in looker.described()), key
        looker.press({"+": "-", "-": "+"}.get(key, key))
        assert looker.picture() == before, key


def test_settings_outlast_a_reload(visit: Visit) -> None:
    visit.open_detail()
    visit.press("+", "+", "e", "l")
    described = visit.described()
    visit.reload()
    visit.drawn()
    assert visit.described() == described
    assert "smoothed by 5 pixels" in described and "with errors" not in described


def test_zoom_by_wheel_drag_and_keys_and_back(looker: Visit) -> None:
    looker.open_detail()
    whole = looker.picture()
    box = looker.page.locator("#crosshair").bounding_box()
    middle = box["y"] + box["height"] / 3

    def drag() -> None:
        looker.page.mouse.move(box["x"] + 300, middle)
        looker.page.mouse.down()
        looker.page.mouse.move(box["x"] + 450, middle, steps=3)
        looker.page.mouse.up()

    def wheel() -> None:
        looker.page.mouse.move(box["x"] + 300, middle)
        looker.page.mouse.wheel(0, -600)
        looker.page.locator("#crosshair").evaluate("() => new Promise(requestAnimationFrame)")

    pictures = {whole}
    for zoom in (drag, wheel, lambda: looker.press("x")):
        zoom()
        pictures.add(looker.picture())
        looker.press("]")
        pictures.add(looker.picture())
        looker.press("0")
        assert looker.picture() == whole
    assert len(pictures) == 7


def test_the_readout_follows_the_mouse(looked_at: tuple[Running, Visit]) -> None:
    server, visit = looked_at
    visit.open_detail()
    box = visit.page.locator("#crosshair").bounding_box()
    read = []
    for x in (61, box["width"] - 15):
        visit.page.mouse.move(box["x"] + x, box["y"] + 100)
        visit.see("#readout").to_contain_text("flux")
        read.append(float(visit.text("#readout").split()[1]))
    wavelength = server.inspection.survey.grid.wavelength
    step = (wavelength[-1] - wavelength[0]) / (box["width"] - 74)
    assert abs(read[0] - wavelength[0]) < 2 * step
    assert abs(read[1] - wavelength[-1]) < 2 * step


def test_species_are_chosen_in_a_dialog(looker: Visit) -> None:
    looker.open_detail()
    before = looker.picture()
    looker.press("Shift+L")
    assert looker.page.locator("#species label:has(input:checked)").all_text_contents() == ["C₂"], "as the known show"
    looker.page.click("#species-none")
    assert looker.page.locator("#species input:checked").count() == 0
    looker.press("y")  # a dialog takes the keys
    looker.press("Escape")
    assert looker.picture() != before
    looker.press("Shift+L")
    looker.page.click("#species-all")
    assert looker.page.locator("#species input:not(:checked)").count() == 0
    looker.page.click("#species-known")
    looker.press("Escape")
    assert looker.picture() == before
    assert looker.log.events() == []


def test_a_choice_of_species_wins_and_is_kept(visit: Visit) -> None:
    def checked() -> set[str]:
        return set(visit.page.locator("#species label:has(input:checked)").all_text_contents())

    visit.open_detail()
    visit.press("Shift+L")
    visit.page.get_by_role("button", name="Quasar", exact=True).click()
    assert checked() == set(PRESETS["Quasar"])
    visit.page.get_by_role("checkbox", name="TiO").check()
    visit.press("Escape")
    visit.reload()
    visit.press("Shift+L")
    assert checked() == {*PRESETS["Quasar"], "TiO"}
    visit.page.click("#species-known")
    visit.reload()
    visit.press("Shift+L")
    assert checked() == {"C₂"}


KEY_COLOURS = """() => Object.fromEntries([...document.querySelectorAll("#legend canvas")].map(canvas => {
  const { width, height } = canvas, copy = new OffscreenCanvas(width, height).getContext("2d");
  copy.drawImage(canvas, 0, 0);
  const { data } = copy.getImageData(0, 0, width, height);
  const pixels = Array.from({ length: data.length / 4 }, (_, i) => [...data.slice(4 * i, 4 * i + 4)]);
  const strongest = pixels.sort((a, b) => b[3] - a[3])[0];
  return [canvas.parentElement.textContent.trim(), strongest];
}))"""
"""Words of an entry -> [red, green, blue, opacity] of its sample."""


def looks_like(colour: list[int], wanted: list[int]) -> bool:
    """Thin lines are blended with nothing, and a canvas rounds that."""
    return max(abs(a - b) for a, b in zip(colour, wanted, strict=True)) < 4


def test_each_entry_of_the_legend_is_drawn_as_what_it_stands_for(looked_at: tuple[Running, Visit]) -> None:
    server, visit = looked_at
    visit.open_detail()
    first = server.inspection.listing.facts[visit.selected]["nearest_known"]
    colours = visit.page.evaluate(KEY_COLOURS)
    flux, raw, error, known = (colours[words] for words in ("flux, σ 2 px", "raw flux", "± 1σ", f"known {first}"))
    assert looks_like(flux[:3], [0x1A, 0x1F, 0x26]) and looks_like(known[:3], [0xA3, 0x4A, 0x06])
    assert looks_like(raw[:3], [0xB4, 0xBC, 0xC6]) and looks_like(error, [11, 92, 173, 56])
    visit.press("-", "-")
    assert "raw flux" not in visit.text("#legend") and visit.text("#legend").startswith(" flux ")
    visit.press("+", "+", "v")
    assert looks_like(visit.page.evaluate(KEY_COLOURS)["residual"][:3], [0x0B, 0x6B, 0x3C])
    visit.press("v")


RANGE = """async () => {
  const { fluxRange } = await import("/static/flux_range.js");
  const flux = new Float32Array(1000).map((_, i) => 1 + 0.01 * Math.sin(i)), sigma = new Float32Array(1000).fill(0.1);
  flux.set([3, 7, 9, 10, 9, 7, 3], 300);
  flux.set([50, 60], 500);
  flux.set([-3, -4, -3, NaN, -3], 700);
  const wide = fluxRange(flux, flux, sigma, [0, 1000]);
  const noisy = fluxRange(flux, flux, sigma.map(() => 9), [0, 1000]);
  return [wide, noisy, fluxRange(flux.map(() => NaN), flux, sigma, [0, 1000])];
}"""


def test_lines_are_drawn_whole_and_hot_pixels_are_not(looker: Visit) -> None:
    wide, noisy, nothing = looker.page.evaluate(RANGE)
    assert wide == [-4, 10] and nothing is None
    assert noisy[1] < 10, "as uncertain as that it is no line"


def test_masked_pixels_are_hatched(inspected: tuple[Running, Visit]) -> None:
    """s004 has a long gap."""
    server, visit = inspected
    visit.page.goto(f"http://127.0.0.1:{visit.port}/#detail/s004")
    visit.reload()
    visit.press("-", "-", *"oewl")
    visit.drawn()
    assert visit.selected == "s004"
    wavelength = server.inspection.survey.grid.wavelength
    shares = (wavelength[[255, 320, 400, 465]] - wavelength[0]) / (wavelength[-1] - wavelength[0])
    ranges = shares.reshape(2, 2).tolist()
    in_gap, elsewhere = visit.page.locator("#spectrum").evaluate(HATCHED, ranges)
    assert in_gap > 0.1 > 3 * elsewhere


def test_the_next_spectra_are_here_before_they_are_asked_for(visit: Visit) -> None:
    visit.open_detail()
    visit.press("j")
    visit.drawn()
    ahead = [visit.text(f"#place-{i} .name") for i in (0, 2, 3, 4)]

    def asked() -> set[str]:
        urls = [urlsplit(url) for url in visit.requests]
        return {id for url in urls if url.path == "/api/spectrum" for id in parse_qs(url.query)["id"]}

    visit.page.wait_for_load_state("networkidle")
    assert set(ahead) <= asked()
    visit.answer("**/api/spectrum*", lambda route: route.abort())
    for key, id in zip("jjjkkkk", [*ahead[1:], ahead[2], ahead[1], None, ahead[0]], strict=True):
        visit.press(key)
        assert id is None or visit.selected == id
        assert visit.page.get_attribute("#plot", "data-shown") == visit.selected
    visit.complaints.clear()  # fetching further ahead was in vain


@pytest.mark.exhaustive
def test_drawings_are_as_sharp_as_the_screen(browser: Any, campaign: Campaign, tmp_path: Path) -> None:
    with inspecting(browser, campaign, tmp_path, device_scale_factor=2) as (_, visit):
        visit.open_detail()
        widths = visit.page.locator("#spectrum").evaluate("canvas => [canvas.width, canvas.clientWidth]")
        assert widths[0] == 2 * widths[1]
