"""LRGA's two steps: local regressions of the scores on the features, and the scores that agree best with all of them.

Notation (Yang et al. 2009, section 3): N_i the k rows nearest to row i and itself; X_i their vectors as columns,
centred by H = I - 11'/k; A_i = lam H (lam I + H X_i'X_i H)^-1 H, the cost f'A_i f of a ridge regression of the scores f
on the vectors, which by the identity of Woodbury is their H - H X_i'(X_i H X_i' + lam I)^-1 X_i H; S_i picks N_i out of
all rows; L = sum S_i A_i S_i'. U is diagonal with the weight w on known rows and 1 elsewhere; f solves (L + U) f = U y.
Every query has a U of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array, eye_array
from scipy.sparse.linalg import splu

from rarespec.rankers._conjugate_gradients import Block, Operator, OrderedMatrix, Solution, solve, solve_in_blocks
from rarespec.rankers.rows import BLOCK_ROWS, Rows

RANK_TOLERANCE = 1e-14
"""Eigenvalues that are a smaller share of the largest are rounding: features do not vary in that direction."""

MOST_KNOWN_DIRECTLY = 64
"""Known rows up to which a query goes through the factors: each costs one solution, and a column of n values."""


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


@dataclass(frozen=True)
class AlignmentSystem:
    """L + I, to which each query adds the weight of its known rows."""

    matrix: OrderedMatrix
    """(n, n) L + I, symmetric, no eigenvalue below 1."""
    factors: Any
    """SuperLU's of the matrix, or None."""

    def __reduce__(self) -> tuple[Any, ...]:  # SuperLU's objects cannot be copied; they are made anew
        return _system_of, (self.matrix, self.factors is not None)


def alignment_system(L: csr_array, factored: bool) -> AlignmentSystem:
    """`factored` costs time and memory that grow faster than the number of rows, and makes queries much faster."""
    return _system_of(OrderedMatrix.of(L + eye_array(L.shape[0], format="csr")), factored)


def _system_of(matrix: OrderedMatrix, factored: bool) -> AlignmentSystem:
    if not factored:
        return AlignmentSystem(matrix, None)
    columns, ordering = matrix.matrix.tocsc(), {"permc_spec": "MMD_AT_PLUS_A", "options": {"SymmetricMode": True}}
    return AlignmentSystem(matrix, splu(columns, **ordering))


def align(system: AlignmentSystem, Y: Block, query_weight: float, rtol: float, max_iter: int) -> Solution:
    """Solve (L + U) f = U y for each column y of Y, with U = query_weight where y is not 0, and 1 elsewhere.

    Conjugate gradients, preconditioned by the diagonal; from 0, or from the solution through the factors where there
    are any: `n_iter` is 0 where these alone were exact enough. `residuals` bound the relative error of f, as no
    eigenvalue of L + U is below 1.
    """
    diagonal = system.matrix.matrix.diagonal()[:, None]

    def aligned(y: Block, times: Operator) -> Solution:
        known, extra = np.nonzero(y), query_weight - 1.0

        def times_with_query(P: Block) -> Block:
            Q = times(P)
            Q[known] += extra * P[known]
            return Q

        return solve(
            times_with_query,
            query_weight * y,
            through_factors(system.factors, y, query_weight),
            rtol=rtol,
            max_iter=max_iter,
            inverse_diagonal=1.0 / (diagonal + extra * (y != 0)),
        )

    return solve_in_blocks(system.matrix, Y, aligned)


def through_factors(factors: Any, Y: Block, query_weight: float) -> Block:
    """Scores from the factors of L + I, (n, q); 0 for all queries without factors, and for those of many known rows.

    Notation: E the columns of I of the m known rows, y_P their y, w the query weight. As (L + I + (w - 1) EE') f
    = w E y_P, f is G c with G = (L + I)^-1 E and (I + (w - 1) E'G) c = w y_P.
    """
    F = np.zeros_like(Y)
    for f, y in zip(F.T, Y.T, strict=True):
        known = np.flatnonzero(y)
        if factors is None or not 0 < len(known) <= MOST_KNOWN_DIRECTLY:
            continue
        E = np.zeros((len(y), len(known)), order="F")
        E[known, np.arange(len(known))] = 1.0
        G = factors.solve(E)
        c = np.linalg.solve(np.eye(len(known)) + (query_weight - 1.0) * G[known], query_weight * y[known])
        f[:] = np.einsum("ij,j->i", G, c)
    return F
