"""MatchedFilter is the textbook formula, computed in blocks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.covariance import LedoitWolf

from rarespec.rankers import matched_filter
from rarespec.rankers.matched_filter import MatchedFilter

METHODS = ["lda", "cosine"]


def problem(n_known: int = 3, n_unlabelled: int = 300, n_features: int = 6, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_known + n_unlabelled, n_features)) @ rng.normal(size=(n_features, n_features)) + 3
    y = np.zeros(len(X), dtype=int)
    y[rng.choice(len(X), n_known, replace=False)] = 1
    X[y == 1] += 1.5
    return X, y


@pytest.mark.parametrize("n_known", [1, 4])
def test_lda_is_fishers_with_the_covariance_of_scikit_learn(n_known: int) -> None:
    X, y = problem(n_known)
    fitted = MatchedFilter().fit(X, y)
    peer = LedoitWolf().fit(X[y == 0])
    expected = np.linalg.solve(peer.covariance_, X[y == 1].mean(axis=0) - peer.location_)
    np.testing.assert_allclose(fitted.coef_, expected, rtol=1e-8)
    np.testing.assert_allclose(fitted.decision_function(X), X @ expected, rtol=1e-8)
    assert fitted.shrinkage_ == pytest.approx(peer.shrinkage_, rel=1e-10)


@pytest.mark.parametrize("n_known", [1, 4])
def test_cosine_is_that_after_whitening(n_known: int) -> None:
    X, y = problem(n_known)
    scores = MatchedFilter(method="cosine").fit(X, y).decision_function(X)
    peer = LedoitWolf().fit(X[y == 0])
    variances, directions = np.linalg.eigh(peer.covariance_)
    white = (X - peer.location_) @ directions / np.sqrt(variances)
    unit = white / np.linalg.norm(white, axis=1, keepdims=True)
    direction = unit[y == 1].mean(axis=0)
    np.testing.assert_allclose(scores, unit @ direction / np.linalg.norm(direction), atol=1e-9)


def test_a_row_at_the_centre_has_cosine_zero() -> None:
    X, y = problem()
    fitted = MatchedFilter(method="cosine").fit(X, y)
    assert fitted.decision_function(fitted.mean_[None])[0] == 0.0


def test_known_examples_that_cancel_out_give_zeros() -> None:
    X = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0], [2.0, 2.0], [-2.0, -2.0]])
    y = np.array([1, 1, 0, 0, 0, 0])
    for method in METHODS:
        np.testing.assert_allclose(MatchedFilter(method=method).fit(X, y).decision_function(X), 0, atol=1e-12)


def test_full_shrinkage_is_the_plain_difference_of_means() -> None:
    X, y = problem()
    coef = MatchedFilter(shrinkage=1.0).fit(X, y).coef_
    difference = X[y == 1].mean(axis=0) - X[y == 0].mean(axis=0)
    np.testing.assert_allclose(coef / np.linalg.norm(coef), difference / np.linalg.norm(difference), atol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_without_shrinkage_scores_do_not_depend_on_the_axes(method: str) -> None:
    X, y = problem()
    axes, _ = np.linalg.qr(np.random.default_rng(1).normal(size=(6, 6)))
    turned = X @ (axes * [1, 2, 3, 4, 5, 6]) + 10
    scores = [MatchedFilter(method=method, shrinkage=0.0).fit(rows, y).decision_function(rows) for rows in (X, turned)]
    scores = [s - s[0] for s in scores]
    np.testing.assert_allclose(scores[0], scores[1], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=25, deadline=None)
@given(st.integers(1, 5), st.integers(1, 8), st.integers(1, 6), st.integers(0, 1000), st.booleans())
def test_finite_from_one_example_and_one_unlabelled_row_up(
    method: str, n_known: int, n_unlabelled: int, n_features: int, seed: int, single: bool
) -> None:
    X, y = problem(n_known, n_unlabelled, n_features, seed)
    X[:, 0] = 0.1
    X[y == 1] = X[y == 1][0]
    X = X.astype(np.float32) if single else X
    scores = MatchedFilter(method=method).fit(X, y).decision_function(X)
    assert scores.dtype == np.float64
    assert np.isfinite(scores).all()


def test_unlabelled_rows_all_alike_leave_the_difference() -> None:
    X = np.array([[1.0, 2.0, 0.5], [4.0, 4.0, 4.0], [4.0, 4.0, 4.0]])
    np.testing.assert_allclose(MatchedFilter().fit(X, [1, 0, 0]).coef_, X[0] - X[1])


@pytest.mark.parametrize("method", METHODS)
def test_blocks_and_precision_change_nothing(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = problem()
    X = X.astype(np.float32)
    fitted = MatchedFilter(method=method).fit(X, y)
    whole = fitted.decision_function(X)
    np.testing.assert_allclose(fitted.decision_function(X.astype(np.float64)), whole, rtol=1e-12, atol=1e-12)
    monkeypatch.setattr(matched_filter, "BLOCK_ROWS", 17)
    np.testing.assert_allclose(fitted.decision_function(X), whole, rtol=1e-12, atol=1e-12)


def test_refit_with_the_other_method_leaves_nothing_behind() -> None:
    X, y = problem()
    ranker = MatchedFilter().fit(X, y)
    ranker.set_params(method="cosine").fit(X, y)
    assert ranker.coef_ is None
    ranker.set_params(method="lda").fit(X, y)
    assert ranker.whitening_ is None
    np.testing.assert_allclose(ranker.decision_function(X), X @ ranker.coef_)


@pytest.mark.parametrize("parameters", [{"method": "qda"}, {"shrinkage": 2.0}, {"shrinkage": "oas"}])
def test_wrong_parameters_are_named(parameters: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(parameters))):
        MatchedFilter(**parameters).fit(*problem())


@pytest.mark.parametrize("shrinkage", [-0.1, 1.1, "oas", None, np.nan, True, np.array([0.1, 0.2])])
def test_wrong_shrinkage_is_named(shrinkage: Any) -> None:
    with pytest.raises(ValueError, match=r"MatchedFilter: shrinkage=.* must be"):
        MatchedFilter(shrinkage=shrinkage).fit(*problem())
