"""TopPush on many bags, on several threads; which thread solves a bag changes nothing."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from rarespec.rankers._known import Rows
from rarespec.rankers._linear_map import LinearMap
from rarespec.rankers._push_loss import Values
from rarespec.rankers._push_parameters import PushSettings
from rarespec.rankers._push_problem import Solution, stacked

NUMBERS_AT_ONCE = 200_000
"""Bags are solved together until their rows hold so many numbers: few calls, and all of it in the cache."""


def solve_bags(
    X: Rows, positives: Values, bags: NDArray[np.intp], scaled: LinearMap, settings: PushSettings, n_threads: int
) -> Solution:
    """The scaled positives (m, d) against each bag of rows of X, bags (T, K)."""
    numbers = (len(positives) + bags.shape[1]) * X.shape[1]
    size = max(1, NUMBERS_AT_ONCE // numbers)
    groups = [bags[start : start + size] for start in range(0, len(bags), size)]

    def solved(group: NDArray[np.intp]) -> Solution:
        negatives = scaled.apply(X[group.ravel()]).reshape(*group.shape, X.shape[1])
        return settings.solved(np.broadcast_to(positives, (len(group), *positives.shape)), negatives)

    # the matrices are small: threads inside BLAS would cost more than they give, and could change the last digit
    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(n_threads) as threads:
        return stacked(list(threads.map(solved, groups)))
