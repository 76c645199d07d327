"""Global alignment: the scores that agree best with all local regressions and with what is known.

Notation (Yang et al. 2009, section 3): L the summed cost of the local regressions; U is diagonal with the weight w on
known rows and 1 elsewhere; f solves (L + U) f = U y. Every query has a U of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array, eye_array
from scipy.sparse.linalg import splu

from rarespec.rankers._conjugate_gradients import Block, Operator, OrderedMatrix, Solution, solve, solve_in_blocks

MOST_KNOWN_DIRECTLY = 64
"""Known rows up to which a query goes through the factors: each costs one solution, and a column of n values."""


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
