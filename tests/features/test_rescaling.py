"""Each spectrum is brought to one scale by itself; what has no scale comes out as NaN and is named."""

import array_api_strict
import numpy as np
import pytest
from scipy import ndimage
from sklearn.utils.estimator_checks import parametrize_with_checks

from conftest import SMALL_GRID
from rarespec.features.steps import continuum, rescaling
from rarespec.features.steps.continuum import ContinuumNormalised, wide_median
from rarespec.features.steps.rescaling import MinMax, RobustPercentiles, UnitNorm
from rarespec.spectrum import PAPER_GRID

ALL = [MinMax(), UnitNorm(), RobustPercentiles(), ContinuumNormalised(), ContinuumNormalised(method="polynomial")]
ids = [f"{type(step).__name__}-{getattr(step, 'method', '')}".rstrip("-") for step in ALL]
each = pytest.mark.parametrize("step", ALL, ids=ids)


def spectra(n=6, p=300, dtype=np.float32, seed=0):
    return np.random.default_rng(seed).normal(10, 1, (n, p)).astype(dtype)


def with_defects():
    """Row 1 constant, row 2 without a good pixel, rows 3 and 4 with one bad pixel each."""
    flux = spectra()
    flux[1] = 3.0
    flux[2] = np.nan
    flux[3, 5], flux[4, 7] = np.nan, np.inf
    return flux


@parametrize_with_checks(ALL)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@each
def test_what_has_no_scale_is_nan_and_named_and_harms_no_other(step):
    flux = with_defects()
    rescaled = step.fit_transform(flux)
    assert np.isnan(rescaled).sum(axis=1).tolist() == [0, 300, 300, 1, 1, 0]
    assert np.isnan(rescaled[3, 5]) and np.isnan(rescaled[4, 7])
    assert step.unusable(flux).tolist() == [False, True, True, False, False, False]
    assert np.allclose(rescaled[[0, 5]], step.fit_transform(flux[[0, 5]]), rtol=1e-5)


@each
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_type_is_kept_and_the_input_unchanged(step, dtype):
    flux = with_defects().astype(dtype)
    before = flux.copy()
    assert step.fit_transform(flux).dtype == dtype
    assert np.array_equal(flux, before, equal_nan=True)


@each
def test_the_array_api_gives_the_same(step):
    flux = with_defects()
    strict = step.fit(array_api_strict.asarray(flux)).transform(array_api_strict.asarray(flux))
    assert strict.dtype == array_api_strict.float32
    assert np.allclose(np.asarray(strict), step.fit_transform(flux), rtol=1e-5, equal_nan=True)


@each
def test_torch_gives_the_same(step):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    flux = with_defects()
    found = step.fit(torch.asarray(flux)).transform(torch.asarray(flux))
    assert np.allclose(found.numpy(), step.fit_transform(flux), rtol=1e-5, equal_nan=True)


@each
def test_blocks_change_nothing(step, monkeypatch):
    flux = with_defects()
    whole = step.fit_transform(flux)
    monkeypatch.setattr(rescaling, "ROWS_PER_BLOCK", 4)
    monkeypatch.setattr(continuum, "ROWS_PER_BLOCK", 4)
    assert np.allclose(step.fit_transform(flux), whole, rtol=1e-6, equal_nan=True)


@each
def test_no_rows(step):
    assert step.fit(spectra()).transform(array_api_strict.asarray(spectra(0))).shape == (0, 300)


@each
@pytest.mark.parametrize("factor", [1e-30, 1e30])
def test_the_unit_of_flux_does_not_matter(step, factor):
    flux = spectra()
    assert np.allclose(step.fit_transform(flux * np.float32(factor)), step.fit_transform(flux), rtol=1e-4, atol=1e-5)


def test_min_max_is_from_exactly_0_to_exactly_1():
    for dtype in (np.float32, np.float64):
        rescaled = MinMax().fit_transform(spectra(200, 100, dtype))
        assert (rescaled.min(axis=1) == 0).all() and (rescaled.max(axis=1) == 1).all()


def test_min_max_takes_no_account_of_bad_pixels():
    rescaled = MinMax().fit_transform([[np.inf, 2.0, 4.0, np.nan, 3.0, -np.inf]])
    assert np.array_equal(rescaled, [[np.nan, 0.0, 1.0, np.nan, 0.5, np.nan]], equal_nan=True)


def test_min_max_in_place():
    flux = with_defects()
    expected = MinMax().fit_transform(flux)
    rescaled = MinMax(copy=False).fit_transform(flux)
    assert np.shares_memory(rescaled, flux)
    assert np.array_equal(rescaled, expected, equal_nan=True)


def test_unit_norm():
    flux = spectra(dtype=np.float64)
    assert np.allclose(UnitNorm().fit_transform(flux), flux / np.linalg.norm(flux, axis=1, keepdims=True))
    flux[0, 3] = np.nan
    assert np.nansum(UnitNorm().fit_transform(flux)[0] ** 2) == pytest.approx(1)


@pytest.mark.parametrize(("low", "high"), [(0, 100), (1, 99), (12.5, 50)])
def test_percentiles_as_numpy_has_them(low, high):
    flux = spectra(dtype=np.float64)
    flux[2, 10:90] = np.nan
    below, above = np.nanpercentile(flux, [low, high], axis=1)[..., None]
    expected = (flux - below) / (above - below)
    assert np.allclose(RobustPercentiles(low, high).fit_transform(flux), expected, equal_nan=True)


