"""BiasedSVM: the optimum of its loss, and costs chosen by the published criterion on rows not seen."""

from functools import partial

import cvxpy as cp
import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC
from threadpoolctl import threadpool_info, threadpool_limits

from conftest import every
from rarespec.rankers import ranker as linear
from rarespec.rankers.svm import biased_svm
from rarespec.rankers.svm import squared_hinge as _squared_hinge
from rarespec.rankers.svm.biased_svm import BiasedSVM
from rarespec.rankers.svm.kernel import Scaling
from rarespec.rankers.svm.squared_hinge import fit_squared_hinge


def survey(n_known=8, n_hidden=20, n_common=400, n_features=6, seed=0):
    """The rare class is shifted along one axis; the first rows are the known ones, the hidden ones follow."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_known + n_hidden + n_common, n_features)) * np.linspace(3, 0.5, n_features)
    X[: n_known + n_hidden, -1] += 3.0
    return X, np.arange(len(X)) < n_known


def objective(coef, intercept, X, signs, costs):
    shortfall = np.maximum(1.0 - signs * (X @ coef + intercept), 0.0)
    return coef @ coef / 2.0 + costs @ shortfall**2


@pytest.mark.parametrize("seed", every(3, range(10)))
def test_the_newton_steps_reach_the_optimum_of_a_general_solver(seed):
    rng = np.random.default_rng(seed)
    X, known = survey(n_known=int(rng.integers(1, 10)), n_hidden=5, n_common=80, seed=seed)
    signs, costs = np.where(known, 1.0, -1.0), np.where(known, 10.0, 0.1) * 10 ** rng.uniform(-1, 1)
    scaling = Scaling.of(X)
    machine = fit_squared_hinge(X, signs, costs, scaling)
    Z = scaling.scale(X)
    w, b = cp.Variable(X.shape[1]), cp.Variable()
    shortfall = cp.multiply(np.sqrt(costs), cp.pos(1 - cp.multiply(signs, Z @ w + b)))
    cp.Problem(cp.Minimize(cp.sum_squares(w) / 2 + cp.sum_squares(shortfall))).solve(solver=cp.CLARABEL)
    scaled_coef = machine.coef * scaling.unit
    ours = objective(scaled_coef, machine.intercept + machine.coef @ scaling.centre, Z, signs, costs)
    assert machine.converged
    assert ours == pytest.approx(objective(w.value, b.value, Z, signs, costs), rel=1e-6)
    assert np.allclose(scaled_coef, w.value, atol=1e-4 * np.abs(w.value).max())


def test_rows_of_cost_zero_are_as_good_as_absent():
    X, known = survey()
    signs, costs, scaling = np.where(known, 1.0, -1.0), np.where(known, 50.0, 0.1), Scaling.of(X)
    used = np.random.default_rng(0).random(len(X)) < 0.7
    masked = fit_squared_hinge(X, signs, np.where(used, costs, 0.0), scaling)
    absent = fit_squared_hinge(X[used], signs[used], costs[used], scaling)
    assert np.allclose(masked.coef, absent.coef, rtol=1e-8)


def test_blocks_change_nothing(monkeypatch):
    X, known = survey()
    whole = BiasedSVM(random_state=0).fit(X, known)
    for module in (_squared_hinge, linear):
        monkeypatch.setattr(module, "BLOCK_ROWS", 17)
    blocks = BiasedSVM(random_state=0).fit(X, known)
    assert np.allclose(blocks.coef_, whole.coef_, rtol=1e-8)
    assert np.allclose(blocks.decision_function(X), whole.decision_function(X), rtol=1e-8)


def test_the_pair_with_the_largest_criterion_is_used():
    X, known = survey()
    ranker = BiasedSVM(random_state=0).fit(X, known)
    plus, minus, recall, share, criterion = ranker.criterion_.T
    assert np.allclose(criterion, np.divide(recall**2, share, out=np.zeros_like(share), where=share > 0))
    assert len(np.unique(criterion)) > 1
    best = criterion.argmax()
    assert (ranker.C_plus_, ranker.C_minus_) == (plus[best], minus[best])
    assert (plus >= 10 * minus * (1 - 1e-12)).all()
    assert len(np.unique(ranker.criterion_[:, :2], axis=0)) == len(ranker.criterion_)


def test_recall_and_share_are_those_of_rows_held_out():
    """Literally: each fold by a machine on the other folds."""
    X, known = survey(n_known=11)
    table = BiasedSVM(random_state=3).fit(X, known).criterion_
    random = np.random.RandomState(3)
    random.choice(np.flatnonzero(~known), (~known).sum(), replace=False)
    folds = biased_svm._folds(known, random)
    assert np.ptp(np.bincount(folds[known])) <= 1 and np.ptp(np.bincount(folds[~known])) <= 1
    for plus, minus, recall, share, _ in table:
        called = np.zeros(len(X), dtype=bool)
        for fold in range(5):
            seen = folds != fold
            costs = np.where(known, plus, minus)[seen]
            machine = fit_squared_hinge(X[seen], np.where(known, 1.0, -1.0)[seen], costs, Scaling.of(X))
            called[~seen] = X[~seen] @ machine.coef + machine.intercept > 0
        assert recall == called[known].mean() and share == pytest.approx(called.mean())


class Oracle:
    """In place of a trainer: calls the rows > 0 positive, and keeps the total cost of the others for each machine."""

    def __init__(self):
        self.totals = []

    def train(self, X, known, costs):
        self.totals.append(costs[~known].sum())
        return self

    def values(self, X):
        return X[:, 0]


def test_a_part_of_the_unlabelled_stands_for_all():
    known = np.arange(4010) < 10
    X, oracle = np.where(known, 1.0, -1.0)[:, None], Oracle()
    [entry] = biased_svm._criterion_table(oracle, X, known, [(5.0, 0.2)], 500, 0)
    assert np.allclose(entry, [5.0, 0.2, 1.0, 10 / 4010, 401.0])
    assert np.allclose(oracle.totals, 0.2 * 4000 * 4 / 5)  # four of five folds


@pytest.mark.parametrize("n_known", [1, 4])
def test_with_few_known_the_documented_costs_are_used(n_known):
    X, known = survey(n_known)
    ranker = BiasedSVM().fit(X, known)
    assert ranker.criterion_.shape == (0, 5)
    assert ranker.C_minus_ == 0.05
    assert ranker.C_plus_ == pytest.approx(0.05 * max(10.0, 0.1 * (~known).sum() / n_known))


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("n_unlabelled", [1, 2, 4])
def test_with_few_unlabelled_rows_the_documented_costs_are_used(kernel, n_unlabelled):
    X, known = survey(5, 0, n_unlabelled)
    ranker = BiasedSVM(kernel=kernel).fit(X, known)
    assert ranker.criterion_.shape == (0, 5) and (ranker.C_plus_, ranker.C_minus_) == (0.5, 0.05)
    assert np.isfinite(ranker.decision_function(X)).all()


def test_too_few_steps_are_reported(monkeypatch):
    monkeypatch.setattr(biased_svm, "fit_squared_hinge", partial(fit_squared_hinge, max_iter=1))
    X, known = survey(3)
    with pytest.warns(ConvergenceWarning, match="stopped after 1 steps") as heard:
        ranker = BiasedSVM().fit(X, known)
    assert not ranker.converged_ and len(heard) == 1 and heard[0].filename == __file__


def test_one_thread_is_used_for_small_matrices(monkeypatch):
    n_threads = []

    def noted(*arguments, **named):
        n_threads.extend(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")
        return fit_squared_hinge(*arguments, **named)

    monkeypatch.setattr(biased_svm, "fit_squared_hinge", noted)
    with threadpool_limits(2, user_api="blas"):
        BiasedSVM(random_state=0).fit(*survey())
    assert len(n_threads) > 1 and set(n_threads) == {1}


def test_costs_that_are_given_are_kept():
    X, known = survey()
    both = BiasedSVM(C_plus=7.0, C_minus=0.3).fit(X, known)
    assert (both.C_plus_, both.C_minus_, len(both.criterion_)) == (7.0, 0.3, 0)
    assert (BiasedSVM(C_plus=7.0, random_state=0).fit(X, known).criterion_[:, 0] == 7.0).all()
    assert (BiasedSVM(C_minus=0.3, random_state=0).fit(X, known).criterion_[:, 1] == 0.3).all()


def test_units_and_offset_of_x_do_not_matter():
    X, known = survey()
    ranker = BiasedSVM(random_state=0).fit(X, known)
    other = BiasedSVM(random_state=0).fit(1000.0 * X + 500.0, known)
    assert np.allclose(other.decision_function(1000.0 * X + 500.0), ranker.decision_function(X), atol=1e-6)
    assert np.allclose(X @ ranker.coef_ + ranker.intercept_, ranker.decision_function(X))


def test_the_seed_alone_decides():
    X, known = survey()
    ranker = BiasedSVM(selection_size=200, random_state=5)
    first = ranker.fit(X, known).criterion_
    assert np.array_equal(ranker.fit(X, known).criterion_, first)
    assert not np.array_equal(ranker.set_params(random_state=6).fit(X, known).criterion_, first)


def test_hidden_examples_come_first():
    X, known = survey(n_known=20, n_common=2000)
    order = BiasedSVM(random_state=0).fit(X, known).rank(X)
    unlabelled_first = order[~known[order]][:20]
    assert np.mean(unlabelled_first < 40) > 0.6  # 20 hidden rows of 2020; by chance 0.01


def test_rbf_is_scikit_learns_machine():
    X, known = survey()
    ranker = BiasedSVM(kernel="rbf", gamma=0.05, C_plus=20.0, C_minus=0.2).fit(X, known)
    reference = SVC(gamma=0.05, C=1.0, class_weight={True: 20.0, False: 0.2}).fit(X, known)
    assert np.allclose(ranker.decision_function(X), reference.decision_function(X), atol=5e-3)
    assert ranker.coef_ is None and np.isfinite(ranker.decision_function(1e6 * X)).all()


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("n_known", [1, 6])
@pytest.mark.parametrize("rows", [np.zeros((9, 3)), np.ones((9, 3), np.float32), np.eye(9)[:, [0, 0, 0]]])
def test_identical_rows_have_finite_scores(kernel, n_known, rows):
    ranker = BiasedSVM(kernel=kernel, random_state=0).fit(rows, np.arange(9) < n_known)
    assert np.isfinite(ranker.decision_function(rows)).all()


@pytest.mark.parametrize(
    "wrong",
    [{"kernel": "poly"}, {"C_plus": 0.0}, {"C_plus": True}, {"C_minus": -1}, {"gamma": "auto"}, {"selection_size": 3}],
)
def test_a_wrong_parameter_is_named_with_its_value(wrong):
    [(name, value)] = wrong.items()
    with pytest.raises(ValueError, match=rf"BiasedSVM: {name}={value!r}, but it must be"):
        BiasedSVM(**wrong).fit(np.eye(4), [1, 0, 0, 0])


def test_rbf_refuses_more_rows_than_it_can_take():
    with pytest.raises(ValueError, match="linear for more than 10000 rows, and X has 10001"):
        BiasedSVM(kernel="rbf").fit(np.zeros((10_001, 1)), np.arange(10_001) == 0)
