"""Rows with scores that were found for them as a whole, among which new ones are placed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rarespec.rankers._known import Rows
from rarespec.rankers.neighbours import neighbours_of

MAX_KEPT = 10_000
"""Rows that are kept: half of them the best, the others drawn."""

N_NEAREST, SAME = 5, 1e-6
"""Kept rows whose scores a new row takes the mean of; the distance below which it is one of them."""


@dataclass(frozen=True)
class KeptRows:
    """Rows with their scores, among which new ones are placed."""

    rows: Rows
    scores: NDArray[np.float64]

    @classmethod
    def of(cls, rows: Rows, scores: NDArray[np.float64], rng: np.random.Generator) -> KeptRows:
        if len(rows) <= MAX_KEPT:
            return cls(rows, scores)
        best_first = np.argpartition(-scores, MAX_KEPT // 2)
        best, others = best_first[: MAX_KEPT // 2], best_first[MAX_KEPT // 2 :]
        kept = np.sort(np.concatenate([best, rng.choice(others, MAX_KEPT // 2, replace=False)]))
        return cls(rows[kept], scores[kept])

    def scores_of(self, rows: Rows) -> NDArray[np.float64]:
        """Mean score of the nearest kept rows, (n,); a row that is kept has its own."""
        indices, distances = neighbours_of(self.rows, rows, min(N_NEAREST, len(self.rows)))
        return np.where(distances[:, 0] < SAME, self.scores[indices[:, 0]], self.scores[indices].mean(axis=1))
