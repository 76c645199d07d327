"""The leading principal subspace of rows that are read a few times and never held: the randomised solver.

After one reading that takes the mean and a random sample, a block Krylov space is started from the sample's own leading
directions (Halko, Martinsson & Tropp 2011; Musco & Musco 2015), and a last reading measures the variance along it.

Notation
X  (n, p) rows minus their mean, never formed; C = X'X
Q  (p, l) orthonormal, l a little larger than the number of components wanted
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rarespec.features._krylov import Matrix, Product, krylov_space, ritz
from rarespec.features._rows import Rows, RowStream, column_sums, sum_of_squares

SAMPLE_ROWS = 2048
SAMPLE_PRODUCTS = 3


@dataclass(frozen=True)
class Subspace:
    """What is kept of n rows.

    mean    : (p,) float64
    basis   : (l, p) float64, orthonormal directions, the one with the most scatter first
    scatter : (l,) float64, sum of squares of the rows along each direction, around the mean
    total   : sum of squares of the rows in all directions, around the mean
    """

    n: int
    mean: NDArray[np.float64]
    basis: NDArray[np.float64]
    scatter: NDArray[np.float64]
    total: float


@dataclass(frozen=True)
class Search:
    """How hard to look: width of the space, readings of the rows after the first, seed."""

    width: int
    n_passes: int
    seed: int


def find_subspace(stream: RowStream, search: Search, seen: list[Rows] | None = None) -> Subspace | None:
    """The leading subspace of the stream; None when it has no rows. Reads the stream n_passes + 1 times.

    seen : when given, receives the rows in the coordinates of the subspace, (m, l) for each piece
    """
    rng = np.random.default_rng(search.seed)
    sample = Sample(SAMPLE_ROWS, rng)
    mean = _mean_and_sample(stream, sample)
    if mean is None:
        return None
    rows = sample.rows() - mean.astype(sample.dtype)
    width = min(search.width, stream.n_rows or 0, len(mean))
    start = _leading_directions(_product_with(rows), rng.standard_normal((len(mean), width)), SAMPLE_PRODUCTS)

    def product(q: Matrix) -> Matrix:
        return _scatter_times(stream.pieces(mean), q)

    directions = _leading_directions(product, start, search.n_passes - 1) if search.n_passes > 1 else start
    return _measured(stream, mean, directions, seen)


class Sample:
    """A uniform random sample of a stream of unknown length: the rows with the smallest of random keys."""

    def __init__(self, size: int, rng: np.random.Generator) -> None:
        self._size, self._rng = size, rng
        self._keys = np.empty(0)
        self._rows: list[Rows] = []

    def look_at(self, piece: Rows) -> None:
        keys = self._rng.random(len(piece))
        threshold = np.partition(self._keys, self._size - 1)[self._size - 1] if len(self._keys) >= self._size else 1.0
        taken = np.flatnonzero(keys < threshold)
        self._rows.append(piece[taken])
        self._keys = np.concatenate([self._keys, keys[taken]])
        if len(self._keys) > 2 * self._size:
            self._thin_out()

    def _thin_out(self) -> None:
        kept = np.sort(np.argsort(self._keys, kind="stable")[: self._size])
        self._rows = [np.concatenate(self._rows)[kept]]
        self._keys = self._keys[kept]

    def rows(self) -> Rows:
        self._thin_out()
        return self._rows[0]

    @property
    def dtype(self) -> np.dtype:
        return self._rows[0].dtype


def _mean_and_sample(stream: RowStream, sample: Sample) -> NDArray[np.float64] | None:
    total: NDArray[np.float64] | None = None
    for piece in stream.finite_parts():
        total = column_sums(piece) if total is None else total + column_sums(piece)
        sample.look_at(piece)
    return None if total is None or stream.n_rows is None else total / stream.n_rows


def _leading_directions(product: Product, start: Matrix, n_products: int) -> Matrix:
    """Q after n_products. The images C B cost nothing more once known, so Q spans C times the best Ritz vectors."""
    basis, image = krylov_space(product, start, n_products)
    _, coefficients = ritz(basis, image)
    return np.linalg.qr(image @ coefficients[:, : start.shape[1]])[0]


def _product_with(rows: Rows) -> Product:
    def product(q: Matrix) -> Matrix:
        return _scatter_times(iter([rows]), q)

    return product


def _scatter_times(pieces: Iterator[Rows], q: Matrix) -> Matrix:
    """C Q: products in the precision of the rows, sums over pieces in float64."""
    result = np.zeros(q.shape)
    for piece in pieces:
        seen = piece @ q.astype(piece.dtype)
        result += piece.T @ seen
    return result


def _measured(stream: RowStream, mean: NDArray[np.float64], q: Matrix, seen: list[Rows] | None) -> Subspace:
    """Turn Q into principal directions, by the scatter of the rows seen in it."""
    gram, total = np.zeros((q.shape[1], q.shape[1])), 0.0
    for piece in stream.pieces(mean):
        projected = piece @ q.astype(piece.dtype)
        precise = projected.astype(np.float64)
        gram += precise.T @ precise
        total += sum_of_squares(piece)
        if seen is not None:
            seen.append(projected)
    scatter, rotation = np.linalg.eigh(gram)
    scatter, rotation = np.maximum(scatter[::-1], 0.0), rotation[:, ::-1]
    if seen is not None:
        seen[:] = [projected @ rotation.astype(projected.dtype) for projected in seen]
    return Subspace(stream.n_rows or 0, mean, (q @ rotation).T, scatter, total)


def merged(first: Subspace, second: Subspace, width: int) -> Subspace:
    """The subspace of both sets of rows, from what is kept of each (Ross et al. 2008, incremental PCA).

    Approximate: what either set had outside its subspace is forgotten, except in the total.
    """
    n = first.n + second.n
    difference = second.mean - first.mean
    weight = first.n * second.n / n
    stacked = np.vstack(
        [
            np.sqrt(first.scatter)[:, None] * first.basis,
            np.sqrt(second.scatter)[:, None] * second.basis,
            np.sqrt(weight) * difference,
        ]
    )
    _, lengths, directions = np.linalg.svd(stacked, full_matrices=False)
    mean = first.mean + difference * (second.n / n)
    total = first.total + second.total + weight * float(difference @ difference)
    return Subspace(n, mean, directions[:width], lengths[:width] ** 2, total)
