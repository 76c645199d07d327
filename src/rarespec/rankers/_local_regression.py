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

from rarespec.rankers._known import Rows
from rarespec.rankers._linear import BLOCK_ROWS


def centred_neighbourhoods(X: Rows, neighbourhoods: NDArray[np.int32]) -> NDArray[np.float64]:
    """(m, k, d) float64, the vectors of each neighbourhood about their mean."""
    vectors = X[neighbourhoods].astype(np.float64)
    vectors -= vectors.mean(axis=1, keepdims=True)
    return vectors


def local_costs(X: Rows, neighbourhoods: NDArray[np.int32], lam: float) -> NDArray[np.float64]:
    """A_i of each neighbourhood, (m, k, k), from k x k systems whatever the number of features."""
    k = neighbourhoods.shape[1]
    H = np.eye(k) - 1.0 / k
    vectors = centred_neighbourhoods(X, neighbourhoods)
    gram = vectors @ vectors.transpose(0, 2, 1)
    costs = H @ np.linalg.solve(np.eye(k) + gram / lam, np.broadcast_to(H, gram.shape))
    return 0.5 * (costs + costs.transpose(0, 2, 1))


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
    gram = vectors @ vectors.transpose(0, 2, 1)
    local = scores[neighbourhoods]
    means = local.mean(axis=1)
    pull = (vectors @ (X_new - centres)[:, :, None])[:, :, 0]
    weights = np.linalg.solve(lam * np.eye(gram.shape[1]) + gram, (local - means[:, None])[:, :, None])
    return means + (pull * weights[:, :, 0]).sum(axis=1)
