"""Random bags of unlabelled rows, and how many rows a bag should hold.

TopPush looks at the highest negative of a bag, so a hidden example of the wanted kind spoils it; but few negatives
teach little. Where 1 in 1400, 1 in 200 or 1 in 33 rows were of the wanted kind, the best bags held about 1 to 5 of
them, and those of one were never far behind (benchmarks/bag_size.py). The paper's 200 rows among 450 in 100 000 hold
0.9.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from rarespec.rankers.ranker import Scores

PAPER_BAG_SIZE = 200
SMALLEST, LARGEST = 50, 1000
LEAST_KNOWN = 5
"""With fewer known examples the prevalence is not estimated."""
N_FOLDS = 5
HIGHEST_PREVALENCE = 0.05
"""A higher estimate means that hidden examples are not found again, and so says nothing about how many there are."""


def draw_bags(known: NDArray[np.bool_], n_bags: int, bag_size: int, random_state: Any) -> NDArray[np.intp]:
    """Draw bags of unlabelled rows, without repetition inside a bag; known rows are never drawn.

    Every bag has a seed of its own, drawn up front: bag t is the same however many bags follow it.

    Parameters
    ----------
    known : (n,) bool
        Which rows are known.
    n_bags : int
        Number of bags.
    bag_size : int
        Rows in a bag; cut to the number of unlabelled rows.
    random_state : int, RandomState or None
        Seed.

    Returns
    -------
    (n_bags, bag_size) int
        Row numbers.
    """
    unlabelled = np.flatnonzero(~known)
    size = min(bag_size, len(unlabelled))
    seeds = check_random_state(random_state).randint(np.iinfo(np.int32).max, size=n_bags)
    draws = [np.random.default_rng(seed).choice(len(unlabelled), size, replace=False) for seed in seeds]
    return unlabelled[np.sort(np.array(draws).reshape(n_bags, size), axis=1)]


def bag_size_for(prevalence: float | None) -> int:
    """Choose a size with one hidden positive per bag on average, from 50 to 1000; the paper's 200 if None."""
    if prevalence is None:
        return PAPER_BAG_SIZE
    return int(np.clip(1 / prevalence, SMALLEST, LARGEST))


def estimate_prevalence(
    known: NDArray[np.bool_], scores_with: Callable[[NDArray[np.bool_]], Scores], seed: int
) -> float | None:
    """Estimate which share of the unlabelled rows is of the wanted kind.

    Known examples are hidden in turn. Half of the hidden ones score above their median, and so should half of the
    unlabelled ones of the same kind. Twice the share of unlabelled rows above it is the prevalence, if few others are
    there.

    Parameters
    ----------
    known : (n,) bool
        Which rows are known.
    scores_with : callable
        Given the known rows that stay, (n,) bool, returns the scores of all rows, (n,).
    seed : int
        Seed of the division into groups that are hidden together.

    Returns
    -------
    float or None
        The share, at least that of one row. None when fewer than LEAST_KNOWN are known, or when the hidden ones are not
        found again.
    """
    rows = np.flatnonzero(known)
    if len(rows) < LEAST_KNOWN:
        return None
    ahead = []
    for hidden in np.array_split(np.random.default_rng(seed).permutation(rows), N_FOLDS):
        remaining = known.copy()
        remaining[hidden] = False
        scores = scores_with(remaining)
        unlabelled = np.sort(scores[~known])
        ahead += list(1 - np.searchsorted(unlabelled, scores[hidden], side="right") / len(unlabelled))
    estimate = 2 * float(np.median(ahead))
    return max(estimate, 1 / np.count_nonzero(~known)) if estimate <= HIGHEST_PREVALENCE else None
