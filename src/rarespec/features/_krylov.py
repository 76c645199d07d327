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
MAX_RESTARTS = 40
PRODUCTS_PER_RESTART = 8


def krylov_space(product: Product, start: Matrix, n_products: int) -> tuple[Matrix, Matrix]:
    """B and C B, (p, q) each, after n_products block products; q grows by the width of `start` with each."""
    basis = np.linalg.qr(start)[0]
    images = [product(basis)]
    for _ in range(n_products - 1):
        # Householder vectors stay orthonormal when the image adds no new direction; the columns are then arbitrary.
        new = np.linalg.qr(np.hstack([basis, images[-1]]))[0][:, basis.shape[1] :]
        if new.shape[1] == 0:
            break
        basis = np.hstack([basis, new])
        images.append(product(np.ascontiguousarray(new)))
    return basis, np.hstack(images)


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
