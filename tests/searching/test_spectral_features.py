"""Which lines and band heads are marked."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rarespec.searching.explain.spectral_features import (
    APART,
    LINE,
    MOST,
    list_spectral_features,
    sky_features,
    telling_features,
)
from rarespec.spectrum import PAPER_GRID

WAVELENGTH = PAPER_GRID.wavelength


def asking_for(name: str, redshift: float = 0.0) -> np.ndarray:
    """Weights that ask for less flux where this atom or molecule absorbs."""
    weights = np.zeros(len(WAVELENGTH))
    for feature in list_spectral_features():
        distance = WAVELENGTH / (1 + redshift) - feature.wavelength
        if feature.name == name and feature.side == LINE:
            weights -= np.exp(-np.abs(distance) / 8)
        elif feature.name == name:
            weights -= np.where(distance * feature.side > 0, np.exp(-np.abs(distance) / 50), 0)
    return weights


@pytest.mark.parametrize("name", ["C₂", "TiO", "H"])
def test_the_molecule_that_is_asked_for_is_marked(name: str) -> None:
    """C2 at 5165 and TiO at 5167 lie together; the side on which they absorb tells them apart."""
    asked = asking_for(name)
    marks = telling_features(WAVELENGTH, asked, 5 + asked)
    assert len(marks) >= 4 and {mark.name for mark in marks} == {name}


@pytest.mark.parametrize("name", ["C₂", "TiO"])
def test_a_molecule_that_speaks_against_is_not_marked(name: str) -> None:
    asked = asking_for(name)
    for weights, known in ((-asked, asked), (asked, -asked), (-asked, -asked)):
        assert name not in {mark.name for mark in telling_features(WAVELENGTH, weights, known)}


def test_emission_lines_are_marked_when_they_are_asked_for() -> None:
    bright = -asking_for("H")
    assert {mark.name for mark in telling_features(WAVELENGTH, bright, bright)} == {"H"}
    assert telling_features(WAVELENGTH, -bright, bright) == ()


@pytest.mark.parametrize("slope", [-1.0, 1.0])
def test_a_slope_is_no_band(slope: float) -> None:
    straight = slope * (WAVELENGTH - 6000) / 1000
    assert telling_features(WAVELENGTH, asking_for("TiO") + straight, straight) == ()


def test_a_dip_inside_a_band_is_no_line_of_another_atom() -> None:
    inside = asking_for("C₂") + 3 * asking_for("He II")
    assert {mark.name for mark in telling_features(WAVELENGTH, inside, inside)} == {"C₂"}
    assert {mark.name for mark in telling_features(WAVELENGTH, asking_for("He II"), asking_for("He II"))} == {"He II"}


def test_marks_move_with_the_redshift() -> None:
    marks = telling_features(WAVELENGTH, asking_for("H", 0.1), asking_for("H", 0.1), 0.1)
    halpha = next(one.wavelength for one in list_spectral_features() if one.name == "H" and one.wavelength > 6500)
    assert {mark.name for mark in marks} == {"H"}
    assert any(mark.wavelength == pytest.approx(1.1 * halpha) for mark in marks)


def test_nothing_is_marked_where_nothing_is_asked_for() -> None:
    assert telling_features(WAVELENGTH, np.ones(len(WAVELENGTH)), asking_for("H")) == ()


@given(st.integers(0, 2**32 - 1), st.floats(-0.01, 3.0))
def test_marks_are_few_apart_in_order_and_inside(seed: int, redshift: float) -> None:
    weights, known = np.cumsum(np.random.default_rng(seed).normal(size=(2, len(WAVELENGTH))), axis=1)
    at = np.array([mark.wavelength for mark in telling_features(WAVELENGTH, weights, known, redshift)])
    assert len(at) <= MOST and (np.diff(at) >= APART).all()
    assert ((at > WAVELENGTH[0]) & (at < WAVELENGTH[-1])).all()


def test_wavelengths_are_in_vacuum() -> None:
    at = {(one.name, round(one.wavelength, 1)) for one in list_spectral_features()}
    assert ("H", 6564.6) in at and ("C₂", 5166.6) in at and ("Lyα", 1215.7) in at
    assert [(one.name, round(one.wavelength, 1), one.side) for one in sky_features(5000, 6000)] == [
        ("sky", 5578.8, LINE)
    ]
