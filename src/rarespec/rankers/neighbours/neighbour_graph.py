"""The neighbour graph of a feature matrix: built once, kept, and asked by every method that walks on it."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from sklearn.utils import check_array, check_random_state

from rarespec.progress import Progress
from rarespec.rankers.neighbours.exact import Distances, Indices, exact_nearest, first_of_each, pair_distances
from rarespec.rankers.neighbours.faiss_search import faiss_nearest
from rarespec.rankers.rows import BLOCK_ROWS, Rows, fingerprint_of_rows, require_finite, row_digests

# ---- Searching a matrix for nearest rows: exactly or with faiss, equal rows looked at once.


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
        exact_below: int | None = None,
    ) -> None:
        _require_share(target_recall)
        self.exact_below = EXACT_BELOW if exact_below is None else exact_below
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
        """Find the k rows of X nearest to each query.

        Parameters
        ----------
        queries : (m, d) array
            Rows whose neighbours are wanted.
        own : (m,) int or None
            Row of X that each query is, which is no neighbour of itself; None when they are other rows. If there are as
            many as rows of X, the queries must be X itself, in its order.
        k : int
            Neighbours of each; at most the rows of X, less one where `own` is given.

        Returns
        -------
        indices : (m, k) int64
            Row numbers, nearest first.
        distances : (m, k) float64
            Euclidean.
        recall : float
            Share of the true neighbours that were found in a sample; 1 where the search was exact.
        """
        if k == 0:
            return np.empty((len(queries), 0), np.int64), np.empty((len(queries), 0)), 1.0
        n_groups = min(k + (own is not None), len(self.first))
        if own is not None and len(own) == len(self.X):
            # all rows of X: each different one is looked up once, and its neighbours are handed to its equals
            groups, distances, recall = self._nearest_groups(self.distinct, True, n_groups)
            groups, distances = groups[self.group_of], distances[self.group_of]
        else:
            groups, distances, recall = self._nearest_groups(queries, own is not None, n_groups)
        return *self._rows_of_groups(groups, distances, own, k), recall

    def _nearest_groups(self, queries: Rows, own_first: bool, k: int) -> tuple[Indices, Distances, float]:
        all_rows, digests = queries is self.distinct, self.digests[self.first]
        if len(digests) < self.exact_below or (not all_rows and len(digests) * len(queries) < FEW_PAIRS):
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


# ---- neighbour graph


N_SIZES = 10
"""How many components a summary names."""


@dataclass(frozen=True)
class GraphSummary:
    """What is unusual about a neighbour graph."""

    n_rows: int
    n_neighbours: int
    recall: float | None
    n_duplicates: int
    """Rows that equal another row."""
    n_isolated: int
    """Rows that are among the neighbours of no other row: only their own lists join them to the graph."""
    n_components: int
    """Parts between which no edge leads, when edges are followed both ways."""
    component_sizes: NDArray[np.int64]
    """(n_components,) rows in each part, the largest first."""

    def __str__(self) -> str:
        recall = "not measured" if self.recall is None else f"{self.recall:.4f}"
        sizes = ", ".join(map(str, self.component_sizes[:N_SIZES])) + (", ..." if self.n_components > N_SIZES else "")
        return (
            f"{self.n_rows} rows, {self.n_neighbours} neighbours each, recall {recall}; "
            f"{self.n_duplicates} rows equal another, {self.n_isolated} are no other row's neighbour; "
            f"{self.n_components} components of {sizes} rows"
        )


@dataclass(frozen=True, eq=False, repr=False)
class NeighbourGraph:
    """The nearest rows of each row, without the row itself: nearest first, equally near ones by index.

    Not to be confused with a symmetric graph: j may be a neighbour of i without i being one of j. Methods that need
    symmetry make it themselves.

    Parameters
    ----------
    indices : (n, k) int32
        Row numbers of the neighbours.
    distances : (n, k) float32
        Euclidean, computed in double precision from the differences of the rows.
    recall : float or None
        Share of the true neighbours that were found in a sample of rows; 1.0 when the search was exact.
    fingerprint : str
        Of the feature matrix that the graph was built on.

    Examples
    --------
    >>> import numpy as np
    >>> from rarespec.rankers import build_neighbours
    >>> build_neighbours(np.array([[0.0], [1.0], [3.0]]), 1)
    <NeighbourGraph: 3 rows, 1 neighbours each, recall 1.0>
    """

    indices: NDArray[np.int32]
    distances: NDArray[np.float32]
    recall: float | None
    fingerprint: str

    def __len__(self) -> int:
        return len(self.indices)

    def __repr__(self) -> str:
        return f"<NeighbourGraph: {len(self)} rows, {self.n_neighbours} neighbours each, recall {self.recall}>"

    @property
    def n_neighbours(self) -> int:
        """Neighbours of each row, k."""
        return self.indices.shape[1]

    def nearest(self, k: int) -> NeighbourGraph:
        """Cut the graph to the k nearest neighbours of each row.

        Parameters
        ----------
        k : int
            From 1 to `n_neighbours`.

        Returns
        -------
        NeighbourGraph
            The smaller graph; it shares memory with this one.

        Raises
        ------
        ValueError
            If the graph keeps fewer neighbours.
        """
        if not isinstance(k, Integral) or not 1 <= int(k) <= self.n_neighbours:
            raise ValueError(
                f"k = {k!r}: this graph keeps {self.n_neighbours} neighbours per row; ask for 1 to {self.n_neighbours}"
            )
        return NeighbourGraph(self.indices[:, :k], self.distances[:, :k], self.recall, self.fingerprint)

    def summary(self) -> GraphSummary:
        """Count duplicates, isolated rows and connected parts.

        Returns
        -------
        GraphSummary
            The counts; as text it is one line for people.
        """
        n, k = self.indices.shape
        edges = csr_array((np.ones(n * k, np.int8), self.indices.ravel(), np.arange(n + 1) * k), (n, n))
        n_components, component = connected_components(edges, directed=False)
        return GraphSummary(
            n_rows=n,
            n_neighbours=k,
            recall=self.recall,
            n_duplicates=int((self.distances[:, :1] == 0).sum()),
            n_isolated=int((np.bincount(self.indices.ravel(), minlength=n) == 0).sum()),
            n_components=int(n_components),
            component_sizes=-np.sort(-np.bincount(component)),
        )


def build_neighbours(
    X: Any,
    k: int,
    progress: Progress | None = None,
    target_recall: float = 0.99,
    random_state: Any = 0,
    n_jobs: int | None = None,
    exact_below: int | None = None,
) -> NeighbourGraph:
    """Find the k nearest rows of each row of X.

    The search is exact below 20 000 different rows; above, it uses faiss, to a recall that is measured on 1000 rows.
    The result depends neither on the number of threads nor, but for the choice among equally near rows, on the order
    of the rows. Memory grows in proportion to the number of rows.

    Parameters
    ----------
    X : (n, d) float32 or float64
        Feature vectors, all finite.
    k : int
        Neighbours of each row; at most n - 1 are possible, and a warning says when fewer are kept.
    progress : callable, optional
        Called with the number of rows done and in all.
    target_recall : float, default 0.99
        Share of the true neighbours that must be found when the search is not exact; the share in the sample exceeds
        it by two standard errors.
    random_state : int, RandomState or None, default 0
        Seed of the grouping of the rows into cells and of the sample.
    n_jobs : int, optional
        Threads; by default one for each processor.
    exact_below : int, optional
        Fewer different rows than this are all compared with each other; by default 20 000.

    Returns
    -------
    NeighbourGraph
        The neighbours.

    Raises
    ------
    ValueError
        If X is not finite, or k or target_recall is out of range.

    Examples
    --------
    >>> import numpy as np
    >>> from rarespec.rankers import build_neighbours
    >>> build_neighbours(np.array([[0.0], [1.0], [3.0]]), 2).indices
    array([[1, 2],
           [0, 2],
           [1, 0]], dtype=int32)
    """
    X = _check_rows(X)
    k = _possible(k, len(X) - 1)
    search = NeighbourSearch(X, target_recall, random_state, n_jobs, progress, exact_below)
    indices, distances, recall = search.nearest_to(X, np.arange(len(X)), k)
    return NeighbourGraph(indices.astype(np.int32), _single(distances), recall, fingerprint_of_rows(X))


def extend_neighbours(
    graph: NeighbourGraph,
    X: Any,
    progress: Progress | None = None,
    target_recall: float = 0.99,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> NeighbourGraph:
    """Find the graph of X, whose first rows are those that `graph` was built on.

    New rows get their neighbours among all rows, and old rows those new ones that are nearer than what they had. Where
    search is exact the result is that of `build_neighbours`.

    Parameters
    ----------
    graph : NeighbourGraph
        Of the first rows of X.
    X : (n, d) float32 or float64
        Feature vectors, all finite.
    progress, target_recall, random_state, n_jobs : object, optional
        As in `build_neighbours`.

    Returns
    -------
    NeighbourGraph
        Of all rows.

    Raises
    ------
    ValueError
        If the first rows of X are not those of the graph.
    """
    X = _check_rows(X)
    n_old, k = graph.indices.shape
    if len(X) < n_old or fingerprint_of_rows(X[:n_old]) != graph.fingerprint:
        raise ValueError(f"the first {n_old} rows of X are not those that the graph was built on: build it again")
    if len(X) == n_old:
        return graph
    settings = target_recall, random_state, n_jobs
    new_rows = np.arange(n_old, len(X))
    among_all = NeighbourSearch(X, *settings, _part_of(progress, 0, len(X)))
    among_new = NeighbourSearch(X[n_old:], *settings, _part_of(progress, len(new_rows), len(X)))
    indices, distances, recall = among_all.nearest_to(X[n_old:], new_rows, k)
    closer, _, old_recall = among_new.nearest_to(X[:n_old], None, min(k, len(new_rows)))
    updated = _nearest_of_both(X, graph.indices, closer + n_old, k)
    return NeighbourGraph(
        np.concatenate([updated[0], indices]).astype(np.int32),
        _single(np.concatenate([updated[1], distances])),
        None if graph.recall is None else min(graph.recall, recall, old_recall),
        fingerprint_of_rows(X),
    )


def neighbours_of(
    X_fit: Any,
    X_new: Any,
    k: int,
    progress: Progress | None = None,
    target_recall: float = 0.99,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Find the k rows of X_fit nearest to each row of X_new.

    A row of X_fit that equals the new row is among them, at distance 0.

    Parameters
    ----------
    X_fit, X_new : array
        Feature vectors, (n, d) and (m, d), float32 or float64, all finite.
    k : int
        Neighbours of each new row.
    progress, target_recall, random_state, n_jobs : object, optional
        As in `build_neighbours`.

    Returns
    -------
    indices : (m, k) int32
        Row numbers of X_fit, nearest first.
    distances : (m, k) float32
        Euclidean.
    """
    X_fit, X_new = _check_rows(X_fit), _check_rows(X_new)
    k = _possible(k, len(X_fit))
    search = NeighbourSearch(X_fit, target_recall, random_state, n_jobs, progress)
    indices, distances, _ = search.nearest_to(X_new, None, k)
    return indices.astype(np.int32), _single(distances)


