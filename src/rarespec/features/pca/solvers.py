"""Leading eigenvectors by passes of the rows: block Krylov and subspace iteration."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from rarespec.engines.here import one_blas_thread
from rarespec.features.pca.passes import Look, Passes, Projection, Sums
from rarespec.features.rows import Rows, sum_of_squares

# ---- Leading eigenvectors of a symmetric matrix that is known through its products with thin matrices.
#
# Notation (Saad 2011, Numerical Methods for Large Eigenvalue Problems, chapters 4 and 6): C (p, p) symmetric,
# positive semi-definite B (p, q) orthonormal basis of the block Krylov space span(Q, C Q, C^2 Q, ...) of a starting
# block Q


Matrix = NDArray[np.float64]
Product = Callable[[Matrix], Matrix]
"""Q (p, q) -> C Q (p, q), both float64."""

DENSE_SIZE = 1000
"""Up to this size a dense solver is quick enough."""
DENSE_SHARE = 8
"""A dense solver is also used when more than one in DENSE_SHARE eigenvectors is wanted."""
RESIDUAL = 1e-11
"""Largest |C v - lambda v| relative to the largest eigenvalue."""
NEARLY_DEPENDENT = 1e-5
"""Share of a column that must lie outside the span of those before it."""
MAX_RESTARTS = 40
PRODUCTS_PER_RESTART = 8


def krylov_space(product: Product, start: Matrix, n_products: int) -> tuple[Matrix, Matrix]:
    """Build an orthonormal basis B of the block Krylov space of `start`, and C B.

    Parameters
    ----------
    product : callable
        Q (p, q) -> C Q (p, q).
    start : ndarray of float64
        The starting block, (p, w).
    n_products : int
        Products with C; the basis grows by w columns with each.

    Returns
    -------
    basis : ndarray of float64
        B, (p, q).
    image : ndarray of float64
        C B, (p, q).
    """
    basis = orthonormal(start)
    images = [product(basis)]
    for _ in range(n_products - 1):
        if basis.shape[1] + start.shape[1] > len(start):
            break
        new = orthonormal_to(basis, images[-1])
        basis = np.hstack([basis, new])
        images.append(product(new))
    return basis, np.hstack(images)


def orthonormal_to(basis: Matrix, columns: Matrix) -> Matrix:
    """(p, q) orthonormal columns that add to `basis` what `columns` have outside its span."""
    for _ in range(2):  # once more, because the first time leaves rounding errors along the basis
        columns = orthonormal(columns - basis @ (basis.T @ columns))
    return columns


def orthonormal(columns: Matrix) -> Matrix:
    """(p, q) orthonormal columns of the same span; arbitrary ones where the given columns depend on each other.

    Cholesky factors of the Gram matrix, twice, are several times faster than Householder reflections, and as good
    for columns that are not nearly dependent (Yamamoto et al. 2015).
    """
    lengths = np.linalg.norm(columns, axis=0)
    q = columns / np.where(lengths > 0, lengths, 1.0)
    for _ in range(2):
        try:
            factor = np.linalg.cholesky(q.T @ q)
        except np.linalg.LinAlgError:
            return np.linalg.qr(columns)[0]
        if factor.diagonal().min() < NEARLY_DEPENDENT:
            return np.linalg.qr(columns)[0]
        q = q @ np.linalg.inv(factor).T  # Q'Q = L L', so the columns of Q L^-T are orthonormal
    return q


def ritz(basis: Matrix, image: Matrix) -> tuple[NDArray[np.float64], Matrix]:
    """Ritz values (q,), largest first, and the coefficients (q, q) of their vectors in `basis`."""
    projected = basis.T @ image
    # B'CB is symmetric but for rounding, and eigh reads only one of its triangles
    values, coefficients = np.linalg.eigh((projected + projected.T) / 2)
    return values[::-1], coefficients[:, ::-1]


def leading_eigenpairs(matrix: Matrix, k: int, seed: int) -> tuple[NDArray[np.float64], Matrix]:
    """Find the largest eigenvalues of a symmetric matrix, and their vectors.

    Parameters
    ----------
    matrix : ndarray of float64
        (p, p), C-contiguous; only its lower triangle is read.
    k : int
        How many.
    seed : int
        Of the starting block.

    Returns
    -------
    values : ndarray of float64
        (k,), largest first.
    vectors : ndarray of float64
        (p, k).
    """
    p = len(matrix)
    if p > DENSE_SIZE and k * DENSE_SHARE <= p:
        found = _by_restarts(matrix, k, np.random.default_rng(seed))
        if found is not None:
            return found
    return _dense(matrix, k)


def _dense(matrix: Matrix, k: int) -> tuple[NDArray[np.float64], Matrix]:
    from scipy.linalg import eigh

    p = len(matrix)
    with one_blas_thread():  # several wait for each other at every column, on a busy machine for most of the time
        values, vectors = eigh(matrix, lower=True, subset_by_index=[p - k, p - 1])
    return values[::-1], vectors[:, ::-1]


def _by_restarts(matrix: Matrix, k: int, rng: np.random.Generator) -> tuple[NDArray[np.float64], Matrix] | None:
    """Block Krylov spaces, each started from the best vectors of the last; None when they do not converge."""
    from scipy.linalg.blas import dsymm

    def product(q: Matrix) -> Matrix:
        return dsymm(1.0, matrix.T, q, lower=0)  # the transpose is in BLAS's own order, with the upper triangle filled

    width = k + max(10, k // 4)
    start = rng.standard_normal((len(matrix), width))
    for _ in range(MAX_RESTARTS):
        basis, image = krylov_space(product, start, PRODUCTS_PER_RESTART)
        values, coefficients = ritz(basis, image)
        start = basis @ coefficients[:, :width]
        residual = image @ coefficients[:, :k] - start[:, :k] * values[:k]
        if np.linalg.norm(residual, axis=0).max() <= RESIDUAL * abs(values[0]):
            return values[:k], start[:, :k]
    return None


# ---- The leading principal subspace of rows that are read a few times and never held: the randomised solver.
#
# One pass takes the mean and a random sample, whose own leading directions are the first guess. Each further
# pass but the last multiplies the guess, then the directions in which it errs most, by the scatter matrix, as in
# block Krylov and Davidson methods (Halko, Martinsson & Tropp 2011; Musco & Musco 2015). The last pass measures
# the variance along the directions found, so that the variances reported are those of the features; while it finds
# clearly more than was expected from the products, two more passes are made.
#
# Notation X (n, p) rows minus their mean, never formed; C = X'X Q (p, l) orthonormal, l a little larger than the
# number of components wanted


SAMPLE_PRODUCTS = 3
MAX_ROUNDS = 6
GAIN_TO_LOSS = 1 / 3
"""Bound on the variance still missing, relative to what the last of several products gained: 0.2 on spectra. After a
single product it is about as much as was gained."""
FAR_FROM_ZERO = 30.0
"""Squared length of the mean, relative to the mean squared distance from it, from which rows are centred one by one."""
REFINED_DIRECTIONS = 32
"""How many directions are added to the guess in each pass: the leading ones need no improvement."""


@dataclass(frozen=True)
class Subspace:
    """What is kept of n rows.

    Attributes
    ----------
    n : int
        Number of rows.
    mean : ndarray of float64
        (p,).
    basis : ndarray of float64
        (l, p) orthonormal directions, the one with the most scatter first.
    scatter : ndarray of float64
        (l,) sum of squares of the rows along each direction, around the mean.
    total : float
        Sum of squares of the rows in all directions, around the mean.
    """

    n: int
    mean: NDArray[np.float64]
    basis: NDArray[np.float64]
    scatter: NDArray[np.float64]
    total: float


@dataclass(frozen=True)
class Search:
    """How hard to look.

    Attributes
    ----------
    n_wanted, n_measured, n_followed : int
        Directions wanted, measured in the last pass, and followed before it.
    n_passes : int
        Passes after the first one, before convergence is judged.
    tol : float
        Share of the captured variance that may be missing; what is missing is judged by the last gain.
    seed : int
        Of the random sample and the starting block.
    """

    n_wanted: int
    n_measured: int
    n_followed: int
    n_passes: int
    tol: float
    seed: int


def find_subspace(passes: Passes, search: Search, seen: list[Rows] | None = None) -> Subspace | None:
    """Find the leading subspace of the rows.

    Parameters
    ----------
    passes : Passes
        The rows.
    search : Search
        How hard to look.
    seen : list, optional
        Receives the rows of a stream in the coordinates of the subspace, (m, l) for each share.

    Returns
    -------
    Subspace or None
        None when there are no rows.
    """
    with one_blas_thread():
        return _find_subspace(passes, search, seen)


def _find_subspace(passes: Passes, search: Search, seen: list[Rows] | None) -> Subspace | None:
    rng = np.random.default_rng(search.seed)
    first = passes.mean_and_sample(rng)
    if first is None:
        return None
    mean, sample = first
    sample -= mean.astype(sample.dtype)
    centred = _Centred(passes, mean, explicit=_is_far_from_zero(mean, sample))
    width = min(search.n_followed, passes.n_rows or 0, len(mean))
    guess = _sample_directions(sample, rng.standard_normal((len(mean), width)))
    return _iterate_until_converged(centred, guess, search, seen)


def _iterate_until_converged(rows: _Centred, guess: Matrix, search: Search, seen: list[Rows] | None) -> Subspace:
    if search.n_passes == 1:
        return _measure_subspace(rows, guess[:, : search.n_measured], seen)
    n_products = search.n_passes - 1
    for _ in range(MAX_ROUNDS):
        directions, expected = _improve(rows.scatter_times, guess, n_products, search.n_wanted)
        found = _measure_subspace(rows, directions[:, : search.n_measured], seen)
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

    passes: Passes
    mean: NDArray[np.float64]
    explicit: bool

    def looks(self, look: Look, q: Matrix) -> Iterator[Sums]:
        centre, offset = (self.mean, np.zeros(q.shape[1])) if self.explicit else (None, self.mean @ q)
        return self.passes.looks(look, Projection(q, offset, centre))

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
    return _multiply(basis, image, start.shape[1])


def _improve(product: Product, guess: Matrix, n_products: int, n_wanted: int) -> tuple[Matrix, float]:
    """Q, its best directions first, and the scatter in n_wanted directions that the products showed before the last."""
    basis, image = guess, product(guess)
    for _ in range(n_products - 1):
        if basis.shape[1] + REFINED_DIRECTIONS > len(basis):
            break
        new = _promising_directions(basis, image, guess.shape[1])
        basis, image = np.hstack([basis, new]), np.hstack([image, product(new)])
    expected = float(ritz(basis, image)[0][:n_wanted].sum())
    return _multiply(basis, image, guess.shape[1]), expected


def _promising_directions(basis: Matrix, image: Matrix, width: int) -> Matrix:
    """Where the residuals r = C v - lambda v of the Ritz vectors point, weighed by their promise, |r|^2 / lambda."""
    values, coefficients = ritz(basis, image)
    values, coefficients = values[:width], coefficients[:, :width]
    residuals = image @ coefficients - (basis @ coefficients) * values
    # The floor keeps directions without variance, whose residuals are rounding errors, from looking promising.
    residuals /= np.sqrt(np.maximum(values, np.finfo(np.float32).eps * max(values[0], np.finfo(np.float32).tiny)))
    _, rotation = np.linalg.eigh(residuals.T @ residuals)
    return orthonormal_to(basis, residuals @ rotation[:, -REFINED_DIRECTIONS:])


def _multiply(basis: Matrix, image: Matrix, width: int) -> Matrix:
    """C times the best Ritz vectors, which is better still and costs nothing once C B is known."""
    _, coefficients = ritz(basis, image)
    return orthonormal(image @ coefficients[:, :width])


def _measure_subspace(rows: _Centred, q: Matrix, seen: list[Rows] | None) -> Subspace:
    """Turn Q into principal directions, by the scatter of the rows seen in it."""
    gram, total = np.zeros((q.shape[1], q.shape[1])), 0.0
    if seen is not None:
        seen.clear()
    for their_gram, their_total, *projected in rows.looks(_measures if seen is None else _measures_and_places, q):
        gram += their_gram
        total += float(their_total)
        if seen is not None:
            seen += projected
    n = rows.passes.n_rows or 0
    if not rows.explicit:  # the sum of squares was taken around zero: take out the mean's share
        total -= n * float(rows.mean @ rows.mean)
    scatter, rotation = np.linalg.eigh(gram)
    scatter, rotation = np.maximum(scatter[::-1], 0.0), rotation[:, ::-1]
    if seen is not None:
        seen[:] = [projected @ rotation.astype(projected.dtype) for projected in seen]
    return Subspace(n, rows.mean, (q @ rotation).T, scatter, total)
