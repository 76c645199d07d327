"""EMR against the published algorithm written out in loops, and what must not change its scores."""

from __future__ import annotations

import os
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from rarespec.rankers.graph.emr import EMR
from rarespec.rankers.ranker import best_first

pytestmark = pytest.mark.filterwarnings("ignore:n_anchors")


def rows_and_known(n: int = 300, d: int = 4, n_known: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 1.5 * rng.integers(0, 3, (n, 1))
    y = np.zeros(n, int)
    y[rng.choice(n, n_known, replace=False)] = 1
    return X, y


def published(X: np.ndarray, y: np.ndarray, anchors: np.ndarray, r: int, alpha: float) -> np.ndarray:
    """Xu et al. 2011: weights on the nearest anchors, then the closed form, everything dense."""
    n, p = len(X), len(anchors)
    Z = np.zeros((n, p))
    for i in range(n):
        distances = [np.sqrt(sum((X[i, c] - anchors[k, c]) ** 2 for c in range(X.shape[1]))) for k in range(p)]
        nearest = sorted(range(p), key=lambda k, distances=distances: distances[k])[:r]
        for k in nearest:
            Z[i, k] = 0.75 * (1 - (distances[k] / distances[nearest[-1]]) ** 2)
    v = [sum(Z[i, k] for i in range(n)) for k in range(p)]
    D = [sum(Z[i, k] * v[k] for k in range(p)) for i in range(n)]
    H = np.array([Z[i] / np.sqrt(D[i]) for i in range(n)])
    return y - H @ np.linalg.inv(H.T @ H - np.eye(p) / alpha) @ H.T @ y


def manifold_ranking(Z: np.ndarray, y: np.ndarray, alpha: float) -> np.ndarray:
    """What EMR is short for: (I - alpha D^-1/2 W D^-1/2)^-1 y with W = ZZ'."""
    W = Z @ Z.T
    scaling = 1 / np.sqrt(W.sum(axis=1))
    return np.linalg.solve(np.eye(len(W)) - alpha * scaling[:, None] * W * scaling, y)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("n_anchors", "r", "alpha"), [(20, 5, 0.99), (60, 3, 0.9), (40, 8, 0.999)])
def test_scores_and_order_are_those_of_the_published_algorithm(seed: int, n_anchors: int, r: int, alpha: float) -> None:
    X, y = rows_and_known(seed=seed, n_known=1 + seed)
    emr = EMR(n_anchors, r, alpha, random_state=seed).fit(X, y)
    expected = published(X, y, emr.anchors_, r, alpha)
    np.testing.assert_allclose(emr.scores_, expected, rtol=0, atol=1e-8)
    clear = expected > 1e-12  # rows that no known one reaches are equal but for the transcription's rounding
    np.testing.assert_array_equal(best_first(emr.scores_)[: clear.sum()], best_first(expected)[: clear.sum()])


def test_scores_are_those_of_manifold_ranking_on_the_anchor_graph() -> None:
    X, y = rows_and_known()
    emr = EMR(40, random_state=0).fit(X, y)
    Z = emr._weights(X).toarray()
    np.testing.assert_allclose(emr.scores_, manifold_ranking(Z, y, 0.99), rtol=0, atol=1e-8)


@settings(max_examples=10)
@given(st.integers(0, 2**31))
def test_the_order_of_rows_does_not_matter(seed: int) -> None:
    X, y = rows_and_known(120)
    order = np.random.default_rng(seed).permutation(len(X))
    one, other = (EMR(25, random_state=3).fit(X[at], y[at]).scores_ for at in (np.arange(len(X)), order))
    np.testing.assert_allclose(other, one[order], rtol=0, atol=1e-10)


def test_threads_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = rows_and_known(3000)
    scores = []
    for n_cores in (1, 3):
        monkeypatch.setattr(os, "cpu_count", lambda n_cores=n_cores: n_cores)
        scores.append(EMR(100, random_state=0).fit(X, y).scores_)
    np.testing.assert_array_equal(*scores)


