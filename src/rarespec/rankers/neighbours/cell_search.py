"""Nearest rows of a few among very many: all rows are assigned to cells once, and a search fills those it looks into.

`FaissSearch` copies all rows, which pays when the neighbours of most of them are wanted. Here memory holds four bytes a
row and the rows of the cells that were looked into.
"""

from __future__ import annotations

from collections.abc import Mapping
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarespec.rankers.neighbours.exact import (
    Distances,
    Indices,
    exact_nearest,
    first_of_each,
    in_threads,
    pair_distances,
)
from rarespec.rankers.neighbours.faiss_search import (
    FIRST_PROBES,
    MORE_PROBES,
    PIECE_ROWS,
    SPARE,
    SURE,
    TRAINING_ROWS_PER_CELL,
    require_faiss,
    train_cells,
)
from rarespec.rankers.rows import Rows, choose_rows

N_SAMPLE = 256
"""Rows on which it is measured whether enough neighbours are found by looking into the cells nearby."""

MOST_CELLS = 2000
"""Beyond, to find the cell of every row would take longer than it saves the few that are looked for."""

QUERIES_AT_ONCE = 256
"""Queries that a thread searches at a time."""

Cells = Mapping[str, NDArray[Any]]
"""`centroids` (c, d) float32; `by_cell` (n,) int32, the rows in the order of their cells; `starts` (c + 1,) int64,
where each cell begins there; `centre` (d,) and `scale`, which bring rows to what faiss is given; how many cells a
search looks into, `n_probes`; and the `recall` that this gives."""


def group_in_cells(base: Rows, contents: Rows, k: int, target_recall: float, seed: int) -> dict[str, Any]:
    """Assign rows to cells, and find how many cells a search must look into.

    Parameters
    ----------
    base : (n, d) array
        The rows. They are read once, apart from those from which cells are learned.
    contents : (n, e) array
        By these some rows are chosen, wherever they lie: the rows themselves, or what they are made of.
    k : int
        Neighbours that will be wanted, the row itself among them.
    target_recall : float
        The share of the true neighbours that must be found, as far as a sample can tell.
    seed : int
        Of the cells.

    Returns
    -------
    dict of arrays
        The cells.
    """
    faiss, d = require_faiss(), base.shape[1]
    index = faiss.IndexIVFFlat(faiss.IndexFlatL2(d), d, _n_cells(len(base)))
    some = base[choose_rows(contents, max(N_SAMPLE, TRAINING_ROWS_PER_CELL * index.nlist))]
    centre = some.mean(axis=0, dtype=np.float64)
    scale = float(np.abs(some - centre).max()) or 1.0
    train_cells(index, lambda places: _inside(some[places], centre, scale), len(some), seed)
    sample = _inside(some[:N_SAMPLE], centre, scale)
    cell_of, near = np.empty(len(base), np.int32), _Nearest(sample, min(k, len(base)))

    def find(start: int) -> int:
        faiss.omp_set_num_threads(1)
        rows = _inside(base[start : start + PIECE_ROWS], centre, scale)
        cell_of[start : start + len(rows)] = index.quantizer.search(rows, 1)[1][:, 0]
        near.look_among(rows, start)
        return start

    list(in_threads(find, range(0, len(base), PIECE_ROWS), None))
    cells_of_sample = index.quantizer.search(sample, index.nlist)[1]
    others = near.rows()[:, 1:]  # the nearest is the row itself, which says nothing
    n_probes, recall = _enough_probes(cells_of_sample, cell_of[others], target_recall)
    return {
        "centroids": index.quantizer.reconstruct_n(0, index.nlist),
        "by_cell": np.argsort(cell_of, kind="stable").astype(np.int32),
        "starts": np.append(0, np.cumsum(np.bincount(cell_of, minlength=index.nlist))),
        "centre": centre,
        "scale": np.array(scale),
        "n_probes": np.array(n_probes),
        "recall": np.array(recall),
    }


def _n_cells(n: int) -> int:
    return max(1, min(int(np.sqrt(n)), MOST_CELLS))


class _Nearest:
    """The k nearest rows of a sample among pieces that come in any order, several at a time."""

    def __init__(self, sample: NDArray[np.float32], k: int) -> None:
        self._sample, self._k = sample, k
        self._found = np.full((2, len(sample), k), np.inf)
        self._lock = Lock()

    def look_among(self, rows: NDArray[np.float32], start: int) -> None:
        """Look among rows whose numbers begin at `start`."""
        distances, places = require_faiss().knn(self._sample, rows, min(self._k, len(rows)))
        with self._lock:
            both = np.concatenate([self._found, np.stack([distances, places + float(start)])], axis=2)
            first = np.lexsort((both[1], both[0]))[:, : self._k]  # equally near ones by number
            self._found = np.take_along_axis(both, first[None], axis=2)

    def rows(self) -> Indices:
        """Give their numbers, (m, k), nearest first."""
        return self._found[1].astype(np.int64)


def _inside(rows: Rows, centre: NDArray[np.float64], scale: float) -> NDArray[np.float32]:
    return np.ascontiguousarray((rows - centre) / scale, dtype=np.float32)


