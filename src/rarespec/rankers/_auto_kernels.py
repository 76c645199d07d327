"""Auto's kernel parts, for classes of several unlike families: likeness to each known example counts by itself.

The kernel is a power of the cosine in the space of signal: broad (4) or narrow (16).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarespec.rankers._auto_query import Query, some
from rarespec.rankers._kernel_discriminant import Others, discriminant

POWERS = {"broad": 4, "narrow": 16}

MAX_KNOWN, N_LANDMARKS = 100, 400
"""Known and unlabelled rows that are centres of the kernel."""

MAX_OTHERS = 10_000
"""Unlabelled rows that stand for what is not looked for."""

MOST_SUSPECTED = 0.01
"""Share of the others that may be left out as likely members: there are few of a rare class."""

Weights = NDArray[np.float64]


def kernel_values(units: NDArray[Any], centres: NDArray[Any], power: int) -> NDArray[np.float64]:
    """(n, centres) between 0 and 1, for rows of length 1; power is one of 2, 4, 8, 16."""
    values = np.clip((1 + units @ centres.T.astype(units.dtype)) / 2, 0, 1).astype(np.float64)
    for _ in range(power.bit_length() - 1):
        values *= values
    return values


def centres_of(query: Query) -> NDArray[np.intp]:
    """Rows that are centres: known ones, and some that stand for the survey."""
    return np.concatenate([some(query.known, MAX_KNOWN, query.rng), some(query.unlabelled, N_LANDMARKS, query.rng)])


def kernel_weights(
    query: Query, units: NDArray[np.float32], centres: NDArray[np.intp], others: NDArray[np.intp], power: int
) -> tuple[Weights, NDArray[np.float64]]:
    """Weights of the centres, and the places of the known rows that are hidden in turn."""
    known, Q = (kernel_values(units[rows], units[centres], power) for rows in (query.known, others))
    basis, rest = kernel_values(units[centres], units[centres], power), Others.of(Q)
    compared = kernel_values(units[query.compared], units[centres], power)
    places, values = np.empty(len(query.hidden)), np.empty(len(query.hidden))
    for i, row in enumerate(query.hidden):
        # an example that nobody knows is no centre, and may be among the others
        is_hidden, left = query.known == row, np.flatnonzero(centres != row)
        without = rest.plus(known[is_hidden]).at(left)
        weights = discriminant(basis[np.ix_(left, left)], known[~is_hidden][:, left], without)
        values[i] = known[is_hidden][0, left] @ weights
        places[i] = query.places(compared[:, left] @ weights, values[i : i + 1])[0]
    suspects = _suspects(Q @ discriminant(basis, known, rest), values)
    return discriminant(basis, known, rest.minus(Q[suspects])), places


def _suspects(others: NDArray[np.float64], hidden: NDArray[np.float64]) -> NDArray[np.intp]:
    """Others that reach what half of the known reach when they are hidden: likely members, no examples of the rest.

    With so few known that this says nothing, the middle between known and others counts.
    """
    level = max(float(np.median(hidden)), -0.5) if len(hidden) > 2 else 0.0
    above = np.flatnonzero(others > level)
    return above[np.argsort(-others[above], kind="stable")][: int(MOST_SUSPECTED * len(others))]
