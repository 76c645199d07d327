"""Conjugate gradients for many right-hand sides, each row of the solution accurate relative to itself.

Notation (Saad, Iterative Methods for Sparse Linear Systems, 2nd ed., algorithm 9.1): A the matrix, b a right-hand side,
x its solution, r = b - A x, z = r / diag(A), p the search direction, q = A p.

Written by hand because `scipy.sparse.linalg.cg` takes one right-hand side at a time and judges convergence by the norm
of the whole residual, not row by row. On 20 000 rows it takes 0.6 times as long for one query, and
2.6 times as long for each of 16 (benchmarks/label_propagation.py --n 20000 --queries 16).
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import reverse_cuthill_mckee

from rarespec.engines.here import one_blas_thread
from rarespec.storage.processes import available_cores

Block = NDArray[np.float64]
"""Columns side by side, (n, q) float64, C order."""

Operator = Callable[[Block], Block]
"""A times a block of columns; A may differ from column to column."""

COLUMNS_AT_ONCE = 8
"""Right-hand sides that share one product. Fixed, so that the number of threads cannot change a result."""

TILE = 64
"""Rows that are scaled as one: the inner loop over a few columns alone would cost more than the arithmetic."""

CHECK_EVERY = 8
"""Iterations between two looks at whether a column is done; a look costs as much as half an iteration."""

LEAST_SHARE = 1e-40
"""Values that are a smaller share of the largest in their column need not be accurate relative to themselves."""

MAX_RESTARTS = 5
"""How often columns start again from their true residuals, where rounding has let the running ones drift away."""


@dataclass(frozen=True)
class Solution:
    """Solutions of A x = b for q right-hand sides, and how good each is."""

    x: Block
    """(n, q) float64."""
    n_iter: NDArray[np.int64]
    """(q,) products with A that each column took."""
    residuals: NDArray[np.float64]
    """(q,) |b - A x| / |x|, computed from x itself; 0 where x is 0."""
    converged: NDArray[np.bool_]
    """(q,) whether every entry of the residual is within the tolerance."""


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

    def times_in(self, pool: Executor, n_threads: int) -> Operator:
        """The product with a block of columns, in threads that take a part of the rows each."""
        bounds = np.linspace(0, self.matrix.shape[0], n_threads + 1).astype(int)
        parts = [self.matrix[start:stop] for start, stop in pairwise(bounds)]

        def times(V: Block) -> Block:
            return np.concatenate(list(pool.map(lambda part: part @ V, parts)))

        return times


def solve_in_blocks(
    A: OrderedMatrix, B: Block, solve_block: Callable[[Block, Operator], Solution], n_jobs: int | None = None
) -> Solution:
    """Solve for a few columns of B at a time, side by side.

    Several blocks are solved in threads of their own; one alone has its products computed in threads, part by part of
    the rows. Either changes no digit.

    Parameters
    ----------
    A : OrderedMatrix
        The matrix.
    B : (n, q) float64
        Right-hand sides.
    solve_block : callable
        `solve_block(columns, times)` gets columns in the order of A, and the product with A.
    n_jobs : int, optional
        Threads; by default one for each processor.

    Returns
    -------
    Solution
        Of all columns, in the order of B.
    """
    ordered, n_threads = B[A.order], available_cores() if n_jobs in (None, -1) else n_jobs
    starts = range(0, B.shape[1], COLUMNS_AT_ONCE)
    with one_blas_thread(), ThreadPoolExecutor(n_threads) as pool:
        times = A.times_in(pool, n_threads) if len(starts) == 1 else A.matrix.__matmul__

        def solved(start: int) -> Solution:
            return solve_block(np.ascontiguousarray(ordered[:, start : start + COLUMNS_AT_ONCE]), times)

        parts = [solved(0)] if len(starts) == 1 else list(pool.map(solved, starts))
    x = np.empty(B.shape)
    x[A.order] = np.concatenate([np.empty((len(B), 0)), *(part.x for part in parts)], axis=1)
    return Solution(
        x,
        np.concatenate([np.empty(0, np.int64), *(part.n_iter for part in parts)]),
        np.concatenate([np.empty(0), *(part.residuals for part in parts)]),
        np.concatenate([np.empty(0, np.bool_), *(part.converged for part in parts)]),
    )


def solve(
    times: Operator,
    B: Block,
    X: Block,
    *,
    rtol: float,
    max_iter: int,
    inverse_diagonal: Block | None = None,
) -> Solution:
    """Solve A x = b for each column of B, starting from X, with one product of A and all columns per iteration.

    Solutions on a graph can fall by orders of magnitude with every step away from where b is, so a residual that is
    small against b says nothing about most of their values. A column is done when the residual of every row is within
    rtol of that row's value, down to 1e-40 of the largest. Where b has both signs, values may cancel, and rtol counts
    against the largest.

    Parameters
    ----------
    times : callable
        A times (n, q) float64. A is symmetric positive definite, and may differ from column to column.
    B : (n, q) float64
        The right-hand sides.
    X : (n, q) float64
        Where to start; it is changed in place and becomes the solution.
    rtol : float
        As above.
    max_iter : int
        Products after which a column is given up; `converged` then says so.
    inverse_diagonal : (n, q) float64, optional
        1 / diag(A) for the Jacobi preconditioner; without it there is none.

    Returns
    -------
    Solution
        X itself, and how good each column is.
    """
    least_share = np.where((B >= 0).all(axis=0) | (B <= 0).all(axis=0), LEAST_SHARE, 1.0)
    n_iter = np.zeros(B.shape[1], np.int64)
    R = B - times(X) if X.any() else B.copy()
    for _ in range(1 + MAX_RESTARTS):
        going = ~_has_converged(R, X, rtol, least_share) & (n_iter < max_iter)
        if not going.any():
            break
        _descend(
            times, R, X, going, n_iter, inverse_diagonal, lambda R, X: _has_converged(R, X, rtol, least_share), max_iter
        )
        R = B - times(X)
    sizes = _norms(X)
    residuals = np.divide(_norms(R), sizes, out=np.zeros_like(sizes), where=sizes > 0)
    return Solution(X, n_iter, residuals, _has_converged(R, X, rtol, least_share))


def _descend(
    times: Operator,
    R: Block,
    X: Block,
    going: NDArray[np.bool_],
    n_iter: NDArray[np.int64],
    inverse_diagonal: Block | None,
    done: Callable[[Block, Block], NDArray[np.bool_]],
    max_iter: int,
) -> None:
    """Iterations on X, R and n_iter in place, until every column is done; those that are stand still."""
    P, room = _precondition(R, inverse_diagonal).copy(), np.empty_like(R)
    rz = _dots(R, P)
    turn = 0
    while going.any():
        Q = times(P)
        step = np.where(going, _quotient(rz, _dots(P, Q)), 0.0)
        X += _scale(P, step, room)
        R -= _scale(Q, step, room)
        n_iter += going
        turn += 1
        going = going & (n_iter < max_iter) & (step > 0)  # a step of 0: solved to the last digit
        if turn % CHECK_EVERY == 0:
            going &= ~done(R, X)
        Z = _precondition(R, inverse_diagonal)
        rz, rz_before = _dots(R, Z), rz
        P = _scale(P, _quotient(rz, rz_before), P)
        P += Z


def _has_converged(R: Block, X: Block, rtol: float, least_share: NDArray[np.float64]) -> NDArray[np.bool_]:
    """(q,) whether every residual is within rtol of its value."""
    sizes = np.abs(X)
    np.maximum(sizes, least_share * sizes.max(axis=0, initial=0.0), out=sizes)
    sizes *= rtol
    return np.asarray((np.abs(R) <= sizes).all(axis=0))


def _precondition(R: Block, inverse_diagonal: Block | None) -> Block:
    return R if inverse_diagonal is None else R * inverse_diagonal


def _quotient(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """a / b, and 0 where b has vanished because a column is solved to the last digit."""
    return np.divide(a, b, out=np.zeros_like(a), where=b > 0)


def _scale(U: Block, factors: NDArray[np.float64], out: Block) -> Block:
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
