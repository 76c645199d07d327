"""Global alignment: the scores that agree best with all local regressions and with what is known.

Notation (Yang et al. 2009, section 3): L the summed cost of the local regressions; U is diagonal with the weight w on
known rows and 1 elsewhere; f solves (L + U) f = U y. Every query has a U of its own.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, eye_array
from scipy.sparse.linalg import splu
from threadpoolctl import threadpool_limits

Block = NDArray[np.float64]
"""Columns side by side, (n, q) float64, one for each query."""

COLUMNS_AT_ONCE = 8
"""Queries that share one product. Fixed, so that the number of threads cannot change a result."""

LEAST_SHARE = 1e-40
"""Scores that are a smaller share of the largest one need not be accurate relative to themselves."""

CHECK_EVERY = 4
"""Iterations between two looks at whether a query is done."""

MOST_KNOWN_DIRECTLY = 64
"""Known rows up to which a query goes through the factors: each costs one solution, and a column of n values."""

MAX_RESTARTS = 5
"""How often queries start again from their true residuals, where rounding has let the running ones drift away."""


@dataclass(frozen=True)
class AlignmentSystem:
    """L + I, to which each query adds the weight of its known rows."""

    matrix: csr_array
    """(n, n) float64, symmetric, no eigenvalue below 1."""
    factors: Any
    """SuperLU's of the matrix, or None."""

    def __reduce__(self) -> tuple[Any, ...]:  # SuperLU's objects cannot be copied; they are made anew
        return _system_of, (self.matrix, self.factors is not None)


def alignment_system(L: csr_array, factored: bool) -> AlignmentSystem:
    """`factored` costs time and memory that grow faster than the number of rows, and makes queries much faster."""
    return _system_of(csr_array(L + eye_array(L.shape[0], format="csr")), factored)


def _system_of(matrix: csr_array, factored: bool) -> AlignmentSystem:
    if not factored:
        return AlignmentSystem(matrix, None)
    return AlignmentSystem(matrix, splu(matrix.tocsc(), permc_spec="MMD_AT_PLUS_A", options={"SymmetricMode": True}))


@dataclass(frozen=True)
class Alignment:
    """Scores f of q queries, and how exactly each solves its system."""

    scores: Block
    """(n, q) float64."""
    n_iter: NDArray[np.int64]
    """(q,) products with L that each query took; 0 where the factors alone were exact enough."""
    residuals: NDArray[np.float64]
    """(q,) |U y - (L + U) f| / |f|, which bounds the relative error of f, as no eigenvalue of L + U is below 1."""
    converged: NDArray[np.bool_]
    """(q,) whether every entry of the residual is within rtol of its score."""


def align(system: AlignmentSystem, Y: Block, query_weight: float, rtol: float, max_iter: int) -> Alignment:
    """Solve (L + U) f = U y for each column y of Y, with U = query_weight where y is not 0, and 1 elsewhere.

    Conjugate gradients, preconditioned by the diagonal, one product of L and a block of columns per iteration; from 0,
    or from the solution through the factors where there are any. Scores can fall by orders of magnitude with every step
    away from the known rows, so a residual that is small against the right-hand side (10^4) says nothing about most of
    them. A query is done when the residual of every row is within rtol of that row's score.
    """
    diagonal = system.matrix.diagonal()[:, None]

    def aligned(start: int) -> Alignment:
        y = np.ascontiguousarray(Y[:, start : start + COLUMNS_AT_ONCE])
        block = _QueryBlock(system.matrix, diagonal, y, query_weight)
        return block.solved(through_factors(system.factors, y, query_weight), rtol, max_iter)

    # the factors' many small products lose more by BLAS's own threads than they gain
    with threadpool_limits(1), ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        parts = list(pool.map(aligned, range(0, Y.shape[1], COLUMNS_AT_ONCE)))
    if not parts:
        return Alignment(np.empty(Y.shape), np.empty(0, np.int64), np.empty(0), np.empty(0, np.bool_))
    return Alignment(
        np.concatenate([part.scores for part in parts], axis=1),
        np.concatenate([part.n_iter for part in parts]),
        np.concatenate([part.residuals for part in parts]),
        np.concatenate([part.converged for part in parts]),
    )


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


class _QueryBlock:
    """(L + U) F = U Y for a few queries, whose systems differ in U on their known rows only.

    Notation (Saad, Iterative Methods for Sparse Linear Systems, 2nd ed., algorithm 9.1): R the residuals, Z = R divided
    by the diagonal, P the search directions, Q = (L + U) P.
    """

    def __init__(self, system: csr_array, diagonal: Block, Y: Block, query_weight: float) -> None:
        self.system, self.inverse = system, 1.0 / diagonal
        self.known = np.nonzero(Y)
        self.extra = query_weight - 1.0
        self.known_inverse = 1.0 / (diagonal[self.known[0], 0] + self.extra)
        self.Y, self.query_weight = Y, query_weight

    def times(self, P: Block) -> Block:
        Q = np.asarray(self.system @ P)
        Q[self.known] += self.extra * P[self.known]
        return Q

    def preconditioned(self, R: Block) -> Block:
        Z = R * self.inverse
        Z[self.known] = R[self.known] * self.known_inverse
        return Z

    def solved(self, F: Block, rtol: float, max_iter: int) -> Alignment:
        """From the scores F, which are changed in place."""
        n_iter = np.zeros(self.Y.shape[1], np.int64)
        right = self.query_weight * self.Y
        R = right - self.times(F)
        going = ~_done(R, F, rtol)
        for _ in range(1 + MAX_RESTARTS):
            if not going.any():
                break
            self._descend(F, R, n_iter, going, rtol, max_iter)
            R = right - self.times(F)
            going = ~_done(R, F, rtol) & (n_iter < max_iter)
        sizes = np.sqrt(_dots(F, F))
        residuals = np.divide(np.sqrt(_dots(R, R)), sizes, out=np.zeros_like(sizes), where=sizes > 0)
        return Alignment(F, n_iter, residuals, _done(R, F, rtol))

    def _descend(
        self, F: Block, R: Block, n_iter: NDArray[np.int64], going: NDArray[np.bool_], rtol: float, max_iter: int
    ) -> None:
        """Conjugate gradients on F and R in place, until every query is done; those that are stand still."""
        P = self.preconditioned(R)
        rz = _dots(R, P)
        going, turn = going.copy(), 0
        while going.any():
            Q = self.times(P)
            step = np.where(going, _quotient(rz, _dots(P, Q)), 0.0)
            F += step * P
            R -= step * Q
            n_iter += going
            turn += 1
            if turn % CHECK_EVERY == 0:
                going &= ~_done(R, F, rtol) & (step > 0)
            going &= n_iter < max_iter
            Z = self.preconditioned(R)
            rz, rz_before = _dots(R, Z), rz
            P *= _quotient(rz, rz_before)
            P += Z


def _done(R: Block, F: Block, rtol: float) -> NDArray[np.bool_]:
    """(q,) whether every residual is within rtol of its score."""
    sizes = np.abs(F)
    np.maximum(sizes, LEAST_SHARE * sizes.max(axis=0), out=sizes)
    sizes *= rtol
    return np.asarray((np.abs(R) <= sizes).all(axis=0))


def _dots(A: Block, B: Block) -> NDArray[np.float64]:
    return np.einsum("ij,ij->j", A, B)


def _quotient(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """a / b, and 0 where b has vanished because a column is solved to the last digit."""
    return np.divide(a, b, out=np.zeros_like(a), where=b > 0)
