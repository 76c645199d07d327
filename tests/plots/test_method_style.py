"""Every method has a look of its own, also for people who see fewer colours and in grey print."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.markers import MarkerStyle

from rarespec.evaluation.experiment.methods import METHODS, OUR_METHODS, PAPER_METHODS
from rarespec.plots.canvas import KNOWN_COLOUR, RIGHT_COLOUR, WRONG_COLOUR
from rarespec.plots.method_style import OWN_STYLES, STYLES, style_of

ALL_COLOURS = np.eye(3)
PROTANOPIA = np.array(
    [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
)
DEUTERANOPIA = np.array(
    [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
)
"""On linear RGB, Machado, Oliveira & Fernandes (2009), severity 1."""
RGB_TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.119192, 0.9503041]]
)
PLAINLY_DIFFERENT = 15.0
"""Distance in CIELAB; about 2 can just be told apart side by side."""


def lab(colour: str, sight: np.ndarray) -> np.ndarray:
    """Coordinates in CIELAB of what somebody sees."""
    rgb = np.array(to_rgb(colour))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    x, y, z = np.cbrt(RGB_TO_XYZ @ np.clip(sight @ linear, 1e-9, 1) / [0.95047, 1.0, 1.08883])
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def closest(colours: Iterable[str], sight: np.ndarray) -> float:
    seen = [lab(colour, sight) for colour in colours]
    return min(float(np.linalg.norm(one - other)) for one, other in combinations(seen, 2))


EVERY_SIGHT = pytest.mark.parametrize(
    "sight", [ALL_COLOURS, PROTANOPIA, DEUTERANOPIA], ids=["all", "protanopia", "deuteranopia"]
)
OBJECTS = (KNOWN_COLOUR, RIGHT_COLOUR, WRONG_COLOUR)


@EVERY_SIGHT
def test_methods_of_the_standard_figures_are_told_apart_by_colour(sight: np.ndarray) -> None:
    names = {*PAPER_METHODS, *OUR_METHODS, "auto"}
    assert closest([style_of(name).colour for name in names], sight) > PLAINLY_DIFFERENT


@EVERY_SIGHT
def test_known_right_and_wrong_objects_are_told_apart_by_colour(sight: np.ndarray) -> None:
    assert closest(OBJECTS, sight) > 2 * PLAINLY_DIFFERENT


def test_objects_have_no_colour_of_a_method() -> None:
    for colour in OBJECTS:
        assert min(closest((colour, style.colour), ALL_COLOURS) for style in STYLES.values()) > 2 * PLAINLY_DIFFERENT


def test_the_simulation_finds_colours_that_are_confused() -> None:
    """Red and olive of one brightness, which people without red-sensitive cones know apart by nothing."""
    apart = [
        np.linalg.norm(lab("#d55e00", sight) - lab("#a6761d", sight))
        for sight in (ALL_COLOURS, PROTANOPIA, DEUTERANOPIA)
    ]
    assert apart[0] > PLAINLY_DIFFERENT > min(apart[1:])


def test_every_method_has_a_style_and_a_colour_that_is_its_own() -> None:
    assert set(STYLES) == set(METHODS)
    assert len({style.colour for style in STYLES.values()}) == len(STYLES)


def test_no_two_methods_share_line_and_marker() -> None:
    assert len({(style.linestyle, style.marker) for style in STYLES.values()}) == len(STYLES)
    standard = [style_of(name) for name in PAPER_METHODS + OUR_METHODS if name != "auto"]  # which is thicker
    assert len({style.linestyle for style in standard}) == len({style.marker for style in standard}) == len(standard)


def test_matplotlib_knows_all_markers_and_no_line_is_too_pale_for_paper() -> None:
    for style in STYLES.values():
        MarkerStyle(style.marker)
        assert lab(style.colour, ALL_COLOURS)[0] < 75


def test_auto_stands_out() -> None:
    auto = style_of("auto")
    assert (auto.colour, auto.linestyle) == ("#000000", "-")
    assert auto.linewidth > max(style.linewidth for name, style in STYLES.items() if name != "auto")


def test_methods_of_the_users_own_look_like_no_other() -> None:
    own = tuple(f"mine:Ranker{number}" for number in range(len(OWN_STYLES)))
    looks = [style_of(name, (*PAPER_METHODS, *own)) for name in own]
    assert looks == list(OWN_STYLES) and style_of("emr", own) == STYLES["emr"]
    assert len({(one.linestyle, one.marker) for one in [*looks, *STYLES.values()]}) == len(looks) + len(STYLES)


def test_unknown_methods_are_named() -> None:
    with pytest.raises(ValueError, match=r"'nearest'.*bagging_top_push"):
        style_of("nearest")
