"""Resolutions, and spectra smoothed from one to another."""

import numpy as np
import pytest

from rarespec.spectrum import Resolution, Spectra, WavelengthGrid
from rarespec.spectrum.resolution import FWHM_OF_SIGMA, resolution_in, smooth

GRID = WavelengthGrid("log", 3.68, 4e-5, 1200)


def line(resolution, grid=GRID, centre=5000.0, n=1):
    """An emission line that nothing but the instrument has widened, as means over pixels."""
    from scipy.special import ndtr

    sigma = resolution.fwhm_at(np.array([centre]))[0] / FWHM_OF_SIGMA
    flux = np.diff(ndtr((grid.edges - centre) / sigma)) / np.diff(grid.edges)
    flux = np.tile(1.0 + 10 * flux, (n, 1)).astype("f4")
    return Spectra(grid.wavelength, flux, np.full(flux.shape, 4.0, "f4"), flux < 0, {"id": list("abcdefgh"[:n])})


@pytest.mark.parametrize(
    ("own", "wanted"),
    [
        (Resolution(5000), Resolution(2000)),
        (Resolution(6000), Resolution(1800)),
        (Resolution(fwhm=1.8), Resolution(2000)),
        (Resolution(4000), Resolution(fwhm=5.0)),
    ],
)
def test_a_sharp_line_becomes_that_of_the_other_instrument(own, wanted):
    found, expected = smooth(line(own), GRID, own, wanted), line(wanted)
    np.testing.assert_allclose(found.flux, expected.flux, atol=0.01 * (expected.flux.max() - 1))
    step = np.diff(GRID.edges)
    assert ((found.flux - 1) @ step)[0] == pytest.approx(((expected.flux - 1) @ step)[0], rel=1e-3)


def test_errors_are_those_of_the_weighted_means():
    own, wanted = Resolution(10000), Resolution(1500)
    rng = np.random.default_rng(0)
    noise = line(own, n=8)
    draws = [smooth(_with(noise, flux=rng.normal(0, 0.5, noise.flux.shape)), GRID, own, wanted) for _ in range(40)]
    scatter = np.std([draw.flux[:, 100:-100] for draw in draws])
    assert scatter == pytest.approx(float((draws[0].ivar[:, 100:-100] ** -0.5).mean()), rel=0.03)
    assert scatter < 0.3  # smoothing gains


def _with(spectra, **changes):
    values = {"flux": spectra.flux, "ivar": spectra.ivar, "bad": spectra.bad} | changes
    return Spectra(spectra.wavelength, values["flux"], values["ivar"], values["bad"], spectra.catalogue)


def test_bad_pixels_have_no_weight_and_wide_gaps_stay_bad():
    flat = line(Resolution(5000), n=1)
    flux, bad = np.ones_like(flat.flux), np.zeros(flat.bad.shape, bool)
    flux[0, 300], bad[0, 300] = 1e9, True
    flux[0, 500:560], bad[0, 500:560] = np.nan, True
    found = smooth(_with(flat, flux=flux, bad=bad), GRID, Resolution(5000), Resolution(2000))
    np.testing.assert_allclose(found.flux[~found.bad], 1.0, rtol=1e-6)
    assert np.isfinite(found.flux).all() and np.isfinite(found.ivar).all()
    assert not found.bad[0, 300] and found.bad[0, 505:555].all() and not (found.ivar[found.bad] > 0).any()


def test_a_spectrum_without_errors_has_none_afterwards():
    assert smooth(_with(line(Resolution(5000)), ivar=None), GRID, Resolution(5000), Resolution(2000)).ivar is None


def test_where_the_wanted_one_is_sharper_nothing_changes():
    sharp_in_the_red = Resolution(fwhm=2.5)
    found = smooth(line(Resolution(2000)), GRID, Resolution(2000), sharp_in_the_red)
    np.testing.assert_allclose(found.flux, line(Resolution(2000)).flux, rtol=1e-6)


@pytest.mark.parametrize(
    ("text", "said"), [("2000", "R = 2000"), (1800, "R = 1800"), ("1.8A", "FWHM 1.8 A"), ("2nm", "FWHM 20 A")]
)
def test_text_form(text, said):
    assert str(Resolution.parse(text)) == said
    assert Resolution.parse(said) == Resolution.parse(text)


@pytest.mark.parametrize("text", ["", "sharp", "-5", "0", "nan", "1e9", "0A", "-1A"])
def test_no_resolution(text):
    with pytest.raises(ValueError, match=r"resolution|resolving power|width"):
        Resolution.parse(text)


def test_compared_in_the_middle_of_the_grid():
    assert Resolution(5000).compare(Resolution(2000), GRID) == 1
    assert Resolution(2000).compare(Resolution(5000), GRID) == -1
    assert Resolution(2000).compare(Resolution(1800), GRID) == 0


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"survey": "DESI"}, "FWHM 1.8 A"),
        ({"survey": "SDSS", "spec_res": 4100.0}, "R = 4100"),
        ({"specres": 7}, "None"),
        ({"resolution": True}, "None"),
        ({"survey": None}, "None"),
        ({"r": 17.2}, "None"),  # a magnitude
    ],
)
def test_the_catalogue_tells_the_resolution(row, said):
    assert str(resolution_in(row)) == said
