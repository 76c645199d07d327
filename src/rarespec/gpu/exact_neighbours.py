"""The exact nearest rows of each row, in tiles, on arrays of any library; on a GPU with a kernel that finds candidates.

Candidates are compared by their differences in float64. A bound tells how near the rows that are no candidates may be
at most; a row for which it does not exclude them is searched again in float64.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np
from array_api_compat import array_namespace, device, is_torch_array

from rarespec.gpu.device import on_device, usable_device
from rarespec.progress import Progress
from rarespec.rankers.neighbours.neighbour_graph import NeighbourGraph, build_neighbours
from rarespec.rankers.other_arrays import as_numpy
from rarespec.rankers.rows import fingerprint_of_rows, require_finite

Array = Any

N_MORE = 10
"""Candidates beyond the neighbours that are asked for and the row itself."""
DISTANCES_AT_ONCE = 1 << 27
"""Squared distances in float64 that are held at a time, 1 GB; on a GPU. Elsewhere a 32nd of it."""
QUERIES_AT_ONCE = 1 << 16
FEW_ROWS = 1 << 15
"""Up to so many rows are compared in float64 on a GPU too: that takes less than compiling the kernel."""


class Candidates(NamedTuple):
    """Of some rows: numbers of their candidates, (m, c), and what no other row's squared distance is below, (m,)."""

    rows: Array
    bound: Array


class CandidateSearch(Protocol):
    """Finds candidates faster than exactly, and knows how wrong it may be."""

    def __call__(self, start: int, stop: int) -> Candidates:
        """For the rows start .. stop-1."""

    def slack(self, rows: Array, squares: Array) -> Array:
        """By how much its value for a row that is truly no farther than `squares`, (m,), may exceed that, (m,)."""


def nearest_rows(X: Array, k: int, progress: Progress | None = None) -> tuple[Array, Array]:
    """Find the k rows nearest to each row of X, without the row itself.

    They come nearest first, equally near ones by number. Which of equally near rows is the last of the k may differ
    from other searches, nothing else.

    Parameters
    ----------
    X : (n, d) float32 or float64
        Finite rows, more than k, of any array library, where they are.
    k : int
        Neighbours of each row.
    progress : callable, optional
        Called with the number of rows done and in all.

    Returns
    -------
    indices : (n, k) int64
        Row numbers.
    distances : (n, k) float64
        Euclidean.

    Raises
    ------
    ValueError
        If k is not from 1 to n - 1.

    Examples
    --------
    >>> import numpy as np
    >>> from rarespec.gpu import nearest_rows
    >>> indices, distances = nearest_rows(np.array([[0.0], [1.0], [3.0]]), 1)
    >>> indices.tolist(), distances.tolist()
    ([[1], [0], [1]], [[1.0], [1.0], [2.0]])
    """
    xp, n = array_namespace(X), X.shape[0]
    if not 1 <= k < n:
        raise ValueError(f"k = {k}: a row of {n} has from 1 to {n - 1} others")
    indices, distances = [], []
    search = _kernel_search(X, k) if _on_gpu(X) and n > FEW_ROWS else None
    for start, stop in _batches(n, QUERIES_AT_ONCE if search else _rows_at_once(X)):
        rows = xp.arange(start, stop, device=device(X))
        near, squares = _search_all(X, rows, k) if search is None else _search_candidates(X, rows, k, search)
        indices.append(near)
        distances.append(xp.sqrt(squares))
        if progress:
            progress(stop, n)
    return xp.concat(indices, axis=0), xp.concat(distances, axis=0)


def nearest_to(X: Array, rows: Array, k: int) -> tuple[Array, Array]:
    """Find the k rows of X nearest to some of its rows, without the row itself: each is compared with all.

    Parameters
    ----------
    X : (n, d) float32 or float64
        Finite rows, more than k, of any array library, where they are.
    rows : (m,) int64
        Row numbers, beside X.
    k : int
        Neighbours of each.

    Returns
    -------
    indices : (m, k) int64
        Row numbers, nearest first, equally near ones by number.
    distances : (m, k) float64
        Euclidean.
    """
    xp = array_namespace(X)
    batches = _batches(rows.shape[0], _rows_at_once(X))
    found = [_search_all(X, rows[start:stop], k) for start, stop in batches]
    near, squares = (xp.concat(parts, axis=0) for parts in zip(*found, strict=True))
    return near, xp.sqrt(squares)


def _on_gpu(X: Array) -> bool:
    from rarespec.gpu.device import has_triton

    return is_torch_array(X) and X.is_cuda and has_triton()


def _batches(n: int, size: int) -> Iterator[tuple[int, int]]:
    return ((start, min(start + size, n)) for start in range(0, n, size))


