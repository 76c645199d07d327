"""The best rows are those of a search in double precision, best first, ties in the order of the rows."""

import numpy as np
import pytest

from gpu import made_up
from rarespec.gpu.scoring import top_rows


@pytest.mark.parametrize(("n", "k"), [(5000, 100), (5000, 1), (50, 50), (20, 300)])
def test_as_in_double_precision(arrays, n, k):
    X, weights = made_up.features(n), np.random.default_rng(1).normal(size=20)
    rows, scores = (arrays.back(result) for result in top_rows(arrays.of(X), weights, k))
    exact = X.astype(np.float64) @ weights
    order = np.argsort(-exact, kind="stable")[:k]
    assert np.array_equal(rows, order)
    assert np.allclose(scores, exact[order], rtol=1e-12)


@pytest.mark.parametrize("n_equal", [200, 450])
def test_ties_stay_in_order(arrays, n_equal):
    X = np.ones((500, 4), np.float32)
    X[n_equal:] = 0
    rows, _ = top_rows(arrays.of(X), np.ones(4), 200)
    assert np.array_equal(arrays.back(rows), np.arange(200))


def test_scores_that_single_precision_cannot_tell_apart(arrays):
    """Differences of 1e-9 around 1000: single precision shuffles them, the second scoring sets them right."""
    X = np.stack([np.full(120, 1e3), np.random.default_rng(0).permutation(120) * 1e-9], axis=1)
    rows, _ = top_rows(arrays.of(X.astype(np.float32)), np.ones(2), 10)
    exact = X.astype(np.float32).astype(np.float64) @ np.ones(2)
    assert np.array_equal(arrays.back(rows), np.argsort(-exact, kind="stable")[:10])
