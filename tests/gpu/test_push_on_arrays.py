"""TopPush on arrays of any library: the optimum of the CPU, within the certified gap."""

import numpy as np
import pytest

from gpu import made_up
from rarespec.rankers import BaggingTopPush, Kept
from rarespec.rankers.toppush import arrays as _push_arrays
from rarespec.rankers.toppush.interior_point import solve
from rarespec.rankers.toppush.problem import LOSSES, Objective

TOL = 1e-6


def bags(n_bags=4, m=6, n=80, d=12, seed=0):
    rng = np.random.default_rng(seed)
    spread = np.geomspace(5, 0.2, d)
    return rng.normal(1, 1, (n_bags, m, d)) * spread, rng.normal(0, 1, (n_bags, n, d)) * spread


def marked(n=1500, n_known=8):
    X, y = made_up.features(n), np.zeros(n, int)
    y[:n_known] = 1
    X[:n_known] = X[0] + 0.2 * X[:n_known]
    return X, y


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(("top_k", "d"), [(1, 12), (4, 12), (1, 120), (500, 12)])
def test_the_optimum_of_numpy(arrays, loss, top_k, d):
    positives, negatives = bags(d=d)
    objective = Objective(LOSSES[loss], 1.0, top_k)
    here = solve(positives, negatives, objective, TOL, 200)
    there = solve(arrays.of(positives), arrays.of(negatives), objective, TOL, 200)
    assert arrays.back(there.converged).all()
    apart = np.linalg.norm(arrays.back(there.weights) - here.weights, axis=1)
    assert (apart <= np.sqrt(2 * here.gap) + np.sqrt(2 * arrays.back(there.gap)) + 1e-12).all()


def test_a_bagged_ranker(arrays):
    X, y = marked()
    here, there = BaggingTopPush(random_state=0).fit(X, y), BaggingTopPush(random_state=0).fit(arrays.of(X), y)
    assert there.converged_ and there.relative_gap_ <= TOL and isinstance(there.coef_, np.ndarray)
    assert np.linalg.norm(here.coef_ - there.coef_) <= 2 * np.sqrt(2 * here.duality_gap_ / 100) + 1e-9
    scores = there.decision_function(arrays.of(X))
    assert type(scores) is type(arrays.of(X))
    assert np.allclose(arrays.back(scores), there.decision_function(X), rtol=1e-10)
    assert np.array_equal(there.rank(arrays.of(X)), there.rank(X))


def test_rows_that_are_there_already_are_learned_from_there_and_scored_here(arrays, monkeypatch):
    X, y = marked()
    given, fit = [], BaggingTopPush._fit
    monkeypatch.setattr(BaggingTopPush, "_fit", lambda self, X, known: given.append(type(X)) or fit(self, X, known))
    assert BaggingTopPush().needs().rows_on_device
    preparation = BaggingTopPush(random_state=0).prepare(X, Kept(rows_on_device=arrays.of(X)))
    found = preparation.fit(y == 1)
    assert given == [type(arrays.of(X))] and type(found.scores) is np.ndarray
    expected = BaggingTopPush(random_state=0).fit(arrays.of(X), y)
    assert np.array_equal(found.ranker.coef_, expected.coef_)


@pytest.mark.parametrize(("scaling", "bag_size"), [("standard", 50), ("whiten", "auto")])
def test_scaled_and_of_automatic_size(arrays, scaling, bag_size):
    X, y = marked(300, n_known=5)
    settings = {
        "n_bags": 5,
        "bag_size": bag_size,
        "scaling": scaling,
        "regularisation": 0.1,
        "random_state": 1,
        "keep_bags": True,
    }
    here, there = BaggingTopPush(**settings).fit(X, y), BaggingTopPush(**settings).fit(arrays.of(X), y)
    assert here.bag_size_ == there.bag_size_ and np.array_equal(here.bag_rows_, there.bag_rows_)
    assert np.abs(here.coef_ - there.coef_).max() < 1e-3 * np.abs(here.coef_).max()
    assert np.allclose(here.origin_, there.origin_)


def test_the_published_solver_brings_the_bags_here(arrays):
    X, y = marked(400)
    here, there = (BaggingTopPush(5, solver="published", random_state=0).fit(rows, y) for rows in (X, arrays.of(X)))
    assert np.allclose(here.coef_, there.coef_, rtol=1e-8)


def test_rows_that_are_not_finite_are_refused(arrays):
    X, y = marked(100)
    X[3, 4] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        BaggingTopPush().fit(arrays.of(X), y)


