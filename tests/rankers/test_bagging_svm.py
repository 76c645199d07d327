"""BaggingSVM: the mean of its machines, with no machine heard about the rows that it was shown as negatives."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from rarespec.rankers.bags import draw_bags
from rarespec.rankers.svm import bagging_svm
from rarespec.rankers.svm.bagging_svm import BaggingSVM


def survey(n_known=6, n_unlabelled=40, n_features=5, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_known + n_unlabelled, n_features)) + 5.0
    X[:n_known, 0] += 2.0
    return X.astype(dtype), np.arange(len(X)) < n_known


def literal(X, known, bags, kernel, C, gamma):
    """Values of every machine for every row, (n, n_bags), and their mean over the bags that a row is not in."""
    X = X.astype(np.float64)
    unit = np.sqrt(X.var(axis=0).sum())
    Z, values = (X - X.mean(axis=0)) / unit, []
    for bag in bags:
        rows = np.concatenate([np.flatnonzero(known), bag])
        machine = SVC(kernel=kernel, C=C, gamma=gamma * unit**2, class_weight="balanced", tol=1e-7)
        values.append(machine.fit(Z[rows], known[rows]).decision_function(Z))
    values = np.array(values).T
    out_of_bag = np.empty(len(X))
    for i in range(len(X)):
        heard = [t for t in range(len(bags)) if i not in bags[t]] or range(len(bags))
        out_of_bag[i] = np.mean([values[i, t] for t in heard])
    return values, out_of_bag


@given(
    st.integers(0, 10**6),
    st.integers(1, 8),
    st.sampled_from([None, 1, 7, 20, 1000]),
    st.sampled_from(["linear", "rbf"]),
    st.sampled_from([np.float32, np.float64]),
)
def test_scores_are_those_of_a_literal_loop(seed, n_known, bag_size, kernel, dtype):
    X, known = survey(n_known, 30, seed=seed, dtype=dtype)
    ranker = BaggingSVM(kernel=kernel, C=10.0, n_bags=7, bag_size=bag_size, gamma=0.1, random_state=seed)
    scores = ranker.fit(X, known).decision_function(X)
    bags = draw_bags(known, 7, bag_size or n_known, seed)
    values, out_of_bag = literal(X, known, bags, kernel, 10.0, 0.1)
    tolerance = 1e-3 * max(1.0, np.abs(values).max())
    assert np.allclose(scores, out_of_bag, atol=tolerance)
    assert np.allclose(ranker.decision_function(X[::-1]), values.mean(axis=1)[::-1], atol=tolerance)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_out_of_bag_scores_are_for_the_fitted_matrix_alone(kernel):
    X, known = survey(dtype=np.float32)
    ranker = BaggingSVM(kernel=kernel, random_state=0).fit(X, known)
    for same in (X, X.astype(np.float64), np.asfortranarray(X), X.copy()):
        assert np.array_equal(ranker.decision_function(same), ranker.scores_)
    changed = X.copy()
    changed[-1, -1] += 1e-6 * abs(changed[-1, -1])
    assert not np.allclose(ranker.decision_function(changed), ranker.scores_)
    assert np.allclose(ranker.decision_function(changed)[:9], ranker.decision_function(X[:9]))


def test_the_scores_that_are_kept_cannot_be_changed_from_outside():
    X, known = survey()
    ranker = BaggingSVM(random_state=0).fit(X, known)
    ranker.decision_function(X)[:] = 0.0
    assert ranker.scores_.any()


def test_minus_zero_is_zero():
    X, known = survey()
    X[3, 2] = 0.0
    ranker = BaggingSVM(random_state=0).fit(X, known)
    X[3, 2] = -0.0
    assert np.array_equal(ranker.decision_function(X), ranker.scores_)


def test_fewer_unlabelled_rows_than_a_bag_falls_back_to_the_plain_mean():
    X, known = survey(n_known=10, n_unlabelled=4)
    ranker = BaggingSVM(random_state=0).fit(X, known)
    assert np.allclose(ranker.scores_, X @ ranker.coef_ + ranker.intercept_)


def test_hidden_examples_that_were_drawn_score_higher_out_of_bag():
    X, known = survey(n_unlabelled=60)
    X[6:16, 0] += 2.0
    ranker = BaggingSVM(n_bags=20, bag_size=30, random_state=0).fit(X, known)
    plain = X @ ranker.coef_ + ranker.intercept_
    assert np.array_equal(ranker.scores_[known], plain[known])
    assert np.mean(ranker.scores_[6:16] > plain[6:16]) >= 0.8


def test_the_seed_alone_decides():
    X, known = survey()
    first = BaggingSVM(random_state=1).fit(X, known).scores_
    assert np.array_equal(BaggingSVM(random_state=1).fit(X, known).scores_, first)
    assert np.array_equal(BaggingSVM(random_state=np.random.RandomState(1)).fit(X, known).scores_, first)
    assert not np.array_equal(BaggingSVM(random_state=2).fit(X, known).scores_, first)


def test_units_of_x_do_not_matter():
    X, known = survey()
    scores = BaggingSVM(random_state=0).fit(X, known).scores_
    assert np.allclose(BaggingSVM(random_state=0).fit(1e4 * X - 7.0, known).scores_, scores, atol=1e-5)


def test_balanced_weights_matter_where_bags_are_larger_than_the_known():
    X, known = survey(n_known=3)
    X[:3] = X[10:13]  # known that cannot be told apart from unlabelled rows
    for bag_size, same in ((None, True), (30, False)):
        balanced, plain = (
            BaggingSVM(C=1.0, class_weight=weight, bag_size=bag_size, random_state=0).fit(X, known).scores_
            for weight in ("balanced", None)
        )
        assert np.allclose(balanced, plain) is same


def test_tied_rows_of_both_kinds_end_in_time_with_one_warning(monkeypatch):
    monkeypatch.setattr(bagging_svm, "MAX_STEPS", 2000)  # without a limit, libsvm takes 10^7
    X = np.round(np.random.default_rng(3).normal(size=(60, 2)))
    ranker = BaggingSVM(C=np.exp(8), n_bags=3, random_state=0)
    with pytest.warns(ConvergenceWarning, match="after 2000 steps in [123] of 3 machines") as heard:
        ranker.fit(X, np.arange(60) < 10)
    assert len(heard) == 1 and heard[0].filename == __file__
    assert not ranker.converged_ and np.isfinite(ranker.scores_).all()
    assert ranker.set_params(C=1.0).fit(X, np.arange(60) < 10).converged_


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("n_known", [1, 6])
@pytest.mark.parametrize("rows", [np.zeros((9, 3)), np.ones((9, 3), np.float32), np.eye(9)[:, [0, 0, 0]]])
def test_identical_rows_have_finite_scores(kernel, n_known, rows):
    ranker = BaggingSVM(kernel=kernel, random_state=0).fit(rows, np.arange(9) < n_known)
    assert np.isfinite(ranker.decision_function(rows)).all()
    assert np.isfinite(ranker.decision_function(rows[:4])).all()


@pytest.mark.parametrize(
    "wrong",
    [
        {"kernel": "poly"},
        {"C": 0.0},
        {"n_bags": 0},
        {"n_bags": True},
        {"C": True},
        {"bag_size": 0},
        {"bag_size": 2.5},
        {"class_weight": "equal"},
        {"gamma": 0},
    ],
)
def test_a_wrong_parameter_is_named_with_its_value(wrong):
    [(name, value)] = wrong.items()
    with pytest.raises(ValueError, match=rf"BaggingSVM: {name}={value!r}, but it must be"):
        BaggingSVM(**wrong).fit(np.eye(4), [1, 0, 0, 0])
