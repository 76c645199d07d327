"""Auto's linear part: the mean of the known and of the best candidates, cleared of noise.

A row scores z . w / |z|^1/2, half-way between the discriminant, which lets extreme rows come first, and the cosine,
which lets rows of pure noise come as high as strong ones.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rarespec.rankers._auto_query import Query
from rarespec.rankers._signal_space import root_lengths

CANDIDATE_SHARES = (1 / 3000, 1 / 1000, 1 / 300, 1 / 300, 1 / 300)
"""Of the unlabelled rows, the best of which are added to the known, one round after the other.

First a few, which are like the known, then about as many as there are of what is looked for.
"""

CANDIDATES_COUNT_AS = 10
"""Known examples: so that they weigh less the more are known."""

Direction = NDArray[np.float64]


def along(Z: NDArray[np.float64], direction: Direction) -> NDArray[np.float64]:
    """Scores of whitened rows, (n,)."""
    return Z @ direction / root_lengths(Z)


def expanded_direction(query: Query) -> tuple[Direction, NDArray[np.float64]]:
    """The direction, and the places of the known rows that are hidden in turn."""
    labelled = np.concatenate([query.known_copies, query.refused])
    direction = _expanded(query, query.known, _Candidates(query.ready.halved, query.ready.root_length, labelled))
    compared = _Candidates(query.ready.halved[query.compared], query.ready.root_length[query.compared], labelled[:0])
    return direction, _places(query, compared, [_expanded(query, left, compared) for left in query.left_over()])


class _Candidates(NamedTuple):
    """Rows from which the best are taken."""

    halved: NDArray[np.float32]
    """(n, d)."""
    root_length: NDArray[np.float32]
    """(n,)."""
    left_out: NDArray[np.intp]
    """Rows that are no candidates."""

    def best_of_length_1(self, direction: Direction, n: int) -> NDArray[np.float32]:
        scores = self.halved @ direction.astype(np.float32)
        scores[self.left_out] = -np.inf
        best = np.argpartition(-scores, n - 1)[:n]
        return self.halved[best] / self.root_length[best, None]


def _of_mean(query: Query, known: NDArray[np.intp]) -> Direction:
    rows = query.ready.whitened(known)
    return query.ready.space.direction(rows.mean(axis=0, dtype=np.float64), len(known), query.ready.space.beyond(rows))


def _expanded(query: Query, known: NDArray[np.intp], candidates: _Candidates) -> Direction:
    rows, m, direction = query.ready.whitened(known), len(known), _of_mean(query, known)
    mean, beyond = rows.mean(axis=0, dtype=np.float64), query.ready.space.beyond(rows)
    length, count = float((query.ready.root_length[known] ** 2).mean()), m + CANDIDATES_COUNT_AS
    for n in (int(share * len(candidates.halved)) for share in CANDIDATE_SHARES):
        if not n:
            continue
        found = candidates.best_of_length_1(direction, n).mean(axis=0, dtype=np.float64) * length
        direction = query.ready.space.direction((m * mean + CANDIDATES_COUNT_AS * found) / count, count, beyond)
    return direction


def _places(query: Query, compared: _Candidates, directions: list[Direction]) -> NDArray[np.float64]:
    if not directions:
        return np.empty(0)
    D = np.stack(directions, axis=1).astype(np.float32)
    return query.places(compared.halved @ D, (query.ready.halved[query.hidden] * D.T).sum(axis=1))
