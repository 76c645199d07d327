"""Auto's part for small surveys: LRGA on the features as they are given.

Noise and covariance, on which the other parts rest, are themselves uncertain where there are few rows to learn them
from; neighbours in the features as given are not.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rarespec.rankers._auto_query import Query
from rarespec.rankers.lrga import LRGA


def given_scores(query: Query, lrga: LRGA) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Score of every row, (n,), and the places of the known rows that are hidden in turn."""
    Y = np.zeros((len(query.ready.X), 1 + len(query.hidden)))
    Y[query.known] = 1
    Y[query.hidden, 1 + np.arange(len(query.hidden))] = 0
    scores = lrga.scores_for(Y)
    without = scores[:, 1:]
    own = without[query.hidden, np.arange(len(query.hidden))]
    return scores[:, 0], query.places(without[query.compared], own)
