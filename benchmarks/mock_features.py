"""Feature vectors for benchmarks of rankers: the paper's features of mock surveys, and queries on them."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from rarespec.features import PaperFeatures
from rarespec.mock.simulate import SkyChoice, simulate_survey
from rarespec.rankers import build_neighbours
from rarespec.survey.features.computing import features_of

MOCK_SPECTRA = 20_000
"""Rows of `mixed_features` that are features of spectra; the others lie between these."""


def mock_features(
    n: int, n_rare: int, seed: int, rare: str = "carbon"
) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """(n + n_rare, 50) float32, and which rows are of the rare class, of a survey simulated for the purpose."""
    with TemporaryDirectory() as folder:
        survey = simulate_survey(SkyChoice(n, ((rare, n_rare),), seed=seed), Path(folder) / "mock.survey")
        features = features_of(survey, PaperFeatures())
        values, usable = features.values, features.usable
        classes = np.asarray(survey.catalogue["class"]).astype(str)
    return values[usable], np.char.lower(classes[usable]) == rare


def mixed_features(n: int, seed: int = 0) -> NDArray[np.float32]:
    """(n, 50) float32: features of mock spectra, and beyond 20 000 mixtures of neighbouring ones with some scatter.

    A million rows then need no million spectra, and lie as close to each other as those of a survey.
    """
    seeds, _ = mock_features(min(n, MOCK_SPECTRA) - 20, 20, seed=1)
    if n <= len(seeds):
        return seeds
    rng = np.random.default_rng(seed)
    near = build_neighbours(seeds, 20).indices
    first = rng.integers(0, len(seeds), n - len(seeds))
    second = near[first, rng.integers(0, near.shape[1], len(first))]
    share = rng.uniform(-0.2, 1.2, (len(first), 1)).astype(np.float32)
    mixed = seeds[first] + share * (seeds[second] - seeds[first])
    scatter = np.linalg.norm(seeds[near[:, 0]] - seeds, axis=1).mean() / np.sqrt(seeds.shape[1]) / 2
    mixed += np.float32(scatter) * rng.standard_normal(mixed.shape, np.float32)
    return np.concatenate([seeds, mixed])


def drawn_queries(n: int, n_queries: int, n_known: int = 10) -> NDArray[np.float64]:
    """(n, n_queries), 1 on the known rows of each query."""
    Y, rng = np.zeros((n, n_queries)), np.random.default_rng(0)
    for column in Y.T:
        column[rng.choice(n, n_known, replace=False)] = 1.0
    return Y
