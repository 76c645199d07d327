"""Searching a matrix for nearest rows: exactly or with faiss, equal rows looked at once."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from rarespec.progress import Progress
from rarespec.rankers._faiss_neighbours import faiss_nearest
from rarespec.rankers.exact_neighbours import Distances, Indices, exact_nearest, first_of_each
from rarespec.rankers.rows import BLOCK_ROWS, Rows, row_digests

EXACT_BELOW = 20_000
"""Different rows from which on faiss is used; fewer are searched exactly within seconds."""

FEW_PAIRS = 2 * 10**9
"""Pairs that are compared exactly, whatever the number of rows, because building an index would take longer."""


class NeighbourSearch:
    """Finds neighbours among the rows of X, of which equal ones are looked at once."""

    def __init__(
        self,
        X: Rows,
        target_recall: float,
        random_state: Any,
        n_jobs: int | None,
        progress: Progress | None = None,
    ) -> None:
        _require_share(target_recall)
        self.target_recall, self.n_jobs, self.progress = target_recall, n_jobs, progress
        self.seed = int(check_random_state(random_state).randint(2**31 - 1))
        self.X = X
        self.digests = row_digests(X)
        self.group_of, self.first = _groups(self.digests)
        self.distinct = X if len(self.first) == len(X) else X[self.first]
        self.members = np.argsort(self.group_of, kind="stable")  # (n,) rows, group by group, by index within each
        self.sizes = np.bincount(self.group_of)
        self.starts = np.cumsum(self.sizes) - self.sizes

    def nearest_to(self, queries: Rows, own: Indices | None, k: int) -> tuple[Indices, Distances, float]:
        """The k nearest rows of X to each query, leaving out its own row where it has one; and the recall."""
        if k == 0:
            return np.empty((len(queries), 0), np.int64), np.empty((len(queries), 0)), 1.0
        n_groups = min(k + (own is not None), len(self.first))
        if own is not None and len(own) == len(self.X):
            groups, distances, recall = self._nearest_groups(self.distinct, True, n_groups)
            groups, distances = groups[self.group_of], distances[self.group_of]
        else:
            groups, distances, recall = self._nearest_groups(queries, own is not None, n_groups)
        return *self._rows_of_groups(groups, distances, own, k), recall

    def _nearest_groups(self, queries: Rows, own_first: bool, k: int) -> tuple[Indices, Distances, float]:
        all_rows, digests = queries is self.distinct, self.digests[self.first]
        if len(digests) < EXACT_BELOW or (not all_rows and len(digests) * len(queries) < FEW_PAIRS):
            return *exact_nearest(self.distinct, queries, k, self.progress, self.n_jobs), 1.0
        order = np.argsort(digests)
        return faiss_nearest(
            self.distinct,
            order,
            queries,
            order if all_rows else np.argsort(row_digests(queries), kind="stable"),
            k,
            own_first=own_first,
            target_recall=self.target_recall,
            seed=self.seed,
            progress=self.progress,
            n_jobs=self.n_jobs,
        )

    def _rows_of_groups(
        self, groups: Indices, distances: Distances, own: Indices | None, k: int
    ) -> tuple[Indices, Distances]:
        if len(self.first) == len(self.X):  # every group is one row
            return (groups, distances) if own is None else _without_own(groups, distances, own)
        indices, kept = np.empty((len(groups), k), np.int64), np.empty((len(groups), k))
        own = np.full(len(groups), -1) if own is None else own
        for start in range(0, len(groups), BLOCK_ROWS):
            block = slice(start, start + BLOCK_ROWS)
            indices[block], kept[block] = self._rows_of_block(groups[block], distances[block], own[block], k)
        return indices, kept

    def _rows_of_block(self, groups: Indices, distances: Distances, own: Indices, k: int) -> tuple[Indices, Distances]:
        """Groups to their rows. k + 1 rows of a group are enough: one of them may be the query itself."""
        flat = groups.ravel()
        counts = np.minimum(self.sizes[flat], k + 1)
        within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        candidates = self.members[np.repeat(self.starts[flat], counts) + within]
        rows = np.repeat(np.repeat(np.arange(len(groups)), groups.shape[1]), counts)
        others = candidates != own[rows]
        far = np.repeat(distances.ravel(), counts)
        return first_of_each(rows[others], candidates[others], far[others], len(groups), k)


def _without_own(found: Indices, distances: Distances, own: Indices) -> tuple[Indices, Distances]:
    """(n, k) of (n, k + 1) rows; a search that has missed the own row has found the k nearest others first."""
    others = found != own[:, None]
    others[others.all(axis=1), -1] = False
    return found[others].reshape(len(found), -1), distances[others].reshape(len(found), -1)


def _require_share(target_recall: Any) -> None:
    if not (isinstance(target_recall, Real) and 0 < float(target_recall) <= 1):
        raise ValueError(f"target_recall = {target_recall!r}: it must be above 0 and at most 1")


def _groups(digests: NDArray[np.bytes_]) -> tuple[Indices, Indices]:
    """Which group of equal rows each row is in, (n,), and the first row of each group; groups by their first row."""
    _, first, group_of = np.unique(digests, return_index=True, return_inverse=True)
    place = np.empty(len(first), np.int64)
    by_first = np.argsort(first)
    place[by_first] = np.arange(len(first))
    return place[group_of], first[by_first]
