"""OCSVM: scikit-learn's decision function, in an order that also holds far away."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import OneClassSVM

from rarespec.rankers.svm import kernel as _kernel
from rarespec.rankers.svm import ocsvm
from rarespec.rankers.svm.ocsvm import OCSVM


def known_then_unlabelled(rng, n_known, n_unlabelled, n_features):
    X = rng.normal(size=(n_known + n_unlabelled, n_features))
    X[:n_known] += 2.0
    return X, np.arange(len(X)) < n_known


def has_one_boundary(nu, n_known):
    """Where nu m is whole all weights can be 0 or 1, and the boundary may lie anywhere in a gap."""
    return abs(nu * n_known - round(nu * n_known)) > 1e-6


@given(st.integers(0, 10**6), st.integers(1, 40), st.floats(0.05, 0.99), st.floats(0.05, 2.0))
def test_rbf_score_is_the_logarithm_of_scikit_learns(seed, n_known, nu, gamma):
    assume(has_one_boundary(nu, n_known))
    X, known = known_then_unlabelled(np.random.default_rng(seed), n_known, 50, 4)
    ranker = OCSVM(nu=nu, gamma=gamma).fit(X, known)
    reference = OneClassSVM(nu=nu, gamma=gamma, tol=1e-9).fit(X[known])
    assert np.allclose(
        ranker.offset_ * np.expm1(ranker.decision_function(X)), reference.decision_function(X), atol=2e-5
    )


@given(st.integers(0, 10**6), st.integers(1, 40), st.floats(0.05, 0.99), st.sampled_from([1e-3, 1.0, 1e3]))
def test_linear_score_is_scikit_learns(seed, n_known, nu, unit):
    assume(has_one_boundary(nu, n_known))
    X, known = known_then_unlabelled(np.random.default_rng(seed), n_known, 50, 4)
    ranker = OCSVM(kernel="linear", nu=nu).fit(unit * X, known)
    reference = OneClassSVM(kernel="linear", nu=nu, tol=1e-9).fit(X[known])
    # a kernel in other units: libsvm's own tolerance would not follow
    scores = ranker.decision_function(unit * X) / unit**2
    assert np.allclose(scores, reference.decision_function(X), atol=1e-4 * np.abs(scores).max())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("nu", [0.1, 0.5, 1.0])
def test_with_one_known_rbf_ranks_by_distance_however_far(dtype, nu):
    rng = np.random.default_rng(1)
    X = (rng.normal(size=(500, 6)) * np.logspace(-3, 5, 500)[:, None] + 10.0).astype(dtype)
    known = np.arange(500) == 7
    ranker = OCSVM(nu=nu).fit(X, known)
    distances = np.linalg.norm(X.astype(np.float64) - X[7].astype(np.float64), axis=1)
    assert np.array_equal(ranker.rank(X), np.argsort(distances, kind="stable"))
    assert np.isfinite(ranker.decision_function(X)).all()


def test_far_rows_keep_their_order_with_many_known():
    X, known = known_then_unlabelled(np.random.default_rng(2), 20, 30, 3)
    ranker = OCSVM(gamma=1.0).fit(X, known)
    along_a_ray = X[known].mean(axis=0) + np.linspace(50, 5000, 200)[:, None]
    assert (np.diff(ranker.decision_function(along_a_ray)) < 0).all()
    assert np.ptp(OneClassSVM(gamma=1.0).fit(X[known]).decision_function(along_a_ray)) == 0  # the trap avoided


def test_with_one_known_linear_ranks_by_the_inner_product():
    X, known = known_then_unlabelled(np.random.default_rng(3), 1, 80, 5)
    assert np.array_equal(OCSVM(kernel="linear").fit(X, known).rank(X), np.argsort(-(X @ X[0]), kind="stable"))


def test_scale_gamma_is_taken_over_all_rows_and_ignores_an_offset():
    X, known = known_then_unlabelled(np.random.default_rng(4), 1, 99, 5)
    expected = 1.0 / X.var(axis=0).sum()
    assert OCSVM().fit(X, known).gamma_ == pytest.approx(expected, rel=1e-12)
    assert OCSVM().fit(X + 1000.0, known).gamma_ == pytest.approx(expected, rel=1e-9)
    assert OCSVM().fit(np.ones((5, 2)), [1, 0, 0, 0, 0]).gamma_ == 1.0


def test_an_offset_of_all_rows_changes_no_rbf_score():
    X, known = known_then_unlabelled(np.random.default_rng(5), 12, 200, 5)
    scores = OCSVM(gamma=0.5).fit(X, known).decision_function(X)
    assert np.allclose(OCSVM(gamma=0.5).fit(X + 1e6, known).decision_function(X + 1e6), scores, atol=1e-6)


def test_blocks_change_nothing(monkeypatch):
    X, known = known_then_unlabelled(np.random.default_rng(6), 12, 200, 5)
    ranker = OCSVM().fit(X, known)
    scores = ranker.decision_function(X)
    monkeypatch.setattr(_kernel, "BLOCK_VALUES", 100)
    assert np.allclose(ranker.decision_function(X), scores, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("rows", [np.zeros((9, 3)), np.ones((9, 3)), np.eye(9)[:, [0, 0, 0]]])
def test_identical_rows_have_finite_scores(kernel, rows):
    assert np.isfinite(OCSVM(kernel=kernel).fit(rows, np.arange(9) < 4).decision_function(rows)).all()


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("nu", [1e-6, 1e-10, 1e-14])
def test_a_tiny_nu_is_as_good_as_one_that_lets_none_outside(kernel, nu):
    X, known = known_then_unlabelled(np.random.default_rng(8), 10, 50, 3)
    tiny, small = (OCSVM(kernel, nu=value).fit(X, known) for value in (nu, 0.09))
    unit = 1.0 if kernel == "rbf" else nu / 0.09
    assert np.allclose(tiny.decision_function(X) / unit, small.decision_function(X))
    assert tiny.dual_coef_.sum() == pytest.approx(10 * nu)


def test_too_many_steps_end_with_a_warning(monkeypatch):
    monkeypatch.setattr(ocsvm, "MAX_STEPS", 10)
    X, known = known_then_unlabelled(np.random.default_rng(7), 300, 5, 3)
    with pytest.warns(ConvergenceWarning, match="stopped after 10 steps") as heard:
        ranker = OCSVM(kernel="linear", nu=0.1).fit(X - X[known].mean(axis=0), known)
    assert not ranker.converged_ and len(heard) == 1 and heard[0].filename == __file__
    assert np.isfinite(ranker.decision_function(X)).all()


@pytest.mark.parametrize(
    "wrong",
    [{"kernel": "poly"}, {"nu": 0.0}, {"nu": 1.5}, {"nu": True}, {"gamma": -1.0}, {"gamma": "auto"}, {"gamma": np.inf}],
)
def test_a_wrong_parameter_is_named_with_its_value(wrong):
    [(name, value)] = wrong.items()
    with pytest.raises(ValueError, match=rf"OCSVM: {name}={value!r}, but it must be"):
        OCSVM(**wrong).fit(np.eye(4), [1, 0, 0, 0])