def test_the_number_of_features_has_to_be_that_of_fit(arrays):
    X, y = marked(100)
    ranker = BaggingTopPush(3, random_state=0).fit(arrays.of(X), y)
    with pytest.raises(ValueError, match="features"):
        ranker.decision_function(arrays.of(X[:, :5]))


def test_bags_that_do_not_converge_there_are_solved_here(torch, monkeypatch):
    from dataclasses import replace

    from rarespec.rankers.toppush import solve as _push_solve

    solved = _push_solve._batch_solved

    def careless(positives, negatives, settings):
        found = solved(positives, negatives, settings)
        return replace(found, weights=found.weights * 0, converged=torch.arange(len(found.gap)) % 2 == 0)

    monkeypatch.setattr(_push_solve, "_batch_solved", careless)
    X, y = marked(300)
    settings = {"n_bags": 6, "random_state": 0, "keep_bags": True}
    here, there = (BaggingTopPush(**settings).fit(rows, y) for rows in (X, torch.asarray(X)))
    assert (there.bag_coef_[::2] == 0).all() and np.allclose(there.bag_coef_[1::2], here.bag_coef_[1::2], rtol=1e-9)


@pytest.mark.parametrize("n", [1, 5, 16, 33, 64, 75])
def test_the_kernel_solves_linear_systems(gpu, n):
    from rarespec.rankers.toppush.solve_kernel import solve_by_kernel

    rng = np.random.default_rng(n)
    matrix, right = rng.normal(size=(7, n, n)), rng.normal(size=(7, n))
    matrix[0] = np.eye(n)[::-1]  # no step without a pivot from elsewhere
    found = solve_by_kernel(gpu.asarray(matrix, device="cuda"), gpu.asarray(right, device="cuda")).cpu().numpy()
    residual = np.einsum("bij,bj->bi", matrix, found) - right
    assert np.abs(residual).max() < 1e-9 * max(1, np.abs(found).max())


def test_recorded_steps_are_used_again_for_other_bags(gpu):
    from rarespec.rankers.toppush import cuda as _push_cuda

    objective = Objective(LOSSES["truncated-quadratic"], 1.0, 1)
    before = _push_cuda._record_steps.cache_info().hits
    for seed in range(3):
        positives, negatives = bags(seed=seed)
        there = _push_cuda.solve_together(
            gpu.asarray(positives, device="cuda"), gpu.asarray(negatives, device="cuda"), objective, TOL, 200
        )
        here = solve(positives, negatives, objective, TOL, 200)
        assert there.converged.all() and int(there.n_iter.max()) <= int(here.n_iter.max()) + 2
        assert np.abs(there.weights.cpu().numpy() - here.weights).max() < 1e-2 * np.abs(here.weights).max()
    assert _push_cuda._record_steps.cache_info().hits >= before + 2


def test_an_ill_conditioned_problem_solved_to_the_end(arrays):
    """So far that the strongest rows are treated apart."""
    positives, negatives = bags(d=12)
    objective = Objective(LOSSES["truncated-quadratic"], 1e-4, 1)
    there = solve(arrays.of(positives), arrays.of(negatives), objective, 1e-11, 200)
    assert arrays.back(there.converged).all()
    here = solve(positives, negatives, objective, 1e-11, 200)
    assert np.abs(arrays.back(there.weights) - here.weights).max() < 1e-4 * np.abs(here.weights).max()


def test_values_in_chosen_places(arrays):
    x, places = np.arange(12.0).reshape(3, 4), np.array([[3, 0], [1, 2], [2, 0]])
    values = -np.arange(1.0, 7).reshape(3, 2)
    expected = [[-2, 1, 2, -1], [4, -3, -4, 7], [-6, 9, -5, 11]]
    assert np.array_equal(arrays.back(_push_arrays.replace_columns(*map(arrays.of, (x, places, values)))), expected)
    rows = _push_arrays.rows_replaced(arrays.of(x), arrays.of(np.array([0, 2])), arrays.of(x[1:] * 10))
    assert np.array_equal(arrays.back(rows), [x[1] * 10, x[1], x[2] * 10])
    largest = arrays.back(_push_arrays.largest_places(arrays.of(x * [1, -1, 1, -1]), 2))
    assert np.array_equal(np.sort(largest, axis=1), [[0, 2]] * 3)
    assert np.allclose(arrays.back(_push_arrays.mean_of_largest(arrays.of(x), 3)), x[:, 1:].mean(axis=1))
