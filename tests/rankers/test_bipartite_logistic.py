"""BipartiteLogistic reaches the minimum that independent software finds."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from rarespec.rankers.bags import draw_bags
from rarespec.rankers.bipartite import bipartite_logistic as _balanced_loss
from rarespec.rankers.bipartite.bipartite_logistic import BalancedLoss, BipartiteLogistic, minimise
from rarespec.rankers.linear_map import linear_map, whitening
from rarespec.rankers.matched_filter import MatchedFilter

LOSSES = ["logistic", "exponential"]


def problem(n_known: int = 4, n_unlabelled: int = 120, n_features: int = 4, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_known + n_unlabelled, n_features)) * np.linspace(0.5, 2, n_features) + 3
    y = np.zeros(len(X), dtype=int)
    y[rng.choice(len(X), n_known, replace=False)] = 1
    X[y == 1] += 0.8
    return X, y


@pytest.mark.parametrize("regularisation", [1e-3, 0.1, 10.0])
@pytest.mark.parametrize("n_known", [1, 4, 30])
def test_logistic_loss_is_balanced_logistic_regression(n_known: int, regularisation: float) -> None:
    X, y = problem(n_known)
    ours = BipartiteLogistic(regularisation=regularisation, scaling="none").fit(X, y)
    peer = LogisticRegression(
        C=1 / (regularisation * len(X)), class_weight="balanced", solver="newton-cholesky", tol=1e-10
    )
    np.testing.assert_allclose(ours.coef_, peer.fit(X, y).coef_[0], rtol=1e-6, atol=1e-8)
    assert ours.converged_


def minimum_of_cvxpy(Z: Any, y: Any, loss: str, regularisation: float) -> Any:
    cp = pytest.importorskip("cvxpy")
    w, b = cp.Variable(Z.shape[1]), cp.Variable()
    losses = {"logistic": cp.logistic, "exponential": cp.exp}
    means = [cp.sum(losses[loss](-sign * (Z[y == c] @ w + b))) / np.sum(y == c) for sign, c in ((1, 1), (-1, 0))]
    objective = cp.Problem(cp.Minimize(0.5 * (means[0] + means[1]) + 0.5 * regularisation * cp.sum_squares(w)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # now and then it stops just above 1e-12, and says so; 1e-6 is asked for below
        objective.solve(solver="CLARABEL", tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12)
    return w.value


@pytest.mark.parametrize("scaling", ["none", "whiten"])
@pytest.mark.parametrize("regularisation", [0.01, 1.0])
@pytest.mark.parametrize("n_known", [1, 10])
@pytest.mark.parametrize("loss", LOSSES)
def test_minimum_is_that_of_a_general_solver(loss: str, n_known: int, regularisation: float, scaling: str) -> None:
    X, y = problem(n_known, 60)
    ours = BipartiteLogistic(loss=loss, regularisation=regularisation, scaling=scaling).fit(X, y)
    scaled = linear_map(scaling, X, y == 0)
    weights = minimum_of_cvxpy(scaled.apply(X), y, loss, regularisation)
    np.testing.assert_allclose(ours.coef_, scaled.weights_of(weights), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("scaling", ["none", "standard", "whiten"])
@pytest.mark.parametrize("loss", LOSSES)
def test_derivatives_are_those_of_the_value(loss: str, scaling: str) -> None:
    X, y = problem()
    balanced = BalancedLoss(X, y == 1, linear_map(scaling, X), loss, 0.3)
    theta = np.linspace(-0.3, 0.2, 5)
    _, gradient, hessian = balanced.at(theta)
    steps = np.eye(5) * 1e-5
    slopes = [(balanced.at(theta + h)[0] - balanced.at(theta - h)[0]) / 2e-5 for h in steps]
    curvatures = [(balanced.at(theta + h)[1] - balanced.at(theta - h)[1]) / 2e-5 for h in steps]
    np.testing.assert_allclose(gradient, slopes, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(hessian, curvatures, rtol=1e-6, atol=1e-7)


def test_exponential_loss_is_the_pairwise_loss_of_rankboost() -> None:
    X, y = problem(5, 30)
    ours = BipartiteLogistic(loss="exponential", regularisation=0.1, scaling="none").fit(X, y)

    def pairwise(w: Any) -> float:
        pairs = (X[y == 0] @ w)[None, :] - (X[y == 1] @ w)[:, None]
        return float(np.sqrt(np.mean(np.exp(pairs))) + 0.05 * w @ w)

    np.testing.assert_allclose(minimize(pairwise, np.zeros(4), tol=1e-12).x, ours.coef_, atol=1e-5)


@pytest.mark.parametrize("loss", LOSSES)
def test_strong_regularisation_ends_at_the_matched_filter(loss: str) -> None:
    X, y = problem()
    ours = BipartiteLogistic(loss=loss, regularisation=1e6).fit(X, y).coef_
    lda = MatchedFilter(method="lda").fit(X, y).coef_
    np.testing.assert_allclose(ours / np.linalg.norm(ours), lda / np.linalg.norm(lda), atol=1e-5)


@pytest.mark.parametrize("loss", LOSSES)
def test_copies_of_the_known_rows_change_nothing(loss: str) -> None:
    X, y = problem()
    copied = [np.concatenate([rows, np.repeat(rows[y == 1], 6, axis=0)]) for rows in (X, y)]
    coefs = [BipartiteLogistic(loss=loss, scaling="none").fit(*data).coef_ for data in ((X, y), copied)]
    np.testing.assert_allclose(coefs[0], coefs[1], rtol=1e-6)


def test_a_shift_changes_nothing_and_units_change_nothing_once_scaled() -> None:
    X, y = problem()
    units = np.array([1e-6, 1.0, 1e3, 1e6])
    for scaling, other in (("none", X + 1e4), ("standard", X * units), ("standard", X - 1e4)):
        scores = [BipartiteLogistic(scaling=scaling).fit(rows, y).decision_function(rows) for rows in (X, other)]
        scores = [s - s[0] for s in scores]
        np.testing.assert_allclose(scores[0], scores[1], rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("loss", LOSSES)
def test_blocks_do_not_matter(loss: str, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = problem()
    whole = BipartiteLogistic(loss=loss).fit(X, y).coef_
    monkeypatch.setattr(_balanced_loss, "BLOCK_ROWS", 7)
    np.testing.assert_allclose(BipartiteLogistic(loss=loss).fit(X, y).coef_, whole, rtol=1e-9)


def test_bags_average_fits_on_the_known_and_some_unlabelled_rows() -> None:
    X, y = problem(n_known=3, n_unlabelled=5)
    scaled = whitening(X, y == 0)
    alone = []
    for row in np.flatnonzero(y == 0):
        rows = np.append(np.flatnonzero(y == 1), row)
        bag = BalancedLoss(X[rows], y[rows] == 1, scaled, "logistic", 1.0)
        alone.append(scaled.weights_of(minimise(bag, 1e-8, 50).weights))
    for seed in range(5):
        drawn = np.searchsorted(np.flatnonzero(y == 0), draw_bags(y == 1, 2, 1, seed)[:, 0])
        coef = BipartiteLogistic(n_bags=2, bag_size=1, random_state=seed).fit(X, y).coef_
        np.testing.assert_allclose(coef, (alone[drawn[0]] + alone[drawn[1]]) / 2, rtol=1e-7)


def test_bags_larger_than_the_survey_are_the_whole_survey() -> None:
    X, y = problem()
    bagged = BipartiteLogistic(n_bags=2, bag_size=10**6, random_state=1).fit(X, y).coef_
    np.testing.assert_allclose(bagged, BipartiteLogistic().fit(X, y).coef_, rtol=1e-7)


def test_the_seed_alone_decides() -> None:
    X, y = problem()
    coefs = [BipartiteLogistic(n_bags=3, bag_size=10, random_state=seed).fit(X, y).coef_ for seed in (5, 5, 6)]
    np.testing.assert_array_equal(coefs[0], coefs[1])
    assert not np.allclose(coefs[0], coefs[2])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scaling", ["none", "standard", "whiten"])
@pytest.mark.parametrize("loss", LOSSES)
def test_difficult_rows_give_finite_scores(loss: str, scaling: str, dtype: type) -> None:
    X, y = problem(3, 2, 6)
    X[:, 0] = 0.1
    X[y == 1] = X[y == 1][0] * 50
    X = X.astype(dtype)
    ranker = BipartiteLogistic(loss=loss, scaling=scaling, regularisation=1e-4).fit(X, y)
    assert ranker.converged_
    assert np.isfinite(ranker.decision_function(X)).all()


@pytest.mark.parametrize("loss", LOSSES)
def test_far_outliers_where_a_full_newton_step_is_too_long(loss: str) -> None:
    y = np.repeat([1, 0], [1, 59])
    for seed in range(20):
        X = np.random.default_rng(seed).standard_cauchy(size=(60, 3)) + y[:, None]
        assert BipartiteLogistic(loss=loss, regularisation=1e-3, scaling="none").fit(X, y).converged_


@pytest.mark.parametrize("seed", range(5))
def test_identical_unlabelled_rows_in_large_units(seed: int) -> None:
    X = np.random.default_rng(seed).normal(size=(55, 30)) * 1e6
    X[:5] += 3e6
    X[5:] = X[-1]
    ranker = BipartiteLogistic(loss="exponential", scaling="none", regularisation=1e-4).fit(X, np.arange(55) < 5)
    assert ranker.converged_
    assert np.isfinite(ranker.decision_function(X)).all()


def test_stopping_early_is_said() -> None:
    X, y = problem()
    with pytest.warns(ConvergenceWarning, match="Newton decrement"):
        stopped = BipartiteLogistic(regularisation=1e-3, max_iter=1).fit(X, y)
    assert not stopped.converged_
    assert stopped.n_iter_ == 1
    assert BipartiteLogistic(regularisation=1e-3).fit(X, y).gradient_norm_ < 1e-8 < stopped.gradient_norm_


@pytest.mark.parametrize(
    "parameters",
    [
        {"loss": "hinge"},
        {"regularisation": 0.0},
        {"regularisation": True},
        {"n_bags": True},
        {"scaling": "minmax"},
        {"n_bags": 0},
        {"bag_size": 2.5},
        {"tol": -1},
    ],
)
def test_wrong_parameters_are_named(parameters: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(parameters))):
        BipartiteLogistic(**parameters).fit(*problem())
