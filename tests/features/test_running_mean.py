"""The running mean against SciPy's, with bad pixels, on any grid, and with other array libraries."""

import numpy as np
import pytest
from scipy.ndimage import uniform_filter1d

from rarespec.features import MeanFilter, bridge
from rarespec.spectrum import PAPER_GRID, WavelengthGrid


def rows(n=600, p=90, seed=0):
    return np.random.default_rng(seed).normal(1.0, 0.3, (n, p))


@pytest.mark.parametrize("width", [1, 3, 5, 11])
def test_it_is_scipys_mean_with_repeated_ends(width):
    flux = rows()
    expected = uniform_filter1d(flux, width, axis=1, mode="nearest")
    np.testing.assert_allclose(MeanFilter(width_pixels=width).fit_transform(flux), expected, rtol=1e-12)


@pytest.mark.parametrize("every", [2, 3, 7])
def test_some_pixels_are_kept(every):
    flux = rows(5)
    flux[1, 20:24] = np.nan
    thinned = MeanFilter(width_pixels=5, every=every).fit(flux)
    np.testing.assert_array_equal(thinned.transform(flux), MeanFilter(width_pixels=5).fit_transform(flux)[:, ::every])
    assert len(thinned.get_feature_names_out()) == thinned.transform(flux).shape[1]


@pytest.mark.parametrize("every", [1, 2, 3])
def test_weights_go_back_to_the_pixels(every):
    flux, thinned = rows(5), MeanFilter(width_pixels=5, every=every)
    kept = thinned.fit_transform(flux)
    weights = np.random.default_rng(1).normal(size=(kept.shape[1], 2))
    np.testing.assert_allclose(flux @ thinned.transpose(weights, 90), kept @ weights)
    spread, shared = thinned.to_pixels(kept, 90), thinned.share_among_pixels(weights.T, 90)
    np.testing.assert_allclose(spread @ shared.T, kept @ weights)
    np.testing.assert_array_equal(spread[:, ::every], kept)


def test_bad_pixels_are_bridged_and_poor_rows_left_out():
    flux = rows(3)
    flux[0, 10:14], flux[1, 1:] = np.nan, np.nan
    smooth = MeanFilter(width_pixels=5)
    found = smooth.fit_transform(flux)
    np.testing.assert_allclose(found[0], uniform_filter1d(bridge(flux[:1]).flux[0], 5, mode="nearest"), rtol=1e-12)
    assert np.isnan(found[1]).all() and np.isfinite(found[[0, 2]]).all()
    assert smooth.unusable(flux).tolist() == [False, True, False]


def test_float32_stays_and_the_input_is_untouched():
    flux = rows(4).astype(np.float32)
    before = flux.copy()
    assert MeanFilter(width_pixels=3).fit_transform(flux).dtype == np.float32
    np.testing.assert_array_equal(flux, before)


def test_no_rows_give_no_rows():
    fitted = MeanFilter(width_pixels=3).fit(rows(2))
    assert fitted._transform_rows(np.empty((0, 90))).shape == (0, 90)


@pytest.mark.parametrize(
    ("grid", "width_angstrom", "width"),
    [
        (PAPER_GRID, 6.0, 5),
        (PAPER_GRID, 0.1, 3),  # never fewer than three pixels
        (WavelengthGrid("linear", 4000.0, 1.0, 90), 6.0, 7),
        (WavelengthGrid("linear", 4000.0, 2.0, 90), 6.0, 3),
        (WavelengthGrid("linear", 4000.0, 0.5, 90), 6.0, 13),
    ],
)
def test_the_width_follows_the_grid(grid, width_angstrom, width):
    flux = rows(2, grid.n_pixels)
    by_angstrom = MeanFilter(grid=grid, width_angstrom=width_angstrom).fit_transform(flux)
    np.testing.assert_array_equal(by_angstrom, MeanFilter(width_pixels=width).fit_transform(flux))


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"width_pixels": 4}, "a positive odd number of pixels, not 4"),
        ({"width_pixels": -1}, "a positive odd number of pixels, not -1"),
        ({}, "give `grid`, or `width_pixels`"),
        ({"grid": PAPER_GRID}, "the grid has 3601 pixels but the flux has 90"),
    ],
)
def test_what_makes_no_window_is_refused(parameters, said):
    with pytest.raises(ValueError, match=said):
        MeanFilter(**parameters).fit_transform(rows(2))


def test_other_array_libraries_get_the_same():
    strict = pytest.importorskip("array_api_strict", reason="it checks that only the array API is used")
    flux = rows(5)
    flux[0, 3] = np.nan
    for every in (1, 2):
        smooth = MeanFilter(width_pixels=5, every=every)
        found = smooth.fit(strict.asarray(flux)).transform(strict.asarray(flux))
        np.testing.assert_array_equal(np.asarray(found), smooth.fit_transform(flux))
