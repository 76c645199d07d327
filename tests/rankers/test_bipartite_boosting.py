"""BipartiteBoosting is RankBoost, round by round."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rarespec.rankers.bipartite import bipartite_boosting
from rarespec.rankers.bipartite import bipartite_boosting as _stumps
from rarespec.rankers.bipartite.bipartite_boosting import (
    BipartiteBoosting,
    best_step,
    bin_numbers,
    candidate_thresholds,
    step_sums,
)
from rarespec.rankers.linear_map import whitening


def problem(n_known: int = 4, n_unlabelled: int = 200, n_features: int = 4, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_known + n_unlabelled, n_features))
    y = np.zeros(len(X), dtype=int)
    y[rng.choice(len(X), n_known, replace=False)] = 1
    X[y == 1] += 1.2
    return X, y


def test_loss_falls_and_is_that_of_all_pairs() -> None:
    X, y = problem()
    ranker = BipartiteBoosting(n_rounds=30)
    positive, negative = ranker._initial_weights(X, y == 1)
    scores = ranker.fit(X, y).decision_function(X)
    pairs = np.exp(scores[None, :] - scores[:, None])
    assert ranker.ranking_loss_[-1] == pytest.approx(positive @ pairs @ negative, rel=1e-9)
    assert (np.diff(np.concatenate([[1.0], ranker.ranking_loss_])) < 0).all()


@pytest.mark.parametrize("seed", range(5))
def test_each_round_takes_the_step_with_the_largest_edge(seed: int) -> None:
    X, _ = problem(seed=seed)
    rng = np.random.default_rng(seed)
    share = rng.random((2, len(X)))
    signed = share[0] / share[0].sum() - share[1] / share[1].sum()
    thresholds = candidate_thresholds(X)
    feature, candidate, edge = best_step(bin_numbers(X, thresholds), signed)
    edges = np.array([[signed[X[:, f] > t].sum() for t in thresholds[f]] for f in range(4)])
    assert edge == pytest.approx(edges[feature, candidate], abs=1e-12)
    assert abs(edge) == pytest.approx(np.abs(edges).max(), abs=1e-12)


def test_weight_of_the_first_step_is_rankboosts() -> None:
    X, y = problem()
    ranker = BipartiteBoosting(n_rounds=1, learning_rate=1.0, n_similar=0, doubtful=0.0).fit(X, y)
    above = X[:, ranker.features_[0]] > ranker.thresholds_[0]
    edge = above[y == 1].mean() - above[y == 0].mean()
    assert ranker.weights_[0] == pytest.approx(0.5 * np.log((1 + edge) / (1 - edge)), rel=0.05)


@given(st.integers(0, 30), st.integers(1, 40), st.integers(0, 2**32 - 1), st.booleans())
def test_sums_of_steps(n_steps: int, n_rows: int, seed: int, single: bool) -> None:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 5, size=(n_rows, 3)).astype(np.float32 if single else np.float64)  # many values at thresholds
    features, thresholds, weights = (
        rng.integers(0, 3, n_steps),
        rng.integers(0, 5, n_steps) * 1.0,
        rng.normal(size=n_steps),
    )
    expected = ((X[:, features] > thresholds) * weights).sum(axis=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_stumps, "BLOCK_ROWS", 7)
        np.testing.assert_allclose(step_sums(X, features, thresholds, weights), expected, atol=1e-12)


def test_bins_count_the_thresholds_below_in_any_precision() -> None:
    X, _ = problem()
    for rows in (X, X.astype(np.float32), X.round()):  # rounded, many values are equal to a threshold
        thresholds = candidate_thresholds(rows)
        counted = (rows[:, :, None] > thresholds).sum(axis=2)
        np.testing.assert_array_equal(bin_numbers(rows, thresholds), counted.T)


def test_thresholds_reach_into_the_tails() -> None:
    X = np.random.default_rng(0).normal(size=(50_000, 1))
    thresholds = candidate_thresholds(X)[0]
    assert 0 < np.mean(thresholds[-1] < X) < 2e-4
    assert 0 < np.mean(thresholds[0] >= X) < 2e-4
    assert (np.diff(thresholds) > 0).all()


@pytest.mark.parametrize("block_rows", [10, 8192])
def test_similar_rows_are_positives_and_near_rows_are_doubtful(block_rows: int, monkeypatch: Any) -> None:
    monkeypatch.setattr(bipartite_boosting, "BLOCK_ROWS", block_rows)
    X, y = problem()
    ranker = BipartiteBoosting(n_similar=2, discount=0.25, doubtful=0.5)
    positive, negative = ranker._initial_weights(X, y == 1)
    white = whitening(X, y == 0).apply(X)
    distances = np.linalg.norm(white[:, None] - white[None, y == 1], axis=2)
    distances[y == 1] = np.inf
    similar = np.unique(np.argsort(distances, axis=0)[:2])
    np.testing.assert_array_equal(np.flatnonzero((positive > 0) & (y == 0)), similar)
    assert positive[similar].sum() == pytest.approx(0.2)
    assert not negative[similar].any()
    assert not negative[y == 1].any()
    assert positive.sum() == pytest.approx(1)
    assert negative.sum() == pytest.approx(1)
    others = np.setdiff1d(np.flatnonzero(y == 0), similar)
    by_distance = negative[others[np.argsort(distances[others].min(axis=1))]]
    n_doubtful = int(np.ceil(len(others) / 2))
    assert (np.diff(by_distance[:n_doubtful]) > 0).all()
    np.testing.assert_allclose(by_distance[n_doubtful:], by_distance[n_doubtful - 1])


def test_similar_rows_always_leave_some_negatives() -> None:
    for n_unlabelled in (1, 2, 5):
        X, y = problem(3, n_unlabelled)
        _, negative = BipartiteBoosting(n_similar=50)._initial_weights(X, y == 1)
        assert negative.sum() == pytest.approx(1)
        assert np.count_nonzero(negative) == n_unlabelled - n_unlabelled // 2


def test_a_box_that_no_linear_ranker_can_find() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(4000, 3))
    rare = (np.abs(X[:, 0]) < 0.2) & (np.abs(X[:, 1]) < 0.2)
    y = np.zeros(4000, dtype=int)
    y[np.flatnonzero(rare)[:40]] = 1
    scores = BipartiteBoosting().fit(X, y).decision_function(X)
    hidden = rare & (y == 0)
    others = scores[~rare]
    assert np.mean(scores[hidden][:, None] > others) > 0.97


def test_units_of_features_change_nothing() -> None:
    X, y = problem()
    plain = {"n_similar": 0, "doubtful": 0.0, "n_rounds": 20}
    ranks = [BipartiteBoosting(**plain).fit(rows, y).rank(rows) for rows in (X, X * [1e-6, 1.0, 1e3, 1e6] + 7)]
    np.testing.assert_array_equal(ranks[0], ranks[1])


@given(st.integers(1, 5), st.integers(1, 8), st.integers(1, 4), st.integers(0, 1000), st.booleans())
def test_finite_from_one_example_and_one_unlabelled_row_up(
    n_known: int, n_unlabelled: int, n_features: int, seed: int, single: bool
) -> None:
    X, y = problem(n_known, n_unlabelled, n_features, seed)
    X[:, 0] = 0.1
    X[y == 1] = X[y == 1][0]
    X = X.astype(np.float32) if single else X
    scores = BipartiteBoosting(n_rounds=10).fit(X, y).decision_function(X)
    assert scores.dtype == np.float64
    assert np.isfinite(scores).all()


def test_constant_rows_have_no_steps_and_equal_scores() -> None:
    ranker = BipartiteBoosting().fit(np.ones((5, 2)), [1, 0, 0, 0, 0])
    assert len(ranker.features_) == 0
    np.testing.assert_array_equal(ranker.decision_function(np.ones((3, 2))), np.zeros(3))


@pytest.mark.parametrize(
    "parameters",
    [{"n_rounds": 0}, {"learning_rate": 0}, {"n_similar": -1}, {"discount": 2}, {"doubtful": -0.1}, {"scaling": "x"}],
)
def test_wrong_parameters_are_named(parameters: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(parameters))):
        BipartiteBoosting(**parameters).fit(*problem())
