"""LRGA: many queries at once against one direct sparse solve for each, graph given.

    python benchmarks/lrga.py [--n 10000] [--queries 50] [--direct 5] [--without-extra-factor]

Peers: SciPy's `spsolve` as it comes, and SuperLU with the ordering that suits a symmetric matrix best. Both get the
same matrix L and solve with L + U anew for every query, as U differs. --direct limits how many queries they are timed
on; 0 leaves them out, for sizes at which their factors do not fit. Scores must agree to 1e-7 of each score that is
above 1e-8 of the largest, and in order. Rounds are interleaved and
the best one counts.

The rows are the paper's 50 features of mock spectra, beyond 20 000 of them mixtures of neighbouring ones.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import diags_array
from scipy.sparse.linalg import splu, spsolve

from mock_features import drawn_queries, mixed_features
from rarespec.rankers.graph.lrga import LRGA
from rarespec.rankers.neighbours.neighbour_graph import build_neighbours
from rarespec.rankers.ranker import Kept, Preparation
from timing import best_of, timed

ROUNDS = 3
RESOLVED = 1e-8

Rows = NDArray[np.float32]


def by_spsolve(matrix: Any, y: NDArray[np.float64], query_weight: float) -> NDArray[np.float64]:
    system, right = system_of(matrix, y, query_weight)
    return spsolve(system, right)


def by_superlu(matrix: Any, y: NDArray[np.float64], query_weight: float) -> NDArray[np.float64]:
    system, right = system_of(matrix, y, query_weight)
    return splu(system, permc_spec="MMD_AT_PLUS_A", options={"SymmetricMode": True}).solve(right)


def system_of(matrix: Any, y: NDArray[np.float64], query_weight: float) -> tuple[Any, NDArray[np.float64]]:
    """L + U and U y; the matrix given is L + I."""
    return (matrix + diags_array(np.where(y > 0, query_weight - 1.0, 0.0))).tocsc(), query_weight * y


def compare(ranker: Preparation, Y: NDArray[np.float64], n_direct: int) -> None:
    system, weight = ranker.ready.matrix, ranker.ranker.query_weight
    matrix, asked = system.matrix, Y[system.order].T[:n_direct]
    contenders = {
        "many": lambda: ranker.scores_for(Y),
        "one": lambda: ranker.scores_for(Y[:, 0]),
        "spsolve": lambda: [by_spsolve(matrix, y, weight) for y in asked],
        "SuperLU, best ordering": lambda: [by_superlu(matrix, y, weight) for y in asked],
    }
    seconds, results = best_of(contenders, ROUNDS)
    each = seconds["many"] / Y.shape[1]
    print(f"  {Y.shape[1]} queries at once: {each:.4f} s each; one alone {seconds['one']:.4f} s")
    for name in ("spsolve", "SuperLU, best ordering") if n_direct else ():
        for ours_of_one, direct_of_one in zip(results["many"][system.order].T, results[name], strict=False):
            require_same(ours_of_one, direct_of_one)
        peers_each = seconds[name] / n_direct
        print(f"  {name}: {peers_each:.3f} s each, over {n_direct} queries: ratio {peers_each / each:.1f}")


def require_same(ours: NDArray[np.float64], direct: NDArray[np.float64]) -> None:
    """A direct solution is exact to about 1e-16 of the largest score only, so smaller ones are not compared."""
    resolved = direct > RESOLVED * direct.max()
    np.testing.assert_allclose(ours[resolved], direct[resolved], rtol=1e-7)
    in_order = ours[resolved][np.argsort(-direct[resolved], kind="stable")]
    assert (np.diff(in_order) <= 1e-7 * in_order[:-1]).all(), "not the same order"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=10_000)
    parser.add_argument("--queries", type=int, default=50)
    parser.add_argument("--direct", type=int, default=5, help="queries that the peer is timed on; 0: none")
    parser.add_argument("--without-extra-factor", action="store_true")
    arguments = parser.parse_args()
    X = mixed_features(arguments.n)
    graph_seconds, graph = timed(lambda: build_neighbours(X, 4))
    seconds, ranker = timed(lambda: LRGA(extra_factor=not arguments.without_extra_factor).prepare(X, Kept(graph=graph)))
    print(f"{len(X)} x {X.shape[1]} {X.dtype}: graph {graph_seconds:.2f} s, set-up {seconds:.2f} s")
    compare(ranker, drawn_queries(len(X), arguments.queries), arguments.direct)


if __name__ == "__main__":
    main()
