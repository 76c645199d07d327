"""SVDD: the optimum of its programme, its geometry, and where it agrees with OCSVM and where not."""

import cvxpy as cp
import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from conftest import every
from rarespec.rankers.svm.kernel import Kernel
from rarespec.rankers.svm.ocsvm import OCSVM
from rarespec.rankers.svm.svdd import SVDD, solve_svdd


def problem(seed, n_known=None, n_unlabelled=60):
    """Random sizes and shapes, with duplicates among the known in every third case."""
    rng = np.random.default_rng(seed)
    n_known = n_known or int(rng.integers(1, 40))
    X = rng.normal(size=(n_known + n_unlabelled, int(rng.integers(1, 8)))) * rng.uniform(0.1, 10) + rng.normal()
    if seed % 3 == 0:
        X[: n_known // 2] = X[n_known - n_known // 2 : n_known]
    return X, np.arange(len(X)) < n_known, float(rng.uniform(0.02, 1.0))


def optimum(gram, upper):
    """By a general solver for convex programmes, on a square root of the kernel matrix."""
    values, vectors = np.linalg.eigh(gram)
    root = vectors * np.sqrt(np.maximum(values, 0))
    a = cp.Variable(len(gram))
    objective = cp.Maximize(np.diag(gram) @ a - cp.sum_squares(root.T @ a))
    cp.Problem(objective, [cp.sum(a) == 1, a >= 0, a <= upper]).solve(solver=cp.CLARABEL)
    return np.diag(gram) @ a.value - a.value @ gram @ a.value


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
@pytest.mark.parametrize("seed", every(4, range(20)))
def test_the_optimum_is_that_of_a_general_solver(kernel, seed):
    X, known, nu = problem(seed)
    ranker = SVDD(kernel=kernel, nu=nu).fit(X, known)
    rows = X[known] - (X[known].mean(axis=0) if kernel == "linear" else 0.0)
    gram = Kernel(kernel, ranker.gamma_ or 1.0).between(rows, rows)
    expected = optimum(gram, 1.0 / (nu * known.sum()))
    assert ranker.converged_
    assert ranker.objective_ == pytest.approx(expected, rel=1e-6, abs=1e-6 * np.diag(gram).max())


@pytest.mark.parametrize("m, nu", [(2, 0.5), (30, 0.03), (300, 0.1), (300, 1.0), (1000, 0.3)])
@pytest.mark.parametrize("rank", [2, 50])
def test_weights_are_feasible_and_satisfy_kkt(m, nu, rank):
    rows = np.random.default_rng(m).normal(size=(m, rank))
    gram, upper = rows @ rows.T, 1.0 / (nu * m)
    solution = solve_svdd(gram, upper, tol=1e-8, max_iter=10**6)
    a = solution.weights
    assert solution.converged
    assert a.sum() == pytest.approx(1.0, abs=1e-12)
    assert (a >= 0).all() and (a <= upper).all()
    distances = np.square(rows - a @ rows).sum(axis=1)
    inside, outside = a < upper * (1 - 1e-12), a > 0
    if inside.any():
        assert distances[inside].max() <= distances[outside].min() + 1e-6 * np.square(rows).sum(axis=1).mean()


@pytest.mark.parametrize("seed", range(4))
def test_a_kernel_matrix_that_is_singular_by_rounding(seed):
    X = (np.random.default_rng(seed).normal(size=(6, 30)) + 1000).astype(np.float32)
    ranker = SVDD(kernel="poly").fit(X, np.arange(6) < 5)
    assert ranker.converged_ and np.isfinite(ranker.decision_function(X)).all()


def test_too_few_steps_are_reported():
    X, known, _ = problem(1, n_known=200)
    with pytest.warns(ConvergenceWarning, match=r"KKT violation of .* above tol=1e-08") as heard:
        ranker = SVDD(kernel="linear", nu=0.1, max_iter=3).fit(X, known)
    assert heard[0].filename == __file__
    assert not ranker.converged_ and ranker.kkt_violation_ > ranker.tol and ranker.n_iter_ <= 3 + 5


@pytest.mark.parametrize("seed", every(4, range(12)))
def test_rbf_ranks_as_ocsvm_but_for_rounding(seed):
    X, known, nu = problem(seed)
    svdd, ocsvm = SVDD(nu=nu).fit(X, known), OCSVM(nu=nu).fit(X, known)
    scores, others = svdd.decision_function(X), ocsvm.decision_function(X)
    # libsvm's kernel has single precision: rows closer than that have no order to compare
    assert np.allclose(scores, others, atol=5e-5)
    ahead = scores[:, None] - scores > 1e-4
    assert ahead.any() or known.sum() == len(X)
    assert (others[:, None] > others)[ahead].all()


def test_linear_does_not_rank_as_ocsvm():
    X, known, _ = problem(4, n_known=10)
    svdd, ocsvm = SVDD(kernel="linear").fit(X, known), OCSVM(kernel="linear").fit(X, known)
    assert not np.array_equal(svdd.rank(X), ocsvm.rank(X))


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_with_one_known_it_ranks_by_distance(kernel):
    X, known, _ = problem(5, n_known=1)
    X[-20:] *= 1e4
    order = np.argsort(np.linalg.norm(X - X[0], axis=1), kind="stable")
    assert np.array_equal(SVDD(kernel=kernel).fit(X, known).rank(X), order)


def test_linear_is_the_minimum_enclosing_ball():
    corners = np.array([[0.0, 0.0], [4.0, 0.0], [4.0, 2.0], [0.0, 2.0], [2.0, 1.5], [9.0, 9.0]]) + 100.0
    ball = SVDD(kernel="linear", nu=0.1).fit(corners, [1, 1, 1, 1, 1, 0])
    assert np.allclose(ball.centre_, [102.0, 101.0])
    assert ball.squared_radius_ == pytest.approx(5.0)
    assert np.allclose(ball.decision_function(corners), [0.0, 0.0, 0.0, 0.0, 4.75, 5.0 - 49.0 - 64.0])


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
def test_scores_are_positive_inside_and_at_most_nu_is_outside(kernel):
    X, known, _ = problem(7, n_known=200)
    for nu in (0.05, 0.3):
        scores = SVDD(kernel=kernel, nu=nu).fit(X, known).decision_function(X[known])
        scale = np.abs(scores).max()
        assert np.mean(scores < -1e-6 * scale) <= nu
        assert np.mean(scores <= 1e-6 * scale) >= nu


def test_poly_scores_are_distances_in_the_explicit_feature_space():
    X, known, nu = problem(8, n_known=15)
    X = X[:, :1]
    ranker = SVDD(kernel="poly", degree=2, gamma=0.5, coef0=1.0, nu=nu).fit(X, known)
    features = np.column_stack([0.5 * X**2, X, np.ones(len(X))])  # (x z / 2 + 1)^2
    ball = SVDD(kernel="linear", nu=nu).fit(features, known)
    assert np.allclose(
        ranker.decision_function(X), ball.decision_function(features), atol=1e-6 * np.square(features).max()
    )


def test_order_and_number_of_copies_of_the_known_do_not_matter():
    X, known, nu = problem(10, n_known=12)
    ranker = SVDD(nu=nu, gamma=0.1).fit(X, known)
    order = np.random.default_rng(0).permutation(len(X))
    shuffled = SVDD(nu=nu, gamma=0.1).fit(X[order], known[order])
    doubled = SVDD(nu=nu, gamma=0.1).fit(np.vstack([X, X[known]]), np.append(known, np.ones(12, dtype=bool)))
    for other in (shuffled, doubled):
        assert np.allclose(other.decision_function(X), ranker.decision_function(X), atol=1e-6)


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
@pytest.mark.parametrize("rows", [np.zeros((9, 3)), np.ones((9, 3)), np.eye(9)[:, [0, 0, 0]]])
def test_identical_rows_have_finite_scores(kernel, rows):
    ranker = SVDD(kernel=kernel).fit(rows, np.arange(9) < 4)
    assert ranker.converged_ and np.isfinite(ranker.decision_function(rows)).all()


@pytest.mark.parametrize(
    "wrong",
    [
        {"kernel": "cosine"},
        {"nu": 2},
        {"gamma": 0},
        {"degree": 0},
        {"coef0": -1},
        {"coef0": np.inf},
        {"tol": 0},
        {"max_iter": 0},
    ],
)
def test_a_wrong_parameter_is_named_with_its_value(wrong):
    [(name, value)] = wrong.items()
    with pytest.raises(ValueError, match=rf"SVDD: {name}={value!r}, but it must be"):
        SVDD(**wrong).fit(np.eye(4), [1, 0, 0, 0])


@pytest.mark.exhaustive
@pytest.mark.parametrize("gamma", [None, 1e-3, 1.0])
def test_thousands_of_known_examples_converge(gamma):
    rows = np.random.default_rng(0).normal(size=(3000, 20))
    gram = Kernel("linear" if gamma is None else "rbf", gamma or 1.0).between(rows, rows)
    assert solve_svdd(gram, 1.0 / (0.1 * 3000), tol=1e-8, max_iter=10**6).converged
