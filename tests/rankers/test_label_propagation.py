"""Label propagation against the formula of its paper, written out with dense matrices."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from rarespec.rankers.graph.label_propagation import LabelPropagation
from rarespec.rankers.neighbours.neighbour_graph import build_neighbours


def rows(n=150, seed=0, spread=0.3):
    rng = np.random.default_rng(seed)
    return rng.normal(0, 1, (6, 4))[rng.integers(0, 6, n)] + rng.normal(0, spread, (n, 4))


def dense_weights(X, k, sigma):
    """W of Zhou et al. entry by entry, on the distances that the graph keeps in single precision."""
    n, graph = len(X), build_neighbours(X, k)
    scale = graph.distances[:, -1].astype(float)
    W = np.zeros((n, n))
    for i in range(n):
        for j, d in zip(graph.indices[i], graph.distances[i].astype(float), strict=True):
            W[i, j] = W[j, i] = np.exp(-(d**2) / (scale[i] * scale[j] if sigma == "self-tuned" else 2 * sigma**2))
    return W


def dense_scores(X, y, k=5, sigma=1.0, alpha=0.99):
    W = dense_weights(X, k, sigma)
    roots = np.sqrt(W.sum(axis=1))
    return np.linalg.solve(np.eye(len(X)) - alpha * W / np.outer(roots, roots), y)


@pytest.mark.parametrize("sigma", [0.3, 1.0, "self-tuned"])
@pytest.mark.parametrize("alpha", [0.0, 0.5, 0.99, 0.9999])
def test_against_a_dense_direct_solution(sigma, alpha):
    X, y = rows(), (np.arange(150) < 3).astype(float)
    expected = dense_scores(X, y, 5, sigma, alpha)
    found = LabelPropagation(sigma=sigma, alpha=alpha, tol=1e-12).fit(X, y)
    assert np.allclose(found.scores_, expected, rtol=1e-8, atol=1e-8 * np.abs(expected).max())
    if alpha > 0:
        assert np.array_equal(np.argsort(-found.scores_), np.argsort(-expected))
    assert found.residual_ <= 1e-12 and found.n_iter_ >= 1


def test_the_default_tolerance_gives_the_order_of_the_direct_solution():
    X, y = rows(400), (np.arange(400) < 3).astype(float)
    found = LabelPropagation().fit(X, y)
    assert np.array_equal(np.argsort(-found.scores_), np.argsort(-dense_scores(X, y)))
    assert np.allclose(found.scores_, dense_scores(X, y), rtol=0, atol=1e-8)


@pytest.mark.parametrize(("alpha", "sigma"), [(0.5, 1.0), (0.99, 1.0), (0.99, 0.5)])
def test_faint_scores_are_accurate_relative_to_themselves(alpha, sigma):
    """Along a chain scores fall by many orders of magnitude; elimination loses no digits on such a matrix."""
    X = np.cumsum(np.random.default_rng(0).uniform(0.5, 2.0, (150, 1)), axis=0)
    y = (np.arange(150) == 0).astype(float)
    found = LabelPropagation(3, sigma, alpha).fit(X, y)
    expected = dense_scores(X, y, 3, sigma, alpha)
    near = expected > 1e-35 * expected.max()
    assert expected[near].min() < 1e-9 * expected.max()
    assert np.allclose(found.scores_[near], expected[near], rtol=1e-7, atol=0)
    assert np.array_equal(np.argsort(-found.scores_)[: near.sum()], np.argsort(-expected)[: near.sum()])


@pytest.mark.parametrize("sigma", [1e-160, 1e-200, 1e160, 1e200])
@pytest.mark.filterwarnings("ignore:.*rows are disconnected")
def test_widths_whose_squares_overflow_or_vanish(sigma):
    X = rows()
    X[5] = X[6]
    found = LabelPropagation(sigma=sigma).fit(X, np.arange(150) < 3)
    assert np.isfinite(found.scores_).all() and np.isfinite(found.decision_function(X[:9] + 0.1)).all()
    assert found.n_isolated_ == (0 if sigma > 1 else 148)


def test_it_is_the_limit_of_the_iteration():
    X, y = rows(), (np.arange(150) < 3).astype(float)
    W = dense_weights(X, 5, 1.0)
    S, f = W / np.sqrt(np.outer(W.sum(axis=1), W.sum(axis=1))), y
    for _ in range(4000):
        f = 0.99 * S @ f + y
    assert np.allclose(LabelPropagation().fit(X, y).scores_, f, atol=1e-8)


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.sampled_from([1.0, "self-tuned"]))
def test_row_order_changes_nothing(seed, sigma):
    X, y = rows(80, seed), (np.arange(80) < 2).astype(float)
    shuffle = np.random.default_rng(seed).permutation(80)
    found, shuffled = (
        LabelPropagation(sigma=sigma, tol=1e-13).fit(*data) for data in ((X, y), (X[shuffle], y[shuffle]))
    )
    assert np.allclose(shuffled.scores_, found.scores_[shuffle], rtol=1e-9, atol=1e-12)


def test_components_that_hold_no_known_example_score_zero_and_come_last():
    X = np.concatenate([rows(60, spread=2.0), rows(40, spread=2.0) + 50.0, rows(50, spread=2.0) - 50.0])
    y = np.arange(150) == 70
    found = LabelPropagation().fit(X, y)
    reached = np.isin(np.arange(150), np.arange(60, 100))
    assert (found.scores_[~reached] == 0).all() and (found.scores_[reached] > 0).all() and found.n_isolated_ == 0
    assert found.n_unreached_ == 110
    order = found.rank(X)
    assert set(order[:40]) == set(range(60, 100)) and np.array_equal(order[40:], np.flatnonzero(~reached))
    inside = LabelPropagation().fit(X[60:100], y[60:100])
    assert np.allclose(found.scores_[reached], inside.scores_, atol=1e-9)


def test_every_reached_row_is_above_zero_even_where_rounding_is_larger_than_its_score():
    line = np.arange(300.0)[:, None]  # scores fall by many orders of magnitude along it
    found = LabelPropagation(n_neighbours=2, alpha=0.5, tol=1e-6).fit(line, np.arange(300) == 0)
    assert (found.scores_ > 0).all() and found.n_unreached_ == 0


def test_weights_that_vanish_cut_rows_off_and_are_counted():
    X = rows() * 1e3
    with pytest.warns(UserWarning, match=r"150 of 150 rows are disconnected.*self-tuned") as warned:
        found = LabelPropagation().fit(X, np.arange(150) < 3)
    assert len(warned) == 1
    assert found.n_isolated_ == 150 and found.n_unreached_ == 147
    assert np.array_equal(found.scores_, (np.arange(150) < 3).astype(float))
    tuned = LabelPropagation(sigma="self-tuned").fit(X, np.arange(150) < 3)
    same = LabelPropagation(sigma="self-tuned").fit(X / 1e3, np.arange(150) < 3)
    assert tuned.n_isolated_ == 0 and np.allclose(tuned.scores_, same.scores_, rtol=1e-4)


@pytest.mark.parametrize("sigma", [0.01, 0.02, 0.05, 0.1])
def test_weights_on_the_edge_of_vanishing_stay_finite(sigma):
    X = rows()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = LabelPropagation(sigma=sigma).fit(X, np.arange(150) < 3)
    assert np.isfinite(found.scores_).all() and (found.scores_ >= 0).all() and found.residual_ <= 1e-10


@pytest.mark.parametrize("sigma", [1.0, "self-tuned"])
def test_duplicates(sigma):
    X = rows()
    X[100:140] = X[0]
    found = LabelPropagation(sigma=sigma).fit(X, np.arange(150) < 3)
    assert np.isfinite(found.scores_).all()
    assert np.allclose(found.scores_[110:140], found.scores_[110], rtol=1e-9)  # they have the same neighbours
    flat = LabelPropagation(sigma=sigma).fit(np.ones((30, 2)), np.arange(30) == 4)
    assert np.isfinite(flat.scores_).all() and flat.rank(np.ones((30, 2)))[0] == 4


@pytest.mark.parametrize("sigma", [0.5, "self-tuned"])
def test_new_rows_get_the_weighted_mean_of_their_nearest(sigma):
    X, new = rows(), rows(10, seed=3)
    found = LabelPropagation(sigma=sigma, n_neighbours=4).fit(X, np.arange(150) < 3)
    scores = found.decision_function(new)
    scale = np.sort(np.linalg.norm(X[:, None] - X, axis=2), axis=1)[:, 4]
    for z, score in zip(new, scores, strict=True):
        d = np.linalg.norm(X - z, axis=1)
        near = np.argsort(d)[:4]
        width = d[near][-1] * scale[near] if sigma == "self-tuned" else 2 * sigma**2
        weights = np.exp(-(d[near] ** 2) / width)
        assert np.isclose(score, (weights @ found.scores_[near]) / weights.sum(), rtol=1e-5)


def test_new_rows_far_away_have_finite_scores():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = LabelPropagation(sigma=1e-3).fit(rows(), np.arange(150) < 3)
    scores = found.decision_function(rows(5, seed=3) + 1e6)
    assert np.isfinite(scores).all() and (scores >= 0).all()


def test_one_known_example_two_rows():
    with pytest.warns(UserWarning, match="only 1 are possible"):
        found = LabelPropagation().fit([[0.0], [1.0]], [1, 0])
    assert found.scores_[0] > found.scores_[1] > 0


def test_single_and_double_precision_agree():
    X = rows().astype(np.float32)
    single, double = (LabelPropagation().fit(X.astype(kind), np.arange(150) < 3).scores_ for kind in ("f4", "f8"))
    assert np.array_equal(single, double)


def test_a_tolerance_out_of_reach_is_said():
    with pytest.warns(ConvergenceWarning, match="not solved to tol"):
        LabelPropagation(tol=1e-30).fit(rows(), np.arange(150) < 3)


@pytest.mark.parametrize(
    "wrong",
    [
        {"n_neighbours": 0},
        {"n_neighbours": 2.5},
        {"sigma": 0.0},
        {"sigma": "auto"},
        {"alpha": 1.0},
        {"alpha": -0.1},
        {"tol": 0.0},
    ],
)
def test_wrong_parameters_are_named(wrong):
    ((name, value),) = wrong.items()
    with pytest.raises(ValueError, match=f"{name}={value!r}"):
        LabelPropagation(**wrong).fit(rows(), np.arange(150) < 3)
