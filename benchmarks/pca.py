"""StreamingPCA against scikit-learn's PCA on mock spectra in memory: seconds to fit and transform, variance captured.

    python benchmarks/pca.py [--n 20000] [--rounds 5] [--threads 2] [--without-exact]

The spectra are median-filtered and each scaled from 0 to 1, (n, 3601) float32. Randomised solvers are compared with
each other, and exact ones with each other, on the same threads. Rounds are interleaved and the best one counts.
Captured variance is relative to the exact solution. Also printed: the time of just reading the array.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import median_filter
from sklearn.decomposition import PCA
from threadpoolctl import threadpool_limits

from rarespec.features.pca.components import StreamingPCA
from rarespec.mock import MockSky

Rows = NDArray[np.float32]
COMPONENTS, TARGET, CAPTURED = 50, 3.0, 0.9999


def filtered_mock(n: int) -> Rows:
    rows, filled = np.empty((n, 3601), np.float32), 0
    for spectra in MockSky(n - 20, {"carbon": 20}, seed=1):
        smooth = median_filter(spectra.flux, size=(1, 7))
        low, high = smooth.min(axis=1, keepdims=True), smooth.max(axis=1, keepdims=True)
        rows[filled : filled + len(smooth)] = (smooth - low) / (high - low)
        filled += len(smooth)
    return rows


def fit_then_transform(make: Callable[[], PCA | StreamingPCA], X: Rows) -> tuple[float, float, PCA | StreamingPCA]:
    """Seconds of fit followed by transform, seconds of fit_transform, the fitted model."""
    model = make()
    start = time.perf_counter()
    model.fit(X).transform(X)
    middle = time.perf_counter()
    make().fit_transform(X)
    return middle - start, time.perf_counter() - middle, model


def interleaved(makers: dict[str, Callable], X: Rows, rounds: int) -> tuple[dict, dict]:
    """Best seconds (fit + transform, fit_transform) and the model of each contender."""
    seconds = dict.fromkeys(makers, (np.inf, np.inf))
    models = {}
    for _ in range(rounds):
        for name, make in makers.items():
            separate, together, models[name] = fit_then_transform(make, X)
            seconds[name] = min(seconds[name][0], separate), min(seconds[name][1], together)
    return seconds, models


def captured(model: PCA | StreamingPCA, X: Rows) -> float:
    """Variance of the rows along the model's components, in float64."""
    basis = np.linalg.qr(np.asarray(model.components_, np.float64).T)[0]
    mean = X.mean(axis=0, dtype=np.float64)
    squares = sum(float((((X[i : i + 2000] - mean) @ basis) ** 2).sum()) for i in range(0, len(X), 2000))
    return squares / (len(X) - 1)


def report(title: str, seconds: dict[str, tuple[float, float]], shares: dict[str, float], goal: str) -> None:
    (ours, theirs) = seconds
    print(title)
    for name, (separate, together) in seconds.items():
        share = f"captured {shares[name]:.6f} of the exact solution"
        print(f"  {name}: fit + transform {separate:.2f} s, fit_transform {together:.2f} s, {share}")
    separate, together = (seconds[theirs][i] / seconds[ours][i] for i in (0, 1))
    print(f"  ratio: fit + transform {separate:.1f}, fit_transform {together:.1f}{goal}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--without-exact", action="store_true", help="do not time the exact solvers")
    arguments = parser.parse_args()
    X = filtered_mock(arguments.n)
    with threadpool_limits(arguments.threads):
        compare(X, arguments.rounds, not arguments.without_exact)


def compare(X: Rows, rounds: int, with_exact: bool) -> None:
    randomised = {
        "StreamingPCA randomised": lambda: StreamingPCA(COMPONENTS, solver="randomised", random_state=0),
        "scikit-learn randomized": lambda: PCA(COMPONENTS, svd_solver="randomized", random_state=0),
    }
    exact = {
        "StreamingPCA exact": lambda: StreamingPCA(COMPONENTS, solver="exact"),
        "scikit-learn covariance_eigh": lambda: PCA(COMPONENTS, svd_solver="covariance_eigh"),
    }
    best = captured(StreamingPCA(COMPONENTS, solver="exact").fit(X), X)
    for title, makers in [("randomised", randomised), ("exact", exact)][: 1 + with_exact]:
        seconds, models = interleaved(makers, X, rounds if title == "randomised" else min(rounds, 2))
        shares = {name: captured(model, X) / best for name, model in models.items()}
        goal = f" (target {TARGET})" if title == "randomised" else ""
        report(f"{title}, {X.shape[0]} x {X.shape[1]} float32, {COMPONENTS} components", seconds, shares, goal)
        assert min(shares.values()) >= CAPTURED, shares
        ours, theirs = models.values()
        overlap = np.abs(np.sum(ours.components_[:5] * theirs.components_[:5], axis=1))
        assert overlap.min() > 0.999, overlap
    start = time.perf_counter()
    X.sum()
    print(f"reading the array: {time.perf_counter() - start:.3f} s")


if __name__ == "__main__":
    main()
