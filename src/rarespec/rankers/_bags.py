"""Random bags of unlabelled rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state


def draw_bags(known: NDArray[np.bool_], n_bags: int, bag_size: int, random_state: Any) -> NDArray[np.intp]:
    """Row numbers of unlabelled rows, (n_bags, bag_size), without repetition inside a bag; known rows are never drawn.

    Every bag has a seed of its own, drawn up front: bag t is the same however many bags follow it. A bag larger than
    the number of unlabelled rows is cut to that number.
    """
    unlabelled = np.flatnonzero(~known)
    size = min(bag_size, len(unlabelled))
    seeds = check_random_state(random_state).randint(np.iinfo(np.int32).max, size=n_bags)
    draws = [np.random.default_rng(seed).choice(len(unlabelled), size, replace=False) for seed in seeds]
    return unlabelled[np.sort(np.array(draws).reshape(n_bags, size), axis=1)]
