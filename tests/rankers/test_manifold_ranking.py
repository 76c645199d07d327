"""Manifold ranking against its formulas with dense matrices, and its relation to label propagation."""

import warnings

import numpy as np
import pytest

from rarespec.rankers.graph.label_propagation import LabelPropagation, ManifoldRanking
from rarespec.rankers.neighbours.neighbour_graph import build_neighbours


def rows(n=150, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(0, 1, (6, 4))[rng.integers(0, 6, n)] + rng.normal(0, 0.3, (n, 4))


def dense_weights(X, k, sigma):
    W, graph = np.zeros((len(X), len(X))), build_neighbours(X, k)
    for i in range(len(X)):
        for j, d in zip(graph.indices[i], graph.distances[i].astype(float), strict=True):
            W[i, j] = W[j, i] = np.exp(-(d**2) / (2 * sigma**2))
    return W


QUERIES = (np.arange(150) < 2).astype(float)


@pytest.mark.parametrize("normalised", [True, False])
@pytest.mark.parametrize("sigma", [0.4, 1.25])
def test_against_a_dense_direct_solution(normalised, sigma):
    X = rows()
    W = dense_weights(X, 5, sigma)
    degrees = W.sum(axis=1)
    system = np.eye(150) - 0.99 * W / np.sqrt(np.outer(degrees, degrees)) if normalised else np.diag(degrees) - 0.99 * W
    expected = np.linalg.solve(system, QUERIES)
    found = ManifoldRanking(sigma=sigma, normalised=normalised, tol=1e-13).fit(X, QUERIES).scores_
    assert np.allclose(found, expected, rtol=1e-8, atol=1e-8 * expected.max())
    assert np.array_equal(np.argsort(-found), np.argsort(-expected))


def test_with_equal_parameters_it_is_label_propagation():
    X = rows()
    assert np.array_equal(
        ManifoldRanking(sigma=1.0).fit(X, QUERIES).scores_, LabelPropagation(sigma=1.0).fit(X, QUERIES).scores_
    )
    assert ManifoldRanking().sigma == 1.25  # the paper's own width


def test_several_queries_are_the_sum_of_one_each():
    prepared = ManifoldRanking(tol=1e-13).prepare(rows())
    both, first, second = (prepared.scores_for(np.isin(np.arange(150), which)) for which in ([0, 9], [0], [9]))
    assert np.allclose(both, first + second, rtol=1e-9)


def test_rows_without_edges_keep_finite_scores_in_the_unnormalised_variant():
    for sigma in (1e-3, 0.01, 0.02, 0.05):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = ManifoldRanking(sigma=sigma, normalised=False).fit(rows(), QUERIES)
        assert np.isfinite(found.scores_).all() and (found.scores_ >= 0).all()
        assert np.isfinite(found.decision_function(rows(20, seed=4))).all()