def _enough_probes(nearest_cells: Indices, wanted: NDArray[np.int32], target_recall: float) -> tuple[int, float]:
    """The number of cells to look into, and the recall that it gives.

    `nearest_cells` (m, c) has the cells of each query, nearest first; `wanted` (m, k) the cells of its neighbours.
    """
    n_cells = nearest_cells.shape[1]
    ranks = np.take_along_axis(np.argsort(nearest_cells, axis=1), wanted.astype(np.int64), axis=1)
    n_probes = FIRST_PROBES
    while True:
        n_probes = min(n_probes, n_cells)
        shares = np.mean(ranks < n_probes, axis=1)
        if shares.mean() - SURE * shares.std() / np.sqrt(len(shares)) >= target_recall or n_probes == n_cells:
            return n_probes, float(shares.mean())
        n_probes = int(np.ceil(n_probes * MORE_PROBES))


class CellSearch:
    """Finds the nearest rows of some, in cells that are filled when they are first looked into.

    Parameters
    ----------
    base : (n, d) array
        Rows to search.
    k : int
        Neighbours that are wanted, the same number as when the cells were made.
    cells : mapping of str to array
        What `group_in_cells` made of these rows.
    """

    def __init__(self, base: Rows, k: int, cells: Cells) -> None:
        self._base, self._k, self._cells = base, k, cells
        self._faiss, d = require_faiss(), base.shape[1]
        self._quantizer = self._faiss.IndexFlatL2(d)
        self._quantizer.add(np.ascontiguousarray(cells["centroids"], np.float32))
        self._filling = Lock()
        self.empty()

    def empty(self) -> None:
        """Free the rows of the cells that have been looked into; another search fills its own."""
        n_cells, d = self._cells["centroids"].shape
        self._index = self._faiss.IndexIVFFlat(self._quantizer, d, n_cells)
        self._filled = np.zeros(n_cells, bool)

    def nearest(self, queries: Rows) -> tuple[Indices, Distances]:
        """Find the k nearest rows of each query; a few may be missed, as the recall of the cells says.

        Parameters
        ----------
        queries : (m, d) array
            Rows whose neighbours are wanted.

        Returns
        -------
        indices : (m, k) int64
            Rows of `base`, nearest first.
        distances : (m, k) float64
            Euclidean.
        """
        inside, n_probes = self._inside(queries), int(self._cells["n_probes"])
        starts = range(0, len(queries), QUERIES_AT_ONCE)
        probed: list[Indices] = [np.empty(0, np.int64)] * len(starts)
        indices, distances = np.empty((len(queries), self._k), np.int64), np.empty((len(queries), self._k))

        def probe(start: int) -> int:
            self._faiss.omp_set_num_threads(1)
            cells = self._quantizer.search(inside[start : start + QUERIES_AT_ONCE], n_probes)[1]
            probed[start // QUERIES_AT_ONCE] = np.unique(cells)
            return start

        def search(start: int) -> int:
            part = slice(start, start + QUERIES_AT_ONCE)
            indices[part], distances[part] = self._nearest(queries[part], inside[part], n_probes)
            return start

        list(in_threads(probe, starts, None))
        self._fill(np.unique(np.concatenate(probed)))
        list(in_threads(search, starts, None))
        return indices, distances

    @property
    def n_filled(self) -> int:
        """How many cells have been looked into."""
        return int(self._filled.sum())

    def _inside(self, rows: Rows) -> NDArray[np.float32]:
        return _inside(rows, self._cells["centre"], float(self._cells["scale"]))

    def _fill(self, cells: Indices) -> None:
        with self._filling:  # of several threads that look into a cell, one fills it and the others wait
            new = cells[~self._filled[cells]]
            self._index.ntotal += sum(in_threads(lambda i: self._fill_one(int(new[i])), range(len(new)), None))
            self._filled[new] = True

    def _fill_one(self, cell: int) -> int:
        rows = self._cells["by_cell"][self._cells["starts"][cell] : self._cells["starts"][cell + 1]].astype(np.int64)
        codes = self._inside(self._base[rows]).view(np.uint8)
        self._index.invlists.add_entries(cell, len(rows), self._faiss.swig_ptr(rows), self._faiss.swig_ptr(codes))
        return len(rows)

    def _nearest(self, queries: Rows, inside: NDArray[np.float32], n_probes: int) -> tuple[Indices, Distances]:
        self._faiss.omp_set_num_threads(1)
        asked = min(self._k + SPARE, len(self._base))
        found = self._index.search(inside, asked, params=self._faiss.SearchParametersIVF(nprobe=n_probes))[1]
        short = np.flatnonzero(found[:, -1] < 0)
        if len(short):  # these cells hold too few rows
            found[short] = exact_nearest(self._base, queries[short], asked, n_jobs=1)[0]
        rows, flat = np.repeat(np.arange(len(queries)), asked), found.ravel()
        return first_of_each(rows, flat, pair_distances(queries, rows, self._base, flat), len(queries), self._k)
