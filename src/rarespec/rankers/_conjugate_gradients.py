"""Conjugate gradients for many right-hand sides of one symmetric positive definite system.

Notation (Saad, Iterative Methods for Sparse Linear Systems, 2nd ed., algorithm 9.1): A the matrix, b a right-hand side,
x its solution, r = b - A x, z = r / diag(A), p the search direction.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import reverse_cuthill_mckee

Block = NDArray[np.float64]
"""Columns side by side, (n, q) float64, C order."""

Operator = Callable[[Block], Block]
"""A times a block of columns."""

COLUMNS_AT_ONCE = 8
"""Right-hand sides that share one product. Fixed, so that the number of threads cannot change a result."""

TILE = 64
"""Rows that are scaled as one: the inner loop over a few columns alone would cost more than the arithmetic."""

MAX_RESTARTS = 5
"""How often a column starts again from its true residual, where rounding has let the running one drift away from it."""


@dataclass(frozen=True)
class Solution:
    """Solutions of A x = b for q right-hand sides, and how good each is."""

    x: Block
    """(n, q) float64."""
    n_iter: NDArray[np.int64]
    """(q,) products with A that each column took part in."""
    residuals: NDArray[np.float64]
    """(q,) |b - A x| / |b|, computed from x itself; 0 where b is 0."""
    converged: NDArray[np.bool_]
    """(q,) whether the residual is within the tolerance."""


@dataclass(frozen=True)
class OrderedMatrix:
    """A sparse symmetric matrix whose rows are numbered anew, so that rows joined by an entry are close in memory.

    Worth its cost when a matrix is used more than once: products with 8 columns become several times faster.
    """

    matrix: csr_array
    """(n, n), row i of which is row order[i] of the original."""
    order: NDArray[np.int32]

    @classmethod
    def of(cls, A: Any) -> OrderedMatrix:
        order = reverse_cuthill_mckee(csr_array(A), symmetric_mode=True)
        matrix = csr_array(A)[order][:, order]
        matrix.sort_indices()
        if matrix.nnz < np.iinfo(np.int32).max:
            matrix.indices, matrix.indptr = matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32)
        return cls(matrix, order)


def solve(
    A: Any,
    B: Block,
    *,
    rtol: float = 1e-8,
    max_iter: int = 1000,
    diagonal: NDArray[np.float64] | None = None,
    n_jobs: int | None = None,
) -> Solution:
    """Solve A X = B column by column, with one product of A and a block of columns per iteration.

    Parameters
    ----------
    A : CSR matrix or array, OrderedMatrix, or callable
        Symmetric positive definite, (n, n). A callable maps (n, w) float64 to (n, w) float64 for any w.
    B : (n, q) float64
        The right-hand sides.
    rtol : float
        A column is done, and leaves the block, when |b - A x| <= rtol |b|.
    max_iter : int
        Products after which a column is given up; `converged` then says so.
    diagonal : (n,) float64, optional
        Diagonal of A for the Jacobi preconditioner; by default that of the sparse matrix, and 1 for a callable.
    n_jobs : int, optional
        Threads that work on blocks of columns; by default one for each processor. The result does not depend on it.
    """
    if isinstance(A, OrderedMatrix):
        reordered = None if diagonal is None else diagonal[A.order]
        solution = solve(A.matrix, B[A.order], rtol=rtol, max_iter=max_iter, diagonal=reordered, n_jobs=n_jobs)
        x = np.empty_like(solution.x)
        x[A.order] = solution.x
        return replace(solution, x=x)
    operator, inverse_diagonal = _operator_and_preconditioner(A, len(B), diagonal)

    def solved(start: int) -> Solution:
        block = np.ascontiguousarray(B[:, start : start + COLUMNS_AT_ONCE], dtype=np.float64)
        return _solve_block(operator, block, inverse_diagonal, rtol, max_iter)

    starts = range(0, B.shape[1], COLUMNS_AT_ONCE)
    if len(starts) == 1:  # memory that is new to a thread makes one short solution a quarter slower
        return solved(0)
    with ThreadPoolExecutor(os.cpu_count() if n_jobs in (None, -1) else n_jobs) as pool:
        return _side_by_side(len(B), list(pool.map(solved, starts)))


def _side_by_side(n: int, parts: list[Solution]) -> Solution:
    return Solution(
        np.concatenate([part.x for part in parts], axis=1) if parts else np.empty((n, 0)),
        np.concatenate([np.empty(0, np.int64), *(part.n_iter for part in parts)]),
        np.concatenate([np.empty(0), *(part.residuals for part in parts)]),
        np.concatenate([np.empty(0, np.bool_), *(part.converged for part in parts)]),
    )


def _operator_and_preconditioner(A: Any, n: int, diagonal: NDArray[np.float64] | None) -> tuple[Operator, Block | None]:
    """The product with A, and 1 / diag(A) as a column; None where a constant diagonal would change nothing."""
    if diagonal is None:
        diagonal = np.ones(n) if callable(A) else np.asarray(A.diagonal(), np.float64)
    if not (diagonal > 0).all():
        raise ValueError("the diagonal of A has values that are not positive: A is not positive definite")
    constant = bool((diagonal == diagonal[:1]).all())
    return (A if callable(A) else A.__matmul__), None if constant else 1.0 / diagonal[:, None]


def _solve_block(operator: Operator, B: Block, inverse_diagonal: Block | None, rtol: float, max_iter: int) -> Solution:
    """Rounds of conjugate gradients, each from the true residual, until every column is done or has used its turns."""
    X, sizes = np.zeros_like(B), _norms(B)
    n_iter = np.zeros(B.shape[1], np.int64)
    R, residual_sizes = B, sizes
    for _ in range(1 + MAX_RESTARTS):
        going = np.flatnonzero((residual_sizes > rtol * sizes) & (n_iter < max_iter))
        if not len(going):
            break
        wanted = rtol * sizes[going]
        correction, used = _one_round(operator, R[:, going], inverse_diagonal, wanted, max_iter - n_iter[going])
        X[:, going] += correction
        n_iter[going] += used
        R = B - operator(X)
        residual_sizes = _norms(R)
    residuals = np.divide(residual_sizes, sizes, out=np.zeros_like(sizes), where=sizes > 0)
    return Solution(X, n_iter, residuals, residual_sizes <= rtol * sizes)


def _one_round(
    operator: Operator, R: Block, inverse_diagonal: Block | None, wanted: NDArray[np.float64], turns: NDArray[np.int64]
) -> tuple[Block, NDArray[np.int64]]:
    """Solutions of A x = r started from 0, and the products each column took; columns that are done leave the block."""
    solutions, used = np.zeros_like(R), np.zeros(R.shape[1], np.int64)
    going = np.arange(R.shape[1])
    R = R.copy()
    X, P, room = np.zeros_like(R), _preconditioned(R, inverse_diagonal).copy(), np.empty_like(R)
    rz = _dots(R, P)
    while len(going):
        Q = operator(P)
        curvature = _dots(P, Q)
        usable = curvature > 0  # rounding can bring an exhausted column to 0; it gets no further
        step = np.divide(rz, curvature, out=np.zeros_like(rz), where=usable)
        X += _scaled(P, step, room)
        R -= _scaled(Q, step, room)
        Z = _preconditioned(R, inverse_diagonal)
        rz, rz_before = _dots(R, Z), rz
        used[going] += 1
        sizes = np.sqrt(rz if Z is R else _dots(R, R))
        done = ~usable | (sizes <= wanted) | (used[going] >= turns)
        if done.any():
            solutions[:, going[done]] = X[:, done]
            going, turns, wanted = going[~done], turns[~done], wanted[~done]
            rz, rz_before = rz[~done], rz_before[~done]
            X, R, P = (np.ascontiguousarray(values[:, ~done]) for values in (X, R, P))
            Z, room = _preconditioned(R, inverse_diagonal), np.empty_like(R)
        P = _scaled(P, rz / rz_before, P)
        P += Z
    return solutions, used


def _preconditioned(R: Block, inverse_diagonal: Block | None) -> Block:
    return R if inverse_diagonal is None else R * inverse_diagonal


def _scaled(U: Block, factors: NDArray[np.float64], out: Block) -> Block:
    """U * factors, each column with its own factor."""
    whole = len(U) // TILE * TILE
    as_tiles = (whole // TILE, TILE * U.shape[1])
    np.multiply(U[:whole].reshape(as_tiles), np.tile(factors, TILE), out=out[:whole].reshape(as_tiles))
    np.multiply(U[whole:], factors, out=out[whole:])
    return out


def _dots(U: Block, V: Block) -> NDArray[np.float64]:
    """u . v of each pair of columns; not by BLAS, whose sums depend on the number of threads."""
    if U.shape[1] == 1:
        return np.array([np.einsum("i,i->", U[:, 0], V[:, 0])])
    return np.einsum("ij,ij->j", U, V)


def _norms(U: Block) -> NDArray[np.float64]:
    return np.sqrt(_dots(U, U))
