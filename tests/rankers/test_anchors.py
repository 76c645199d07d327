"""Anchors against plain loops, and their independence of the order of rows and of threads."""

from __future__ import annotations

import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from rarespec.rankers.graph.emr import anchor_weights, draw_anchors, k_means, nearest_anchor


def blobs(n: int, d: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) + 4 * rng.integers(0, 5, (n, 1))


def lloyd(X: np.ndarray, anchors: np.ndarray, n_iterations: int) -> np.ndarray:
    """Row by row and anchor by anchor."""
    for _ in range(n_iterations):
        members: list[list[np.ndarray]] = [[] for _ in anchors]
        for x in X:
            members[int(np.argmin([np.linalg.norm(x - anchor) for anchor in anchors]))].append(x)
        anchors = np.array([np.mean(rows, axis=0) if rows else anchors[k] for k, rows in enumerate(members)])
    return anchors


def epanechnikov(x: np.ndarray, anchors: np.ndarray, r: int) -> np.ndarray:
    """Weights of one row, (p,)."""
    distances = np.array([np.linalg.norm(x - anchor) for anchor in anchors])
    weights = np.zeros(len(anchors))
    nearest = np.argsort(distances)[:r]
    for k in nearest:
        weights[k] = 0.75 * (1 - (distances[k] / distances[nearest[-1]]) ** 2)
    return weights


@given(st.integers(0, 2**31), st.integers(1, 40))
def test_the_draw_does_not_depend_on_the_order_of_rows(seed: int, n_anchors: int) -> None:
    X = blobs(40, 3)
    shuffled = X[np.random.default_rng(seed).permutation(len(X))]
    drawn = [draw_anchors(rows, n_anchors, np.random.RandomState(seed)) for rows in (X, shuffled)]
    np.testing.assert_array_equal(drawn[0], drawn[1])
    assert len(np.unique(drawn[0], axis=0)) == n_anchors


def test_the_draw_depends_on_the_seed() -> None:
    first, second = (draw_anchors(blobs(200, 3), 10, np.random.RandomState(seed)) for seed in (1, 2))
    assert not np.array_equal(first, second)


def test_equal_rows_are_drawn_once() -> None:
    X = np.repeat(blobs(6, 3), 5, axis=0)
    drawn = draw_anchors(X, 30, np.random.RandomState(0))
    assert len(drawn) == 6 and len(np.unique(drawn, axis=0)) == 6


@settings(max_examples=20)
@given(st.integers(0, 2**31), st.integers(1, 12), st.integers(0, 6))
def test_k_means_is_that_of_plain_loops(seed: int, n_anchors: int, n_iterations: int) -> None:
    X = blobs(60, 3, seed)
    start = X[:n_anchors]
    np.testing.assert_allclose(k_means(X, start, n_iterations), lloyd(X, start, n_iterations), rtol=0, atol=1e-10)


def test_an_anchor_without_rows_stays() -> None:
    X, far = blobs(50, 2), np.array([[1e3, 1e3]])
    found = k_means(X, np.concatenate([X[:3], far]), 5)
    np.testing.assert_array_equal(found[3:], far)
    assert np.isfinite(found).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_nearest_anchor_over_several_blocks(dtype: type, offset: float) -> None:
    X = (blobs(3000, 6) + offset).astype(dtype)
    anchors = X[:70].astype(np.float64) + 0.1
    distances = cdist(X, anchors)
    found = distances[np.arange(len(X)), nearest_anchor(X, anchors)]
    np.testing.assert_allclose(found, distances.min(axis=1), rtol=1e-9)


@pytest.mark.parametrize("factor", [1e-200, 1e200])
def test_the_size_of_values_does_not_matter(factor: float) -> None:
    X = blobs(200, 3)
    np.testing.assert_allclose(k_means(X * factor, X[:9] * factor, 5) / factor, k_means(X, X[:9], 5), rtol=1e-12)


def test_threads_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    X = blobs(5000, 7)
    found = []
    for n_cores in (1, 2, 5):
        monkeypatch.setattr(os, "cpu_count", lambda n_cores=n_cores: n_cores)
        anchors = k_means(X, X[:100], 3)
        found.append((anchors, anchor_weights(X, anchors, 5).toarray()))
    for anchors, weights in found[1:]:
        np.testing.assert_array_equal(anchors, found[0][0])
        np.testing.assert_array_equal(weights, found[0][1])


@settings(max_examples=30)
@given(st.integers(0, 2**31), st.integers(2, 7))
def test_weights_are_those_of_plain_loops(seed: int, r: int) -> None:
    X = blobs(30, 4, seed)
    anchors = blobs(9, 4, seed + 1)
    weights = anchor_weights(X, anchors, r)
    np.testing.assert_allclose(weights.toarray(), [epanechnikov(x, anchors, r) for x in X], rtol=0, atol=1e-12)
    assert weights.nnz == 30 * r
    assert ((weights.toarray() > 0).sum(axis=1) == r - 1).all()


def test_a_row_on_coinciding_anchors_has_the_largest_weight_on_each() -> None:
    anchors = np.array([[1.0, 2.0]] * 3 + [[5.0, 5.0]])
    np.testing.assert_array_equal(anchor_weights(anchors[:1], anchors, 3).toarray(), [[0.75, 0.75, 0.75, 0.0]])


def test_equally_far_anchors_carry_nothing() -> None:
    anchors = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [9.0, 9.0]])
    assert anchor_weights(np.zeros((1, 2)), anchors, 3).sum() == 0
