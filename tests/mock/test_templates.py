"""Templates: typical objects without noise, at rest."""

from __future__ import annotations

import numpy as np
import pytest

from rarespec.mock.templates import KINDS, template_named

HALPHA, SWAN, TIO = 6564.6, 5166.6, 7056.5
"""Vacuum Angstrom."""


@pytest.mark.parametrize("name", KINDS)
def test_a_template_is_a_spectrum_of_light_that_reaches_over_the_optical(name: str) -> None:
    wavelength, flux = template_named(name)
    assert wavelength[0] < 2010 and wavelength[-1] > 11000 and (np.diff(wavelength) > 0).all()
    assert np.isfinite(flux).all() and (flux >= 0).all() and flux.mean() == pytest.approx(1, rel=1e-3)
    assert template_named(name) is template_named(name)


def ratio(name: str, inside: tuple[float, float], beside: tuple[float, float]) -> float:
    wavelength, flux = template_named(name)
    means = [flux[(wavelength > low) & (wavelength < high)].mean() for low, high in (inside, beside)]
    return float(means[0] / means[1])


def test_templates_show_what_their_kind_is_known_for() -> None:
    assert ratio("A", (HALPHA - 5, HALPHA + 5), (HALPHA + 60, HALPHA + 90)) < 0.9
    assert ratio("dC", (SWAN - 40, SWAN), (SWAN + 10, SWAN + 50)) < 0.85 < ratio("G", (SWAN - 40, SWAN), (5177, 5217))
    assert ratio("M3", (TIO, TIO + 60), (TIO - 40, TIO - 5)) < 0.8
    assert ratio("quasar", (1210, 1225), (1290, 1330)) > 1.5
    assert ratio("star-forming galaxy", (HALPHA - 5, HALPHA + 5), (HALPHA + 100, HALPHA + 140)) > 1.05
