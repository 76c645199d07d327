"""Kernels in double precision, and sums of them over large matrices, block by block."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rarespec.rankers.parameters import is_positive, require
from rarespec.rankers.rows import BLOCK_ROWS, Rows

Array = NDArray[np.float64]

BLOCK_VALUES = 2**20
"""Kernel values held at a time."""


@dataclass(frozen=True)
class Kernel:
    """`linear`: x.z; `rbf`: exp(-gamma |x - z|^2); `poly`: (gamma x.z + coef0)^degree."""

    name: str
    gamma: float = 1.0
    degree: int = 3
    coef0: float = 1.0

    def between(self, rows: Rows, vectors: Array) -> Array:
        """Compute the kernel of each row with each vector, (n, s)."""
        if self.name == "rbf":
            return np.exp(-self.gamma * squared_distances(rows, vectors))
        products = rows.astype(np.float64, copy=False) @ vectors.T
        return products if self.name == "linear" else (self.gamma * products + self.coef0) ** self.degree

    def with_itself(self, rows: Rows) -> Array:
        """Compute the kernel of each row with itself, (n,)."""
        if self.name == "rbf":
            return np.ones(len(rows))
        norms = np.square(rows, dtype=np.float64).sum(axis=1)
        return norms if self.name == "linear" else (self.gamma * norms + self.coef0) ** self.degree


def squared_distances(rows: Rows, vectors: Array) -> Array:
    """Compute the squared distance of each row from each vector, (n, s) float64."""
    # measured from the middle of the vectors: a common offset of all rows then costs no digits
    middle = vectors.mean(axis=0)
    rows, vectors = rows - middle, vectors - middle
    distances = rows @ (-2.0 * vectors.T)
    distances += np.square(rows).sum(axis=1)[:, None]
    distances += np.square(vectors).sum(axis=1)
    return np.maximum(distances, 0.0, out=distances)


def kernel_sums(kernel: Kernel, X: Rows, vectors: Array, weights: Array) -> Array:
    """Sum the kernels of each row with some vectors, weighted.

    Parameters
    ----------
    kernel : Kernel
        The kernel.
    X : (n, d) array
        Rows.
    vectors : (s, d) float64
        Vectors.
    weights : (s,) or (s, t) float64
        Weights of the vectors.

    Returns
    -------
    (n,) or (n, t) float64
        The sums.
    """
    sums = np.empty((len(X), *weights.shape[1:]))
    for block in _blocks(len(X), len(vectors)):
        sums[block] = kernel.between(X[block], vectors) @ weights
    return sums


def log_rbf_sums(gamma: float, X: Rows, vectors: Array, weights: Array) -> Array:
    """Compute the logarithm of the sum over vectors of weight times exp(-gamma |x - vector|^2).

    Far rows, whose kernels are too small for a double, still have a finite logarithm and keep their order.

    Parameters
    ----------
    gamma : float
        Of the kernel.
    X : (n, d) array
        Rows.
    vectors : (s, d) float64
        Vectors.
    weights : (s,) float64
        Weights of the vectors, all positive.

    Returns
    -------
    (n,) float64
        The logarithms.
    """
    logs = np.empty(len(X))
    for block in _blocks(len(X), len(vectors)):
        terms = np.log(weights) - gamma * squared_distances(X[block], vectors)
        largest = terms.max(axis=1)
        logs[block] = largest + np.log(np.exp(terms - largest[:, None]).sum(axis=1))
    return logs


def _blocks(n_rows: int, n_vectors: int) -> Iterator[slice]:
    step = max(1, min(BLOCK_ROWS, BLOCK_VALUES // max(1, n_vectors)))
    return (slice(start, start + step) for start in range(0, n_rows, step))


def centre_and_variance(X: Rows) -> tuple[Array, float]:
    """Compute the mean of the rows, (d,), and their mean squared distance to it, the sum of all columns' variances."""
    centre = X.mean(axis=0, dtype=np.float64)
    total = sum(float(np.square(X[block] - centre).sum()) for block in _blocks(len(X), X.shape[1]))
    return centre, total / len(X)


def resolve_gamma(gamma: float | str, X: Rows) -> float:
    """Turn `scale` into 1 / (sum of the variances of all columns of X), known and unlabelled alike; 1 if that is 0."""
    if not isinstance(gamma, str):
        return float(gamma)
    variance = centre_and_variance(X)[1]
    return 1.0 / variance if variance > 0 else 1.0


def require_gamma(ranker: Any) -> None:
    gamma = ranker.gamma
    fine = gamma == "scale" if isinstance(gamma, str) else is_positive(gamma)
    require(ranker, "gamma", fine, '"scale" or a number > 0')


def level_on_margin(values: Array, weights: Array, upper: float) -> float:
    """Find the level at which a one-class machine draws its boundary.

    Examples with a weight strictly between 0 and `upper` lie on the boundary, those of weight 0 at or above it, those
    at `upper` at or below it. Without any on it, the middle of the gap is taken.

    Parameters
    ----------
    values : (m,) float64
        What the machine says of each example: the higher, the farther inside.
    weights : (m,) float64
        Dual weights of the examples.
    upper : float
        The largest weight that the machine allows.

    Returns
    -------
    float
        The level, on the scale of the values.
    """
    rounding = 1e-9 * weights.max()  # not a share of `upper`, which may be far above every weight
    free = (weights > rounding) & (weights < upper - rounding)
    if free.any():
        return float(values[free].mean())
    below = weights > upper / 2
    if below.all():
        return float(values.max())
    return float(values[below].max() + values[~below].min()) / 2


@dataclass(frozen=True)
class Scaling:
    """z = (x - centre) / unit: one unit for all columns."""

    centre: Array
    unit: float

    @classmethod
    def of(cls, X: Rows) -> Self:
        """Learn the scaling to a mean of 0 and a mean squared length of 1; constant rows keep their unit."""
        centre, variance = centre_and_variance(X)
        return cls(centre, float(np.sqrt(variance)) if variance > 0 else 1.0)

    def scale(self, rows: Rows) -> Array:
        return (rows - self.centre) / self.unit
