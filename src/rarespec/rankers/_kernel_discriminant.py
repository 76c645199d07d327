"""Ridge regression with a kernel: 1 on the known rows, -1 on the others, both kinds of equal weight.

Notation: K has one column for each centre (Nystroem); f = K a with a the least of
1/(2m) |P a - 1|^2 + 1/(2s) |Q a + 1|^2 + ridge a' B a, P the rows of K at the m known, Q at s others, B at the centres.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

RIDGE = 2e-4
JITTER = 1e-4
"""Added to the diagonal of B: centres may coincide."""

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Others:
    """All that a fit needs of the rows that are not looked for: Q'Q, the sum of the rows of Q, and how many."""

    gram: Matrix
    total: NDArray[np.float64]
    n: int

    @classmethod
    def of(cls, Q: Matrix) -> Others:
        return cls(Q.T @ Q, Q.sum(axis=0), len(Q))

    def plus(self, Q: Matrix) -> Others:
        return Others(self.gram + Q.T @ Q, self.total + Q.sum(axis=0), self.n + len(Q))

    def minus(self, Q: Matrix) -> Others:
        return Others(self.gram - Q.T @ Q, self.total - Q.sum(axis=0), self.n - len(Q))

    def at(self, centres: NDArray[np.intp]) -> Others:
        """With these centres alone."""
        return Others(self.gram[np.ix_(centres, centres)], self.total[centres], self.n)


def discriminant(basis: Matrix, known: Matrix, others: Others) -> NDArray[np.float64]:
    """Weights of the centres, (c,). basis : (c, c), known : (m, c) values of the kernel."""
    m, s = len(known), others.n
    A = known.T @ known / (2 * m) + others.gram / (2 * s) + RIDGE * (basis + JITTER * np.eye(len(basis)))
    return np.asarray(scipy.linalg.solve(A, known.sum(axis=0) / (2 * m) - others.total / (2 * s), assume_a="pos"))