def test_percentiles_withstand_spikes():
    flux = spectra(1, 1000, np.float64)
    spiked = flux.copy()
    spiked[0, [10, 500, 900]] = 1e6
    difference = RobustPercentiles().fit_transform(spiked) - RobustPercentiles().fit_transform(flux)
    assert np.abs(np.delete(difference, [10, 500, 900])).max() < 0.1


@pytest.mark.parametrize(("low", "high"), [(-1, 50), (50, 50), (60, 40), (0, 101)])
def test_percentiles_out_of_order_are_told(low, high):
    with pytest.raises(ValueError, match="low < high"):
        RobustPercentiles(low, high).fit_transform(spectra())


def stars_with_a_line(slope=1.0):
    """A tilted continuum with one line 30 pixels wide and half as deep as the continuum: (continuum, flux)."""
    x = np.linspace(-1, 1, 3601)
    level = np.array([[10.0], [500.0]]) * (2 + slope * x)
    return level, level * (1 - 0.5 * (np.abs(np.arange(3601) - 1500) <= 15))


@pytest.mark.parametrize(("method", "tolerance"), [("median", 0.02), ("polynomial", 0.03)])
def test_the_continuum_becomes_1_and_lines_keep_their_depth(method, tolerance):
    _, flux = stars_with_a_line()
    normalised = ContinuumNormalised(method=method, grid=PAPER_GRID).fit_transform(flux)
    inner = normalised[:, 200:-200]  # within half a window of the ends the running median lags behind
    line = np.abs(np.arange(3601) - 1500)[200:-200] <= 15
    assert np.abs(inner[:, ~line] - 1).max() < tolerance
    assert np.abs(inner[:, line] - 0.5).max() < tolerance


def test_a_polynomial_is_found_exactly():
    x = np.log(SMALL_GRID.wavelength)
    flux = (5 + 40 * (x - x.mean()) ** 2 - 20 * (x - x.mean()) ** 3)[None] * np.array([[1.0], [7.0]])
    normalised = ContinuumNormalised(method="polynomial", degree=3, grid=SMALL_GRID).fit_transform(flux)
    assert np.allclose(normalised, 1, atol=1e-10)


@pytest.mark.parametrize("width", [1, 7, 31])
def test_the_wide_median_is_exact_when_it_is_not_wide(width):
    flux = spectra()
    assert np.array_equal(wide_median(flux, width), ndimage.median_filter(flux, (1, width), mode="nearest"))


@pytest.mark.parametrize(("width", "n_pixels"), [(101, 1000), (301, 3601), (301, 3607)])
def test_the_wide_median_is_as_good_as_the_running_median(width, n_pixels):
    """Close to it where windows are complete; at the ends, where they differ, at least as close to the truth."""
    truth = 10 + np.sin(np.arange(n_pixels) / 700)
    flux = truth + spectra(20, n_pixels, np.float64) - 10
    ours, theirs = wide_median(flux, width), ndimage.median_filter(flux, (1, width), mode="nearest")
    half = width // 2
    assert np.abs(ours - theirs)[:, half:-half].max() < 0.5  # half the noise of one pixel
    for part in (slice(None, half), slice(half, -half), slice(-half, None)):
        ours_off, theirs_off = (np.sqrt(((found - truth)[:, part] ** 2).mean()) for found in (ours, theirs))
        assert ours_off < 1.05 * theirs_off


@pytest.mark.parametrize("n_pixels", [1, 5, 9, 10, 11, 40])
def test_a_window_wider_than_the_spectrum(n_pixels):
    assert np.allclose(wide_median(np.full((2, n_pixels), 3.0), 301), 3)


def test_a_continuum_near_zero_is_guarded():
    _, flux = stars_with_a_line(slope=-2.0)  # reaches zero at its red end
    flux = flux + np.random.default_rng(0).normal(0, 0.1, flux.shape)
    normalised = ContinuumNormalised(floor=0.05).fit_transform(flux)
    bound = np.abs(flux) / (0.05 * np.abs(flux).mean(axis=1, keepdims=True))
    assert (np.abs(normalised) <= bound * (1 + 1e-12)).all()


def test_a_spectrum_below_zero_has_no_continuum():
    step = ContinuumNormalised()
    assert step.unusable(np.concatenate([-spectra(1), spectra(1)])).tolist() == [True, False]


def test_an_unknown_method_and_a_wrong_grid_are_told():
    with pytest.raises(ValueError, match="'median' or 'polynomial'"):
        ContinuumNormalised(method="spline").fit_transform(spectra())
    with pytest.raises(ValueError, match="3601 pixels but the flux has 300"):
        ContinuumNormalised(method="polynomial", grid=PAPER_GRID).fit_transform(spectra())


def test_real_spectra(real_data):
    with np.load(real_data / "observed.npz") as observed:
        flux = observed["flux"][:300].astype(np.float32)
        good = np.unpackbits(observed["good"][:300], axis=1)[:, : flux.shape[1]].astype(bool)
    flux[~good] = np.nan
    for step in ALL:
        rescaled = step.fit_transform(flux)
        unusable = step.unusable(flux)
        assert np.isfinite(rescaled[~unusable][good[~unusable]]).all()
        assert unusable.mean() < 0.2
