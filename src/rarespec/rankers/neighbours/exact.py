"""Nearest rows by comparing every pair, with a proof that none was missed.

Squared distances come from matrix products, |q|^2 - 2 q.x + |x|^2, whose rounding error is bounded. All rows that could
belong to the nearest within that bound are compared again by their differences, which cancel nothing.

Where rows are many, faiss finds a few more candidates than are wanted in single precision, four times as fast as double
precision could. If the last of them is farther than the k-th nearest by more than rounding can explain, no other row
can be nearer; queries of which this is not so, among rows that are nearly equal for instance, are compared again in
double precision.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from rarespec.engines.here import one_blas_thread
from rarespec.progress import Progress
from rarespec.rankers.rows import Rows
from rarespec.storage.processes import available_cores

Indices = NDArray[np.int64]
Distances = NDArray[np.float64]
"""Called with the number of rows done and in all."""

QUERIES_AT_ONCE, ROWS_AT_ONCE = 256, 2048
"""Queries and rows that are compared at a time in each thread (4 MiB of distances)."""

PAIRS_AT_ONCE = 1 << 12
"""Pairs whose differences are held at a time."""

HUGE = 1e280
"""Sums of squares beyond this, or below its inverse, are computed from scaled values."""

SAMPLE_ROWS = 1000
"""Rows whose median is taken for the centre of all."""

STRIDES = 16
"""Distances of which the smallest stands for all, when a row's threshold is looked for."""

MANY_ROWS, MANY_QUERIES = 2000, 1024
"""So many rows are searched in single precision first, for so many queries at a time."""

SPARE = 8
"""Candidates beyond k."""

BOUND_STRIDES = 8
"""The same, where the threshold itself is all that is wanted."""


def require_faiss() -> ModuleType:
    """Import faiss, or say how to install it."""
    try:
        import faiss
    except ImportError as error:
        raise ImportError(
            "a neighbour graph of this many rows needs faiss: install it with `pip install faiss-cpu`"
        ) from error
    # faiss 1.15 compares less than 128 000 numbers of queries one after the other, six times slower than by products
    faiss.cvar.distance_compute_blas_threshold = min(faiss.cvar.distance_compute_blas_threshold, 20)
    return faiss


def exact_nearest(
    base: Rows, queries: Rows, k: int, progress: Progress | None = None, n_jobs: int | None = None
) -> tuple[Indices, Distances]:
    """Find the k rows of `base` nearest to each query: nearest first, equally near ones by index.

    Parameters
    ----------
    base : (n, d) array
        Rows to search.
    queries : (m, d) array
        Rows whose neighbours are wanted.
    k : int
        At most n.
    progress : callable, optional
        Called with the number of queries done and in all.
    n_jobs : int, optional
        Threads; by default one for each processor.

    Returns
    -------
    indices : (m, k) int64
        Rows of `base`.
    distances : (m, k) float64
        Euclidean.
    """
    indices, distances = np.empty((len(queries), k), np.int64), np.empty((len(queries), k))
    base_rows = _CentredRows(base)
    if len(base) >= max(MANY_ROWS, k + SPARE):
        at_once, find = MANY_QUERIES, _SinglePrecision(base_rows).nearest
    else:
        at_once, find = QUERIES_AT_ONCE, partial(_nearest_of_block, base_rows)

    def fill(start: int) -> int:
        block = slice(start, min(start + at_once, len(queries)))
        indices[block], distances[block] = find(queries[block], k)
        return block.stop

    for done in in_threads(fill, range(0, len(queries), at_once), n_jobs):
        if progress:
            progress(done, len(queries))
    return indices, distances


def in_threads(work: Callable[[int], int], items: range, n_jobs: int | None) -> Iterator[int]:
    """Run work in threads, each item on one of them.

    However many threads there are, one item is never split among them, so its rounding is always the same.

    Parameters
    ----------
    work : callable
        Takes an item, returns a number; BLAS has one thread inside it.
    items : range
        The items.
    n_jobs : int or None
        Threads; None or -1 for one for each processor.

    Yields
    ------
    int
        What `work` returned, in the order of the items.
    """
    with one_blas_thread(), ThreadPoolExecutor(available_cores() if n_jobs in (None, -1) else n_jobs) as pool:
        yield from pool.map(work, items)


