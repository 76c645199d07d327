"""Raw flux to the paper's 50 features, against the straightforward script.

    python benchmarks/features.py [--n 20000]

Peer: scipy.ndimage.median_filter piece by piece with the same window widths, NumPy min-max, scikit-learn PCA with its
default solver. Both are given the same array in memory and the same number of BLAS threads. The first ten features must
agree to 1e-4 of the first one's spread, and the variance captured by all fifty to 1e-4: the last components lie among
nearly equal ones of noise, where scikit-learn's own are not exact either. Also prints the time of reading it once.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.ndimage import median_filter as scipy_median_filter
from sklearn.decomposition import PCA

from rarespec.features import PaperFeatures
from rarespec.features.steps.running_median import pixel_widths
from rarespec.mock import MockSky
from rarespec.spectrum import PAPER_GRID

ROUNDS = 3


def mock_flux(n: int) -> np.ndarray:
    return np.concatenate([block.flux for block in MockSky(n, {"carbon": 50}, seed=2)])


def straightforward(flux: np.ndarray) -> tuple[np.ndarray, PCA]:
    widths = pixel_widths(PAPER_GRID, 10.0)
    filtered = np.empty_like(flux)
    for width in np.unique(widths):
        at = widths == width
        filtered[:, at] = scipy_median_filter(flux, size=(1, width), mode="nearest")[:, at]
    low, high = filtered.min(axis=1, keepdims=True), filtered.max(axis=1, keepdims=True)
    pca = PCA(n_components=50, random_state=0)
    return pca.fit_transform((filtered - low) / (high - low)), pca


def straightforward_one_width(flux: np.ndarray) -> tuple[np.ndarray, PCA]:
    """What most people would write: one width everywhere. Not the same features; given for its time."""
    filtered = scipy_median_filter(flux, size=(1, 7), mode="nearest")
    low, high = filtered.min(axis=1, keepdims=True), filtered.max(axis=1, keepdims=True)
    pca = PCA(n_components=50, random_state=0)
    return pca.fit_transform((filtered - low) / (high - low)), pca


def ours(flux: np.ndarray) -> tuple[np.ndarray, PaperFeatures]:
    recipe = PaperFeatures()
    return recipe.fit_transform(flux), recipe


def best_time(function: Callable[[np.ndarray], Any], flux: np.ndarray, rounds: int = ROUNDS) -> tuple[float, Any]:
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        result = function(flux)
        times.append(time.perf_counter() - start)
    return min(times), result


def largest_difference(one: np.ndarray, other: np.ndarray) -> float:
    """Between features, signs of components set alike; in units of the first feature's standard deviation."""
    signs = np.sign((one * other).sum(axis=0))
    return float(np.abs(one - other * signs)[:, :10].max() / one[:, 0].std())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=20_000)
    flux = mock_flux(parser.parse_args().n)
    t_ours, (features, recipe) = best_time(ours, flux)
    t_peer, (expected, pca) = best_time(straightforward, flux, rounds=1)
    t_simple, _ = best_time(straightforward_one_width, flux, rounds=1)
    t_read, _ = best_time(lambda x: x.sum(), flux)
    captured = recipe.steps_[-1].explained_variance_.sum() / pca.explained_variance_.sum()
    print(f"{len(flux)} x {flux.shape[1]} float32 to 50 features: rarespec {t_ours:.2f} s")
    print(f"  scipy + NumPy + scikit-learn, the same windows {t_peer:.2f} s: ratio {t_peer / t_ours:.1f}")
    print(f"  the same with one window of 7 pixels {t_simple:.2f} s: ratio {t_simple / t_ours:.1f}")
    print(f"  reading the array once {t_read:.3f} s: rarespec takes {t_ours / t_read:.1f} times as long")
    difference = largest_difference(features, expected)
    assert difference < 1e-4 and captured > 0.9999, "not the same features"
    print(f"  largest difference of the first ten features {difference:.1e} of a standard deviation;")
    print(f"  variance captured relative to scikit-learn's components {captured:.6f}")


if __name__ == "__main__":
    main()
