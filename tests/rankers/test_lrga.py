"""LRGA against the published algorithm written out in loops, and what must not change its scores."""

from __future__ import annotations

import os
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import diags_array
from scipy.sparse.linalg import spsolve
from scipy.spatial.distance import cdist
from sklearn.base import clone

from rarespec.rankers.graph import conjugate_gradients as _conjugate_gradients
from rarespec.rankers.graph.lrga import LRGA, align, alignment_matrix, alignment_system, regress_scores
from rarespec.rankers.neighbours.neighbour_graph import build_neighbours
from rarespec.rankers.ranker import Kept, best_first


@pytest.fixture(params=["factored", "iterated"])
def both_ways(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """As small surveys are solved, and as large ones are."""
    monkeypatch.setattr("rarespec.rankers.graph.lrga.FACTORED_BELOW", 20_000 if request.param == "factored" else 0)


@pytest.fixture
def iterated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rarespec.rankers.graph.lrga.FACTORED_BELOW", 0)


def rows_and_known(n: int = 200, d: int = 4, n_known: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 1.5 * rng.integers(0, 3, (n, 1))
    y = np.zeros(n, int)
    y[rng.choice(n, n_known, replace=False)] = 1
    return X, y


def published_matrix(X: np.ndarray, k: int, lam: float) -> np.ndarray:
    """L of Yang et al. 2009 in its d x d form, one neighbourhood after the other, everything dense."""
    n, d = X.shape
    H = np.eye(k) - np.ones((k, k)) / k
    L = np.zeros((n, n))
    for i in range(n):
        distances = [np.linalg.norm(X[i] - X[j]) if j != i else -1.0 for j in range(n)]
        nearest = sorted(range(n), key=lambda j, distances=distances: distances[j])[:k]
        X_i = X[nearest].T
        L_i = H - H @ X_i.T @ np.linalg.inv(X_i @ H @ X_i.T + lam * np.eye(d)) @ X_i @ H
        for a in range(k):
            for b in range(k):
                L[nearest[a], nearest[b]] += L_i[a, b]
    return L


def published_scores(L: np.ndarray, y: np.ndarray, query_weight: float = 1e4) -> np.ndarray:
    U = np.diag(np.where(y == 1, query_weight, 1.0))
    return np.linalg.inv(L + U) @ U @ y


@cache
def matrix_of(seed: int, k: int, lam: float) -> np.ndarray:
    return published_matrix(rows_and_known(seed=seed, n_known=1 + 4 * seed)[0], k, lam)


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.exhaustive)])
@pytest.mark.parametrize("k", [2, 5, 9])
@pytest.mark.parametrize("lam", [1e-2, 1.0, 1e4])
@pytest.mark.parametrize("extra_factor", [False, True])
def test_scores_and_order_are_those_of_the_published_algorithm(
    seed: int, k: int, lam: float, extra_factor: bool, both_ways: None
) -> None:
    X, y = rows_and_known(seed=seed, n_known=1 + 4 * seed)
    L = matrix_of(seed, k, lam) * (lam if extra_factor else 1.0)
    expected = published_scores(L, y)
    clear = np.abs(expected) > 1e-11  # below, the transcription's own rounding decides
    scores = LRGA(k, lam, extra_factor=extra_factor).fit(X, y).scores_
    np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-8)
    np.testing.assert_array_equal(best_first(scores[clear]), best_first(expected[clear]))


@given(st.integers(0, 2**31), st.integers(2, 9), st.sampled_from([1e-6, 1e-2, 1.0, 1e4]))
def test_the_matrix_costs_nothing_for_constant_scores_and_never_less(seed: int, k: int, lam: float) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 3))
    neighbourhoods = np.argsort(rng.random((30, 30)), axis=1)[:, :k].astype(np.int32)
    L = alignment_matrix(X, neighbourhoods, lam).toarray()
    np.testing.assert_allclose(L.sum(axis=1), 0, atol=1e-9)
    np.testing.assert_allclose(L, L.T, rtol=0, atol=1e-14)
    assert np.linalg.eigvalsh(L).min() > -1e-9


