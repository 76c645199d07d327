"""What an experiment stands on: the features of a survey, and which of its spectra are rare."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarespec.evaluation.experiment.rare_class import rare_class
from rarespec.evaluation.experiment.results import Facts
from rarespec.features import PaperFeatures
from rarespec.progress import Progress
from rarespec.survey import Survey
from rarespec.survey.feature_set import FeatureSet
from rarespec.survey.features import features_of


@dataclass(frozen=True)
class Ground:
    """The rows that are ranked are those of the survey that have features."""

    features: FeatureSet
    rows: NDArray[np.intp]
    """Row in the survey of each ranked row."""
    rare: NDArray[np.bool_]
    """Which of the ranked rows are rare."""
    matched_by: str

    @property
    def survey(self) -> Survey:
        return self.features.survey

    @cached_property
    def X(self) -> NDArray[np.float32]:
        """Features of the ranked rows, (n, d)."""
        return self.features.values[self.rows]

    @cached_property
    def ids(self) -> NDArray[Any]:
        """Id of each ranked row."""
        return self.survey.ids[self.rows]

    @property
    def facts(self) -> Facts:
        n_unusable = len(self.features) - len(self.rows)
        return Facts(self.survey.path.name, len(self.rows), n_unusable, int(self.rare.sum()), self.matched_by)


def ground_of(survey: Survey, rare: str, progress: Progress | None = None) -> Ground:
    """The paper's features, learned from all spectra of the survey, and the members of the rare class.

    Their components are the exact ones: those of the randomised solver, which a search takes, would be others where
    components are nearly equally strong.
    """
    members = rare_class(survey, rare)
    features = features_of(survey, PaperFeatures(solver="exact"), progress=progress)
    rows = np.flatnonzero(features.usable)
    return Ground(features, rows, members.members[rows], members.matched_by)
