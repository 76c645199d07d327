"""Ranks of scores among those of other rows."""

from __future__ import annotations

import numpy as np

from rarespec.rankers._ranker import Scores


def ranks_among(scores: Scores, levels: Scores) -> Scores:
    """Rank of each score among the unlabelled ones, whose scores `levels` are rising; in between, in between.

    Above them all ranks go on from 1 towards 0, so that rows that no fitted one reaches are still told apart.
    """
    ranks = np.interp(scores, levels, np.arange(len(levels), 0.0, -1.0))
    spread = levels[-1] - levels[len(levels) // 2]
    beyond = scores > levels[-1]
    ranks[beyond] = 1 / (1 + (scores[beyond] - levels[-1]) / spread) if spread > 0 else 0.5
    return ranks
