"""Flux and feature vectors for the tests of this room."""

from __future__ import annotations

import numpy as np

from rarespec.spectrum import PAPER_GRID, WavelengthGrid


def flux(n: int, grid: WavelengthGrid = PAPER_GRID, seed: int = 0) -> np.ndarray:
    """(n, p) float32: smooth shapes and noise at very different levels."""
    rng = np.random.default_rng(seed)
    x = np.linspace(-1, 1, grid.n_pixels)
    shapes = np.stack([np.cos(k * x + k * k) for k in range(40)]) / np.arange(1, 41)[:, None]
    spectra = rng.normal(size=(n, 40)) @ shapes + rng.normal(0, 0.05, (n, grid.n_pixels))
    return (rng.lognormal(size=(n, 1)) * spectra + rng.normal(0, 30, (n, 1))).astype(np.float32)


def with_bad_pixels(clean: np.ndarray, seed: int = 0) -> np.ndarray:
    """Single bad pixels everywhere, and rows with long runs, bad ends, hardly a good pixel, none, and no contrast."""
    rng = np.random.default_rng(seed)
    bad, p = clean.copy(), clean.shape[1]
    bad[rng.random(bad.shape) < 0.005] = np.nan
    bad[0] = clean[0]
    bad[1, : p // 20] = np.inf
    bad[2, -p // 15 :] = -np.inf
    bad[3, p // 3 : p // 2] = np.nan
    bad[4, 5:] = np.nan
    bad[5] = np.nan
    bad[6] = 3.0
    bad[7, : p // 2 - 1] = np.nan
    bad[8, 0] = bad[8, -1] = np.nan
    return bad


def features(n: int, d: int = 20, seed: int = 0) -> np.ndarray:
    """(n, d) float32 with falling spreads, in groups."""
    rng = np.random.default_rng(seed)
    spread = np.geomspace(11, 0.15, d)
    return (spread * (rng.normal(size=(12, d))[rng.integers(0, 12, n)] + 0.5 * rng.normal(size=(n, d)))).astype("f4")
