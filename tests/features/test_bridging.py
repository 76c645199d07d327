"""Bad pixels are replaced by straight lines, row by row; rows with too few good pixels are given up."""

import array_api_strict
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from rarespec.features.steps.bridging import bridge

NOT_FINITE = (np.nan, np.inf, -np.inf)


def interpolated(row, bad):
    """One row by numpy.interp: independent of the code under test."""
    good = ~bad & np.isfinite(row)
    return np.interp(np.arange(len(row)), np.flatnonzero(good), row[good].astype(np.float64))


@st.composite
def rows_with_holes(draw):
    shape = draw(st.tuples(st.integers(1, 5), st.integers(1, 12)))
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    flux = draw(hnp.arrays(dtype, shape, elements=st.integers(-50, 50).map(float)))
    flux[draw(hnp.arrays(bool, shape))] = draw(st.sampled_from(NOT_FINITE))
    bad = draw(st.none() | hnp.arrays(bool, shape))
    return flux, bad, draw(st.sampled_from([0.0, 0.3, 0.5, 1.0]))


@settings(max_examples=200, deadline=None)
@given(rows_with_holes())
def test_every_row_as_numpy_interp_has_it(case):
    flux, bad, min_good = case
    all_bad = ~np.isfinite(flux) if bad is None else bad | ~np.isfinite(flux)
    result = bridge(flux, bad, min_good)
    assert result.flux.dtype == flux.dtype
    assert np.array_equal(result.n_bridged, all_bad.sum(axis=1))
    for row, row_bad, bridged, usable in zip(flux, all_bad, result.flux, result.usable, strict=True):
        assert usable == (np.mean(~row_bad) >= min_good and not row_bad.all())
        expected = interpolated(row, row_bad) if usable else np.full(len(row), np.nan)
        assert np.allclose(bridged, expected, rtol=1e-6, atol=1e-5, equal_nan=True)


@settings(max_examples=100, deadline=None)
@given(rows_with_holes())
def test_the_array_api_gives_the_same(case):
    flux, bad, min_good = case
    strict = bridge(
        array_api_strict.asarray(flux), None if bad is None else array_api_strict.asarray(bad), min_good=min_good
    )
    for ours, theirs in zip(bridge(flux, bad, min_good), strict, strict=True):
        assert np.array_equal(ours, np.asarray(theirs), equal_nan=ours.dtype.kind == "f")


def test_lines_and_ends():
    flux = np.array([[np.nan, np.nan, 2.0, np.nan, np.inf, np.nan, 10.0, np.nan]])
    result = bridge(flux, min_good=0.2)
    assert result.flux.tolist() == [[2, 2, 2, 4, 6, 8, 10, 10]]
    assert result.n_bridged.tolist() == [6]


def test_runs_do_not_cross_from_row_to_row():
    flux = np.array([[1.0, 2.0, np.nan], [np.nan, 30.0, 40.0]])
    assert bridge(flux).flux.tolist() == [[1, 2, 2], [30, 30, 40]]


def test_flagged_pixels_count_as_bad_even_when_finite():
    assert bridge(np.array([[1.0, 999.0, 3.0]]), np.array([[False, True, False]])).flux.tolist() == [[1, 2, 3]]


def test_rows_without_bad_pixels_are_untouched_bit_by_bit():
    rng = np.random.default_rng(0)
    flux = rng.normal(size=(5, 40)).astype(np.float32)
    flux[2, 7] = np.nan
    before = flux.copy()
    result = bridge(flux)
    assert np.array_equal(flux, before, equal_nan=True)
    assert np.array_equal(np.delete(result.flux, 2, axis=0), np.delete(before, 2, axis=0))


def test_an_unusable_row_is_nan_and_harms_no_other():
    flux = np.ones((3, 10))
    flux[1, 4:] = np.nan
    result = bridge(flux, min_good=0.5)
    assert result.usable.tolist() == [True, False, True]
    assert np.isnan(result.flux[1]).all()
    assert (result.flux[[0, 2]] == 1).all()


@pytest.mark.parametrize("min_good", [0.07, 0.29, 0.5, 0.56])
def test_exactly_enough_good_pixels_are_enough(min_good):
    n_good = round(100 * min_good)
    flux = np.where(np.arange(100) < n_good, 1.0, np.nan)[None]
    assert bridge(flux, min_good=min_good).usable.all()
    flux[0, 0] = np.nan
    assert not bridge(flux, min_good=min_good).usable.any()


def test_no_rows():
    assert bridge(np.empty((0, 7), np.float32)).flux.shape == (0, 7)
