"""TopPush is exact, and says how exact."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.optimize import nnls
from sklearn.exceptions import ConvergenceWarning

from conftest import every
from rankers.push_reference import objective_at, optimum, random_problem
from rarespec.rankers.toppush.solve import SOLVED_WHOLE
from rarespec.rankers.toppush.top_push import TopPush

LOSSES = ["truncated-quadratic", "exponential", "logistic"]


def stacked(positives: np.ndarray, negatives: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.vstack([positives, negatives]), np.repeat([1, 0], [len(positives), len(negatives)])


def fitted(positives: np.ndarray, negatives: np.ndarray, lam: float, **parameters: object) -> TopPush:
    return TopPush(regularisation=lam, **parameters).fit(*stacked(positives, negatives))


@pytest.mark.parametrize("seed", every(4, range(60)))
def test_optimum_is_that_of_a_general_solver(seed: int) -> None:
    positives, negatives, lam = random_problem(seed)
    reference, _ = optimum(positives, negatives, lam, "truncated-quadratic")
    ours = fitted(positives, negatives, lam, tol=1e-8)
    value = objective_at(ours.coef_, positives, negatives, lam, "truncated-quadratic", 1)
    assert ours.converged_
    assert value == pytest.approx(reference, rel=1e-6, abs=1e-9)
    assert value == pytest.approx(ours.objective_, rel=1e-9)


@pytest.mark.parametrize("seed", every(4, range(0, 60, 6)))
@pytest.mark.parametrize("top_k", [1, 3])
@pytest.mark.parametrize("loss", LOSSES)
def test_every_loss_and_threshold_reaches_its_optimum(loss: str, top_k: int, seed: int) -> None:
    positives, negatives, lam = random_problem(seed)
    top_k = min(top_k, len(negatives))
    ours = fitted(positives, negatives, lam, loss=loss, top_k=top_k, tol=1e-8)
    reference, _ = optimum(positives, negatives, lam, loss, top_k)
    value = objective_at(ours.coef_, positives, negatives, lam, loss, top_k)
    assert ours.converged_
    assert value == pytest.approx(reference, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("seed", range(10))
def test_the_gap_bounds_the_distance_to_the_optimum(seed: int) -> None:
    positives, negatives, lam = random_problem(seed)
    exact = fitted(positives, negatives, lam, tol=1e-11)
    with pytest.warns(ConvergenceWarning):
        rough = fitted(positives, negatives, lam, tol=1e-11, max_iter=2)
    assert rough.objective_ - exact.objective_ <= rough.duality_gap_
    distance = np.linalg.norm(rough.coef_ - exact.coef_) / np.linalg.norm(rough.coef_)
    assert distance <= rough.weight_error_ + 1e-5


@pytest.mark.parametrize("seed", every(3, range(20)))
def test_conditions_of_karush_kuhn_and_tucker(seed: int) -> None:
    from rarespec.rankers.toppush.interior_point import solve
    from rarespec.rankers.toppush.problem import LOSSES, Objective

    positives, negatives, lam = random_problem(seed)
    solution = solve(positives[None], negatives[None], Objective(LOSSES["truncated-quadratic"], lam), 1e-12, 200)
    w, a, b = solution.weights[0], solution.a[0], solution.b[0]
    s_positive, s_negative = positives @ w, negatives @ w
    t = s_negative.max()
    np.testing.assert_allclose(a, 2 * np.maximum(0, 1 + t - s_positive), atol=1e-4 * a.max())
    assert a.sum() == pytest.approx(b.sum())
    np.testing.assert_allclose(lam * len(a) * w, a @ positives - b @ negatives, atol=1e-9 * max(1, np.abs(b).sum()))
    assert b @ (t - s_negative) <= 1e-5 * max(1, b.sum())  # only negatives at the threshold carry weight


def test_strong_regularisation_points_from_the_hull_of_the_negatives_to_the_mean_positive() -> None:
    rng = np.random.default_rng(0)
    positives, negatives = rng.normal(size=(4, 5)) + 2, rng.normal(size=(30, 5))
    ours = fitted(positives, negatives, 1e7, tol=1e-13)
    # nearest point of the hull: least squares with weights >= 0 that sum to one, by a heavy extra equation
    heavy = 1e5
    system = np.vstack([negatives.T, np.full(30, heavy)])
    shares, _ = nnls(system, np.append(positives.mean(axis=0), heavy))
    direction = positives.mean(axis=0) - shares @ negatives
    cosine = ours.coef_ @ direction / np.linalg.norm(ours.coef_) / np.linalg.norm(direction)
    assert cosine == pytest.approx(1, abs=1e-5)
    np.testing.assert_allclose(ours.coef_ * 1e7, 2 * direction, rtol=1e-3)  # a_i -> 2


@pytest.mark.parametrize("lam", [1e-3, 1.0, 1e3])
def test_one_positive_and_one_negative_have_a_closed_form(lam: float) -> None:
    positive, negative = np.array([[3.0, -1.0]]), np.array([[1.0, 0.5]])
    difference = (positive - negative)[0]
    # minimise lam/2 |w|^2 + (1 - w.difference)^2 along w = k difference
    k = 2 / (lam + 2 * difference @ difference)
    np.testing.assert_allclose(fitted(positive, negative, lam, tol=1e-12).coef_, k * difference, rtol=1e-6)


def test_invariant_to_order_shift_and_duplicated_negatives() -> None:
    rng = np.random.default_rng(1)
    positives, negatives = rng.normal(size=(6, 8)) + 1.5, rng.normal(size=(40, 8))
    reference = fitted(positives, negatives, 1.0, tol=1e-10).coef_
    rng = np.random.default_rng(1)
    shuffled = fitted(rng.permutation(positives), rng.permutation(negatives), 1.0, tol=1e-10).coef_
    shifted = fitted(positives + 5, negatives + 5, 1.0, tol=1e-10).coef_
    doubled = fitted(positives, np.repeat(negatives, 2, axis=0), 1.0, tol=1e-10).coef_
    doubled_positives = fitted(np.repeat(positives, 2, axis=0), negatives, 1.0, tol=1e-10).coef_
    for other in (shuffled, shifted, doubled, doubled_positives):
        np.testing.assert_allclose(other, reference, atol=1e-5 * np.abs(reference).max())


@pytest.mark.parametrize("top_k", [350, 1000, 2500])
def test_a_threshold_over_more_rows_than_the_working_set_starts_with(top_k: int) -> None:
    rng = np.random.default_rng(0)
    positives, negatives = rng.normal(size=(10, 5)) + 1, rng.normal(size=(5000, 5))
    ours = fitted(positives, negatives, 1.0, top_k=top_k)
    reference, _ = optimum(positives, negatives, 1.0, "truncated-quadratic", top_k)
    assert ours.converged_
    assert ours.objective_ == pytest.approx(reference, rel=1e-5)


@pytest.mark.parametrize("top_k", [1, 5])
def test_one_negative_whatever_the_threshold(top_k: int) -> None:
    rng = np.random.default_rng(0)
    positives, negatives = rng.normal(size=(5, 3)), rng.normal(size=(1, 3))
    ours = fitted(positives, negatives, 1.0, top_k=top_k, tol=1e-9)
    reference, _ = optimum(positives, negatives, 1.0, "truncated-quadratic")
    assert ours.converged_
    assert ours.objective_ == pytest.approx(reference, rel=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("lam", [1e-10, 1e-6, 1e6, 1e10])
def test_extreme_regularisation_converges_or_says_that_it_did_not(lam: float, loss: str) -> None:
    rng = np.random.default_rng(0)
    for _ in range(5):
        positives, negatives = rng.normal(size=(5, 5)) + rng.choice([0, 2]), rng.normal(size=(50, 5))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            ours = fitted(positives, negatives, lam, loss=loss)
        assert np.isfinite(ours.coef_).all()
        assert ours.duality_gap_ >= 0
        assert ours.converged_ == (ours.relative_gap_ <= 1e-6)
        assert ours.relative_gap_ < 1e-2


def test_published_scheme_gives_up_on_numbers_out_of_range() -> None:
    rng = np.random.default_rng(0)
    with pytest.warns(ConvergenceWarning), np.errstate(all="ignore"):
        fitted(1e160 * rng.normal(size=(3, 2)), 1e160 * rng.normal(size=(9, 2)), 1.0, solver="published")


def test_scale_of_the_features_and_regularisation_belong_together() -> None:
    positives, negatives, _ = random_problem(3)
    reference = fitted(positives, negatives, 1.0, tol=1e-10).coef_
    np.testing.assert_allclose(
        fitted(10 * positives, 10 * negatives, 100.0, tol=1e-10).coef_, reference / 10, rtol=1e-4
    )


def test_mean_of_all_negatives_as_threshold() -> None:
    positives, negatives, _ = random_problem(11)
    reference, _ = optimum(positives, negatives, 1.0, "truncated-quadratic", len(negatives))
    ours = fitted(positives, negatives, 1.0, top_k=10**6, tol=1e-9)
    assert ours.objective_ == pytest.approx(reference, rel=1e-6)


def test_more_features_than_rows() -> None:
    rng = np.random.default_rng(5)
    positives, negatives = rng.normal(size=(3, 400)) + 0.5, rng.normal(size=(20, 400))
    reference, weights = optimum(positives, negatives, 2.0, "truncated-quadratic")
    ours = fitted(positives, negatives, 2.0, tol=1e-10)
    assert ours.objective_ == pytest.approx(reference, rel=1e-6)
    np.testing.assert_allclose(ours.coef_, weights, atol=1e-5)


@pytest.mark.parametrize("scaling", ["none", "whiten"])
@pytest.mark.parametrize("top_k", [1, 5])
def test_many_rows_are_solved_on_a_few_and_certified_on_all(top_k: int, scaling: str) -> None:
    rng = np.random.default_rng(2)
    positives, negatives = rng.normal(size=(5, 6)) + 2, rng.normal(size=(SOLVED_WHOLE + 1500, 6)) * np.arange(1, 7)
    parameters = {"scaling": scaling, "tol": 1e-8, "top_k": top_k}
    ours = fitted(positives, negatives, 10.0, **parameters)
    assert ours.converged_
    if scaling == "none":
        value = objective_at(ours.coef_, positives, negatives, 10.0, "truncated-quadratic", top_k)
        reference, _ = optimum(positives, negatives, 10.0, "truncated-quadratic", top_k)
        assert value == pytest.approx(reference, rel=1e-6)
        assert value == pytest.approx(ours.objective_, rel=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_published_scheme_run_long_enough_finds_the_same_weights(seed: int) -> None:
    positives, negatives, _ = random_problem(seed)
    exact = fitted(positives, negatives, 1.0, tol=1e-10)
    published = fitted(positives, negatives, 1.0, solver="published", tol=1e-14, max_iter=30_000)
    assert published.objective_ == pytest.approx(exact.objective_, rel=1e-5)


def test_published_rule_stops_early_and_the_gap_says_so() -> None:
    rng = np.random.default_rng(0)
    positives, negatives = rng.normal(size=(10, 20)) + 0.7, rng.normal(size=(200, 20))
    published = fitted(positives, negatives, 0.01, solver="published")
    assert published.converged_ and published.n_iter_ >= 10
    assert published.relative_gap_ > 1e-3
    assert fitted(positives, negatives, 0.01).relative_gap_ <= 1e-6


def test_scaling_inside_gives_weights_on_the_features_as_given() -> None:
    rng = np.random.default_rng(4)
    X = rng.normal(size=(300, 4)) * [1, 10, 100, 1000]
    X[:5] += [2, 0, 0, 0]
    y = np.arange(300) < 5
    plain = TopPush(regularisation=1.0, scaling="standard", tol=1e-10).fit(X, y)
    spread = X[~y].std(axis=0)
    by_hand = TopPush(regularisation=1.0, tol=1e-10).fit(X / spread, y)
    np.testing.assert_allclose(plain.coef_, by_hand.coef_ / spread, rtol=1e-4, atol=1e-8)


def test_without_convergence_it_warns_and_says_so() -> None:
    positives, negatives, _ = random_problem(1)
    with pytest.warns(ConvergenceWarning, match="relative duality gap"):
        ranker = fitted(positives, negatives, 1e-3, max_iter=1)
    assert not ranker.converged_
    assert ranker.relative_gap_ > 1e-6


@pytest.mark.parametrize(
    ("parameters", "named"),
    [
        ({"regularisation": 0}, "regularisation=0"),
        ({"loss": "hinge"}, "loss='hinge'"),
        ({"top_k": 0}, "top_k=0"),
        ({"solver": "magic"}, "solver='magic'"),
        ({"tol": -1.0}, "tol=-1.0"),
        ({"max_iter": 0}, "max_iter=0"),
        ({"scaling": "log"}, "scaling='log'"),
        ({"solver": "published", "loss": "logistic"}, "published"),
    ],
)
def test_wrong_parameters_are_named(parameters: dict, named: str) -> None:
    with pytest.raises(ValueError, match=named):
        TopPush(**parameters).fit([[0.0], [1.0]], [1, 0])
