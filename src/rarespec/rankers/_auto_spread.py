"""Auto's part that follows a kind from neighbour to neighbour, in the space of signal.

What is known spreads along the edges of a graph (Zhou et al. 2004) whose weights fit the distances around each row
(Zelnik-Manor & Perona 2004). Neighbours after whitening, in the space of signal, are of the same kind far more often
than neighbours in the features as given: noise and the common differences between spectra are out of the way.

Notation: f = y + alpha S f with S = D^-1/2 W D^-1/2, by repeated products. What spreads from several rows is the sum of
what spreads from each, so that one hidden row is one subtraction.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from rarespec.rankers._auto_query import Query

ALPHA = 0.99
N_STEPS = 100
"""How far what is known spreads, in edges. Each step keeps all scores positive, however small."""

N_STEPS_FAR, MAX_NEAR = 20, 20_000
"""After so many steps, only those rows are followed further to which most has spread: the order of the rest is of no
interest."""

Columns = NDArray[np.float32]


def spread(S: csr_array, Y: Columns, n_steps: int = N_STEPS, f: Columns | None = None) -> Columns:
    """f for y, (n,), or for each column of Y, (n, q), float32; `f` is where it goes on from."""
    f = Y if f is None else f
    for _ in range(n_steps):
        f = ALPHA * (S @ f) + Y
    return f


def spread_scores(
    query: Query, S: csr_array, balanced: bool = False
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Score of every row, (n,), and the places of the known rows that are hidden in turn.

    Where refused rows are near, their share of what arrives at a row counts against it. If `balanced`, known rows count
    the less the more has spread to them: many that stand close together count as much as one that stands alone.
    """
    y = np.zeros(S.shape[0], np.float32)
    y[query.known] = 1
    f = spread(S, y, N_STEPS_FAR)
    near = _near(f, query)
    inner = S[near][:, near] if len(near) < len(f) else S
    f[near] = spread(inner, y[near], N_STEPS - N_STEPS_FAR, f[near])
    if balanced:
        y[query.known] = 1 / f[query.known]
        y *= len(query.known) / y.sum()
        f[near] = spread(inner, y[near])
    hidden = (near[:, None] == query.hidden).astype(np.float32)
    refused = np.isin(near, query.refused).astype(np.float32)
    from_each = spread(inner, np.column_stack([refused, hidden]))
    against = np.zeros_like(f)
    against[near] = from_each[:, 0]
    scores = _share(f, against)
    from_hidden: Columns = y[query.hidden] * from_each[:, 1:]
    without = _share(f[near, None] - from_hidden, against[near, None])
    return scores.astype(np.float64), _places(query, near, without, (without * hidden).sum(axis=0), scores)


def _near(f: NDArray[np.float32], query: Query) -> NDArray[np.intp]:
    """Rows to which most has spread, and all labelled ones."""
    if len(f) <= MAX_NEAR:
        return np.arange(len(f))
    return np.union1d(np.argpartition(-f, MAX_NEAR)[:MAX_NEAR], np.concatenate([query.known, query.refused]))


def _places(
    query: Query, near: NDArray[np.intp], without: Columns, own: NDArray[np.float32], scores: NDArray[np.float32]
) -> NDArray[np.float64]:
    """Place of each hidden row, whose score is `own`, among unlabelled ones: near, (m, h), and all others."""
    unlabelled = np.isin(near, query.unlabelled, assume_unique=True)
    far = np.sort(np.delete(scores, near))
    return 1.0 + (without[unlabelled] > own).sum(axis=0) + len(far) - np.searchsorted(far, own, side="right")


def _share(f: Columns, against: Columns) -> Columns:
    positive = np.maximum(f, np.float32(1e-30))  # what is left after a subtraction may be rounding
    return np.asarray(positive * positive / (positive + against), np.float32)
