"""The survey's own space: whitened, with the axes along which neighbours differ most, which is where noise is.

Notation: z = S^-1/2 (x - mean), S the covariance of the unlabelled rows; W = U diag(w) U' the covariance of one row's
noise in that space. As whitened rows have covariance 1, what is not noise has 1 - w along each axis.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from rarespec.rankers._covariance import ledoit_wolf
from rarespec.rankers._known import Rows
from rarespec.rankers._linear import BLOCK_ROWS
from rarespec.rankers._linear_map import LinearMap, whitening_of

Floating = TypeVar("Floating", np.float32, np.float64)

N_ROWS_COMPARED = 20_000
"""Rows whose differences to their neighbours measure the noise."""

N_ROUNDS = 2
"""Of Tyler's weights, which settle at once."""

LEAST_SHARE, MOST_SHARE = 1e-3, 1 - 1e-3
NOISIEST = 0.9
"""Quantile of w that counts as all noise: neighbours among few rows differ by more than noise, everywhere alike."""

LEAST_NOISE_UNIT = 0.3


@dataclass(frozen=True)
class SignalSpace:
    """Whitening, and the share of noise along each axis of the whitened space."""

    mean: NDArray[np.float64]
    whitening: NDArray[np.float64]
    axes: NDArray[np.float64]
    """(d, d), one axis in each column."""
    noise: NDArray[np.float64]
    """(d,) between 0 and 1."""

    def whitened(self, X: Rows) -> NDArray[np.float64]:
        """(n, d) float64; for a block of rows."""
        return LinearMap(self.mean, self.whitening).apply(X)

    def all_whitened(self, X: Rows) -> NDArray[np.float32]:
        """(n, d) float32."""
        Z = np.empty(X.shape, np.float32)
        for start in range(0, len(X), BLOCK_ROWS):
            Z[start : start + BLOCK_ROWS] = self.whitened(X[start : start + BLOCK_ROWS])
        return Z

    def signal_share(self, m: float, beyond: float = 0.0) -> NDArray[np.float64]:
        """Wiener's weight of each axis in a mean of m rows: signal over signal and what noise the mean leaves.

        beyond : signal that the rare kind has where the survey has none, in units of one row's noise.
        """
        signal = 1 - self.noise + beyond * self.noise
        return signal / (signal + self.noise / m)

    def direction(self, mean: NDArray[Any], m: float) -> NDArray[np.float64]:
        """A mean of m whitened rows, cleared of its noise.

        A rare kind may differ from the survey where the survey has nothing but noise. How much it does is estimated
        from the mean itself, by what it has along the noisy axes beyond what noise would leave (empirical Bayes).
        """
        along = self.axes.T @ mean
        excess = along**2 - (1 - self.noise) - self.noise / m
        beyond = max(0.0, float(self.noise @ excess / (self.noise @ self.noise)))
        return np.asarray(self.axes @ (self.signal_share(m, beyond) * along))

    def unit_rows(self, Z: NDArray[Floating]) -> NDArray[Floating]:
        """Whitened rows weighted by their share of signal, of length 1, in the precision they have."""
        rows = Z @ (self.axes * np.sqrt(self.signal_share(1))).astype(Z.dtype)
        return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), np.finfo(np.float32).tiny)


def signal_space(X: Rows, known: NDArray[np.bool_], neighbours: NDArray[np.int32]) -> SignalSpace:
    """Of these rows; `neighbours` (n, k) are the nearest ones of each in X."""
    mean, covariance, _ = ledoit_wolf(X, ~known)
    whitening = whitening_of(mean, covariance).matrix
    whitening = np.diag(whitening) if whitening.ndim == 1 else whitening
    rows = np.linspace(0, len(X) - 1, min(len(X), N_ROWS_COMPARED)).astype(np.intp)
    centred = LinearMap(mean, whitening)
    differences = centred.apply(X[rows])[:, None] - centred.apply(X[neighbours[rows].ravel()]).reshape(
        len(rows), neighbours.shape[1], -1
    )
    share, axes = np.linalg.eigh(_noise_covariance(differences.reshape(-1, X.shape[1])))
    share /= max(np.quantile(share, NOISIEST), LEAST_NOISE_UNIT)
    return SignalSpace(mean, whitening, axes, np.clip(share, LEAST_SHARE, MOST_SHARE))


def _noise_covariance(differences: NDArray[np.float64]) -> NDArray[np.float64]:
    """Half the covariance of differences between neighbours, each counted by its shape (Tyler 1987).

    By their size the faintest spectra alone would decide.
    """
    n, d = differences.shape
    ridge = 1e-9 * np.eye(d)
    W = differences.T @ differences / (2 * n) + ridge
    for _ in range(N_ROUNDS):
        size = np.einsum("ij,ij->i", differences @ np.linalg.inv(W), differences) / (2 * d)
        size = np.maximum(size, max(0.05 * float(np.median(size)), 1e-12))
        W = (differences / size[:, None]).T @ differences / (2 * n) + ridge
    return W
