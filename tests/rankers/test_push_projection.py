"""The projection of TopPush's dual, against bisection."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rarespec.rankers.toppush.nesterov import project


def by_bisection(a0: np.ndarray, b0: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    low, high = min(a0.min(), -b0.max()), max(a0.max(), -b0.min())
    for _ in range(300):
        v = (low + high) / 2
        if np.maximum(a0 - v, 0).sum() > np.maximum(b0 + v, 0).sum():
            low = v
        else:
            high = v
    return np.maximum(a0 - v, 0), np.maximum(b0 + v, 0)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("n", [50, pytest.param(400, marks=pytest.mark.exhaustive)])
@pytest.mark.parametrize("m", [1, 3, 10, 30, 300])
def test_agrees_with_bisection(m: int, n: int, ties: bool) -> None:
    rng = np.random.default_rng(m)
    for _ in range(n):
        a0 = rng.normal(rng.normal(), rng.choice([0.1, 1, 10]), m)
        b0 = rng.normal(rng.normal(), 1, rng.integers(1, 300))
        if ties:
            a0, b0 = np.round(a0, 1), np.round(b0, 1)
        for ours, reference in zip(project(a0, b0), by_bisection(a0, b0), strict=True):
            np.testing.assert_allclose(ours, reference, atol=1e-10)


numbers = st.floats(-1e3, 1e3, width=32)


@given(
    arrays(np.float64, st.integers(1, 12), elements=numbers), arrays(np.float64, st.integers(1, 12), elements=numbers)
)
def test_feasible_and_unchanged_by_a_second_projection(a0: np.ndarray, b0: np.ndarray) -> None:
    a, b = project(a0, b0)
    assert (a >= 0).all() and (b >= 0).all()
    assert abs(a.sum() - b.sum()) <= 1e-9
    again = project(a, b)
    np.testing.assert_allclose(np.concatenate(again), np.concatenate([a, b]), atol=1e-9)


def test_nothing_to_give() -> None:
    a, b = project(np.array([-1.0, -2.0]), np.array([-3.0]))
    assert not a.any() and not b.any()


def test_all_values_tie() -> None:
    a, b = project(np.zeros(3), np.full(4, 7.0))
    assert a.sum() == pytest.approx(b.sum())
    np.testing.assert_allclose(a, 4.0)  # v = -4: 3 * 4 = 4 * 3
    np.testing.assert_allclose(b, 3.0)