def test_the_seed_decides() -> None:
    X, y = rows_and_known()
    first, again, other = (EMR(20, random_state=seed).fit(X, y).scores_ for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_many_queries_at_once_are_single_ones() -> None:
    X, _ = rows_and_known()
    Y = np.eye(len(X))[:, :7] + np.eye(len(X))[:, 7:14]
    emr = EMR(30, random_state=0).prepare(X)
    together = emr.scores_for(Y)
    for query, scores in zip(Y.T, together.T, strict=True):
        np.testing.assert_allclose(scores, emr.scores_for(query), rtol=0, atol=1e-12)
        np.testing.assert_allclose(scores, clone(emr.ranker).fit(X, query).scores_, rtol=0, atol=1e-12)


def test_float32_and_float64_agree() -> None:
    X, y = rows_and_known()
    X = X.astype(np.float32)
    one, other = (EMR(30, random_state=0).fit(rows, y).scores_ for rows in (X, X.astype(np.float64)))
    np.testing.assert_allclose(one, other, rtol=0, atol=1e-12)


def test_clusters_that_share_no_anchor_score_nothing() -> None:
    X, y = rows_and_known(100)
    far = X + 1e4
    emr = EMR(60, random_state=0).fit(np.concatenate([X, far]), np.concatenate([y, np.zeros(100, int)]))
    assert np.isfinite(emr.scores_).all() and (emr.scores_ >= 0).all()
    assert (emr.scores_[100:] == 0).all() and (emr.scores_[:100] > 0).mean() > 0.5


def test_duplicates_score_alike_and_are_one_anchor() -> None:
    X, y = rows_and_known(50)
    with pytest.warns(UserWarning, match="n_anchors = 80: X has only 50 different rows"):
        emr = EMR(80, random_state=0).fit(np.repeat(X, 3, axis=0), np.repeat(y, 3))
    assert len(emr.anchors_) == 50
    np.testing.assert_allclose(emr.scores_.reshape(50, 3), emr.scores_[::3, None] * np.ones(3), rtol=1e-12)


def test_identical_rows_score_alike() -> None:
    y = np.array([1, 0, 0, 0])
    emr = EMR(random_state=0).fit(np.ones((4, 3)), y)
    assert np.isfinite(emr.scores_).all() and emr.n_unconnected_ == 0
    np.testing.assert_allclose(emr.scores_[1:], emr.scores_[1])


def test_a_row_whose_anchors_are_equally_far_keeps_its_y() -> None:
    triangle = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    X, y = np.concatenate([triangle, [[0.0, 0.0]]]), np.array([0, 0, 0, 0, 1])
    emr = EMR(4, 4, n_kmeans_iterations=0, random_state=next(s for s in range(99) if _misses_the_middle(X, s)))
    emr.fit(X, y)
    assert emr.n_unconnected_ == 1
    np.testing.assert_array_equal(emr.scores_, [0, 0, 0, 0, 1])
    assert (emr.decision_function([[0.0, 0.0], [1e-3, 0.0]]) == [1, 0]).all()


def _misses_the_middle(X: np.ndarray, seed: int) -> bool:
    with warnings.catch_warnings(action="ignore"):
        return bool(EMR(4, 4, n_kmeans_iterations=0, random_state=seed).prepare(X).ranker.anchors_.any(axis=1).all())


def test_new_rows_are_scored_through_the_same_anchors() -> None:
    X, y = rows_and_known()
    emr = EMR(30, random_state=0).fit(X, y)
    Z = emr._weights(X).toarray()
    new = X[:20] + 0.05
    z = emr._weights(new).toarray()
    H = Z / np.sqrt(Z @ Z.sum(axis=0))[:, None]
    h = z / np.sqrt(z @ Z.sum(axis=0))[:, None]
    expected = -h @ np.linalg.inv(H.T @ H - np.eye(30) / 0.99) @ H.T @ y
    np.testing.assert_allclose(emr.decision_function(new), expected, rtol=0, atol=1e-10)
    np.testing.assert_array_equal(emr.decision_function(X[5:9]), emr.scores_[5:9])


def test_an_unlabelled_row_scores_the_same_as_fitted_and_as_new() -> None:
    X, y = rows_and_known()
    emr = EMR(30, random_state=0).fit(X, y)
    as_new = emr._scores_of_new_rows(X[y == 0])
    np.testing.assert_allclose(as_new, emr.scores_[y == 0], rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("parameter", "value"),
    [("n_anchors", 1), ("n_anchors", 2.5), ("n_nearest", 1), ("alpha", 1.0), ("alpha", 0), ("n_kmeans_iterations", -1)],
)
def test_parameters_are_checked(parameter: str, value: Any) -> None:
    X, y = rows_and_known(20)
    with pytest.raises(ValueError, match=f"{parameter}={value}"):
        EMR(**{parameter: value}).fit(X, y)