@pytest.mark.parametrize("d", [2, 6])
def test_costs_of_large_features_are_those_of_a_plain_regression(d: int) -> None:
    """Without rounding, features that are 1e9 times as large, and lam 1e18 times, change nothing."""
    X, _ = rows_and_known(50, d=d)
    neighbourhoods = np.argsort(cdist(X, X), axis=1)[:, :5].astype(np.int32)
    expected = alignment_matrix(X, neighbourhoods, 1e-2).toarray()
    np.testing.assert_allclose(alignment_matrix(X * 1e9, neighbourhoods, 1e16).toarray(), expected, atol=1e-9)
    hardly = alignment_matrix(X * 1e120, neighbourhoods, 1.0).toarray()
    np.testing.assert_allclose(hardly, alignment_matrix(X, neighbourhoods, 1e-9).toarray(), atol=1e-4)
    new = X[:9] + 0.1
    found, large = (
        regress_scores(new * size, X * size, X[:, 0], neighbourhoods[:9], 1e-2 * size**2) for size in (1.0, 1e120)
    )
    np.testing.assert_allclose(large, found, rtol=1e-9)


def test_scores_linear_in_the_features_cost_nothing_without_regularisation() -> None:
    X, _ = rows_and_known(50, d=2)
    graph = build_neighbours(X, 5)
    neighbourhoods = np.concatenate([np.arange(50, dtype=np.int32)[:, None], graph.indices], axis=1)
    linear = X @ [2.0, -1.0] + 3.0
    loose, stiff = (alignment_matrix(X, neighbourhoods, lam) @ linear @ linear for lam in (1e-9, 1e9))
    assert abs(loose) < 1e-5 and stiff > 1


@pytest.mark.parametrize("extra_factor", [False, True])
def test_faint_scores_are_accurate_relative_to_themselves(extra_factor: bool, both_ways: None) -> None:
    """A chain of rows, along which scores fall by 60 orders of magnitude; elimination on it loses no digits."""
    X = np.arange(150.0)[:, None] + 1e-3 * np.random.default_rng(0).random((150, 1))
    y = np.zeros(150, int)
    y[0] = 1
    ranker = LRGA(3, extra_factor=extra_factor).fit(X, y)
    U = np.where(y == 1, 1e4, 1.0)
    matrix = ranker.prepare(X).ready.matrix
    back = np.argsort(matrix.order)
    system = matrix.matrix[back][:, back] + diags_array(U - 1.0)
    expected = spsolve(system.tocsc(), U * y, permc_spec="NATURAL")
    near = expected > 1e-30 * expected.max()
    assert expected.min() < 1e-40 or extra_factor
    np.testing.assert_allclose(ranker.scores_[near], expected[near], rtol=1e-6)
    assert (best_first(ranker.scores_)[: near.sum()] == np.arange(near.sum())).all()


def test_a_looser_tolerance_says_so_in_its_residual(iterated: None) -> None:
    X, y = rows_and_known(400)
    loose, tight = (LRGA(rtol=rtol).fit(X, y) for rtol in (1e-2, 1e-10))
    assert loose.n_iter_ < tight.n_iter_
    assert tight.residual_ < 1e-10 < loose.residual_ < 1e-2


