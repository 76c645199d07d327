"""Spectra on another grid: flux and its errors are kept, what is missing stays missing."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import make_spectra
from rarespec.spectrum import PAPER_GRID, DefectError, Reason, Spectra, WavelengthGrid, resample, to_rest_frame


def on(wavelength, flux, ivar=1.0, bad=None):
    flux = np.atleast_2d(np.asarray(flux, "f8")) * np.ones((1, len(wavelength)))
    bad = np.zeros(flux.shape, bool) if bad is None else np.atleast_2d(bad)
    return Spectra(np.asarray(wavelength, "f8"), flux, np.full(flux.shape, ivar), bad, {"id": ["a"] * len(flux)})


def test_pixels_on_the_grid_are_copied_to_the_bit():
    wavelength = 10 ** (3.58 + 1e-4 * np.arange(4000))
    spectra = make_spectra(3, WavelengthGrid("log", 3.58, 1e-4, 4000))
    placed = resample(spectra, PAPER_GRID)
    inside = slice(130, 130 + 3601)
    assert np.array_equal(placed.flux, spectra.flux[:, inside])
    assert np.array_equal(placed.ivar, spectra.ivar[:, inside])
    assert np.array_equal(placed.bad, spectra.bad[:, inside])
    assert np.allclose(placed.wavelength, wavelength[inside])


def test_uncovered_pixels_are_bad_and_zero():
    grid = WavelengthGrid("log", 3.70, 1e-4, 100)
    placed = resample(make_spectra(2, grid), PAPER_GRID)
    outside = np.ones(3601, bool)
    outside[1070:1170] = False
    assert placed.bad[:, outside].all()
    assert (placed.flux[:, outside] == 0).all() and (placed.ivar[:, outside] == 0).all()


@given(st.floats(3800, 4200), st.floats(0.2, 6), st.integers(0, 2**31))
def test_rebinning_conserves_flux(start, step, seed):
    """The integral over the part of the grid that the input covers wholly is the integral of the input over it."""
    wavelength = start + step * np.arange(2500)
    flux = np.random.default_rng(seed).normal(5, 1, 2500)
    grid = WavelengthGrid("linear", start + 20 * step, 1.7, 200)
    placed = resample(on(wavelength, flux), grid)
    edges_in = np.concatenate([wavelength - step / 2, [wavelength[-1] + step / 2]])
    cumulative = np.concatenate([[0], np.cumsum(flux * step)])
    expected = np.diff(np.interp(grid.edges, edges_in, cumulative))
    covered = grid.edges[1:] <= edges_in[-1]
    assert np.allclose((placed.flux[0] * np.diff(grid.edges))[covered], expected[covered], rtol=1e-5, atol=1e-4)


def test_a_constant_stays_constant_and_its_error_shrinks_by_the_number_of_pixels():
    grid = WavelengthGrid("linear", 5000, 4.0, 50)
    placed = resample(on(4900 + 1.0 * np.arange(500), 7.0, ivar=2.0), grid)
    assert np.allclose(placed.flux, 7.0)
    # Each grid pixel is the mean of 3 whole and 2 half input pixels.
    assert np.allclose(placed.ivar, 2.0 * 16 / (3 + 2 * 0.25), rtol=1e-5)


def test_rebinned_errors_are_the_scatter_of_noise():
    rng = np.random.default_rng(0)
    wavelength, grid = 4000 + 0.8 * np.arange(600), WavelengthGrid("log", 3.61, 1e-4, 300)
    noise = rng.normal(0, 0.5, (3000, 600))
    spectra = Spectra(wavelength, noise, np.full(noise.shape, 4.0), np.zeros(noise.shape, bool), {"id": ["a"] * 3000})
    placed = resample(spectra, grid)
    pull = placed.flux * np.sqrt(placed.ivar)
    assert np.allclose(pull.std(axis=0), 1, atol=0.07)


def test_bad_pixels_carry_no_weight():
    wavelength = 4900 + 1.0 * np.arange(500)
    flux, bad = np.full(500, 3.0), np.zeros(500, bool)
    flux[150:152], bad[150:152] = 1e9, True
    flux[300:320], bad[300:320] = np.nan, True
    placed = resample(on(wavelength, flux, bad=bad), WavelengthGrid("linear", 5000.3, 4.0, 80))
    assert np.allclose(placed.flux[0, ~placed.bad[0]], 3.0)
    assert 3 <= placed.bad.sum() <= 6
    assert np.isfinite(placed.flux).all() and np.isfinite(placed.ivar).all()


def test_what_is_not_finite_becomes_bad_never_a_good_zero():
    spectra = make_spectra(1)
    spectra.flux[0, 5], spectra.flux[0, 6], spectra.ivar[0, 7], spectra.ivar[0, 8] = np.nan, np.inf, np.nan, -1
    spectra.bad[0, 5:9] = False
    placed = resample(spectra, PAPER_GRID)
    assert placed.bad[0, 5:9].all()
    assert np.isfinite(placed.flux).all() and np.isfinite(placed.ivar).all() and (placed.ivar >= 0).all()


@pytest.mark.parametrize("wavelength", [9000 + 1.0 * np.arange(100), 10 ** (3.0 + 1e-4 * np.arange(100))])
def test_no_overlap_says_both_ranges(wavelength):
    with pytest.raises(DefectError, match=r"grid covers 3917\.4-8974\.3") as caught:
        resample(on(wavelength, 1.0), PAPER_GRID)
    assert caught.value.reason == Reason.NO_OVERLAP


def test_spectra_without_errors_keep_none():
    spectra = make_spectra(2)
    bare = Spectra(spectra.wavelength, spectra.flux, None, spectra.bad, spectra.catalogue)
    assert resample(bare, PAPER_GRID).ivar is None


def test_rest_frame_moves_a_line_home_and_keeps_its_energy():
    wavelength = 4000 + 0.5 * np.arange(6000)
    z, centre = 0.05, 5000.0
    line = np.exp(-0.5 * ((wavelength - centre * (1 + z)) / 3) ** 2)
    rest = resample(to_rest_frame(on(wavelength, line), z), PAPER_GRID)
    width = np.diff(PAPER_GRID.edges)
    assert (rest.flux[0] * width * rest.wavelength).sum() / (rest.flux[0] * width).sum() == pytest.approx(
        centre, abs=0.02
    )
    assert (rest.flux[0] * width).sum() == pytest.approx(line.sum() * 0.5, rel=1e-3)
