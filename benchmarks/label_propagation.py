"""Label propagation on a given graph: conjugate gradients against the paper's iteration f <- alpha S f + y.

    python benchmarks/label_propagation.py [--n 100450] [--queries 50] [--known 10] [--rounds 3]
                                           [--sigma self-tuned] [--tol 1e-10]

Both stop when the residual of every row, (y - (I - alpha S) f)_i, is within tol of its score f_i, start from the same
prepared graph, and must give the same scores in the same order. Also printed: the iteration on the matrix with the rows
reordered, as conjugate gradients have it; seconds a query when many are asked at once; seconds of preparing.
"""

from __future__ import annotations

import argparse

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array, eye_array
from scipy.sparse.linalg import cg

from mock_features import drawn_queries, mixed_features
from rarespec.rankers.graph.conjugate_gradients import LEAST_SHARE, OrderedMatrix
from rarespec.rankers.graph.label_propagation import LabelPropagation, edge_weights, local_scales
from rarespec.rankers.neighbours.neighbour_graph import NeighbourGraph, build_neighbours
from rarespec.rankers.ranker import Kept
from timing import Contenders, best_of, timed

ALPHA, CHECK_EVERY = 0.99, 4
Column = NDArray[np.float64]


def normalised_weights(graph: NeighbourGraph, sigma: float | str) -> csr_array:
    weights = edge_weights(graph, sigma, local_scales(graph) if sigma == "self-tuned" else None)
    degrees = np.asarray(weights.sum(axis=1)).ravel()
    roots = np.divide(1.0, np.sqrt(degrees), out=np.zeros_like(degrees), where=degrees > 0)
    return csr_array(diags_array(roots) @ weights @ diags_array(roots))


def iterated(S: csr_array, y: Column, tol: float) -> tuple[Column, int]:
    """f <- alpha S f + y; the step it makes is just the residual of the f it started from."""
    f, n_iter = y, 0
    while True:
        following = S @ f
        following *= ALPHA
        following += y
        n_iter += 1
        if n_iter % CHECK_EVERY == 0 and (np.abs(following - f) <= tol * np.maximum(f, LEAST_SHARE * f.max())).all():
            return following, n_iter
        f = following


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=100_450)
    parser.add_argument("--queries", type=int, default=50)
    parser.add_argument("--known", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sigma", default="self-tuned")
    parser.add_argument("--tol", type=float, default=1e-10)
    arguments = parser.parse_args()
    sigma = arguments.sigma if arguments.sigma == "self-tuned" else float(arguments.sigma)
    X = mixed_features(arguments.n)
    compare(X, LabelPropagation(sigma=sigma, alpha=ALPHA, tol=arguments.tol), arguments)


def compare(X: NDArray[np.float32], ranker: LabelPropagation, arguments: argparse.Namespace) -> None:
    graph = build_neighbours(X, 5)
    S = normalised_weights(graph, ranker.sigma)
    S_reordered = OrderedMatrix.of(S)
    preparing, preparation = timed(lambda: ranker.prepare(X, Kept(graph=graph)))
    Y = drawn_queries(len(X), arguments.queries, arguments.known)
    y, y_reordered = Y[:, 0].copy(), Y[S_reordered.order, 0]
    matrix = csr_array(eye_array(len(X)) - ALPHA * S)
    contenders: Contenders = {
        "SciPy": lambda: cg(matrix, y, rtol=arguments.tol),
        "conjugate gradients": lambda: preparation.scores_for(y),
        "iteration": lambda: iterated(S, y, arguments.tol),
        "iteration, reordered": lambda: iterated(S_reordered.matrix, y_reordered, arguments.tol),
        "many": lambda: preparation.scores_for(Y),
    }
    seconds, answers = best_of(contenders, arguments.rounds)
    ours, (theirs, n_iter) = answers["conjugate gradients"], answers["iteration"]
    report(graph, seconds, preparing, n_iter, arguments)
    # an error is at most the residual over the smallest eigenvalue, 1 - alpha
    np.testing.assert_allclose(ours, theirs, rtol=2 * arguments.tol / (1 - ALPHA), atol=1e-30)
    assert np.array_equal(np.argsort(-ours)[:1000], np.argsort(-theirs)[:1000])


def report(
    graph: NeighbourGraph, seconds: dict[str, float], preparing: float, n_iter: int, arguments: argparse.Namespace
) -> None:
    ours, theirs, reordered = (seconds[name] for name in ("conjugate gradients", "iteration", "iteration, reordered"))
    print(f"{graph.summary()}")
    print(f"  sigma {arguments.sigma}, alpha {ALPHA}, residual {arguments.tol:.0e}; prepared in {preparing:.2f} s")
    print(f"  conjugate gradients: {ours:.3f} s a query; iteration: {theirs:.3f} s in {n_iter} steps")
    print(f"  ratio: {theirs / ours:.1f}")
    print(f"  iteration on our reordered matrix: {reordered:.3f} s, ratio {reordered / ours:.1f}")
    print(f"  SciPy's cg, stopped by the norm of the residual: {seconds['SciPy']:.3f} s, {seconds['SciPy'] / ours:.1f}")
    print(f"  {arguments.queries} queries at once: {seconds['many'] / max(1, arguments.queries):.3f} s each")


if __name__ == "__main__":
    main()
