"""The paired interval against SciPy, at its edges, and how often it covers."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from rarespec.evaluation import PairedDifference, paired_difference

values = st.floats(0, 1).map(lambda value: round(value, 6))
pairs = st.lists(st.tuples(values, values), min_size=2, max_size=30)


@given(pairs, st.sampled_from([0.5, 0.9, 0.95, 0.99]))
def test_the_interval_is_that_of_the_paired_t_test(drawn: list[tuple[float, float]], confidence: float) -> None:
    a, b = np.array(drawn).T
    found = paired_difference(a, b, confidence)
    assert found.mean == pytest.approx(a.mean() - b.mean(), abs=1e-12)
    assert found.n == len(a)
    assert found.share_better == np.mean(a > b)
    if np.ptp(a - b) > 1e-9:
        expected = stats.ttest_rel(a, b).confidence_interval(confidence)
        assert (found.low, found.high) == pytest.approx((expected.low, expected.high), rel=1e-9, abs=1e-12)


@given(pairs, st.data())
def test_turning_the_methods_round_turns_the_sign_and_the_order_of_draws_is_nothing(
    drawn: list[tuple[float, float]], data: st.DataObject
) -> None:
    a, b = np.array(drawn).T
    order = data.draw(st.permutations(range(len(a))))
    found, turned = paired_difference(a, b), paired_difference(b[order], a[order])
    assert (-found.high, -found.mean, -found.low) == pytest.approx((turned.low, turned.mean, turned.high), abs=1e-12)


def test_it_covers_as_often_as_it_says_with_few_skewed_draws() -> None:
    rng = np.random.default_rng(2)
    truth = 8 / 9.5 - 5 / 7
    for n in (5, 10, 50):
        drawn = [paired_difference(rng.beta(8, 1.5, n), rng.beta(5, 2, n)) for _ in range(1000)]
        covered = np.mean([difference.low <= truth <= difference.high for difference in drawn])
        assert 0.92 < covered < 0.98


def test_one_draw_has_no_interval() -> None:
    found = paired_difference([0.9], [0.7])
    assert found.mean == pytest.approx(0.2) and found.n == 1 and found.share_better == 1.0
    assert np.isnan(found.low) and np.isnan(found.high)
    assert not found.is_clear


def test_equal_differences_have_no_width_and_give_no_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert paired_difference([0.3, 0.3, 0.3], [0.3, 0.3, 0.3]) == PairedDifference(0.0, 0.0, 0.0, 3, 0.0)
        shifted = paired_difference([0.1, 0.1, 0.1], [0.0, 0.0, 0.0])
        assert shifted.low == shifted.mean == shifted.high and shifted.is_clear


def test_a_difference_is_clear_when_its_interval_leaves_out_zero() -> None:
    assert PairedDifference(0.1, 0.05, 0.15, 5, 1.0).is_clear
    assert PairedDifference(-0.1, -0.15, -0.05, 5, 0.0).is_clear
    assert not PairedDifference(0.1, -0.05, 0.25, 5, 0.8).is_clear


def test_what_cannot_be_paired() -> None:
    with pytest.raises(ValueError, match="2 and 3 values"):
        paired_difference([1.0, 2.0], [1.0, 2.0, 3.0])
    for empty in ([], [[1.0]], 1.0):
        with pytest.raises(ValueError, match="give one value per draw"):
            paired_difference(empty, empty)
    with pytest.raises(ValueError, match="1 of 2 values are not finite"):
        paired_difference([np.nan, 1.0], [1.0, 2.0])
    with pytest.raises(ValueError, match="confidence"):
        paired_difference([1.0, 2.0], [1.0, 2.0], confidence=95)
