"""EMR: seconds to set up and for a query, against manifold ranking on the same anchor graph by conjugate gradients.

    python benchmarks/emr.py [--n 100450] [--queries 50] [--anchors 1000] [--rounds 3]

Peer for a query: SciPy's conjugate gradients on (I - alpha HH') f = y to 1e-10, the same H, one query after the other;
scores must agree to 1e-7. Peer for the anchors: scikit-learn's KMeans from the same start, as many iterations, all
cores; the mean squared distance to the nearest anchor must agree to 1 %. Of interleaved rounds the best one counts.

The rows are the paper's 50 features of mock spectra, beyond 20 000 of them mixtures of neighbouring ones.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator, cg
from sklearn.cluster import KMeans

from mock_features import drawn_queries, mixed_features
from rarespec.rankers.graph.emr import EMR, draw_anchors, k_means, nearest_anchor
from rarespec.rankers.ranker import Preparation
from timing import best_of, timed

TARGET_SECONDS = 0.1
PEER_QUERIES = 3

Rows = NDArray[np.float32]


def by_conjugate_gradients(H: Any, y: NDArray[np.float64], alpha: float) -> NDArray[np.float64]:
    transposed = H.T.tocsr()
    n = len(y)
    system = LinearOperator((n, n), lambda f: f.ravel() - alpha * (H @ (transposed @ f.ravel())), dtype=np.float64)
    return cg(system, y, rtol=1e-10)[0]


def compare_anchors(X: Rows, n_anchors: int, rounds: int) -> None:
    start = draw_anchors(X, n_anchors, np.random.RandomState(0))
    peer = KMeans(n_anchors, init=start.astype(X.dtype), n_init=1, max_iter=5, tol=0)
    seconds, results = best_of(
        {"rarespec": lambda: k_means(X, start, 5), "scikit-learn": lambda: peer.fit(X).cluster_centers_},
        rounds,
    )
    spreads = {name: mean_square(X, np.asarray(anchors, np.float64)) for name, anchors in results.items()}
    assert abs(spreads["rarespec"] / spreads["scikit-learn"] - 1) < 0.01, spreads
    ratio = seconds["scikit-learn"] / seconds["rarespec"]
    print(f"anchors: {seconds['rarespec']:.2f} s; scikit-learn {seconds['scikit-learn']:.2f} s: ratio {ratio:.1f}")


def mean_square(X: Rows, anchors: NDArray[np.float64]) -> float:
    nearest = nearest_anchor(X, anchors)
    return float(
        np.mean(
            [
                ((X[i : i + 4096] - anchors[nearest[i : i + 4096]]) ** 2).sum(axis=1).mean()
                for i in range(0, len(X), 4096)
            ]
        )
    )


def compare_queries(emr: Preparation, Y: NDArray[np.float64], rounds: int) -> None:
    seconds, results = best_of(
        {
            "one": lambda: emr.scores_for(Y[:, 0]),
            "many": lambda: emr.scores_for(Y),
            "peer": lambda: [by_conjugate_gradients(emr.ready.H, y, emr.ranker.alpha) for y in Y.T[:PEER_QUERIES]],
        },
        rounds,
    )
    for query, scores in enumerate(results["peer"]):
        difference = np.abs(results["many"][:, query] - scores).max()
        assert difference < 1e-7, difference
    peer = seconds["peer"] / len(results["peer"])
    each = seconds["many"] / Y.shape[1]
    print(
        f"one query: {1e3 * seconds['one']:.1f} ms (target {1e3 * TARGET_SECONDS:.0f} ms); conjugate gradients on the"
    )
    print(f"  same graph {1e3 * peer:.0f} ms: ratio {peer / seconds['one']:.0f}")
    print(f"{Y.shape[1]} queries at once: {1e3 * each:.1f} ms each, ratio {peer / each:.0f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=100_450)
    parser.add_argument("--queries", type=int, default=50)
    parser.add_argument("--anchors", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    X = mixed_features(arguments.n)
    seconds, emr = timed(lambda: EMR(arguments.anchors, random_state=0).prepare(X))
    print(f"{len(X)} x {X.shape[1]} {X.dtype}, {len(emr.ranker.anchors_)} anchors: set-up {seconds:.2f} s")
    compare_anchors(X, arguments.anchors, arguments.rounds)
    compare_queries(emr, drawn_queries(len(X), arguments.queries), arguments.rounds)


if __name__ == "__main__":
    main()
