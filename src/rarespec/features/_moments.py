"""Count, mean and scatter matrix of rows, grown piece by piece: all that the exact solver needs to know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dsyr, dsyrk, ssyrk

from rarespec.features._rows import RowStream, column_sums

LARGE_PIECES = 4
"""Products of p x p results are faster on more rows at once than those of thin ones."""
PIECES_IN_FLOAT32 = 4
"""float32 pieces whose scatter is added up in float32, inside the matrix product, before it goes to float64."""


@dataclass
class Moments:
    """Sums over rows x minus a fixed `shift` near their mean, which keeps small variances apart from large means.

    shift   : (p,) float64, the mean of the first rows
    total   : (p,) float64, sum of x - shift
    scatter : (p, p) float64, sum of (x - shift)(x - shift)', lower triangle only
    """

    n: int
    shift: NDArray[np.float64]
    total: NDArray[np.float64]
    scatter: NDArray[np.float64]

    @classmethod
    def of(cls, stream: RowStream) -> Self | None:
        """The moments of these rows; None when there are none."""
        shift = shift_for(stream)
        if shift is None:
            return None
        moments = cls.around(shift)
        moments.add(stream)
        return moments

    @classmethod
    def around(cls, shift: NDArray[np.float64]) -> Self:
        """Of no rows yet."""
        p = len(shift)
        return cls(0, shift, np.zeros(p), np.zeros((p, p)))

    def add(self, stream: RowStream) -> None:
        """Take in more rows, with one reading."""
        recent: NDArray[np.float32] | None = None
        for number, piece in enumerate(stream.pieces(self.shift, times=LARGE_PIECES), start=1):
            self.n += len(piece)
            self.total += column_sums(piece)
            if piece.dtype == np.float64:
                dsyrk(1.0, piece.T, beta=1.0, c=self.scatter.T, overwrite_c=1)
                continue
            recent = np.zeros(self.scatter.shape, np.float32) if recent is None else recent
            ssyrk(1.0, piece.T, beta=1.0, c=recent.T, overwrite_c=1)
            if number % PIECES_IN_FLOAT32 == 0:
                self.scatter += recent
                recent[:] = 0
        if recent is not None:
            self.scatter += recent

    def merge(self, others: Self) -> None:
        """Take in the moments of other rows around the same shift."""
        self.n += others.n
        self.total += others.total
        self.scatter += others.scatter

    @property
    def mean(self) -> NDArray[np.float64]:
        return self.shift + self.total / self.n

    def covariance(self) -> NDArray[np.float64]:
        """(p, p) float64, lower triangle only, with n - 1 in the denominator."""
        around_mean = self.scatter.copy()
        dsyr(-1.0 / self.n, self.total, a=around_mean.T, overwrite_a=1)
        around_mean /= max(self.n - 1, 1)
        return around_mean


def shift_for(stream: RowStream) -> NDArray[np.float64] | None:
    """(p,) the mean of the first finite rows; None when there are none."""
    first = next(stream.finite_parts(), None)
    return None if first is None else _in_float32(column_sums(first) / len(first))


def _in_float32(shift: NDArray[np.float64]) -> NDArray[np.float64]:
    """The nearest shift that float32 rows take without rounding; the shift itself where float32 cannot hold it."""
    with np.errstate(over="ignore"):
        rounded = shift.astype(np.float32).astype(np.float64)
    return np.where(np.isfinite(rounded), rounded, shift)
