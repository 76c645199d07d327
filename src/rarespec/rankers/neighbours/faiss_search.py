"""Nearest rows in cells that faiss finds, with a recall that is measured, not assumed.

Rows are grouped into cells around k-means centres, and a query looks into the cells nearest to it only. How many is
found by trying: a sample of queries is compared with exact search, and the number grows until the recall suffices.
Queries that look into the same cell are compared with its rows by one product of matrices.

Everything is done on rows in an order that their contents decide, in pieces of fixed size, each on one thread: the
order of the rows and the number of threads cannot change the result.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarespec.progress import Progress
from rarespec.rankers.neighbours.exact import (
    Distances,
    Indices,
    exact_nearest,
    in_threads,
    k_th_of_each,
    pair_distances,
    require_faiss,
)
from rarespec.rankers.rows import Rows

SAMPLE_ROWS = 1000
"""Queries on which recall is measured."""

TRAINING_ROWS_PER_CELL, TRAINING_ROUNDS = 64, 5
"""Enough for k-means here: more of either took longer and gave the same recall."""

CELLS_PER_ROOT = 1.2
"""Cells per square root of the number of rows: about the fastest at 10^5 rows."""

FIRST_PROBES, MORE_PROBES = 4, 1.25
"""Cells looked into at first, and the factor by which they grow."""

SURE = 2.0
"""Standard errors by which the recall of the sample must exceed the target: a sample alone may be lucky."""

SPARE = 3
"""Neighbours asked for beyond k: faiss orders by single precision, and the last places are decided in double."""

CELLS_AROUND = 6
"""Cells around a query's own in which rows are looked for that bound how far the nearest can be."""

ROUNDING = np.float32(1e-5)
"""Of a squared distance in single precision, relative to squared lengths about the centroid."""

PIECE_ROWS = 4096
"""Rows that a thread takes at a time: of so many queries, hundreds look into the same cell."""


