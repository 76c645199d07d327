"""Noise, S/N, dust and masks of the mock sky behave like those of a real survey."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rarespec.mock import MockSky
from rarespec.mock.instrument import Instrument
from rarespec.spectrum import PAPER_GRID

WAVELENGTH = PAPER_GRID.wavelength
NOISE = Path(__file__).resolve().parents[3] / "shared" / "data" / "noise.npz"


def noise_shapes(n: int = 400) -> np.ndarray:
    """Noise of F and G stars against wavelength, each with median 1; (n, p)."""
    block = MockSky(0, {"f": n // 2, "g": n // 2}, seed=6).block(0)
    assert block.ivar is not None
    shapes = [np.interp(WAVELENGTH, WAVELENGTH[~s.bad], s.ivar[~s.bad] ** -0.5) for s in block]
    return np.array([shape / np.median(shape) for shape in shapes])


def test_noise_is_what_the_inverse_variance_says() -> None:
    block = MockSky(0, {"sky": 300}, seed=2).block(0)
    assert block.ivar is not None
    quiet = (WAVELENGTH > 6600) & (WAVELENGTH < 6800)
    pulls = (block.flux * np.sqrt(block.ivar))[:, quiet]
    assert np.percentile(np.abs(pulls), 68.3) == pytest.approx(1, abs=0.05)


def test_sky_lines_leave_residues_beyond_the_noise() -> None:
    block = MockSky(0, {"sky": 300}, seed=2).block(0)
    assert block.ivar is not None
    at_5577 = np.abs(WAVELENGTH - 5578.9) < 2
    pulls = (block.flux * np.sqrt(block.ivar))[:, at_5577]
    assert np.percentile(np.abs(pulls), 68.3) > 1.15


def test_snr_follows_the_median_asked_for() -> None:
    for wanted in (5.0, 20.0):
        snr = np.array(MockSky(0, {"f": 500}, seed=1, median_snr=wanted).block(0).catalogue["snr"])
        assert np.median(snr) == pytest.approx(wanted, rel=0.25)
        assert np.log(np.percentile(snr, 84) / np.percentile(snr, 16)) / 2 == pytest.approx(0.75, abs=0.2)


def test_brighter_objects_have_better_snr() -> None:
    block = MockSky(0, {"f": 300}, seed=1).block(0)
    assert np.corrcoef(np.log(np.median(block.flux, axis=1)), np.log(block.catalogue["snr"]))[0, 1] > 0.8


def test_dust_reddens() -> None:
    instrument = Instrument(WAVELENGTH)
    transmission = np.exp(instrument.log_extinction)
    assert 0.01 < transmission[0] < transmission[-1] < 1
    assert (np.diff(transmission) > -1e-4).all()
    visual = transmission[np.searchsorted(WAVELENGTH, 5480)]
    assert -2.5 * np.log10(visual) == pytest.approx(3.1, abs=0.15)


def test_noise_rises_to_both_ends_and_at_sky_lines() -> None:
    median = np.median(noise_shapes(), axis=0)

    def at(wavelength: float) -> float:
        return float(median[np.searchsorted(WAVELENGTH, wavelength)])

    assert at(3950) > 1.6 * at(5200)
    assert at(5880) > at(5500)
    assert at(5880) > at(6200)
    assert at(5578.9) > 4 * at(5500)
    assert at(8829) > 2 * at(8820 - 15)


@pytest.mark.skipif(not NOISE.exists(), reason="needs the real noise vectors of ../shared/data")
def test_noise_shape_matches_real_observations() -> None:
    ivar = np.load(NOISE)["ivar"]
    ivar = ivar[(ivar > 0).mean(axis=1) > 0.97]
    pixels = np.arange(ivar.shape[1])
    real = [np.interp(pixels, pixels[row > 0], row[row > 0] ** -0.5) for row in ivar]
    expected = np.median([shape / np.median(shape) for shape in real], axis=0)
    ratio = np.log(np.median(noise_shapes(), axis=0) / expected)
    assert np.sqrt(np.mean(ratio**2)) < 0.2
    assert np.corrcoef(np.log(np.median(noise_shapes(), axis=0)), np.log(expected))[0, 1] > 0.9
