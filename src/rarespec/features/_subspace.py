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
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from rarespec.engines.one_blas_thread import one_blas_thread
from rarespec.features._krylov import Matrix, Product, krylov_space, orthonormal, orthonormal_to, ritz
from rarespec.features._readings import Look, Projection, Readings, Sums
from rarespec.features._rows import Rows, sum_of_squares

SAMPLE_PRODUCTS = 3
MAX_ROUNDS = 6
GAIN_TO_LOSS = 1 / 3
"""Bound on the variance still missing, relative to what the last of several products gained: 0.2 on spectra. After a
single product it is about as much as was gained."""
FAR_FROM_ZERO = 30.0
"""Squared length of the mean, relative to the mean squared distance from it, from which rows are centred one by one."""
REFINED_DIRECTIONS = 32
"""How many directions are added to the guess in each reading: the leading ones need no improvement."""


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


def find_subspace(readings: Readings, search: Search, seen: list[Rows] | None = None) -> Subspace | None:
    """The leading subspace of the rows; None when there are none.

    seen : when given, receives the rows of a stream in the coordinates of the subspace, (m, l) for each share
    """
    with one_blas_thread():
        return _found(readings, search, seen)


def _found(readings: Readings, search: Search, seen: list[Rows] | None) -> Subspace | None:
    rng = np.random.default_rng(search.seed)
    first = readings.mean_and_sample(rng)
    if first is None:
        return None
    mean, sample = first
    sample -= mean.astype(sample.dtype)
    centred = _Centred(readings, mean, explicit=_is_far_from_zero(mean, sample))
    width = min(search.n_followed, readings.n_rows or 0, len(mean))
    guess = _sample_directions(sample, rng.standard_normal((len(mean), width)))
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
        f"captured variance still grew by {gain:.1e} in the last passes; no few directions dominate these rows, "
        "or n_passes is too small",
        ConvergenceWarning,
        stacklevel=2,
    )
    return found


@dataclass(frozen=True)
class _Centred:
    """The rows minus their mean: subtracted from each share, or from products with the shares, which saves a copy.

    The second way loses digits when the mean is much larger than the scatter around it.
    """

    readings: Readings
    mean: NDArray[np.float64]
    explicit: bool

    def looks(self, look: Look, q: Matrix) -> Iterator[Sums]:
        centre, offset = (self.mean, np.zeros(q.shape[1])) if self.explicit else (None, self.mean @ q)
        return self.readings.looks(look, Projection(q, offset, centre))

    def scatter_times(self, q: Matrix) -> Matrix:
        """C Q: products in the precision of the rows, sums over shares of them in float64."""
        result = np.zeros(q.shape)
        for (product,) in self.looks(_scatter_product, q):
            result += product
        return result


def _scatter_product(projection: Projection, rows: Rows) -> Sums:
    rows, projected = projection.of(rows)
    return (rows.T @ projected,)  # the rows themselves need not be centred: the projections sum to nothing


def _measures(projection: Projection, rows: Rows) -> Sums:
    """Gram matrix of the rows in Q, and their sum of squares."""
    return _measures_and_places(projection, rows)[:2]


def _measures_and_places(projection: Projection, rows: Rows) -> Sums:
    rows, projected = projection.of(rows)
    precise = projected.astype(np.float64)
    return precise.T @ precise, sum_of_squares(rows), projected


def _is_far_from_zero(mean: NDArray[np.float64], centred_sample: Rows) -> bool:
    scatter = sum_of_squares(centred_sample) / len(centred_sample)
    return float(mean @ mean) > FAR_FROM_ZERO * scatter


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
    for their_gram, their_total, *projected in rows.looks(_measures if seen is None else _measures_and_places, q):
        gram += their_gram
        total += float(their_total)
        if seen is not None:
            seen += projected
    n = rows.readings.n_rows or 0
    if not rows.explicit:
        total -= n * float(rows.mean @ rows.mean)
    scatter, rotation = np.linalg.eigh(gram)
    scatter, rotation = np.maximum(scatter[::-1], 0.0), rotation[:, ::-1]
    if seen is not None:
        seen[:] = [projected @ rotation.astype(projected.dtype) for projected in seen]
    return Subspace(n, rows.mean, (q @ rotation).T, scatter, total)
