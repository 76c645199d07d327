"""The neighbour graph against scikit-learn's brute force: seconds, recall, memory.

    python benchmarks/neighbours.py [--n 100450] [--k 5] [--rounds 3] [--threads 2] [--peer-rows 20000]

The rows are the paper's 50 features of mock spectra, beyond 20 000 of them mixtures of neighbouring ones.
scikit-learn's time grows exactly in proportion to its queries, so it is measured on --peer-rows of them and scaled up
(0: on all of them). Recall is counted on all those queries, against what scikit-learn found.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors
from threadpoolctl import threadpool_limits

from mock_features import mixed_features
from rarespec.rankers.neighbours.neighbour_graph import NeighbourGraph, build_neighbours

Rows = NDArray[np.float32]
TARGET, RECALL = 10.0, 0.99


def ours(X: Rows, k: int, threads: int) -> tuple[float, NeighbourGraph]:
    start = time.perf_counter()
    graph = build_neighbours(X, k, n_jobs=threads)
    return time.perf_counter() - start, graph


def memory_of_build(X: Rows, k: int, threads: int) -> float:
    """MiB by which the peak grows, in a process of its own, where nothing larger was done before."""
    with tempfile.TemporaryDirectory() as folder:
        np.save(f"{folder}/X.npy", X)
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            return pool.submit(_growth_of_peak, f"{folder}/X.npy", k, threads).result()


def _growth_of_peak(path: str, k: int, threads: int) -> float:
    X = np.load(path)
    before = _peak_kib()
    build_neighbours(X, k, n_jobs=threads)
    return (_peak_kib() - before) / 1024


def _peak_kib() -> int:
    """Of this process alone; getrusage would count the one that started it."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


def theirs(X: Rows, k: int, queries: Rows) -> tuple[float, NDArray[np.int64]]:
    """Seconds for all rows, and the neighbours of these."""
    start = time.perf_counter()
    found = NearestNeighbors(n_neighbors=k + 1, algorithm="brute").fit(X).kneighbors(queries, return_distance=False)
    return (time.perf_counter() - start) * len(X) / len(queries), found


def recall(graph: NeighbourGraph, rows: NDArray[np.int64], found: NDArray[np.int64]) -> float:
    truth = [[j for j in near if j != row][: graph.n_neighbours] for row, near in zip(rows, found, strict=True)]
    ours_there = graph.indices[rows]
    return float(np.mean([len(set(a) & set(b)) / len(b) for a, b in zip(ours_there.tolist(), truth, strict=True)]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=100_450)
    parser.add_argument("--k", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--peer-rows", type=int, default=20_000, help="queries that scikit-learn answers; 0: all")
    parser.add_argument("--without-peer", action="store_true", help="time and memory of ours alone")
    arguments = parser.parse_args()
    X = mixed_features(arguments.n)
    with threadpool_limits(arguments.threads):
        compare(X, arguments)


def compare(X: Rows, arguments: argparse.Namespace) -> None:
    n_queries = len(X) if arguments.peer_rows == 0 else min(arguments.peer_rows, len(X))
    rows = np.sort(np.random.default_rng(1).choice(len(X), n_queries, replace=False))
    seconds, peer_seconds, found = np.inf, np.inf, None
    for _ in range(arguments.rounds):
        took, graph = ours(X, arguments.k, arguments.threads)
        seconds = min(seconds, took)
        if not arguments.without_peer:
            took, found = theirs(X, arguments.k, X[rows])
            peer_seconds = min(peer_seconds, took)
    print(f"{X.shape[0]} x {X.shape[1]} float32, k = {arguments.k}, {arguments.threads} threads")
    print(f"  {graph.summary()}")
    memory, matrix = memory_of_build(X, arguments.k, arguments.threads), X.nbytes / 2**20
    print(f"  build_neighbours: {seconds:.2f} s; {memory:.0f} MiB beside the matrix of {matrix:.0f} MiB")
    if found is not None:
        counted = recall(graph, rows, found)
        print(f"  scikit-learn brute force: {peer_seconds:.2f} s (from {n_queries} queries); our recall {counted:.4f}")
        print(f"  ratio: {peer_seconds / seconds:.1f} (target {TARGET:.0f} at recall {RECALL} or more)")
        assert counted >= RECALL, counted


if __name__ == "__main__":
    main()
