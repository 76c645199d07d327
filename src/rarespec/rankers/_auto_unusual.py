"""Whether members are more unusual than what was refused: learned where some rows are known not to be of the kind.

Nothing else in Auto tells unusual rows from others. Where such are looked for, members are found that are like no known
one; where they are not, as with artefacts, they come later.
"""

from __future__ import annotations

import numpy as np
from sklearn.linear_model import LogisticRegression

from rarespec.rankers._auto_trust import RARITY
from rarespec.rankers._known import Rows
from rarespec.rankers._linear import BLOCK_ROWS
from rarespec.rankers._ranker import Scores
from rarespec.rankers._ranks_among import ranks_among
from rarespec.rankers._signal_space import SignalSpace

USUAL_SLOPE = 0.3
"""Spread of the slope before anything was refused: logarithm of the odds for a factor e in the rank."""


def unusualness(X: Rows, space: SignalSpace) -> Scores:
    """Squared length of rows after whitening, (n,), as far as it is signal."""
    share, values = space.signal_share(1), np.empty(len(X))
    for start in range(0, len(X), BLOCK_ROWS):
        block = slice(start, start + BLOCK_ROWS)
        values[block] = space.whitened(X[block]) ** 2 @ share
    return values


def standing(values: Scores, levels: Scores) -> Scores:
    """Logarithm of the rank from the end, (n,): the larger, the more unusual; ranks as members may have count alike."""
    return -np.log(ranks_among(values, levels) + RARITY * len(levels))


def leaning(members: Scores, refused: Scores) -> float:
    """How much the logarithm of the odds of being a member grows with the standing."""
    x, y = np.concatenate([members, refused]), np.arange(len(members) + len(refused)) < len(members)
    return float(LogisticRegression(C=USUAL_SLOPE**2).fit(x[:, None], y).coef_[0, 0])
