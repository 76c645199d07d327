"""The leading principal subspace of rows that are read a few times and never held: the randomised solver.

One reading takes the mean and a random sample, whose own leading directions are the first guess. Each further reading
but the last multiplies the guess, then the directions in which it errs most, by the scatter matrix, as in block Krylov
and Davidson methods (Halko, Martinsson & Tropp 2011; Musco & Musco 2015). The last reading measures the variance along
the directions found, so that the variances reported are those of the features; while it finds clearly more than was
expected from the products, two more readings are made.

Notation
X  (n, p) rows minus their mean, never formed; C = X'X
Q  (p, l) orthonormal, l a little larger than the number of components wanted
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from rarespec.features._krylov import Matrix, Product, krylov_space, orthonormal, orthonormal_to, ritz
from rarespec.features._rows import PIECE_ROWS, Rows, RowStream, column_sums, sum_of_squares
from rarespec.processes import available_cores

SAMPLE_ROWS = 2048
SAMPLE_PRODUCTS = 3
MAX_ROUNDS = 6
GAIN_TO_LOSS = 1 / 3
"""Bound on the variance still missing, relative to what the last of several products gained: 0.2 on spectra. After a
single product it is about as much as was gained."""
FAR_FROM_ZERO = 30.0
"""Squared length of the mean, relative to the mean squared distance from it, from which rows are centred one by one."""
REFINED_DIRECTIONS = 32
"""How many directions are added to the guess in each reading: the leading ones need no improvement."""
SHARE_ROWS = 128
"""Rows of a piece that a thread multiplies by itself. Sums over them are taken in order: the result is the same to the
last bit on any number of cores, and threads of BLAS, which spin while they wait, are not needed."""

Seen = TypeVar("Seen")


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
    """How hard to look.

    n_wanted, n_measured, n_followed : directions asked for, measured in the last reading, and followed before it
    n_passes : readings after the first one, before convergence is judged
    tol      : share of the captured variance that may be missing; what is missing is judged by the last gain
    """

    n_wanted: int
    n_measured: int
    n_followed: int
    n_passes: int
    tol: float
    seed: int


def find_subspace(stream: RowStream, search: Search, seen: list[Rows] | None = None) -> Subspace | None:
    """The leading subspace of the stream; None when it has no rows.

    seen : when given, receives the rows in the coordinates of the subspace, (m, l) for each piece
    """
    with threadpool_limits(1, user_api="blas"):
        return _found(stream, search, seen)


def _found(stream: RowStream, search: Search, seen: list[Rows] | None) -> Subspace | None:
    rng = np.random.default_rng(search.seed)
    sample = Sample(SAMPLE_ROWS, rng)
    mean = _mean_and_sample(stream, sample)
    if mean is None:
        return None
    rows = sample.rows()
    rows -= mean.astype(rows.dtype)
    centred = _Centred(stream, mean, explicit=_is_far_from_zero(mean, rows))
    width = min(search.n_followed, stream.n_rows or 0, len(mean))
    guess = _sample_directions(rows, rng.standard_normal((len(mean), width)))
    return _converged(centred, guess, search, seen)


def _converged(rows: _Centred, guess: Matrix, search: Search, seen: list[Rows] | None) -> Subspace:
    if search.n_passes == 1:
        return _measured(rows, guess[:, : search.n_measured], seen)
    n_products = search.n_passes - 1
    for _ in range(MAX_ROUNDS):
        directions, expected = _improved(rows.scatter_times, guess, n_products, search.n_wanted)
        found = _measured(rows, directions[:, : search.n_measured], seen)
        captured = float(found.scatter[: search.n_wanted].sum())
        loss = (captured - expected) * (GAIN_TO_LOSS if n_products > 1 else 1.0)
        if loss <= search.tol * captured:
            return found
        guess, n_products = found.basis.T, 1
    gain = (captured - expected) / captured
    warnings.warn(
        f"captured variance still grew by {gain:.1e} in the last readings; no few directions stand out in these rows, "
        "or n_passes is too small",
        ConvergenceWarning,
        stacklevel=2,
    )
    return found


@dataclass(frozen=True)
class _Centred:
    """The rows minus their mean: subtracted from each piece, or from products with the pieces, which saves a copy.

    The second way loses digits when the mean is much larger than the scatter around it.
    """

    stream: RowStream
    mean: NDArray[np.float64]
    explicit: bool

    @property
    def rest(self) -> NDArray[np.float64]:
        """What is still to be subtracted from the pieces, (p,)."""
        return np.zeros_like(self.mean) if self.explicit else self.mean

    def pieces(self) -> Iterator[Rows]:
        return self.stream.pieces(self.mean if self.explicit else None)

    def seen_in(self, q: Matrix, look: Callable[[Rows, Rows], Seen]) -> Iterator[Seen]:
        """What `look` makes of some rows, not yet centred in the second way, and of the same centred in Q, (m, l).

        Threads share the rows of a piece; the results come in the order of the rows.
        """
        offset = self.rest @ q
        with ThreadPoolExecutor(min(available_cores(), PIECE_ROWS // SHARE_ROWS)) as pool:
            for piece in self.pieces():
                task = partial(_look, look, q.astype(piece.dtype), offset.astype(piece.dtype))
                yield from pool.map(task, (piece[i : i + SHARE_ROWS] for i in range(0, len(piece), SHARE_ROWS)))

    def scatter_times(self, q: Matrix) -> Matrix:
        """C Q: products in the precision of the rows, sums over shares of them in float64."""
        result = np.zeros(q.shape)
        # the rows themselves need not be centred: the projections sum to nothing
        for product in self.seen_in(q, lambda rows, projected: rows.T @ projected):
            result += product
        return result


def _look(look: Callable[[Rows, Rows], Seen], q: Rows, offset: Rows, rows: Rows) -> Seen:
    projected = rows @ q
    projected -= offset
    return look(rows, projected)


def _is_far_from_zero(mean: NDArray[np.float64], centred_sample: Rows) -> bool:
    scatter = sum_of_squares(centred_sample) / len(centred_sample)
    return float(mean @ mean) > FAR_FROM_ZERO * scatter


class Sample:
    """A uniform random sample of a stream of unknown length (Vitter 1985, algorithm R)."""

    def __init__(self, size: int, rng: np.random.Generator) -> None:
        self._size, self._rng = size, rng
        self._n_seen = 0
        self._rows: Rows | None = None

    def look_at(self, rows: Rows) -> None:
        if self._rows is None:
            self._rows = np.empty((self._size, rows.shape[1]), rows.dtype)
        number = np.arange(self._n_seen, self._n_seen + len(rows))
        # The first rows fill the sample; later ones replace a random row of it, ever more rarely.
        slot = np.where(number < self._size, number, self._rng.integers(0, number + 1))
        taken = np.flatnonzero(slot < self._size)
        self._rows[slot[taken]] = rows[taken]
        self._n_seen += len(rows)

    def rows(self) -> Rows:
        assert self._rows is not None
        return self._rows[: self._n_seen]


def _mean_and_sample(stream: RowStream, sample: Sample) -> NDArray[np.float64] | None:
    total: NDArray[np.float64] | None = None
    for piece in stream.finite_parts():
        total = column_sums(piece) if total is None else total + column_sums(piece)
        sample.look_at(piece)
    return None if total is None or stream.n_rows is None else total / stream.n_rows


def _sample_directions(rows: Rows, start: Matrix) -> Matrix:
    def product(q: Matrix) -> Matrix:
        return (rows.T @ (rows @ q.astype(rows.dtype))).astype(np.float64)

    basis, image = krylov_space(product, start, SAMPLE_PRODUCTS)
    return _multiplied(basis, image, start.shape[1])


def _improved(product: Product, guess: Matrix, n_products: int, n_wanted: int) -> tuple[Matrix, float]:
    """Q, its best directions first, and the scatter in n_wanted directions that the products showed before the last."""
    basis, image = guess, product(guess)
    for _ in range(n_products - 1):
        if basis.shape[1] + REFINED_DIRECTIONS > len(basis):
            break
        new = _promising_directions(basis, image, guess.shape[1])
        basis, image = np.hstack([basis, new]), np.hstack([image, product(new)])
    expected = float(ritz(basis, image)[0][:n_wanted].sum())
    return _multiplied(basis, image, guess.shape[1]), expected


def _promising_directions(basis: Matrix, image: Matrix, width: int) -> Matrix:
    """Where the residuals r = C v - lambda v of the Ritz vectors point, weighed by their promise, |r|^2 / lambda."""
    values, coefficients = ritz(basis, image)
    values, coefficients = values[:width], coefficients[:, :width]
    residuals = image @ coefficients - (basis @ coefficients) * values
    residuals /= np.sqrt(np.maximum(values, np.finfo(np.float32).eps * max(values[0], np.finfo(np.float32).tiny)))
    _, rotation = np.linalg.eigh(residuals.T @ residuals)
    return orthonormal_to(basis, residuals @ rotation[:, -REFINED_DIRECTIONS:])


def _multiplied(basis: Matrix, image: Matrix, width: int) -> Matrix:
    """C times the best Ritz vectors, which is better still and costs nothing once C B is known."""
    _, coefficients = ritz(basis, image)
    return orthonormal(image @ coefficients[:, :width])


def _measured(rows: _Centred, q: Matrix, seen: list[Rows] | None) -> Subspace:
    """Turn Q into principal directions, by the scatter of the rows seen in it."""
    gram, total = np.zeros((q.shape[1], q.shape[1])), 0.0
    if seen is not None:
        seen.clear()
    for projected, their_gram, their_total in rows.seen_in(q, _measures):
        gram += their_gram
        total += their_total
        if seen is not None:
            seen.append(projected)
    n = rows.stream.n_rows or 0
    total -= n * float(rows.rest @ rows.rest)
    scatter, rotation = np.linalg.eigh(gram)
    scatter, rotation = np.maximum(scatter[::-1], 0.0), rotation[:, ::-1]
    if seen is not None:
        seen[:] = [projected @ rotation.astype(projected.dtype) for projected in seen]
    return Subspace(n, rows.mean, (q @ rotation).T, scatter, total)


def _measures(rows: Rows, projected: Rows) -> tuple[Rows, Matrix, float]:
    precise = projected.astype(np.float64)
    return projected, precise.T @ precise, sum_of_squares(rows)


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