def test_unfinished_queries_are_said(iterated: None, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = rows_and_known()
    monkeypatch.setattr("rarespec.rankers.graph.lrga.MAX_ITER", 3)
    with pytest.warns(UserWarning, match="was not solved to rtol"):
        assert LRGA(extra_factor=False).fit(X, y).n_iter_ == 3


@pytest.mark.parametrize("n_known", [1, 10, 80])
def test_factors_change_nothing(n_known: int) -> None:
    X, y = rows_and_known(n_known=n_known)
    L = alignment_matrix(X, np.argsort(cdist(X, X), axis=1)[:, :5].astype(np.int32), 1e4) * 1e4
    weights = y[:, None] * np.linspace(0.5, 1.5, len(X))[:, None]
    iterated, direct = (align(alignment_system(L, factored), weights, 1e4, 1e-9, 5000) for factored in (False, True))
    assert iterated.n_iter[0] > 20 and (direct.n_iter[0] < 10) == (n_known <= 64)
    np.testing.assert_allclose(direct.x, iterated.x, rtol=1e-7)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("extra_factor", [False, True])
def test_the_order_of_rows_does_not_matter(seed: int, extra_factor: bool, both_ways: None) -> None:
    X, y = rows_and_known(120)
    order = np.random.default_rng(seed).permutation(len(X))
    one = LRGA(extra_factor=extra_factor).fit(X, y).scores_
    other = LRGA(extra_factor=extra_factor).fit(X[order], y[order]).scores_
    np.testing.assert_allclose(other, one[order], rtol=1e-6, atol=1e-12)
    np.testing.assert_array_equal(order[best_first(other)], best_first(one))


@pytest.mark.parametrize("extra_factor", [False, True])
def test_threads_do_not_matter(extra_factor: bool, both_ways: None, monkeypatch: pytest.MonkeyPatch) -> None:
    X, _ = rows_and_known(1000)
    scores = []
    for n_cores in (1, 3):
        monkeypatch.setattr(os, "cpu_count", lambda n_cores=n_cores: n_cores)
        scores.append(LRGA(extra_factor=extra_factor).prepare(X).scores_for(np.eye(1000)[:, :30]))
    np.testing.assert_array_equal(*scores)


@pytest.mark.parametrize("extra_factor", [False, True])
def test_many_queries_at_once_are_single_ones(extra_factor: bool, both_ways: None) -> None:
    X, _ = rows_and_known()
    Y = np.eye(len(X))[:, :19] + np.eye(len(X))[:, 19:38] * (np.arange(19) % 2)
    ranker = LRGA(extra_factor=extra_factor).prepare(X)
    together = ranker.scores_for(Y)
    for query, scores in zip(Y.T, together.T, strict=True):
        np.testing.assert_allclose(scores, ranker.scores_for(query), rtol=1e-12)
    np.testing.assert_allclose(together[:, 1], clone(ranker.ranker).fit(X, Y[:, 1]).scores_, rtol=1e-12)


def test_a_query_that_is_done_stands_still_while_others_go_on(iterated: None) -> None:
    X, _ = rows_and_known(400)
    Y = np.zeros((400, 2))
    Y[:200, 0] = Y[0, 1] = 1.0
    ranker = LRGA(rtol=0.1).prepare(X)
    n_iter = align(ranker.ready, Y, 1e4, 0.1, 1000).n_iter
    assert n_iter[0] < n_iter[1]
    np.testing.assert_allclose(ranker.scores_for(Y)[:, 0], ranker.scores_for(Y[:, 0]), rtol=1e-12)


def test_a_query_of_nothing_scores_nothing() -> None:
    X, _ = rows_and_known()
    assert (LRGA(extra_factor=False).prepare(X).scores_for(np.zeros((len(X), 2))) == 0).all()


def test_a_given_graph_is_used() -> None:
    X, y = rows_and_known()
    graph, built = build_neighbours(X, 12), LRGA().fit(X, y).scores_
    np.testing.assert_array_equal(LRGA(graph=graph).fit(X, y).scores_, built)
    np.testing.assert_array_equal(LRGA().prepare(X, Kept(graph=graph)).scores_for(y), built)


@pytest.mark.parametrize("extra_factor", [False, True])
def test_parts_of_the_graph_without_a_known_row_score_nothing(extra_factor: bool, both_ways: None) -> None:
    X, y = rows_and_known(100)
    y_of_both = np.concatenate([y, np.zeros(100, int)])
    scores = LRGA(extra_factor=extra_factor).fit(np.concatenate([X, X + 1e3]), y_of_both).scores_
    assert (scores[:100] > 0).all() and (scores[100:] == 0).all()


def test_duplicates_and_constant_features_are_finite(both_ways: None) -> None:
    X, y = rows_and_known(40)
    X[:, 1] = 7.0
    X = np.repeat(X, 6, axis=0)
    for ranker in (LRGA(), LRGA(extra_factor=False), LRGA(regularisation=1e-6)):
        assert np.isfinite(ranker.fit(X, np.repeat(y, 6)).scores_).all()


def test_float32_and_float64_agree() -> None:
    X, y = rows_and_known()
    X = X.astype(np.float32)
    one, other = (LRGA(regularisation=1.0).fit(rows, y).scores_ for rows in (X, X.astype(np.float64)))
    np.testing.assert_allclose(one, other, rtol=1e-9)


def test_more_neighbours_than_rows_are_cut() -> None:
    X, y = rows_and_known(4, n_known=1)
    with pytest.warns(UserWarning, match="only 3 are possible"):
        assert np.isfinite(LRGA(9).fit(X, y).scores_).all()


@pytest.mark.parametrize("lam", [1e-3, 1.0, 1e4])
def test_new_rows_get_the_ridge_regression_of_their_neighbours(lam: float) -> None:
    X, y = rows_and_known()
    ranker = LRGA(regularisation=lam).fit(X, y)
    new = X[:10] + 0.03
    for x, score in zip(new, ranker.decision_function(new), strict=True):
        nearest = np.argsort(np.linalg.norm(X - x, axis=1))[:5]
        centre, f = X[nearest].mean(axis=0), ranker.scores_[nearest]
        V = X[nearest] - centre
        slope = np.linalg.solve(V.T @ V + lam * np.eye(4), V.T @ (f - f.mean()))
        assert score == pytest.approx(f.mean() + slope @ (x - centre), rel=1e-8, abs=1e-12)
    np.testing.assert_array_equal(ranker.decision_function(X[3:7]), ranker.scores_[3:7])


def test_regression_of_linear_scores_is_exact() -> None:
    X, _ = rows_and_known(30, d=2)
    neighbourhoods = np.tile(np.arange(5, dtype=np.int32), (4, 1))
    found = regress_scores(X[20:24], X, X @ [1.0, -2.0] + 0.5, neighbourhoods, 1e-12)
    np.testing.assert_allclose(found, X[20:24] @ [1.0, -2.0] + 0.5, rtol=1e-6)


def test_running_residuals_that_drift_are_caught(iterated: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Scores that are not what the first descent believes: the true residual must be looked at, and work taken up."""
    X, y = rows_and_known()
    expected = LRGA(extra_factor=False).fit(X, y).scores_
    descend, calls = _conjugate_gradients._descend, []

    def drifting(times: Any, R: np.ndarray, X: np.ndarray, *others: Any) -> None:
        descend(times, R, X, *others)
        calls.append(1)
        if len(calls) == 1:
            X *= 1.01

    monkeypatch.setattr(_conjugate_gradients, "_descend", drifting)
    np.testing.assert_allclose(LRGA(extra_factor=False).fit(X, y).scores_, expected, rtol=1e-7)
    assert len(calls) == 2


@pytest.mark.parametrize(
    ("parameter", "value"),
    [("n_neighbours", 1), ("n_neighbours", 2.5), ("regularisation", 0), ("query_weight", 0.5), ("rtol", 0)],
)
def test_parameters_are_checked(parameter: str, value: Any) -> None:
    X, y = rows_and_known(20)
    with pytest.raises(ValueError, match=f"{parameter}={value}"):
        LRGA(**{parameter: value}).fit(X, y)
