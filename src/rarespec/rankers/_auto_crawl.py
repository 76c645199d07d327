"""Rows that what is known reaches along a neighbour graph of which only their own part is ever built.

Rows are asked for their neighbours, a batch at a time: always those to which most has spread so far. With a graph of
all rows, most of the time would go into rows that nothing ever reaches.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from rarespec.rankers._auto_edges import scaled
from rarespec.rankers._auto_spread import N_STEPS_FAR, spread

FIRST_BATCH, BATCH_SHARE = 100, 0.5
"""Rows of the first batches; later ones have this share of those asked before."""

RowNumbers = NDArray[np.intp]
NeighboursOf = Callable[[RowNumbers], tuple[NDArray[np.int64], NDArray[np.float64]]]
"""Numbers and distances of the nearest rows of each of some rows, (m, k) each; a row itself may be among its own."""


def reached(known: RowNumbers, n_wanted: int, neighbours_of: NeighboursOf) -> RowNumbers:
    """Numbers, rising, of about so many rows, the known among them; fewer when no more can be reached."""
    asked = known
    near, far = neighbours_of(known)
    while len(asked) < n_wanted:
        rows, f = _spread_so_far(known, asked, near, far)
        waiting = ~np.isin(rows, asked)
        rows, f = rows[waiting], f[waiting]
        if not len(rows):
            break
        n_next = min(max(FIRST_BATCH, int(BATCH_SHARE * len(asked))), n_wanted - len(asked), len(rows))
        batch = rows[np.argpartition(-f, n_next - 1)[:n_next]]
        found = neighbours_of(batch)
        asked = np.concatenate([asked, batch])
        near, far = np.concatenate([near, found[0]]), np.concatenate([far, found[1]])
    return np.sort(asked)


def _spread_so_far(
    known: RowNumbers, asked: RowNumbers, near: NDArray[np.int64], far: NDArray[np.float64]
) -> tuple[RowNumbers, NDArray[np.float32]]:
    """All rows seen so far, and what has spread to each."""
    rows, place = np.unique(np.concatenate([asked, near.ravel()]), return_inverse=True)
    sources = np.repeat(place[: len(asked)], near.shape[1])
    widths = np.maximum(far[:, -1:], np.finfo(np.float32).tiny)
    weights = np.exp(-((far / widths) ** 2)).ravel()
    one_way = csr_array((weights, (sources, place[len(asked) :])), (len(rows), len(rows)))
    one_way.setdiag(0)
    y = np.isin(rows, known).astype(np.float32)
    return rows, spread(scaled(csr_array(one_way.maximum(one_way.T))), y, N_STEPS_FAR)
