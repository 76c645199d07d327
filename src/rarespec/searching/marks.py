"""What a ranker is told of each row: known example, known non-member, or nothing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rarespec.rankers._ranker import Ranker


def marks_for(ranker: Ranker, known: NDArray[np.bool_], refused: NDArray[np.bool_]) -> NDArray[np.int8]:
    """y of `fit`, (n,): 1 = known, 0 = unlabelled, and -1 = non-member for a ranker that learns from these."""
    y = known.astype(np.int8)
    if ranker.learns_from_non_members:
        y[refused] = -1
    return y
