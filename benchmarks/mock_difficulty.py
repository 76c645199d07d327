"""Is the mock sky hard enough? Ranks a survey by plain distance to one carbon star.

    python benchmarks/mock_difficulty.py [--n-common 10000] [--n-rare 150]

Features as in the paper: median filter over 7 pixels, min-max, 50 principal components. Prints the average precision
of ranking by minus the Euclidean distance to one random carbon star (mean over draws), and of a linear separation
trained on half of the labels and judged on the other half. When ../shared/data is present, a survey built from real
templates is measured beside it.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import median_filter

from rarespec.mock import MockSky

MAKE_SURVEY = Path(__file__).resolve().parents[2] / "shared" / "data" / "make_survey.py"
Matrix = NDArray[np.float64]


def features(flux: Matrix) -> Matrix:
    """(n, 50) principal components of the smoothed, rescaled flux."""
    smooth = median_filter(flux, size=(1, 7))
    low, high = smooth.min(axis=1, keepdims=True), smooth.max(axis=1, keepdims=True)
    scaled = ((smooth - low) / (high - low)).astype(np.float64)
    scaled -= scaled.mean(axis=0)
    values, vectors = np.linalg.eigh(scaled.T @ scaled)
    return scaled @ vectors[:, np.argsort(values)[::-1][:50]]


def average_precision(scores: Matrix, rare: NDArray[np.bool_]) -> float:
    hits = rare[np.argsort(-scores, kind="stable")]
    return float((np.cumsum(hits) / np.arange(1, len(hits) + 1))[hits].mean())


def by_distance(x: Matrix, rare: NDArray[np.bool_], n_draws: int, rng: np.random.Generator) -> Matrix:
    """Average precision over all but the known star, for each draw."""
    results = []
    for known in rng.choice(np.flatnonzero(rare), n_draws, replace=False):
        others = np.arange(len(x)) != known
        distance = np.linalg.norm(x - x[known], axis=1)
        results.append(average_precision(-distance[others], rare[others]))
    return np.array(results)


def by_linear_separation(x: Matrix, rare: NDArray[np.bool_], rng: np.random.Generator) -> float:
    """Regularised linear discriminant learnt on a random half, judged on the other."""
    train = rng.random(len(x)) < 0.5
    positive, negative = x[train & rare], x[train & ~rare]
    scatter = np.cov(negative.T) + 0.1 * np.cov(positive.T)
    ridge = 1e-4 * np.trace(scatter) / len(scatter) * np.eye(len(scatter))
    direction = np.linalg.solve(scatter + ridge, positive.mean(axis=0) - negative.mean(axis=0))
    return average_precision(x[~train] @ direction, rare[~train])


def mock_survey(n_common: int, n_rare: int, seed: int) -> tuple[Matrix, NDArray[np.bool_]]:
    blocks = list(MockSky(n_common, {"carbon": n_rare}, seed=seed))
    flux = np.concatenate([_bridged(block.flux, block.bad) for block in blocks])
    return flux, np.concatenate([np.array(block.catalogue["class"]) == "CARBON" for block in blocks])


def _bridged(flux: NDArray[np.floating], bad: NDArray[np.bool_]) -> NDArray[np.floating]:
    """Masked pixels interpolated from their neighbours."""
    pixel = np.arange(flux.shape[1])
    for row in np.flatnonzero(bad.any(axis=1)):
        flux[row, bad[row]] = np.interp(pixel[bad[row]], pixel[~bad[row]], flux[row, ~bad[row]])
    return flux


def template_survey(n_common: int, n_rare: int, seed: int) -> tuple[Matrix, NDArray[np.bool_]]:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "survey.npz"
        size = ["--n-common", str(n_common), "--n-rare", str(n_rare), "--seed", str(seed)]
        subprocess.run([sys.executable, str(MAKE_SURVEY), str(out), *size], check=True, stderr=subprocess.DEVNULL)
        arrays = np.load(out)
        return arrays["flux"], arrays["class"] == "CARBON"


def measure(name: str, flux: Matrix, rare: NDArray[np.bool_], n_draws: int) -> None:
    rng = np.random.default_rng(0)
    x = features(flux)
    distances = by_distance(x, rare, n_draws, rng)
    linear = by_linear_separation(x, rare, rng)
    print(
        f"{name}: {len(x)} spectra, {rare.sum()} carbon; distance to one: AP {distances.mean():.3f} "
        f"(from {distances.min():.3f} to {distances.max():.3f} over {n_draws} draws); "
        f"linear separation: AP {linear:.3f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n-common", type=int, default=10_000)
    parser.add_argument("--n-rare", type=int, default=150)
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--seed", type=int, default=3)
    a = parser.parse_args()
    measure("mock sky", *mock_survey(a.n_common, a.n_rare, a.seed), a.draws)
    if MAKE_SURVEY.exists():
        measure("real templates", *template_survey(a.n_common, a.n_rare, a.seed), a.draws)
    else:
        print("real templates: ../shared/data is not there, nothing to compare with")


if __name__ == "__main__":
    main()
