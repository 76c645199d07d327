"""Leading eigenvectors of a symmetric matrix that is known through its products with thin matrices.

Notation (Saad 2011, Numerical Methods for Large Eigenvalue Problems, chapters 4 and 6):
C  (p, p) symmetric, positive semi-definite
B  (p, q) orthonormal basis of the block Krylov space span(Q, C Q, C^2 Q, ...) of a starting block Q
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

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
    """B and C B, (p, q) each, after n_products block products; q grows by the width of `start` with each."""
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
        q = q @ np.linalg.inv(factor).T
    return q


def ritz(basis: Matrix, image: Matrix) -> tuple[NDArray[np.float64], Matrix]:
    """Ritz values (q,), largest first, and the coefficients (q, q) of their vectors in `basis`."""
    projected = basis.T @ image
    values, coefficients = np.linalg.eigh((projected + projected.T) / 2)
    return values[::-1], coefficients[:, ::-1]


def leading_eigenpairs(matrix: Matrix, k: int, seed: int) -> tuple[NDArray[np.float64], Matrix]:
    """The k largest eigenvalues (k,), largest first, and their vectors (p, k).

    matrix : (p, p) float64, C-contiguous; only its lower triangle is read
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
