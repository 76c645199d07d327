"""Spectra of the mock sky show what makes their class, where physics puts it."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from rarespec.mock import MockSky
from rarespec.mock.classes import draw
from rarespec.mock.light import Light, Population, emit_light
from rarespec.mock.lines import vacuum
from rarespec.mock.opacity import MODEL_GRID, absorbers
from rarespec.spectrum import PAPER_GRID

WAVELENGTH = PAPER_GRID.wavelength
Flux = NDArray[np.float32]


def models(name: str, n: int = 60) -> Flux:
    return emit_light(draw(name, np.random.default_rng(8), n), WAVELENGTH)


def mean_flux(flux: Flux, low: float, high: float) -> NDArray[np.float64]:
    inside = (low < WAVELENGTH) & (high > WAVELENGTH)
    return flux[:, inside].mean(axis=1, dtype=np.float64)


def across_swan_head(flux: Flux) -> NDArray[np.float64]:
    """Flux just longward of the C2 head at 5165 A over flux just shortward of it."""
    return mean_flux(flux, 5200, 5260) / mean_flux(flux, 5100, 5160)


def depth(flux: Flux, air: float, half_width: float, away: float) -> NDArray[np.float64]:
    """How far a line falls below the mean of both sides."""
    centre = float(vacuum(air))
    sides = [mean_flux(flux, centre + s * away - 8, centre + s * away + 8) for s in (-1, 1)]
    return 1 - mean_flux(flux, centre - half_width, centre + half_width) / np.mean(sides, axis=0)


@pytest.mark.parametrize(("air", "expected"), [(5889.95, 5891.58), (6562.80, 6564.61), (3933.66, 3934.77)])
def test_laboratory_wavelengths_become_vacuum(air: float, expected: float) -> None:
    assert float(vacuum(air)) == pytest.approx(expected, abs=0.02)


def test_swan_band_is_deep_in_carbon_stars_and_absent_in_others() -> None:
    carbon = across_swan_head(models("CARBON", 200))
    assert np.median(carbon) > 1.3
    assert np.percentile(carbon, 5) > 1.05
    for name in ("O", "B", "A", "F", "G", "WD", "DZ"):
        assert np.percentile(across_swan_head(models(name)), 95) < 1.05, name


def test_swan_absorption_lies_shortward_of_its_sharp_head() -> None:
    start, tau = absorbers()["c2_5165"]
    at = (MODEL_GRID.pixel_of(vacuum(5165.2) + np.array([-12.0, -5.0, 5.0, 12.0])) - start).astype(int)
    padded = np.concatenate([tau, np.zeros(100, np.float32)])
    assert padded[at[:2]].min() > 0.4
    assert padded[at[2:]].max() < 0.01


def test_red_cyanogen_lies_longward_of_its_head() -> None:
    carbon = models("CARBON", 200)
    assert np.median(mean_flux(carbon, 7800, 7860) / mean_flux(carbon, 7905, 7960)) > 1.04


def test_titanium_oxide_in_m_dwarfs_only() -> None:
    def head(flux: Flux) -> NDArray[np.float64]:
        return mean_flux(flux, 7030, 7052) / mean_flux(flux, 7125, 7145)

    assert np.median(head(models("M"))) > 1.25
    assert np.percentile(head(models("G")), 95) < 1.1
    assert np.percentile(head(models("CARBON")), 90) < 1.3


def test_balmer_lines_in_a_stars_and_broader_ones_in_white_dwarfs() -> None:
    a, g, da = models("A"), models("G"), models("WD", 100)
    assert np.median(depth(a, 4340.47, 6, 60)) > 0.3
    assert np.median(depth(g, 4340.47, 6, 60)) < 0.3
    wing_over_core = [np.median(mean_flux(f, 4875, 4890) / mean_flux(f, 4940, 4980)) for f in (a, da)]
    assert wing_over_core[1] < wing_over_core[0] - 0.03


def test_cataclysmic_variables_shine_in_hydrogen() -> None:
    assert np.median(depth(models("CV"), 6562.8, 8, 120)) < -0.3


def test_calcium_in_dz_and_rounded_swan_in_dq() -> None:
    assert np.median(depth(models("DZ"), 3968.47, 4, 45)) > 0.2
    dq = models("DQ")
    assert np.median(mean_flux(dq, 5230, 5290) / mean_flux(dq, 5080, 5140)) > 1.2


def test_brown_dwarfs_are_very_red() -> None:
    flux = {name: models(name) for name in "LTM"}
    colour = {name: np.median(mean_flux(f, 8500, 8900) / mean_flux(f, 6000, 6400)) for name, f in flux.items()}
    assert colour["T"] > colour["L"] > 5 * colour["M"] > 5


def test_velocity_moves_lines_by_the_doppler_shift() -> None:
    speed = 600.0 / 299792.458
    teff = np.full(2, 5000.0)
    light = Light(teff, {"na_d": np.full(2, 0.9)})
    pair = Population((light,), (np.ones(2),), ["", ""], teff, np.array([0, speed]))
    flux = emit_light(pair, WAVELENGTH)
    inside = (WAVELENGTH > 5870) & (WAVELENGTH < 5930)
    loss = 1 - flux[:, inside] / flux[:, inside].max(axis=1, keepdims=True)
    centres = (loss * WAVELENGTH[inside]).sum(axis=1) / loss.sum(axis=1)
    assert centres[1] - centres[0] == pytest.approx(speed * 5893.0, rel=0.05)


def test_catalogue_redshift_is_that_of_the_lines() -> None:
    block = MockSky(1, {"qso": 150}, seed=3, median_snr=40).block(0)
    for row in range(1, len(block)):
        z = block.catalogue["z"][row]
        if 0.5 < z < 1.8:  # magnesium well inside the grid
            rest = WAVELENGTH / (1 + z)
            peak = np.median(block.flux[row, np.abs(rest - 2800) < 12])
            sides = np.median(block.flux[row, (np.abs(rest - 2800) > 60) & (np.abs(rest - 2800) < 100)])
            assert peak > sides, z


def test_sky_fibres_hold_nothing_but_noise() -> None:
    block = MockSky(0, {"sky": 100}, seed=2).block(0)
    assert np.abs(np.median(block.catalogue["snr"])) < 0.1
