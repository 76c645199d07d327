"""Maps scale as they say, and weights find their way back."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn.covariance

from rarespec.rankers.linear_map import SCALINGS, identity, linear_map, standard, whitening


@pytest.fixture
def rows() -> np.ndarray:
    rng = np.random.default_rng(3)
    return (rng.normal(size=(400, 5)) @ rng.normal(size=(5, 5)) + 4).astype(np.float32)


@pytest.mark.parametrize("scaling", SCALINGS)
def test_weights_of_mapped_rows_rank_the_rows_as_given_alike(scaling: str, rows: np.ndarray) -> None:
    scaled, weights = linear_map(scaling, rows), np.arange(1.0, 6.0)
    mapped = scaled.apply(rows) @ weights
    given = rows.astype(np.float64) @ scaled.weights_of(weights)
    np.testing.assert_allclose(mapped - given, np.full(400, mapped[0] - given[0]), atol=1e-9)
    both = scaled.weights_of(np.stack([weights, -weights]))
    np.testing.assert_allclose(both[1], -scaled.weights_of(weights), rtol=1e-12)


@pytest.mark.parametrize("scaling", SCALINGS)
def test_mapped_rows_are_double_precision(scaling: str, rows: np.ndarray) -> None:
    assert linear_map(scaling, rows).apply(rows[:3]).dtype == np.float64


def test_identity_leaves_rows(rows: np.ndarray) -> None:
    np.testing.assert_array_equal(identity(5).apply(rows), rows)


def test_standard_gives_unit_variance_and_leaves_constants_out(rows: np.ndarray) -> None:
    rows[:, 3] = 0.3
    scaled = standard(rows)
    mapped = scaled.apply(rows)
    np.testing.assert_allclose(mapped.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(mapped.std(axis=0), [1, 1, 1, 0, 1], atol=1e-12)
    assert scaled.matrix[3] == 0


def test_whitening_is_the_symmetric_root_of_the_ledoit_wolf_covariance(rows: np.ndarray) -> None:
    scaled = whitening(rows)
    expected, _ = sklearn.covariance.ledoit_wolf(rows.astype(np.float64))
    np.testing.assert_allclose(scaled.matrix @ expected @ scaled.matrix, np.eye(5), atol=1e-9)
    np.testing.assert_allclose(scaled.matrix, scaled.matrix.T, atol=1e-12)
    np.testing.assert_allclose(scaled.apply(rows).mean(axis=0), 0, atol=1e-12)


@pytest.mark.parametrize("scaling", SCALINGS)
def test_only_the_rows_to_keep_count(scaling: str, rows: np.ndarray) -> None:
    keep = np.arange(400) % 3 == 0
    some, cut = linear_map(scaling, rows, keep), linear_map(scaling, rows[keep])
    np.testing.assert_allclose(some.mean, cut.mean, rtol=1e-12)
    np.testing.assert_allclose(some.matrix, cut.matrix, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("scaling", SCALINGS)
def test_one_row_gives_a_finite_map(scaling: str, rows: np.ndarray) -> None:
    assert np.isfinite(linear_map(scaling, rows[:1]).apply(rows)).all()


def test_whitening_of_one_row_only_centres(rows: np.ndarray) -> None:
    np.testing.assert_allclose(whitening(rows[:1]).apply(rows), rows - rows[0].astype(np.float64))


def test_unknown_scaling_is_named(rows: np.ndarray) -> None:
    with pytest.raises(ValueError, match=r"scaling='minmax'.*'none', 'standard', 'whiten'"):
        linear_map("minmax", rows)
