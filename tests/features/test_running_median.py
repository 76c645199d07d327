"""The running median is exact at every pixel, whatever the width, the edge, the type or the array library."""

import array_api_strict
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import ndimage
from sklearn.utils.estimator_checks import parametrize_with_checks

from conftest import SMALL_GRID
from rarespec.features.steps import running_median
from rarespec.features.steps import running_median as _median_blocks
from rarespec.features.steps.bridging import bridge
from rarespec.features.steps.median_network import median_program
from rarespec.features.steps.running_mean import MeanFilter
from rarespec.features.steps.running_median import MedianFilter, median_filter, pixel_widths
from rarespec.spectrum import PAPER_GRID, WavelengthGrid

ODD_WIDTHS = range(1, 36, 2)


def brute_force(flux, widths):
    """The middle of each sorted window; beyond the ends the first and the last pixel."""
    out = np.empty_like(flux)
    last = flux.shape[1] - 1
    for row, medians in zip(flux, out, strict=True):
        for pixel, width in enumerate(widths):
            window = [row[min(max(pixel + k, 0), last)] for k in range(-(width // 2), width // 2 + 1)]
            medians[pixel] = sorted(window)[width // 2]
    return out


def by_scipy(flux, width):
    return ndimage.median_filter(flux, size=(1, width), mode="nearest")


def by_scipy_on(grid, flux, width_angstrom=10.0):
    widths = pixel_widths(grid, width_angstrom)
    out = np.empty_like(flux)
    for width in np.unique(widths):
        out[:, widths == width] = by_scipy(flux, int(width))[:, widths == width]
    return out


def noise(n, p, dtype=np.float32, seed=0):
    return np.random.default_rng(seed).normal(size=(n, p)).astype(dtype)


@parametrize_with_checks([MedianFilter(width_pixels=3)])
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@pytest.mark.parametrize("width", range(1, 14, 2))
def test_the_network_is_proved_by_all_rows_of_zeros_and_ones(width):
    """Zero-one principle: minima and maxima that give the median of all 0/1 inputs give the median of all inputs."""
    n_pixels = width + median_program(width).n_phases - 1
    numbers = np.arange(2**n_pixels)[:, None]
    flux = (numbers >> np.arange(n_pixels) & 1).astype(np.float32)
    inside = slice(width // 2, n_pixels - width // 2)
    windows = np.lib.stride_tricks.sliding_window_view(flux, width, axis=1)
    expected = windows.sum(axis=2) > width // 2
    assert np.array_equal(median_filter(flux, width_pixels=width)[:, inside], expected)


@pytest.mark.exhaustive
def test_the_network_of_15_pixels_is_proved_too():
    width, n_pixels = 15, 22
    for part in np.split(np.arange(2**n_pixels), 64):
        flux = (part[:, None] >> np.arange(n_pixels) & 1).astype(np.float32)
        counts = np.lib.stride_tricks.sliding_window_view(flux, width, axis=1).sum(axis=2)
        assert np.array_equal(median_filter(flux, width_pixels=width)[:, 7:-7], counts > 7)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("width", [*ODD_WIDTHS, 51, 101])
def test_fixed_widths_as_scipy_has_them(width, dtype):
    for n_pixels in (1, 2, 3, 7, 16, 33, 150):
        flux = noise(5, n_pixels, dtype, seed=width)
        filtered = median_filter(flux, width_pixels=width)
        assert filtered.dtype == dtype
        assert np.array_equal(filtered, by_scipy(flux, width)), n_pixels


@given(
    st.sampled_from(["log", "linear"]),
    st.integers(2, 70),
    st.floats(0.5, 70.0),
    st.integers(1, 4),
    st.integers(0, 2**32 - 1),
)
def test_every_pixel_as_brute_force_has_it(spacing, n_pixels, width_angstrom, n_rows, seed):
    grid = (
        WavelengthGrid("log", 3.5, 8e-3, n_pixels) if spacing == "log" else WavelengthGrid("linear", 4e3, 2, n_pixels)
    )
    # Few different values, so that windows are full of ties.
    flux = np.random.default_rng(seed).integers(-3, 4, (n_rows, n_pixels)).astype(np.float64)
    expected = brute_force(flux, pixel_widths(grid, width_angstrom))
    assert np.array_equal(median_filter(flux, grid, width_angstrom), expected)


def test_ten_angstrom_on_the_papers_grid():
    widths = pixel_widths(PAPER_GRID, 10.0)
    assert (widths[0], widths[-1]) == (11, 5)
    assert sorted(set(widths.tolist())) == [5, 7, 9, 11]
    assert (np.diff(widths) <= 0).all()
    flux = noise(40, 3601)
    filtered = median_filter(flux, PAPER_GRID)
    assert np.array_equal(filtered, by_scipy_on(PAPER_GRID, flux))
    assert np.array_equal(filtered[:1], brute_force(flux[:1], widths))


def test_the_width_is_the_nearest_odd_number_of_pixels():
    grid = WavelengthGrid("linear", 4000.0, 1.0, 10)
    rounded = {2.1: 3, 3.0: 3, 3.9: 3, 4.1: 5, 10.9: 11, 11.9: 11, 12.1: 13}
    for width_angstrom, width in rounded.items():
        assert set(pixel_widths(grid, width_angstrom).tolist()) == {width}, width_angstrom


def test_on_a_coarse_grid_a_window_has_three_pixels():
    """And features made with it are not taken for those that one pixel gave in earlier versions."""
    prism = WavelengthGrid("linear", 8000.0, 40.0, 400)
    assert set(pixel_widths(prism, 10.0).tolist()) == {3}
    widened, fine = MedianFilter(grid=prism), MedianFilter(grid=PAPER_GRID)
    assert "10 A" in widened.widened and "3 pixels, about 120 A" in widened.widened
    assert not fine.widened and not MedianFilter(grid=prism, width_pixels=1).widened and not MedianFilter().widened
    assert widened.deciding_values() == widened.get_params() | {"least_pixels": 3}
    assert fine.deciding_values() == fine.get_params()
    spike = np.zeros((1, 400))
    spike[0, 200] = 9.0
    assert not widened.fit_transform(spike).any()
    assert MeanFilter(grid=prism, width_angstrom=6.0).fit_transform(spike)[0, 199:202].tolist() == [3.0, 3.0, 3.0]


def test_a_grid_that_is_coarse_only_at_its_red_end_is_filtered_as_ever():
    grid = WavelengthGrid("log", 3.6, 1e-3, 64)
    assert set(pixel_widths(grid, 20.0).tolist()) == {1, 3}


@pytest.mark.parametrize("n_rows", [1, 2, 11, 12, 13, 60])
def test_blocks_of_any_size(monkeypatch, n_rows):
    monkeypatch.setattr(_median_blocks, "TILES_PER_BLOCK", 1000)
    monkeypatch.setattr(running_median, "ROWS_PER_BLOCK", 12)
    flux = noise(n_rows, 3601)
    assert np.array_equal(median_filter(flux, PAPER_GRID), by_scipy_on(PAPER_GRID, flux))


def test_threads_change_nothing():
    flux = noise(57, 3601)
    flux[3, 100:200] = np.nan
    one = median_filter(flux, PAPER_GRID)
    assert all(np.array_equal(median_filter(flux, PAPER_GRID, n_threads=n), one) for n in (2, 3, 100))


def test_bad_pixels_are_bridged_first():
    flux = noise(20, 300)
    flux[np.random.default_rng(1).random(flux.shape) < 0.1] = np.nan
    flux[4, 40] = np.inf
    filtered = median_filter(flux, SMALL_GRID, 30.0)
    assert np.isfinite(filtered).all()
    assert np.array_equal(filtered, by_scipy_on(SMALL_GRID, bridge(flux).flux, 30.0))


@pytest.mark.parametrize("width", [7, 101])
def test_a_spectrum_with_too_few_good_pixels_is_nan_and_harms_no_other(width):
    flux = noise(3, 300)
    expected = by_scipy(flux, width)
    flux[1, 100:] = np.nan
    filtered = median_filter(flux, width_pixels=width)
    assert np.isnan(filtered[1]).all()
    assert np.array_equal(filtered[[0, 2]], expected[[0, 2]])
    assert np.isfinite(median_filter(flux, width_pixels=width, min_good=0.1)).all()
    assert MedianFilter(width_pixels=width).unusable(flux).tolist() == [False, True, False]


def test_the_input_is_never_changed():
    flux = noise(5, 100)
    flux[2, 5] = np.nan
    before = flux.copy()
    median_filter(flux, width_pixels=5)
    assert np.array_equal(flux, before, equal_nan=True)


@pytest.mark.parametrize(
    "flux",
    [
        noise(20, 200)[::2, ::3],
        np.asfortranarray(noise(20, 200)),
        noise(20, 200).astype(">f4"),
        np.arange(300).reshape(3, 100) % 17,
        noise(1, 50)[0],
        noise(0, 50),
    ],
    ids=["strided", "Fortran order", "big-endian", "integers", "one spectrum", "no spectrum"],
)
def test_arrays_of_any_layout(flux):
    native = np.ascontiguousarray(flux).astype(flux.dtype.newbyteorder("="))
    expected = by_scipy(np.atleast_2d(native), 7).reshape(flux.shape) if flux.size else native
    filtered = median_filter(flux, width_pixels=7)
    assert filtered.dtype.kind == "f" and filtered.dtype.isnative
    assert filtered.shape == flux.shape
    assert np.array_equal(filtered, expected)


@pytest.mark.parametrize("width", [*range(1, 20, 2), 31, 45])
def test_the_array_api_gives_the_same(width):
    flux = noise(4, 60)
    flux[1, 3:9] = np.nan
    flux[2, 10:] = np.nan
    filtered = median_filter(array_api_strict.asarray(flux), width_pixels=width)
    assert filtered.dtype == array_api_strict.float32
    assert np.array_equal(np.asarray(filtered), median_filter(flux, width_pixels=width), equal_nan=True)


def test_the_array_api_on_the_papers_grid(monkeypatch):
    monkeypatch.setattr(running_median, "ROWS_PER_CALL", 4)
    flux = noise(9, 3601)
    strict = MedianFilter().fit(array_api_strict.asarray(flux)).transform(array_api_strict.asarray(flux))
    assert np.array_equal(np.asarray(strict), median_filter(flux, PAPER_GRID))


def test_torch_gives_the_same():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    flux = noise(9, 3601)
    flux[1, 3:9] = np.nan
    filtered = median_filter(torch.asarray(flux), PAPER_GRID)
    assert isinstance(filtered, torch.Tensor)
    assert np.array_equal(filtered.numpy(), median_filter(flux, PAPER_GRID))


def test_neighbouring_windows_share_their_comparisons():
    """A median of 7 by itself takes 20 minima and maxima; one of 11 takes more than 40."""
    assert median_program(5).comparisons_per_pixel <= 5
    assert median_program(7).comparisons_per_pixel <= 8.5
    assert median_program(9).comparisons_per_pixel <= 10
    assert median_program(11).comparisons_per_pixel <= 12


def test_the_transformer_knows_the_papers_grid_by_its_size():
    flux = noise(2, 3601)
    assert np.array_equal(MedianFilter().fit_transform(flux), median_filter(flux, PAPER_GRID))
    assert np.array_equal(
        MedianFilter(SMALL_GRID, 30.0).fit_transform(flux[:, :300]), median_filter(flux[:, :300], SMALL_GRID, 30.0)
    )


def test_wrong_use_is_told():
    flux = noise(2, 100)
    with pytest.raises(ValueError, match="give `grid`, or `width_pixels`"):
        MedianFilter().fit_transform(flux)
    with pytest.raises(ValueError, match="3601 pixels but the flux has 100"):
        median_filter(flux, PAPER_GRID)
    for width in (0, -1, 4):
        with pytest.raises(ValueError, match="odd number of pixels"):
            median_filter(flux, width_pixels=width)
    for width in (0.0, -3.0, np.nan):
        with pytest.raises(ValueError, match="positive"):
            median_filter(noise(1, 3601), PAPER_GRID, width)


def test_real_spectra(real_data):
    with np.load(real_data / "observed.npz") as observed:
        flux = observed["flux"][:100].astype(np.float32)
        good = np.unpackbits(observed["good"][:100], axis=1)[:, : flux.shape[1]].astype(bool)
    flux[~good] = np.nan
    bridged = bridge(flux, min_good=0.2)
    filtered = median_filter(flux, PAPER_GRID, min_good=0.2)
    assert bridged.usable.sum() > 80
    assert np.array_equal(filtered[bridged.usable], by_scipy_on(PAPER_GRID, bridged.flux[bridged.usable]))
    assert np.isnan(filtered[~bridged.usable]).all()


def test_flagged_and_masked_pixels_are_bridged():
    rng = np.random.default_rng(8)
    flux = rng.normal(10, 1, (3, 3601)).astype(np.float32)
    bad = np.zeros(flux.shape, bool)
    bad[1, 100:200] = True
    ruined = np.where(bad, np.float32(1e30), flux)
    expected = median_filter(np.where(bad, np.nan, flux), PAPER_GRID)
    masked = np.ma.MaskedArray(ruined, bad)
    assert np.array_equal(median_filter(ruined, PAPER_GRID, bad=bad), expected)
    assert np.array_equal(median_filter(ruined[1], PAPER_GRID, bad=bad[1]), expected[1])
    assert np.array_equal(median_filter(masked, PAPER_GRID), expected)
    assert np.array_equal(MedianFilter().fit_transform(masked), expected)


def test_lists_are_arrays_too():
    assert median_filter([[3.0, 1.0, 2.0]], width_pixels=3).tolist() == [[3.0, 2.0, 2.0]]


@pytest.mark.parametrize(
    "how",
    [
        {"width_pixels": 4},
        {"width_pixels": 7.5},
        {"width_pixels": -1},
        {"grid": PAPER_GRID, "width_angstrom": float("inf")},
        {"grid": PAPER_GRID, "width_angstrom": float("nan")},
        {"grid": PAPER_GRID, "width_angstrom": 0},
        {"grid": PAPER_GRID, "min_good": 2},
        {"grid": PAPER_GRID, "min_good": float("nan")},
    ],
)
def test_what_cannot_be_is_refused(how):
    with pytest.raises(ValueError, match=r"width of a filter|min_good"):
        median_filter(np.ones((2, 3601)), **how)
