"""Known examples and templates over a spectrum, what is left without them, and other spectra of the same object."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from inspector.browser.visiting import Visit
from inspector.running_inspector import Running
from rarespec.mock.templates import KINDS
from rarespec.searching.explain.portrait import on_scale_of

LAID_OVER = """async ([spectrum, wavelength, overlay, stretch]) => {
  const { laidOver } = await import("/static/overlays.js");
  const numbers = Object.fromEntries(Object.entries(overlay).map(([name, values]) =>
    [name, Array.isArray(values) ? Float32Array.from(values, value => value ?? NaN) : values]));
  const curve = laidOver({ flux: Float32Array.from(spectrum.flux), ivar: spectrum.ivar }, wavelength, numbers, stretch);
  return curve && [...curve].map(value => Number.isFinite(value) ? value : null);
}"""


def test_p_goes_through_the_known_examples_and_templates_and_back(looked_at: tuple[Running, Visit]) -> None:
    server, visit = looked_at
    visit.open_detail()
    known = server.inspection.campaign.known_ids
    names = visit.page.locator("#overlay option").all_text_contents()
    assert names == ["nearest known", *known, *KINDS]
    before = visit.picture()
    for id in known:
        visit.press("p")
        visit.see("#legend").to_contain_text(f"known {id}")
        visit.see("#spectrum").to_have_attribute("aria-label", re.compile(f"with the known {id}"))
    visit.press("p")
    visit.see("#legend").to_contain_text("template O, simulated")
    assert visit.picture() != before
    visit.press(*["Shift+P"] * (len(known) + 1))
    visit.see("#overlay").to_have_value("0")
    assert visit.picture() == before
    visit.press("Shift+P")
    visit.see("#overlay").to_have_value(str(len(names) - 1))
    visit.press("p")


def test_another_overlay_is_shown_also_where_it_was_hidden(looker: Visit) -> None:
    looker.open_detail()
    looker.press("o")
    assert "with the known" not in looker.described()
    looker.press("p")
    looker.see("#show-known").to_have_attribute("aria-pressed", "true")
    looker.press("Shift+P")


def test_a_chosen_template_stays_for_the_next_spectrum_and_moves_with_the_redshift(looker: Visit) -> None:
    looker.open_detail()
    looker.page.select_option("#overlay", label="quasar")
    looker.see("#legend").to_contain_text("template quasar, simulated at z =")
    looker.press("j")  # the field of the choice has let go of the keys
    looker.drawn()
    looker.see("#legend").to_contain_text("template quasar")
    before = looker.picture()
    looker.page.fill("#redshift", "2")
    looker.press("Enter")
    looker.see("#legend").to_contain_text("at z = 2")
    assert looker.picture() != before
    looker.page.fill("#redshift", "")
    looker.press("Enter")
    looker.page.select_option("#overlay", label="nearest known")


def test_an_overlay_that_cannot_be_had_says_why(looker: Visit) -> None:
    looker.open_detail()
    looker.answer("**/api/overlay*", lambda route: route.fulfill(status=404, body='{"error": "it is gone"}'))
    looker.page.select_option("#overlay", label="DZ")
    looker.see("#legend").to_contain_text("it is gone")
    looker.page.unroute("**/api/overlay*")
    looker.page.select_option("#overlay", label="nearest known")
    looker.complaints.clear()


def test_the_residual_has_a_strip_of_its_own(looker: Visit) -> None:
    looker.open_detail()
    before = looker.picture()
    looker.press("v")
    assert "with the residual" in looker.described() and looker.picture() != before
    looker.see("#legend").to_contain_text("residual")
    looker.press("v")
    assert looker.picture() == before


def laid_over(visit: Visit, flux: np.ndarray, overlay: dict[str, Any], stretch: float = 1.0) -> np.ndarray:
    wavelength = np.linspace(4000, 5000, len(flux))
    there = {"wavelength": wavelength.tolist(), "offset_is_free": False} | overlay
    ivar = np.isfinite(flux).astype(float).tolist()
    spectrum = {"flux": np.nan_to_num(flux).tolist(), "ivar": ivar}
    found = visit.page.evaluate(LAID_OVER, [spectrum, wavelength.tolist(), there, stretch])
    return np.array([np.nan if value is None else value for value in found])


def test_overlays_are_scaled_as_the_server_scales_them(looker: Visit) -> None:
    rng = np.random.default_rng(2)
    flux, curve = rng.normal(10, 1, 101), rng.normal(3, 1, 101)
    for offset_is_free in (False, True):
        expected = on_scale_of(flux, curve, offset_is_free)
        found = laid_over(looker, flux, {"flux": curve.tolist(), "offset_is_free": offset_is_free})
        assert expected is not None
        np.testing.assert_allclose(found, expected, rtol=1e-4)


def test_a_shifted_overlay_has_its_lines_at_the_redshift(looker: Visit) -> None:
    wavelength = np.linspace(3000, 6000, 3001)
    line = 1 + 5 * np.exp(-(((wavelength - 4200) / 5) ** 2))
    overlay = {"wavelength": wavelength.tolist(), "flux": line.tolist()}
    found = laid_over(looker, np.ones(1001), overlay, 1.1)
    assert abs(np.linspace(4000, 5000, 1001)[np.argmax(found)] - 4620) < 2
    short = {"wavelength": wavelength[:1500].tolist(), "flux": line[:1500].tolist()}
    assert np.isnan(laid_over(looker, np.ones(1001), short)[-400:]).all()


def test_an_object_with_one_spectrum_has_no_others(looker: Visit) -> None:
    looker.open_detail()
    before = looker.picture()
    looker.press("q")
    looker.see("#same-object").to_have_text("No other spectrum of this object in the survey (within 2″).")
    looker.press("q")
    looker.see("#same-object").to_be_hidden()
    looker.drawn()
    assert looker.picture() == before