@dataclass(frozen=True)
class _Cells:
    """`base` in cells, with what turns rows into what faiss was given."""

    faiss: ModuleType
    quantizer: Any
    """Finds the nearest cells."""
    base: Rows
    by_cell: Indices
    """(n,) rows of `base`, cell by cell."""
    starts: Indices
    """(c + 1,) where each cell begins there."""
    centroids: NDArray[np.float32]
    """(c, d)."""
    factors: NDArray[np.float32]
    """(n, d + 2) -2 x, 1 and |x|^2 of each row, cell by cell; x is measured from the centroid of its cell, or single
    precision would not separate the rows of a small cell far from the others."""
    centre: NDArray[np.float64]
    scale: float

    def inside(self, rows: Rows) -> NDArray[np.float32]:
        return _inside(rows, self.centre, self.scale)

    def nearest(
        self,
        queries: Rows,
        order: Indices,
        k: int,
        n_probes: int,
        progress: Progress | None = None,
        n_jobs: int | None = None,
    ) -> tuple[Indices, Distances]:
        """The k nearest rows of each query, which are looked at in this order."""
        indices, distances = np.empty((len(queries), k), np.int64), np.empty((len(queries), k))
        asked = min(k + SPARE, len(self.base))

        def fill(start: int) -> int:
            rows = order[start : start + PIECE_ROWS]
            found = self._candidates(queries[rows], asked, n_probes)
            indices[rows], distances[rows] = self._ordered(queries[rows], found, k)
            return start + len(rows)

        for done in in_threads(fill, range(0, len(queries), PIECE_ROWS), n_jobs):
            if progress:
                progress(done, len(queries))
        return indices, distances

    def _candidates(self, queries: Rows, asked: int, n_probes: int) -> Indices:
        """(m, asked) rows of `base`; where the cells hold fewer, more of them are looked into."""
        self.faiss.omp_set_num_threads(1)
        inside = self.inside(queries)
        probes = self.quantizer.search(inside, n_probes)[1]
        found = self._nearest_places(inside, probes, self._bounds(inside, probes[:, 0], asked, n_probes), asked)
        candidates: Indices = self.by_cell[found]
        short = np.flatnonzero(found[:, -1] < 0)
        if len(short) and n_probes < len(self.centroids):
            candidates[short] = self._candidates(queries[short], asked, min(4 * n_probes, len(self.centroids)))
        elif len(short):  # single precision cannot tell the rows apart
            candidates[short] = exact_nearest(self.base, queries[short], asked, n_jobs=1)[0]
        return candidates

    def _bounds(self, inside: NDArray[np.float32], cells: Indices, asked: int, n_probes: int) -> NDArray[np.float32]:
        """(m,) squared distances within which `asked` rows lie, from the rows around the cell that each query is in."""
        bounds = np.full(len(inside), np.inf, np.float32)
        for cell, who in _groups_of(cells):
            near = self._cells_around(cell, asked, n_probes)
            squares = np.concatenate([self._squares(inside[who], one) for one in near], axis=1)
            if squares.shape[1] >= asked:
                bounds[who] = k_th_of_each(squares, asked)
        # products of other shapes round otherwise: the last of these rows must not be lost for that
        return bounds + ROUNDING * (bounds + _squared_lengths(inside - self.centroids[cells]))

    def _cells_around(self, cell: int, asked: int, n_probes: int) -> Indices:
        """Those nearest to a cell, as many as have enough rows, and not fewer than CELLS_AROUND."""
        near = self.quantizer.search(self.centroids[cell : cell + 1], n_probes)[1][0]
        n_rows = np.cumsum(self.starts[near + 1] - self.starts[near])
        around: Indices = near[: max(CELLS_AROUND, int(np.searchsorted(n_rows, asked)) + 1)]
        return around

    def _nearest_places(
        self, inside: NDArray[np.float32], probes: Indices, bounds: NDArray[np.float32], asked: int
    ) -> Indices:
        """(m, asked) places in `by_cell`, cell by cell for all queries that look into it; -1 where there are fewer.

        One product for each cell is several times as fast as one query after the other.
        """
        whose, places, values = [np.empty(0, np.int64)], [np.empty(0, np.int64)], [np.empty(0, np.float32)]
        for cell, entries in _groups_of(probes.ravel()):
            who = entries // probes.shape[1]
            squares = self._squares(inside[who], cell)
            near = np.flatnonzero(squares <= bounds[who, None])
            query, place = np.divmod(near, max(squares.shape[1], 1))
            whose.append(who[query])
            places.append(place + self.starts[cell])
            values.append(np.maximum(squares.ravel()[near], 0))  # rounding may leave less
        every = np.concatenate(whose), np.concatenate(places), np.concatenate(values)
        return _first_places(*every, len(inside), asked)

    def _squares(self, inside: NDArray[np.float32], cell: int) -> NDArray[np.float32]:
        """Squared distances of queries to the rows of a cell, |q|^2 - 2 q.x + |x|^2 in one product."""
        d = inside.shape[1]
        factors = np.ones((len(inside), d + 2), np.float32)
        np.subtract(inside, self.centroids[cell], out=factors[:, :d])
        factors[:, d] = _squared_lengths(factors[:, :d])
        return factors @ self.factors[self.starts[cell] : self.starts[cell + 1]].T

    def _ordered(self, queries: Rows, candidates: Indices, k: int) -> tuple[Indices, Distances]:
        """(m, k) the nearest candidates in double precision, equally near ones by index."""
        candidates = np.sort(candidates, axis=1)
        rows = np.repeat(np.arange(len(queries)), candidates.shape[1])
        distances = pair_distances(queries, rows, self.base, candidates.ravel()).reshape(candidates.shape)
        first = np.argsort(distances, axis=1, kind="stable")[:, :k]
        return np.take_along_axis(candidates, first, axis=1), np.take_along_axis(distances, first, axis=1)


def _groups_of(cells: Indices) -> Iterator[tuple[int, Indices]]:
    """Each cell that occurs, with the places where it does, rising."""
    order = np.argsort(cells, kind="stable")
    numbers, starts = np.unique(cells[order], return_index=True)
    return zip(numbers.tolist(), np.split(order, starts[1:]), strict=True)


def _first_places(whose: Indices, places: Indices, values: NDArray[np.float32], n_queries: int, asked: int) -> Indices:
    """(n_queries, asked) the places with the smallest values of each query; the last is -1 where there are fewer."""
    # the bits of a float that is not negative rise with it
    order = np.argsort((whose << 32) + values.view(np.int32), kind="stable")
    counts = np.bincount(whose, minlength=n_queries)
    chosen = (np.cumsum(counts) - counts)[:, None] + np.arange(asked)
    found: Indices = places[order[np.minimum(chosen, len(order) - 1)]]
    found[counts < asked, -1] = -1
    return found


