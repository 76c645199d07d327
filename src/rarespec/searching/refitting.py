"""A ranker that is fitted again and again to the same rows with other marks."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarespec.rankers._graph_ranker import GraphRanker
from rarespec.rankers._known import Rows
from rarespec.rankers._ranker import Ranker
from rarespec.searching.marks import marks_for


def prepared_on(ranker: Any, X: Rows) -> Ranker:
    """The ranker with all that depends on the rows alone done, where it can do that by itself."""
    prepared: Ranker = ranker.prepare(X) if hasattr(ranker, "prepare") else ranker
    return prepared


def refitted(
    prepared: Ranker, X: Rows, known: NDArray[np.bool_], refused: NDArray[np.bool_], by_looking: bool = False
) -> Ranker:
    """A copy, fitted to these marks, (n,) each; X is the very matrix that `prepared` was prepared on.

    It is a copy because an earlier ranking is still explained by its own ranker. by_looking : whether some of the known
    were found at the top of a ranking, and are no random sample.
    """
    ranker = copy(prepared)
    if by_looking and "balanced" in ranker.get_params():
        ranker.set_params(balanced=True)
    marks = marks_for(ranker, known, refused)
    if isinstance(ranker, GraphRanker):  # its `fit` would prepare again
        ranker.scores_ = ranker.scores_for(marks)
        return ranker
    return ranker.fit(X, marks)
