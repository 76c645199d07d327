"""Feature vectors for benchmarks of rankers: the paper's features of a mock survey."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from rarespec.features import PaperFeatures
from rarespec.mock.simulate import SkyChoice, simulate_survey
from rarespec.survey.features import features_of


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
