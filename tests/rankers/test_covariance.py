"""Blocked means and covariances are those of the whole matrix."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import sklearn.covariance
from hypothesis import given
from hypothesis import strategies as st

from rarespec.rankers import covariance as covariance_module
from rarespec.rankers.covariance import inverse_square_root, ledoit_wolf, mean_and_covariance
from rarespec.rankers.rows import BLOCK_ROWS


def correlated_rows(n_rows: int, n_features: int, seed: int = 0, offset: float = 5.0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_rows, n_features)) @ rng.normal(size=(n_features, n_features)) + offset


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("n_rows", "n_features"), [(1, 3), (5, 40), (100, 1), (2 * BLOCK_ROWS + 7, 6)])
def test_as_numpy_computes_them(n_rows: int, n_features: int, dtype: type) -> None:
    X = correlated_rows(n_rows, n_features).astype(dtype)
    mean, covariance = mean_and_covariance(X)
    assert mean.dtype == covariance.dtype == np.float64
    np.testing.assert_allclose(mean, X.mean(axis=0, dtype=np.float64), rtol=1e-12)
    expected = np.cov(X.T.astype(np.float64), bias=True).reshape(n_features, n_features)
    np.testing.assert_allclose(covariance, expected, rtol=1e-10, atol=1e-12 * np.abs(expected).max())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("n_rows", "n_features"), [(1, 3), (5, 40), (100, 1), (300, 50), (2 * BLOCK_ROWS + 7, 6)])
def test_ledoit_wolf_as_scikit_learn_computes_it(n_rows: int, n_features: int, dtype: type) -> None:
    X = correlated_rows(n_rows, n_features).astype(dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn warns of a single row
        expected, expected_shrinkage = sklearn.covariance.ledoit_wolf(X.astype(np.float64))
    _, covariance, shrinkage = ledoit_wolf(X)
    assert shrinkage == pytest.approx(expected_shrinkage, rel=1e-10)
    np.testing.assert_allclose(covariance, expected, rtol=1e-10, atol=1e-10 * np.abs(expected).max())


@given(st.integers(1, 30), st.integers(1, 6), st.integers(1, 12), st.integers(0, 2**32 - 1))
def test_blocks_do_not_matter(n_rows: int, n_features: int, block_rows: int, seed: int) -> None:
    X = correlated_rows(n_rows, n_features, seed)
    keep = np.random.default_rng(seed).random(n_rows) < 0.7
    keep[seed % n_rows] = True
    whole = ledoit_wolf(X[keep])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(covariance_module, "BLOCK_ROWS", block_rows)
        blocked = ledoit_wolf(X, keep)
    scale = np.abs(X).max() ** 2
    np.testing.assert_allclose(blocked[0], whole[0], rtol=1e-10)
    np.testing.assert_allclose(blocked[1], whole[1], atol=1e-12 * scale)
    assert blocked[2] == pytest.approx(whole[2], abs=1e-9)


def test_constant_feature_has_no_variance_at_all() -> None:
    X = correlated_rows(3 * BLOCK_ROWS, 3).astype(np.float32)
    X[:, 1] = 0.1
    mean, covariance = mean_and_covariance(X)
    assert mean[1] == np.float32(0.1)
    assert not covariance[1].any()
    assert not covariance[:, 1].any()


def test_a_large_offset_costs_no_digits() -> None:
    X = correlated_rows(500, 4, offset=0.0).round(3)
    _, covariance = mean_and_covariance(X)
    _, shifted = mean_and_covariance(X + 2.0**30)
    np.testing.assert_allclose(shifted, covariance, rtol=1e-6)


def test_inverse_square_root_is_one_and_leaves_empty_directions_out() -> None:
    X = correlated_rows(50, 4)
    root = inverse_square_root(mean_and_covariance(X)[1])
    np.testing.assert_allclose(root @ mean_and_covariance(X)[1] @ root, np.eye(4), atol=1e-9)
    X[:, 2] = 7.0
    covariance = mean_and_covariance(X)[1]
    root = inverse_square_root(covariance)
    np.testing.assert_allclose(root @ covariance @ root, np.diag([1.0, 1, 0, 1]), atol=1e-9)


def test_no_row_is_refused() -> None:
    with pytest.raises(ValueError, match="no rows are left"):
        mean_and_covariance(np.ones((3, 2)), np.zeros(3, dtype=bool))