class FaissSearch:
    """Rows that are put into cells once and searched many times, with a recall that is measured when they are.

    Parameters
    ----------
    base : (n, d) array
        Rows to search.
    base_order : (n,) int64
        An order of them that depends on their contents alone.
    sample : (m, d) array
        Queries on which recall is measured.
    k : int
        Neighbours that will be wanted.
    own_first : bool
        Whether each query of the sample is a row of `base`, and so its own nearest: that one says nothing about recall.
    target_recall : float
        The share of the true neighbours that must be found, as far as the sample can tell.
    seed : int
        Of the cells.
    n_jobs : int, optional
        Threads; by default one for each processor.

    Attributes
    ----------
    recall : float
        Of the sample.
    """

    def __init__(
        self,
        base: Rows,
        base_order: Indices,
        sample: Rows,
        k: int,
        *,
        own_first: bool,
        target_recall: float,
        seed: int,
        n_jobs: int | None = None,
    ) -> None:
        self._k, self._n_jobs = k, n_jobs
        self._cells = _group(base, base_order, seed, n_jobs)
        truth = exact_nearest(base, sample, k, n_jobs=n_jobs)
        found = _enough_probes(self._cells, sample, *truth, int(own_first), target_recall, n_jobs)
        self._n_probes, self.recall = found

    @property
    def by_cell(self) -> Indices:
        """(n,) the rows in the order of the cells."""
        return self._cells.by_cell

    def nearest(self, queries: Rows, order: Indices, progress: Progress | None = None) -> tuple[Indices, Distances]:
        """Find the k nearest rows of each query; a few may be missed, as `recall` says.

        Parameters
        ----------
        queries : (m, d) array
            Rows whose neighbours are wanted.
        order : (m,) int64
            The order in which to look at the queries: alike ones next to each other are faster.
        progress : callable, optional
            Called with the number of queries done and in all.

        Returns
        -------
        indices : (m, k) int64
            Rows of `base`, nearest first.
        distances : (m, k) float64
            Euclidean.
        """
        return self._cells.nearest(queries, order, self._k, self._n_probes, progress, self._n_jobs)


def faiss_nearest(
    base: Rows,
    base_order: Indices,
    queries: Rows,
    query_order: Indices,
    k: int,
    *,
    own_first: bool,
    target_recall: float,
    seed: int,
    progress: Progress | None = None,
    n_jobs: int | None = None,
) -> tuple[Indices, Distances, float]:
    """Find the k rows of `base` nearest to each query, nearly always, and measure how often.

    Parameters
    ----------
    base : (n, d) array
        Rows to search.
    base_order : (n,) int64
        An order of them that depends on their contents alone.
    queries : (m, d) array
        Rows whose neighbours are wanted.
    query_order : (m,) int64
        To queries what `base_order` is to `base`.
    k : int
        Neighbours of each query.
    own_first : bool
        Whether each query is a row of `base`, and so its own nearest.
    target_recall : float
        Share of the true neighbours that must be found, as far as a sample can tell.
    seed : int
        Of the cells and the sample.
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
    recall : float
        Of the sample.
    """
    drawn = np.random.RandomState(seed).permutation(len(queries))[:SAMPLE_ROWS]
    search = FaissSearch(
        base,
        base_order,
        queries[query_order[drawn]],
        k,
        own_first=own_first,
        target_recall=target_recall,
        seed=seed,
        n_jobs=n_jobs,
    )
    if search.recall < target_recall:  # although all cells were looked into
        warnings.warn(
            f"{search.recall:.1%} of the nearest rows were found instead of {target_recall:.1%}: single precision "
            "cannot separate rows when others are very far away; leave out or rescale the outliers",
            stacklevel=6,
        )
    # rows of a cell look into the same cells, which then stay in the cache
    found, distances = search.nearest(queries, search.by_cell if queries is base else query_order, progress)
    return found, distances, search.recall


def _enough_probes(
    cells: _Cells,
    sample: Rows,
    truth: Indices,
    distances: Distances,
    n_left_out: int,
    target_recall: float,
    n_jobs: int | None,
) -> tuple[int, float]:
    """The number of cells to look into, and the recall that it gives on the sample."""
    ranks, n_cells, n_probes = _ranks_of_cells(cells, sample, truth[:, n_left_out:]), len(cells.centroids), FIRST_PROBES
    while n_probes < n_cells and not _is_enough(np.mean(ranks < n_probes, axis=1), target_recall):
        n_probes += 1
    while True:
        n_probes = min(n_probes, n_cells)
        found = cells.nearest(sample, np.arange(len(sample)), truth.shape[1], n_probes, n_jobs=n_jobs)[1]
        shares = recall_of_each(found[:, n_left_out:], distances[:, n_left_out:])
        if _is_enough(shares, target_recall) or n_probes == n_cells:
            return n_probes, float(shares.mean())
        n_probes = int(np.ceil(n_probes * MORE_PROBES))


def _is_enough(shares: NDArray[np.float64], target_recall: float) -> bool:
    return float(shares.mean() - SURE * shares.std() / np.sqrt(len(shares))) >= target_recall