def _rows_at_once(X: Array) -> int:
    at_once = DISTANCES_AT_ONCE if is_torch_array(X) and X.is_cuda else DISTANCES_AT_ONCE // 32
    return max(1, at_once // X.shape[0])


# ---- by sorting all distances, in float64


def _search_all(X: Array, rows: Array, k: int) -> tuple[Array, Array]:
    """Neighbours (m, k) and squared distances (m, k) of these rows."""
    xp = array_namespace(X)
    base = xp.astype(X, xp.float64)
    base = base - xp.mean(base, axis=0, keepdims=True)  # products of smaller numbers lose less
    lengths = xp.sum(base * base, axis=1)
    queries = xp.take(base, rows, axis=0)
    squares = lengths[None, :] - 2 * (queries @ base.T)  # without |q|^2, which is the same for a whole row
    return _nearest_of(X, rows, _places_of_smallest(xp, squares, min(k + 1 + N_MORE, X.shape[0])), k)


def _places_of_smallest(xp: Any, values: Array, count: int) -> Array:
    """(m, count) columns of the smallest values of each row, in any order."""
    if is_torch_array(values):
        return values.topk(count, dim=1, largest=False, sorted=False).indices
    return xp.argsort(values, axis=1)[:, :count]


def _nearest_of(X: Array, rows: Array, candidates: Array, k: int) -> tuple[Array, Array]:
    """The k nearest of the candidates (m, c) other than the row itself, by differences in float64."""
    xp = array_namespace(X)
    candidates = xp.sort(candidates, axis=1)
    m, c = candidates.shape
    others = xp.reshape(xp.take(X, xp.reshape(candidates, (-1,)), axis=0), (m, c, X.shape[1]))
    difference = xp.astype(others, xp.float64) - xp.astype(xp.take(X, rows, axis=0), xp.float64)[:, None, :]
    squares = xp.sum(difference * difference, axis=2)
    squares = xp.where(candidates == rows[:, None], xp.full_like(squares, float("inf")), squares)
    order = xp.argsort(squares, axis=1, stable=True)[:, :k]
    return xp.take_along_axis(candidates, order, axis=1), xp.take_along_axis(squares, order, axis=1)


# ---- by the kernel, on a GPU


def _search_candidates(X: Array, rows: Array, k: int, search: CandidateSearch) -> tuple[Array, Array]:
    """As `_search_all`, which is asked only for rows whose candidates are not certain to hold the nearest."""
    candidates = search(int(rows[0]), int(rows[-1]) + 1)
    near, squares = _nearest_of(X, rows, candidates.rows, k)
    farthest = squares[:, -1]
    uncertain = rows[farthest >= candidates.bound - search.slack(rows, farthest)]
    for start, stop in _batches(uncertain.shape[0], _rows_at_once(X)):
        again = uncertain[start:stop]
        place = again - rows[0]
        near[place], squares[place] = _search_all(X, again, k)
    return near, squares


def _kernel_search(X: Array, k: int) -> CandidateSearch:
    from rarespec.gpu.neighbour_candidates import KernelCandidates

    return KernelCandidates(X, k + 1 + N_MORE)


# ---- The neighbour graph of a feature matrix, found exactly on a GPU.


def neighbours_on(asked: str | None, X: Any, k: int, progress: Progress | None = None) -> NeighbourGraph:
    """Build the neighbour graph on a device; on a GPU it is exact whatever the number of rows.

    Parameters
    ----------
    asked : str or None
        "cpu", "cuda", "cuda:1" and so on; None is the CPU. Without a GPU the CPU builds the graph, with a warning that
        says why.
    X : (n, d) float32 or float64
        Feature vectors, all finite.
    k : int
        Neighbours of each row.
    progress : callable, optional
        Called with the number of rows done and in all.

    Returns
    -------
    NeighbourGraph
        As `rarespec.rankers.build_neighbours` gives it.

    Examples
    --------
    >>> import numpy as np
    >>> from rarespec.gpu import neighbours_on
    >>> neighbours_on("cpu", np.array([[0.0], [1.0], [3.0]]), 1).indices.ravel()
    array([1, 0, 1], dtype=int32)
    """
    device = usable_device(asked)
    if device is None or len(X) <= max(k, 1):
        return build_neighbours(X, k, progress)
    require_finite(X)
    indices, distances = nearest_rows(on_device(np.ascontiguousarray(X), device), k, progress)
    return NeighbourGraph(
        as_numpy(indices).astype(np.int32), as_numpy(distances).astype(np.float32), 1.0, fingerprint_of_rows(X)
    )
