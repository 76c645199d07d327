"""Auto's part in the space as given: BaggingTopPush, the strongest of the paper's methods."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rarespec.rankers._auto_query import Query
from rarespec.rankers._linear import weighted_sums
from rarespec.rankers.bagging_top_push import BaggingTopPush

N_FOLDS = 3
"""Groups in which the known are hidden: a fit for each of them would take too long."""

N_BAGS, TOLERANCE = 20, 1e-3
"""Of the fits in which known rows are hidden."""


def push_weights(query: Query) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Weights on the features, and the places of the known rows that are hidden, a group at a time."""
    y = np.zeros(len(query.ready.X), dtype=np.int8)
    y[query.known] = 1
    weights = BaggingTopPush(random_state=query.seed).fit(query.ready.X, y).coef_
    places = np.empty(len(query.hidden))
    for fold in np.array_split(query.rng.permutation(len(query.hidden)), min(N_FOLDS, len(query.hidden)) or 1):
        places[fold] = _places(query, query.hidden[fold])
    return weights, places


def _places(query: Query, fold: NDArray[np.intp]) -> NDArray[np.float64]:
    if not len(fold):
        return np.empty(0)
    left = np.setdiff1d(query.known, fold)
    rows = np.concatenate([left, query.compared])
    ranker = BaggingTopPush(n_bags=N_BAGS, tol=TOLERANCE, random_state=query.seed)
    ranker.fit(query.ready.X[rows], np.arange(len(rows)) < len(left))
    return query.places(
        weighted_sums(query.ready.X[query.compared], ranker.coef_), weighted_sums(query.ready.X[fold], ranker.coef_)
    )
