"""Nearest rows with faiss: an inverted file whose recall is measured, not assumed.

Rows are grouped into cells around k-means centres, and a query looks into the cells nearest to it only. How many is
found by trying: a sample of queries is compared with exact search, and the number grows until the recall suffices.

Everything is done on rows in an order that their contents decide, in pieces of fixed size, each on one thread: the
order of the rows and the number of threads cannot change the result.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
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
    first_of_each,
    in_threads,
    pair_distances,
)
from rarespec.rankers.rows import Rows

SAMPLE_ROWS = 1000
"""Queries on which recall is measured."""

TRAINING_ROWS_PER_CELL, TRAINING_ROUNDS = 64, 5
"""Enough for k-means here: more of either took longer and gave the same recall."""

CELLS_PER_ROOT = 2.5
"""Cells per square root of the number of rows: about the fastest at 10^5 rows."""

FIRST_PROBES, MORE_PROBES = 4, 1.25
"""Cells looked into at first, and the factor by which they grow."""

SURE = 2.0
"""Standard errors by which the recall of the sample must exceed the target: a sample alone may be lucky."""

SPARE = 3
"""Neighbours asked for beyond k: faiss orders by single precision, and the last places are decided in double."""

PIECE_ROWS = 4096


def require_faiss() -> ModuleType:
    """Import faiss, or say how to install it."""
    try:
        import faiss
    except ImportError as error:
        raise ImportError(
            "a neighbour graph of this many rows needs faiss: install it with `pip install faiss-cpu`"
        ) from error
    return faiss


@dataclass(frozen=True)
class _CellIndex:
    """`base` in cells, with what turns rows into what faiss was given."""

    faiss: ModuleType
    index: Any
    base: Rows
    order: Indices
    """(n,) row of `base` at each place in the index."""
    centre: NDArray[np.float64]
    scale: float
    cell_of: Indices
    """(n,) the cell of each place."""

    def inside(self, rows: Rows) -> NDArray[np.float32]:
        """Rows about the centre, at most of order 1: single precision then loses little and cannot overflow."""
        return np.ascontiguousarray((rows - self.centre) / self.scale, dtype=np.float32)

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
        """(m, asked) rows of `base`; where cells held fewer, their places are filled by looking everywhere."""
        self.faiss.omp_set_num_threads(1)
        inside = self.inside(queries)
        found = self.index.search(inside, asked, params=self.faiss.SearchParametersIVF(nprobe=n_probes))[1]
        short = np.flatnonzero(found[:, -1] < 0)
        if len(short):
            everywhere = self.faiss.SearchParametersIVF(nprobe=self.index.nlist)
            found[short] = self.index.search(inside[short], asked, params=everywhere)[1]
        return self.order[found]

    def _ordered(self, queries: Rows, candidates: Indices, k: int) -> tuple[Indices, Distances]:
        rows = np.repeat(np.arange(len(queries)), candidates.shape[1])
        flat = candidates.ravel()
        return first_of_each(rows, flat, pair_distances(queries, rows, self.base, flat), len(queries), k)


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
        self._index = _group(base, base_order, seed, n_jobs)
        truth = exact_nearest(base, sample, k, n_jobs=n_jobs)[1]
        found = _enough_probes(self._index, sample, truth, int(own_first), target_recall, n_jobs)
        self._n_probes, self.recall = found

    @property
    def by_cell(self) -> Indices:
        """(n,) the rows in the order of the cells."""
        rows: Indices = self._index.order[np.argsort(self._index.cell_of, kind="stable")]
        return rows

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
        return self._index.nearest(queries, order, self._k, self._n_probes, progress, self._n_jobs)


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
    index: _CellIndex, sample: Rows, truth: Distances, n_left_out: int, target_recall: float, n_jobs: int | None
) -> tuple[int, float]:
    """The number of cells to look into, and the recall that it gives on the sample."""
    n_probes = FIRST_PROBES
    while True:
        n_probes = min(n_probes, index.index.nlist)
        found = index.nearest(sample, np.arange(len(sample)), truth.shape[1], n_probes, n_jobs=n_jobs)[1]
        shares = recall_of_each(found[:, n_left_out:], truth[:, n_left_out:])
        sure = shares.mean() - SURE * shares.std() / np.sqrt(len(shares))
        if sure >= target_recall or n_probes == index.index.nlist:
            return n_probes, float(shares.mean())
        n_probes = int(np.ceil(n_probes * MORE_PROBES))


def recall_of_each(found: Distances, truth: Distances) -> NDArray[np.float64]:
    """Measure the share of each query's true neighbours that was found, (m,); one as near as the last counts too."""
    return np.mean(found <= truth[:, -1:], axis=1)


def _group(base: Rows, order: Indices, seed: int, n_jobs: int | None) -> _CellIndex:
    """The rows in their cells."""
    faiss = require_faiss()
    centre, scale = _centre_and_scale(base, order)
    index = faiss.IndexIVFFlat(faiss.IndexFlatL2(base.shape[1]), base.shape[1], _n_cells_of(len(base)))
    cells = _CellIndex(faiss, index, base, order, centre, scale, np.empty(len(base), np.int64))
    train_cells(index, lambda places: cells.inside(base[order[places]]), len(base), seed)
    _add(cells, n_jobs)
    return cells


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


def _add(cells: _CellIndex, n_jobs: int | None) -> None:
    """Every row to its cell; the cells are found in threads, and filled in order."""

    def find(start: int) -> int:
        cells.faiss.omp_set_num_threads(1)
        rows = cells.base[cells.order[start : start + PIECE_ROWS]]
        cells.cell_of[start : start + len(rows)] = cells.index.quantizer.search(cells.inside(rows), 1)[1][:, 0]
        return start

    for start in in_threads(find, range(0, len(cells.base), PIECE_ROWS), n_jobs):
        _fill(cells, start)


def _fill(cells: _CellIndex, start: int) -> None:
    """Put the rows at these places into their cells, which are known."""
    rows = cells.inside(cells.base[cells.order[start : start + PIECE_ROWS]])
    here = cells.cell_of[start : start + len(rows)].copy()
    swig_ptr = cells.faiss.swig_ptr
    cells.index.add_core(len(rows), swig_ptr(rows), None, swig_ptr(here))
