"""A redshift by hand: by field, slider and keys; it is kept, and clearing it returns to the catalogue's."""

from __future__ import annotations

import pytest

from inspector.browser.visiting import Visit
from inspector.running_inspector import Running


def saved(visit: Visit, server: Running, z: float | None) -> None:
    """Waits until the server has this redshift of the selected candidate."""
    while server.inspection.redshifts.of("Ada").get(visit.selected) != (None if z is None else pytest.approx(z)):
        visit.page.wait_for_timeout(20)


def test_a_redshift_by_hand_moves_the_lines_and_is_kept(inspected: tuple[Running, Visit]) -> None:
    server, visit = inspected
    visit.open_detail()
    field = visit.page.locator("#redshift")
    catalogue, before = field.input_value(), visit.picture()
    field.fill("0.1")
    visit.press("Enter")
    by_hand = visit.picture()
    assert by_hand != before and visit.described().endswith("at redshift 0.1")
    field.fill("no number")
    visit.see("#redshift").to_have_attribute("aria-invalid", "true")
    visit.press("Escape", "j", "k")
    visit.drawn()
    visit.see("#redshift").to_have_value("0.1")
    assert visit.picture() == by_hand
    saved(visit, server, 0.1)
    visit.reload()
    visit.drawn()
    visit.see("#redshift").to_have_value("0.1")
    field.fill("")
    visit.press("Enter")
    visit.see("#redshift").to_have_value(catalogue)
    saved(visit, server, None)
    visit.reload()
    visit.drawn()
    visit.see("#redshift").to_have_value(catalogue)
    assert visit.picture() == before


def test_keys_and_sliders_move_it(inspected: tuple[Running, Visit]) -> None:
    server, visit = inspected
    visit.open_detail()
    value = lambda: float(visit.page.input_value("#redshift"))  # noqa: E731
    visit.page.fill("#redshift", "0")
    visit.press("Enter", ".", ".")
    assert value() == pytest.approx(2e-4, abs=2e-6)
    visit.press(",", ">", ">", "<")
    assert value() == pytest.approx(2.1e-3, abs=4e-6)
    visit.page.locator("#redshift-coarse").fill("1.9459")
    assert value() == pytest.approx(6, abs=1e-3)
    visit.page.locator("#redshift-fine").fill("-0.005")
    assert value() == pytest.approx(7 * 0.99501 - 1, abs=1e-3)
    saved(visit, server, value())
    visit.page.mouse.move(0, 0)
    box = visit.page.locator("#redshift-fine").bounding_box()
    visit.page.mouse.click(box["x"] + 3 * box["width"] / 4, box["y"] + box["height"] / 2)
    selected = visit.selected
    visit.press("j")  # the slider has let go of the keys
    assert visit.selected != selected


def test_a_redshift_waits_for_the_server(inspected: tuple[Running, Visit]) -> None:
    server, visit = inspected
    visit.open_detail()
    visit.answer("**/api/redshift", lambda route: route.abort())
    visit.page.fill("#redshift", "0.3")
    visit.press("Enter")
    visit.see("#warning").to_be_visible()
    assert server.inspection.redshifts.current() == []
    visit.page.unroute("**/api/redshift")
    visit.reload()
    visit.drawn()
    visit.see("#redshift").to_have_value("0.3")
    saved(visit, server, 0.3)
    visit.complaints.clear()
