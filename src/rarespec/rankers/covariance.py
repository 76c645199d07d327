"""Mean, covariance and Ledoit-Wolf shrinkage of many rows, read in blocks."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from rarespec.engines.here import one_blas_thread
from rarespec.rankers.rows import BLOCK_ROWS, Rows

Vector = NDArray[np.float64]
"""(d,)."""
Matrix = NDArray[np.float64]
"""(d, d)."""
Keep = NDArray[np.bool_] | None
"""(n,) bool, the rows that count; None for all of them."""


def mean_and_covariance(X: Rows, keep: Keep = None) -> tuple[Vector, Matrix]:
    """Compute mean and covariance of the rows of X in one pass, in float64 whatever the precision of X.

    The covariance is divided by the number of rows (not one less), so one row has covariance 0. A feature that is
    constant has variance 0 exactly, not nearly.

    Parameters
    ----------
    X : (n, d) float32 or float64
        At least one row counts. X is read in blocks; no float64 copy of it is made.
    keep : (n,) bool, optional
        The rows that count; all of them by default.

    Returns
    -------
    mean : (d,) float64
        The mean.
    covariance : (d, d) float64
        The covariance.

    Raises
    ------
    ValueError
        If no row counts.

    References
    ----------
    T. F. Chan, G. H. Golub, R. J. LeVeque (1983), "Algorithms for computing the sample variance": how the blocks'
    means and scatters are merged without cancellation.
    """
    n_features = X.shape[1]
    n_rows, mean, scatter = 0, np.zeros(n_features), np.zeros((n_features, n_features))
    origin = None
    # with a few columns, threads wait for each other longer than they multiply, and on a busy machine for seconds
    with one_blas_thread():
        for block in _blocks(X, keep):
            # rows relative to one of them: constant features become exact zeros, large offsets lose no digits
            origin = block[0].astype(np.float64) if origin is None else origin
            rows = block - origin
            block_mean = rows.mean(axis=0)
            rows -= block_mean
            gap, n_merged = block_mean - mean, n_rows + len(rows)
            scatter += rows.T @ rows + np.outer(gap, gap) * (n_rows * len(rows) / n_merged)
            mean += gap * (len(rows) / n_merged)
            n_rows = n_merged
    if origin is None:
        raise ValueError("cannot take a mean: no rows are left")
    return origin + mean, scatter / n_rows


def ledoit_wolf(X: Rows, keep: Keep = None) -> tuple[Vector, Matrix, float]:
    """Compute the mean and the Ledoit-Wolf covariance of the rows of X.

    The shrunk covariance is (1 - shrinkage) S + shrinkage tr(S)/d I, with the shrinkage that has the least expected
    squared error. X is read twice, in blocks. Same result as `sklearn.covariance.ledoit_wolf`, which copies X.

    Parameters
    ----------
    X : (n, d) float32 or float64
        At least one row counts.
    keep : (n,) bool, optional
        The rows that count; all of them by default.

    Returns
    -------
    mean : (d,) float64
        The mean.
    covariance : (d, d) float64
        The shrunk covariance.
    shrinkage : float
        From 0 to 1. One row, or one feature, gives 0.

    References
    ----------
    O. Ledoit, M. Wolf (2004), "A well-conditioned estimator for large-dimensional covariance matrices", J. Multivariate
    Analysis 88, 365.
    """
    mean, covariance = mean_and_covariance(X, keep)
    shrinkage = _ledoit_wolf_shrinkage(X, keep, mean, covariance)
    return mean, shrunk(covariance, shrinkage), shrinkage


def shrunk_covariance(X: Rows, keep: Keep, shrinkage: float | str) -> tuple[Vector, Matrix, float]:
    """Compute the mean and a shrunk covariance of the rows of X.

    Parameters
    ----------
    X : (n, d) float32 or float64
        At least one row counts.
    keep : (n,) bool or None
        The rows that count; None for all of them.
    shrinkage : float or "ledoit-wolf"
        From 0, the covariance as it is, to 1, a sphere; or the amount that `ledoit_wolf` finds.

    Returns
    -------
    mean : (d,) float64
        The mean.
    covariance : (d, d) float64
        The shrunk covariance.
    shrinkage : float
        The amount that was used.
    """
    if isinstance(shrinkage, str):
        return ledoit_wolf(X, keep)
    mean, covariance = mean_and_covariance(X, keep)
    return mean, shrunk(covariance, float(shrinkage)), float(shrinkage)


def shrunk(covariance: Matrix, shrinkage: float) -> Matrix:
    """Pull a covariance towards the sphere of the same mean variance; 0 leaves it, 1 leaves only the sphere."""
    n_features = len(covariance)
    return (1 - shrinkage) * covariance + np.eye(n_features) * (shrinkage * np.trace(covariance) / n_features)


def inverse_square_root(covariance: Matrix) -> Matrix:
    """Compute the symmetric R with R S R = I; directions without variance get 0, as in a pseudo-inverse."""
    variances, directions = np.linalg.eigh(covariance)
    present = variances > len(variances) * np.finfo(np.float64).eps * max(variances[-1], 0.0)
    factors = np.zeros_like(variances)
    factors[present] = variances[present] ** -0.5
    return (directions * factors) @ directions.T


def _ledoit_wolf_shrinkage(X: Rows, keep: Keep, mean: Vector, covariance: Matrix) -> float:
    """The least of 1 and b^2 / d^2.

    Notation: Ledoit & Wolf (2004): S the covariance, m I the sphere it is shrunk to, d^2 = |S - m I|^2 and
    b^2 = mean_k |x_k x_k' - S|^2 / n, where the mean over the rows is mean_k |x_k|^4 - |S|^2.
    """
    n_features = len(covariance)
    d2 = np.sum((covariance - np.eye(n_features) * (np.trace(covariance) / n_features)) ** 2)
    if n_features == 1 or d2 == 0:
        return 0.0
    n_rows, fourth_powers = 0, 0.0
    for block in _blocks(X, keep):
        rows = block - mean
        fourth_powers += float(np.sum(np.einsum("ij,ij->i", rows, rows) ** 2))
        n_rows += len(rows)
    b2 = (fourth_powers / n_rows - np.sum(covariance**2)) / n_rows
    return float(np.clip(b2 / d2, 0.0, 1.0))


def _blocks(X: Rows, keep: Keep) -> Iterator[Rows]:
    """The rows that count, some thousands at a time, never an empty block."""
    for start in range(0, len(X), BLOCK_ROWS):
        block = X[start : start + BLOCK_ROWS]
        block = block if keep is None else block[keep[start : start + BLOCK_ROWS]]
        if len(block):
            yield block
