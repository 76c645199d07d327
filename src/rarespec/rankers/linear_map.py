"""Scalings of the features as one linear map, and the way back for weights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray

from rarespec.rankers.covariance import Keep, Matrix, Vector, inverse_square_root, ledoit_wolf, mean_and_covariance
from rarespec.rankers.other_arrays import as_numpy, is_other_array, like
from rarespec.rankers.rows import Rows

SCALINGS = ("none", "standard", "whiten")


@dataclass(frozen=True)
class LinearMap:
    """x -> M (x - mean), with M symmetric."""

    mean: Vector
    """(d,) float64."""
    matrix: NDArray[np.float64]
    """(d, d) float64, or (d,) float64 where M is diagonal."""

    def apply(self, X: Rows) -> NDArray[np.float64]:
        """Map rows, (k, d) float64; for a few rows, as the answer takes 8 bytes for each number."""
        if not is_other_array(X):
            return self.weights_of(X - self.mean)
        there = LinearMap(like(X, self.mean), like(X, self.matrix))
        return there.weights_of(array_namespace(X).astype(X, there.mean.dtype) - there.mean)

    def weights_of(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Turn weights on mapped rows, (d,) or (k, d), into weights on X as given.

        apply(X) . w = X . weights_of(w) - mean . weights_of(w). The last term is the same for every row, so it changes
        no ranking and is left out.
        """
        return weights * self.matrix if self.matrix.ndim == 1 else weights @ self.matrix


def linear_map(scaling: str, X: Rows, keep: Keep = None) -> LinearMap:
    """Learn the map of a scaling from rows.

    Parameters
    ----------
    scaling : {"none", "standard", "whiten"}
        Leave rows as they are; set each feature to mean 0 and variance 1; or remove correlations as well.
    X : (n, d) array
        The rows. The last two scalings copy arrays of other libraries to NumPy.
    keep : (n,) bool, optional
        The rows to learn from; all of them by default.

    Returns
    -------
    LinearMap
        The map, in NumPy.

    Raises
    ------
    ValueError
        If there is no such scaling.
    """
    if scaling == "none":
        return identity(X.shape[1])
    X = as_numpy(X)
    if scaling == "standard":
        return standard(X, keep)
    if scaling == "whiten":
        return whitening(X, keep)
    raise ValueError(f"scaling={scaling!r} is not valid: choose from {', '.join(map(repr, SCALINGS))}")


def identity(n_features: int) -> LinearMap:
    """Make the map that leaves rows as they are; it does not even centre them."""
    return LinearMap(np.zeros(n_features), np.ones(n_features))


def standard(X: Rows, keep: Keep = None) -> LinearMap:
    """Learn the map of each feature to mean 0 and variance 1; constant features get weight 0."""
    mean, covariance = mean_and_covariance(X, keep)
    deviations = np.sqrt(np.diag(covariance))
    varies = deviations > 0
    return LinearMap(mean, np.where(varies, 1 / np.where(varies, deviations, 1.0), 0.0))


def whitening(X: Rows, keep: Keep = None) -> LinearMap:
    """Learn the map of all features to mean 0, variance 1 and no correlation, with the Ledoit-Wolf covariance."""
    mean, covariance, _ = ledoit_wolf(X, keep)
    return whitening_of(mean, covariance)


def whitening_of(mean: Vector, covariance: Matrix) -> LinearMap:
    """Make the map x -> S^-1/2 (x - mean) for a covariance S.

    Rows that were all the same (or one row) say nothing about scale: then S = 0, and the map only centres.
    """
    if not covariance.any():
        return LinearMap(mean, np.ones(len(mean)))
    return LinearMap(mean, inverse_square_root(covariance))
