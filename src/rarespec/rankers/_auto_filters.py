"""Auto's linear parts: the mean of the known cleared of noise, and the same with the best candidates added to it.

A row scores z . w / |z|^1/2, half-way between the discriminant, which lets extreme rows come first, and the cosine,
which lets rows of pure noise come as high as strong ones.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rarespec.rankers._auto_query import Query
from rarespec.rankers._signal_space import Floating

CANDIDATE_SHARE = 1 / 300
"""Of the unlabelled rows, the best of which are added to the known: what is looked for is about so rare."""

CANDIDATES_COUNT_AS = 10
"""Known examples: so that they weigh less the more are known."""

N_ROUNDS = 2
"""Of taking the best candidates."""

Direction = NDArray[np.float64]


def along(Z: NDArray[Floating], directions: Direction) -> NDArray[Floating]:
    """Scores (n,) for one direction (d,), (n, h) for several (d, h)."""
    scores = Z @ directions.astype(Z.dtype)
    return (scores.T / _root_of_length(Z)).T


def mean_direction(query: Query) -> tuple[Direction, NDArray[np.float64]]:
    """The direction of all known rows, and the places of those that are hidden in turn."""
    total, m = query.Z[query.known].sum(axis=0, dtype=np.float64), len(query.known)
    direction = query.space.direction(total / m, m)
    without = [query.space.direction((total - query.Z[row]) / (m - 1), m - 1) for row in query.hidden]
    return direction, _places(query, without)


def expanded_direction(query: Query) -> tuple[Direction, NDArray[np.float64]]:
    """The same with the best candidates; a hidden row is a candidate like any other."""
    direction = _expanded(query, query.known, query.unlabelled)
    without = [
        _expanded(query, query.known[query.known != row], np.append(query.compared, row)) for row in query.hidden
    ]
    return direction, _places(query, without)


def _expanded(query: Query, known: NDArray[np.intp], others: NDArray[np.intp]) -> Direction:
    Z, m = query.Z, len(known)
    mean, length = Z[known].mean(axis=0, dtype=np.float64), _root_of_length(Z[known]).mean()
    direction, n = query.space.direction(mean, m), int(CANDIDATE_SHARE * len(others))
    for _ in range(N_ROUNDS if n else 0):
        best = others[np.argpartition(-along(Z[others], direction), n - 1)[:n]]
        found = (Z[best] / _root_of_length(Z[best])[:, None]).mean(axis=0, dtype=np.float64) * length
        count = m + CANDIDATES_COUNT_AS
        direction = query.space.direction((m * mean + CANDIDATES_COUNT_AS * found) / count, count)
    return direction


def _places(query: Query, directions: list[Direction]) -> NDArray[np.float64]:
    if not directions:
        return np.empty(0)
    D = np.stack(directions, axis=1)
    own = np.diagonal(along(query.Z[query.hidden], D))
    return query.places(along(query.Z[query.compared], D), own)


def _root_of_length(Z: NDArray[Floating]) -> NDArray[Floating]:
    return np.sqrt(np.maximum(np.linalg.norm(Z, axis=1), Z.dtype.type(1e-6)))