class _CentredRows:
    """`base` about its centre and at most 1, in float64, piece by piece; the squared length of each row.

    Distances keep their order, rounding errors become small, and nothing overflows.
    """

    def __init__(self, base: Rows) -> None:
        self.base = base
        # the median of some rows: a mean would follow a single row that lies far off
        some = np.sort(base[:: max(1, len(base) // SAMPLE_ROWS)], axis=0)
        self.centre = some[len(some) // 2].astype(np.float64)
        self.scale = 1.0
        self.scale = float(max(np.abs(piece).max() for _, piece in self.pieces())) or 1.0
        self.squares = np.concatenate([(piece**2).sum(axis=1) for _, piece in self.pieces()])

    def inside(self, rows: Rows) -> NDArray[np.float64]:
        return (rows - self.centre) / self.scale

    def pieces(self) -> Iterator[tuple[slice, NDArray[np.float64]]]:
        for start in range(0, len(self.base), ROWS_AT_ONCE):
            where = slice(start, min(start + ROWS_AT_ONCE, len(self.base)))
            yield where, self.inside(self.base[where])


class _SinglePrecision:
    """Rows that faiss compares with queries; what it finds is proved, or found again in double precision.

    Notation: s the squared distance of q and x, and s' what faiss makes of it; |s' - s| <= e (|q|^2 + |x|^2). The k-th
    nearest candidate is at a distance of r, and the last candidate has the value s'_last. A row x that is no candidate
    has s' >= s'_last. If it were within r, it would have |x| <= |q| + r and s' <= r^2 + e (|q|^2 + (|q| + r)^2).
    """

    def __init__(self, base_rows: _CentredRows) -> None:
        self._rows = base_rows
        self._base = np.concatenate([piece.astype(np.float32) for _, piece in base_rows.pieces()])

    def nearest(self, queries: Rows, k: int) -> tuple[Indices, Distances]:
        """Find the k nearest rows of each query."""
        faiss = require_faiss()
        faiss.omp_set_num_threads(1)
        inside, base = self._rows.inside(queries), self._rows.base
        values, found = faiss.knn(inside.astype(np.float32), self._base, k + SPARE)
        whose = np.repeat(np.arange(len(queries)), k + SPARE)
        indices, distances = first_of_each(
            whose, found.ravel(), pair_distances(queries, whose, base, found.ravel()), len(queries), k
        )
        length, r = np.sqrt((inside**2).sum(axis=1)), distances[:, -1] / self._rows.scale
        e = 4 * (base.shape[1] + 8) * float(np.finfo(np.float32).eps)
        doubtful = np.flatnonzero(~(values[:, -1] > r**2 + e * (length**2 + (length + r) ** 2)))
        for start in range(0, len(doubtful), QUERIES_AT_ONCE):
            some = doubtful[start : start + QUERIES_AT_ONCE]
            indices[some], distances[some] = _nearest_of_block(self._rows, queries[some], k)
        return indices, distances


def _nearest_of_block(base_rows: _CentredRows, queries: Rows, k: int) -> tuple[Indices, Distances]:
    """Piece by piece: keep what is within the k smallest values so far, and sift again at the end."""
    base, inside = base_rows.base, base_rows.inside(queries)
    smallest = np.full((len(queries), k), np.inf)
    error = 4 * (base.shape[1] + 8) * np.finfo(np.float64).eps  # of each value, relative to |q|^2 + |x|^2
    query_errors = 2 * error * (inside**2).sum(axis=1)
    kept, room, minus_twice = [], np.empty((len(queries), min(ROWS_AT_ONCE, len(base)))), -2.0 * inside
    for where, piece in base_rows.pieces():
        # |q|^2 is left out: it is the same for a whole row
        squares = np.matmul(minus_twice, piece.T, out=room[:, : len(piece)])
        squares += (1 + error) * base_rows.squares[where]  # at most so large
        smallest = _k_smallest(np.concatenate([smallest, _small_values(squares, k)], axis=1), k)
        squares -= 2 * error * base_rows.squares[where]  # at least so large
        rows, columns = np.nonzero(squares <= (smallest.max(axis=1) + query_errors)[:, None])
        kept.append((rows, columns + where.start, squares[rows, columns]))
    rows, candidates, values = (np.concatenate(parts) for parts in zip(*kept, strict=True))
    near = values <= (smallest.max(axis=1) + query_errors)[rows]
    rows, candidates = rows[near], candidates[near]
    return first_of_each(rows, candidates, pair_distances(queries, rows, base, candidates), len(queries), k)


def _small_values(squares: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    """At most k values of each row, each of a different entry, among them the smallest and few that are not small."""
    width = squares.shape[1] // STRIDES
    if width < 4 * k:
        return _k_smallest(squares, k)
    smallest = squares[:, :width].copy()
    for start in range(width, STRIDES * width, width):
        np.minimum(smallest, squares[:, start : start + width], out=smallest)
    return _k_smallest(smallest, k)


def _k_smallest(values: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    return values if values.shape[1] <= k else np.partition(values, k - 1, axis=1)[:, :k]


def k_th_of_each(values: NDArray[np.float32], k: int) -> NDArray[np.float32]:
    """Bound the k-th smallest value of each row from above, (n,), closely and much faster than by finding it."""
    width = values.shape[1] // BOUND_STRIDES
    if width >= 2 * k:  # values that are the smallest of their stride are different entries
        values = values[:, : BOUND_STRIDES * width].reshape(len(values), BOUND_STRIDES, width).min(axis=1)
    return np.partition(values, k - 1, axis=1)[:, k - 1]


def pair_distances(A: Rows, a: Indices, B: Rows, b: Indices) -> Distances:
    """Compute the distance of each pair from differences in float64.

    Nothing cancels, and a pair has the same distance in both directions, to the last digit.

    Parameters
    ----------
    A : (n, d) array
        Rows of the first side.
    a : (c,) int
        Row number in A of each pair.
    B : (m, d) array
        Rows of the second side; may be A.
    b : (c,) int
        Row number in B of each pair.

    Returns
    -------
    (c,) float64
        Euclidean distances.
    """
    distances = np.empty(len(a))
    for start in range(0, len(a), PAIRS_AT_ONCE):
        part = slice(start, start + PAIRS_AT_ONCE)
        differences = A[a[part]].astype(np.float64) - B[b[part]]
        distances[part] = lengths(differences)
    return distances


def lengths(rows: NDArray[np.float64]) -> Distances:
    """Compute the Euclidean norm of each row; rows whose squares would overflow or vanish are scaled first."""
    with np.errstate(over="ignore", under="ignore"):
        squares = (rows**2).sum(axis=1)
    found = np.sqrt(squares)
    extreme = np.flatnonzero((squares > HUGE) | (squares < 1 / HUGE))
    if len(extreme):
        scale = np.abs(rows[extreme]).max(axis=1)
        scale[scale == 0] = 1.0
        found[extreme] = scale * np.sqrt(((rows[extreme] / scale[:, None]) ** 2).sum(axis=1))
    return found


def first_of_each(
    rows: Indices, candidates: Indices, distances: Distances, n_rows: int, k: int
) -> tuple[Indices, Distances]:
    """Choose the k nearest candidates of each row: nearest first, equally near ones by index.

    Parameters
    ----------
    rows : (c,) int
        Whose candidate each is; every row has at least k.
    candidates : (c,) int
        The candidates.
    distances : (c,) float64
        How far they are.
    n_rows : int
        Number of rows.
    k : int
        How many to keep.

    Returns
    -------
    indices : (n_rows, k) int64
        The nearest candidates.
    distances : (n_rows, k) float64
        Their distances.
    """
    order = np.lexsort((candidates, distances, rows))
    counts = np.bincount(rows, minlength=n_rows)
    starts = np.cumsum(counts) - counts
    chosen = order[starts[:, None] + np.arange(k)]
    return candidates[chosen], distances[chosen]
