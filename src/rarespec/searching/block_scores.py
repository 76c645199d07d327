"""Scores of a survey under a fitted ranker, block by block, wherever an engine runs; the ranker travels once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rarespec.engines.engine import Engine
from rarespec.rankers.ranker import Ranker, Scores
from rarespec.survey.feature_set import FeatureSet


class RowScores(NamedTuple):
    """scores (n,), and edges (n,): on a scale on which the end of a kind shows; None where that of the scores does."""

    scores: Scores
    edges: Scores | None


def scores_by_block(features: FeatureSet, ranker: Ranker, engine: Engine) -> RowScores:
    """Of the spectra that have features."""
    return join_scores(engine.map(_scores_of_block, (features, ranker), range(features.survey.n_blocks)))


def scores_of_rows(ranker: Ranker, X: NDArray[np.floating]) -> RowScores:
    """Of these rows, (n, d)."""
    if not len(X):
        return RowScores(np.empty(0), None)
    return RowScores(ranker.decision_function(X), ranker.edge_scores(X))


def join_scores(parts: Iterable[RowScores]) -> RowScores:
    """One after the other."""
    parts = list(parts)
    edges = [part.edges for part in parts if part.edges is not None]
    return RowScores(np.concatenate([part.scores for part in parts]), np.concatenate(edges) if edges else None)


def _scores_of_block(shared: tuple[FeatureSet, Ranker], i: int) -> RowScores:
    features, ranker = shared
    block = features.block(i)
    return scores_of_rows(ranker, block["values"][block["lost_at"] == 0])
