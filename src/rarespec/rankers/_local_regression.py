"""Local regressions of the scores on the features around every row, and the sum of their costs.

Notation (Yang et al. 2009, section 3): N_i the k rows nearest to row i and itself; X_i their vectors as columns,
centred by H = I - 11'/k; A_i = lam H (lam I + H X_i'X_i H)^-1 H, the cost f'A_i f of a ridge regression of the scores f
on the vectors, which by the identity of Woodbury is their H - H X_i'(X_i H X_i' + lam I)^-1 X_i H; S_i picks N_i out of
all rows; L = sum S_i A_i S_i'.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array

from rarespec.rankers.rows import BLOCK_ROWS, Rows

RANK_TOLERANCE = 1e-14
"""Eigenvalues that are a smaller share of the largest are rounding: features do not vary in that direction."""


def gram_spectrum(vectors: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Eigenvalues (m, k) and eigenvectors (m, k, k) of V V' for each V of (m, k, d); 0 where rounding alone is left."""
    values, directions = np.linalg.eigh(vectors @ vectors.transpose(0, 2, 1))
    values[values <= RANK_TOLERANCE * values[:, -1:]] = 0.0
    return values, directions


def local_costs(X: Rows, neighbourhoods: NDArray[np.int32], lam: float) -> NDArray[np.float64]:
    """A_i of each neighbourhood, (m, k, k), from k x k matrices whatever the number and the size of the features."""
    k = neighbourhoods.shape[1]
    H = np.eye(k) - 1.0 / k
    vectors = X[neighbourhoods].astype(np.float64)
    vectors -= vectors.mean(axis=1, keepdims=True)
    sizes = _sizes(vectors)
    values, directions = gram_spectrum(vectors / sizes)
    with np.errstate(over="ignore"):
        strengths = np.minimum((sizes[:, :, 0] / np.sqrt(lam)) ** 2, np.finfo(np.float64).max)
        shares = 1.0 / (1.0 + values * strengths)
    costs = H @ (directions * shares[:, None, :]) @ directions.transpose(0, 2, 1) @ H
    return np.asarray(0.5 * (costs + costs.transpose(0, 2, 1)))


def _sizes(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """The largest value of each neighbourhood, (m, 1, 1); 1 where all are 0."""
    sizes = np.abs(vectors).max(axis=(1, 2), keepdims=True)
    sizes[sizes == 0] = 1.0
    return sizes


def alignment_matrix(X: Rows, neighbourhoods: NDArray[np.int32], lam: float) -> csr_array:
    """L, (n, n) float64, symmetric, positive semidefinite."""
    n, k = neighbourhoods.shape
    costs = np.empty((n, k, k))
    for start in range(0, n, BLOCK_ROWS):
        block = slice(start, start + BLOCK_ROWS)
        costs[block] = local_costs(X, neighbourhoods[block], lam)
    rows, columns = np.repeat(neighbourhoods, k, axis=1), np.tile(neighbourhoods, k)
    return csr_array(coo_array((costs.ravel(), (rows.ravel(), columns.ravel())), shape=(n, n)))


def regressed_scores(
    X_new: Rows, X_fit: Rows, scores: NDArray[np.float64], neighbourhoods: NDArray[np.int32], lam: float
) -> NDArray[np.float64]:
    """The ridge regression of the scores of each new row's neighbourhood, (m, k), evaluated at the new row, (m,)."""
    vectors = X_fit[neighbourhoods].astype(np.float64)
    centres = vectors.mean(axis=1)
    vectors -= centres[:, None, :]
    from_centres = (X_new - centres)[:, None, :]
    sizes = np.maximum(_sizes(vectors), _sizes(from_centres))
    vectors /= sizes
    values, directions = gram_spectrum(vectors)
    local = scores[neighbourhoods]
    means = local.mean(axis=1)
    pull = (from_centres / sizes) @ vectors.transpose(0, 2, 1) @ directions
    slopes = (local - means[:, None])[:, None, :] @ directions
    with np.errstate(over="ignore"):
        ridge = np.minimum((np.sqrt(lam) / sizes) ** 2, np.finfo(np.float64).max)
    varies = values[:, None, :] > 0
    added = np.divide(pull * slopes, ridge + values[:, None, :], out=np.zeros_like(pull), where=varies)
    return np.asarray(means + added.sum(axis=(1, 2)))