def _part_of(progress: Progress | None, before: int, total: int) -> Progress | None:
    """The progress of one search of several, which begins after this many rows."""
    return None if progress is None else lambda done, _, note="": progress(before + done, total)


def _check_rows(X: Any) -> Rows:
    X = check_array(X, dtype=[np.float64, np.float32], ensure_all_finite=False)
    require_finite(X)
    return X


def _single(distances: Distances) -> NDArray[np.float32]:
    """In single precision; what is beyond its range becomes its largest or smallest number, neither inf nor 0."""
    single = np.finfo(np.float32)
    inside = np.clip(distances, single.smallest_subnormal, single.max)
    return np.where(distances > 0, inside, 0.0).astype(np.float32)


def require_neighbours(k: Any) -> None:
    if not isinstance(k, Integral) or int(k) < 1:
        raise ValueError(f"k = {k!r}: it must be a whole number >= 1")


def _possible(k: int, most: int) -> int:
    require_neighbours(k)
    if k > most:
        warnings.warn(f"{k} neighbours requested but only {most} are possible: keeping {most}", stacklevel=3)
    return min(k, most)


def _nearest_of_both(X: Rows, old: NDArray[np.int32], new: Indices, k: int) -> tuple[Indices, Distances]:
    """The k nearest among the neighbours in two lists, compared in double precision."""
    both = np.concatenate([old, new], axis=1)
    indices, distances = np.empty((len(both), k), np.int64), np.empty((len(both), k))
    for start in range(0, len(both), BLOCK_ROWS):
        candidates = both[start : start + BLOCK_ROWS]
        rows = np.repeat(np.arange(len(candidates)), candidates.shape[1])
        flat = candidates.ravel().astype(np.int64)
        apart = pair_distances(X, rows + start, X, flat)
        block = slice(start, start + len(candidates))
        indices[block], distances[block] = first_of_each(rows, flat, apart, len(candidates), k)
    return indices, distances