def _ranks_of_cells(cells: _Cells, sample: Rows, truth: Indices) -> Indices:
    """(m, k) how many cells are nearer to each query than that of each of its true neighbours."""
    cell_of = np.empty(len(cells.base), np.int64)
    cell_of[cells.by_cell] = np.repeat(np.arange(len(cells.centroids)), np.diff(cells.starts))
    cells.faiss.omp_set_num_threads(1)
    nearest = cells.quantizer.search(cells.inside(sample), len(cells.centroids))[1]
    ranks: Indices = np.take_along_axis(np.argsort(nearest, axis=1), cell_of[truth], axis=1)
    return ranks


def recall_of_each(found: Distances, truth: Distances) -> NDArray[np.float64]:
    """Measure the share of each query's true neighbours that was found, (m,); one as near as the last counts too."""
    return np.mean(found <= truth[:, -1:], axis=1)


def _group(base: Rows, order: Indices, seed: int, n_jobs: int | None) -> _Cells:
    """The rows in their cells."""
    faiss, (n, d) = require_faiss(), base.shape
    centre, scale = _centre_and_scale(base, order)
    index = faiss.IndexIVFFlat(faiss.IndexFlatL2(d), d, _n_cells_of(n))
    train_cells(index, lambda places: _inside(base[order[places]], centre, scale), n, seed)
    cell_of = np.empty(n, np.int64)

    def find(start: int) -> int:
        faiss.omp_set_num_threads(1)
        rows = base[order[start : start + PIECE_ROWS]]
        cell_of[start : start + len(rows)] = index.quantizer.search(_inside(rows, centre, scale), 1)[1][:, 0]
        return start

    list(in_threads(find, range(0, n, PIECE_ROWS), n_jobs))
    places = np.argsort(cell_of, kind="stable")
    by_cell, centroids = order[places], index.quantizer.reconstruct_n(0, index.nlist)
    factors = np.ones((n, d + 2), np.float32)
    for start in range(0, n, PIECE_ROWS):
        part = slice(start, start + PIECE_ROWS)
        rows = _inside(base[by_cell[part]], centre, scale) - centroids[cell_of[places[part]]]
        factors[part, :d], factors[part, d + 1] = -2 * rows, _squared_lengths(rows)
    starts = np.append(0, np.cumsum(np.bincount(cell_of, minlength=index.nlist)))
    quantizer = faiss.IndexFlatL2(d)  # that of the index would go with it
    quantizer.add(centroids)
    return _Cells(faiss, quantizer, base, by_cell, starts, centroids, factors, centre, scale)


def _inside(rows: Rows, centre: NDArray[np.float64], scale: float) -> NDArray[np.float32]:
    """Rows about the centre, at most of order 1: single precision then loses little and cannot overflow."""
    return np.ascontiguousarray((rows - centre) / scale, dtype=np.float32)


def _squared_lengths(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.asarray(np.einsum("ij,ij->i", rows, rows))


def _n_cells_of(n: int) -> int:
    return max(1, int(CELLS_PER_ROOT * np.sqrt(n)))


def _centre_and_scale(base: Rows, order: Indices) -> tuple[NDArray[np.float64], float]:
    """The mean of rows, taken in this order, and how far from it they reach along any axis."""
    starts = range(0, len(base), PIECE_ROWS)
    centre = np.sum([base[order[i : i + PIECE_ROWS]].mean(axis=0, dtype=np.float64) for i in starts], axis=0)
    centre /= len(starts)
    return centre, float(max(np.abs(base[i : i + PIECE_ROWS] - centre).max() for i in starts)) or 1.0


def train_cells(index: Any, rows_at: Callable[[Indices], NDArray[np.float32]], n: int, seed: int) -> None:
    """Find the centres of cells by k-means on some of the rows.

    Parameters
    ----------
    index : faiss.IndexIVFFlat
        Whose cells to find.
    rows_at : callable
        Gives the rows at these places of an order that depends on their contents alone, as faiss shall see them.
    n : int
        Rows in all.
    seed : int
        Which rows are taken, and where k-means starts.
    """
    index.cp.niter, index.cp.seed = TRAINING_ROUNDS, seed
    index.cp.max_points_per_centroid, index.cp.min_points_per_centroid = TRAINING_ROWS_PER_CELL, 1
    chosen = np.random.RandomState(seed).permutation(n)[: TRAINING_ROWS_PER_CELL * index.nlist]

    def train(_: int) -> int:
        require_faiss().omp_set_num_threads(1)
        index.train(rows_at(chosen))
        return 1

    list(in_threads(train, range(1), 1))
