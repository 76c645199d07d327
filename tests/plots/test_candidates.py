"""Pictures of candidates: on paper and on the page."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from matplotlib.colors import to_hex

from rarespec.pages.svg import path_through, round_numbers
from rarespec.plots.candidates import HEIGHT, WIDTH, candidate_svg, draw_candidate, flux_limits
from rarespec.plots.canvas import BLUE, GREY, RED, empty_figure
from rarespec.searching.explain.portrait import Portrait
from rarespec.searching.explain.spectral_features import LINE, SpectralFeature
from rarespec.spectrum.picture import extreme_points, mean_points

WAVELENGTH = np.linspace(4000.0, 9000.0, 2000)


def portrait(known: bool = True, **changes: np.ndarray) -> Portrait:
    """A rising spectrum before a falling known one, with a gap at its middle and a spike in the observed flux."""
    filtered = np.linspace(1, 3, len(WAVELENGTH))
    observed = filtered + np.where(np.arange(len(WAVELENGTH)) == 300, 50, 0)
    for curve in (filtered, observed):
        curve[900:1100] = np.nan
    curves = {"observed": observed, "filtered": filtered} | changes
    facts = {"rank": 7, "id": "<x>"}
    behind = np.linspace(3, 1, len(WAVELENGTH)) if known else None
    marks = (SpectralFeature("C₂", 5166.6, -1), SpectralFeature("<H>", 6564.6, LINE))
    sky = (SpectralFeature("sky", 5578.8, LINE),)
    return Portrait(facts, WAVELENGTH, known=behind, known_note="", marks=marks, sky=sky, bands=(), **curves)


def points(path: str) -> list[tuple[float, float]]:
    """Places that a path of relative steps goes through; NaN between its parts."""
    found: list[tuple[float, float]] = []
    for part in filter(None, path.split("M")):
        start, _, steps = part.partition("l0 0")
        moves = np.array([float(number) for number in re.findall(r"-?\d+", steps)]).reshape(-1, 2)
        places = np.array([float(number) for number in start.split()]) + np.cumsum(np.vstack([[0, 0], moves]), axis=0)
        found += [*map(tuple, places.tolist()), (np.nan, np.nan)]
    return found


def test_colours_and_gaps_on_paper() -> None:
    panel = empty_figure(4, 2).subplots()
    draw_candidate(panel, portrait())
    lines = {to_hex(line.get_color()): line for line in panel.lines if len(line.get_xdata()) > 2}
    assert set(lines) == {to_hex(GREY), BLUE, RED}
    x, y = lines[BLUE].get_data()
    assert np.array_equal(np.isnan(y), (x > WAVELENGTH[900]) & (x < WAVELENGTH[1099]))
    assert lines[RED].get_zorder() <= lines[BLUE].get_zorder() and list(panel.lines).index(lines[RED]) < list(
        panel.lines
    ).index(lines[BLUE])
    assert [text.get_text() for text in panel.texts] == ["C₂", "<H>"]


def test_without_a_known_example_there_are_two_curves() -> None:
    panel = empty_figure(4, 2).subplots()
    draw_candidate(panel, portrait(known=False))
    assert {to_hex(line.get_color()) for line in panel.lines if len(line.get_xdata()) > 2} == {to_hex(GREY), BLUE}
    assert 'class="known"' not in candidate_svg(portrait(known=False), "")


def test_a_spike_does_not_set_the_scale_and_zero_is_shown() -> None:
    bottom, top = flux_limits(portrait())
    assert bottom <= 0 and 3 < top < 5
    empty = np.full(len(WAVELENGTH), np.nan)
    assert np.isfinite(flux_limits(portrait(known=False, observed=empty, filtered=empty))).all()
    flat = np.zeros(len(WAVELENGTH))
    low, high = flux_limits(portrait(known=False, observed=flat, filtered=flat))
    assert low < high


def test_the_picture_on_the_page_shows_the_curves_in_their_place() -> None:
    one = portrait()
    picture = candidate_svg(one, 'say "<this>"')
    paths = dict(re.findall(r'<path class="(observed|known|filtered)" d="([^"]*)"', picture))
    assert set(paths) == {"observed", "known", "filtered"}
    _, behind = np.array(points(paths["known"])).T
    assert behind[0] < behind[-2]  # the known one falls, and y counts from the top
    x, y = np.array(points(paths["filtered"])).T
    bottom, top = flux_limits(one)
    flux = top - y / HEIGHT * (top - bottom)
    wavelength = WAVELENGTH[0] + x / WIDTH * (WAVELENGTH[-1] - WAVELENGTH[0])
    good = np.isfinite(x)
    assert np.allclose(flux[good], np.interp(wavelength[good], WAVELENGTH, np.linspace(1, 3, 2000)), atol=0.01)
    assert not ((wavelength > WAVELENGTH[905]) & (wavelength < WAVELENGTH[1095])).any()
    assert "&lt;H&gt;" in picture and "<H>" not in picture and "<this>" not in picture


def test_a_picture_on_the_page_is_small() -> None:
    noise = np.random.default_rng(0).normal(10, 5, len(WAVELENGTH))
    assert len(candidate_svg(portrait(observed=noise, filtered=noise), "")) < 20_000


@given(arrays(float, st.integers(0, 60), elements=st.one_of(st.just(np.nan), st.integers(-99, 999).map(float))))
def test_paths_go_through_every_point_and_break_at_gaps(y: np.ndarray) -> None:
    x = np.arange(len(y)) * 3.0
    drawn = [place for place in points(path_through(x, y)) if np.isfinite(place[0])]
    assert drawn == [(a, b) for a, b in zip(x, y, strict=True) if np.isfinite(b)]
    n_runs = np.count_nonzero(np.diff(np.isfinite(y).astype(int), prepend=0) == 1)
    assert path_through(x, y).count("M") == n_runs


@given(arrays(float, st.integers(1, 300), elements=st.floats(-1e3, 1e3) | st.just(np.nan)), st.integers(2, 80))
def test_fewer_points_keep_the_extremes_and_the_gaps(values: np.ndarray, n: int) -> None:
    wavelength = np.arange(len(values)) + 4000.0
    x, ends = extreme_points(wavelength, values, n)
    at, means = mean_points(wavelength, values, n)
    assert len(x) == len(ends) <= max(n, 2) and len(at) == len(means) <= n
    assert np.isnan(values).all() == np.isnan(ends).all() == np.isnan(means).all()
    if np.isfinite(values).any():
        assert np.nanmin(ends) == np.nanmin(values) and np.nanmax(ends) == np.nanmax(values)
        assert np.nanmin(values) - 1e-9 <= np.nanmin(means) <= np.nanmax(means) <= np.nanmax(values) + 1e-9


@given(st.floats(-1e4, 1e4), st.floats(1e-3, 1e5), st.integers(3, 9))
def test_scales_have_a_few_round_numbers(low: float, span: float, most: int) -> None:
    ticks = round_numbers(low, low + span, most)
    assert 1 <= len(ticks) <= most + 1
    assert all(low - 1e-9 * span <= tick <= low + span * (1 + 1e-9) for tick in ticks)


@pytest.mark.parametrize(
    ("low", "high", "expected"), [(0, 10, [0, 2, 4, 6, 8, 10]), (3900, 9000, list(range(4000, 9001, 1000)))]
)
def test_scales_of_known_ranges(low: float, high: float, expected: list[float]) -> None:
    assert round_numbers(low, high, 6) == expected
