"""A linear support vector machine with squared hinge loss, by Newton steps over its support rows.

Notation (Chapelle 2007, section 3), for rows z, signs s = +1 or -1 and costs c >= 0:

    minimise over w and b:  f = |w|^2 / 2 + sum_i c_i max(0, 1 - s_i (w.z_i + b))^2

f is convex with a piecewise linear gradient: full Newton steps, shortened where f does not fall enough, end after a
few at the optimum. The Hessian is a d x d sum over the rows inside the margin, so rows are read in blocks and never
copied as a whole. The intercept b is not penalised.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rarespec.rankers.ranker import weighted_sums
from rarespec.rankers.rows import BLOCK_ROWS, Rows
from rarespec.rankers.svm.kernel import Array, Scaling

SUFFICIENT = 1e-4
"""Share of the predicted decrease that a step must bring (Armijo's rule)."""

SHORTEST = 2.0**-40
"""Steps shorter than this share of a Newton step only stir rounding errors."""


@dataclass(frozen=True)
class LinearMachine:
    """w.z + b, in terms of the rows x as they were given: coef.x + intercept."""

    coef: Array
    intercept: float
    n_iter: int
    converged: bool

    def values(self, X: Rows) -> Array:
        return weighted_sums(X, self.coef) + self.intercept


def fit_squared_hinge(
    X: Rows, signs: Array, costs: Array, scaling: Scaling, tol: float = 1e-10, max_iter: int = 100
) -> LinearMachine:
    """Fit a linear machine; stop when a step promises less than a share `tol` of f.

    Parameters
    ----------
    X : (n, d) array
        Rows as given.
    signs : (n,) float64
        +1 or -1.
    costs : (n,) float64
        Cost of an error; rows of cost 0 take no part.
    scaling : Scaling
        Of the rows inside the machine.
    tol : float, optional
        As above.
    max_iter : int, optional
        Newton steps at most.

    Returns
    -------
    LinearMachine
        Weights for X as given.
    """
    w_and_b, margins, converged = np.zeros(X.shape[1] + 1), np.zeros(len(X)), False
    for n_iter in range(1, max_iter + 1):  # noqa: B007 (the last value is reported)
        gradient, hessian = _derivatives(X, signs, costs, scaling, margins, w_and_b)
        step: Any = -np.linalg.solve(hessian, gradient)
        promised = float(-gradient @ step)
        converged = bool(promised <= tol * _objective(w_and_b, margins, costs))
        if converged:
            break
        change = signs * _values(X, step, scaling)
        length = _step_length(w_and_b, step, margins, change, costs, promised)
        if length == 0.0:
            break
        w_and_b, margins = w_and_b + length * step, margins + length * change
    coef, intercept = _as_given(w_and_b, scaling)
    return LinearMachine(coef, intercept, n_iter, converged)


def _as_given(w_and_b: Array, scaling: Scaling) -> tuple[Array, float]:
    coef = w_and_b[:-1] / scaling.unit
    return coef, float(w_and_b[-1] - coef @ scaling.centre)


def _values(X: Rows, w_and_b: Array, scaling: Scaling) -> Array:
    coef, intercept = _as_given(w_and_b, scaling)
    return weighted_sums(X, coef) + intercept


def _objective(w_and_b: Array, margins: Array, costs: Array) -> float:
    shortfall = np.maximum(1.0 - margins, 0.0)
    return float(w_and_b[:-1] @ w_and_b[:-1] / 2.0 + costs @ shortfall**2)


def _derivatives(
    X: Rows, signs: Array, costs: Array, scaling: Scaling, margins: Array, w_and_b: Array
) -> tuple[Array, Array]:
    """Gradient (d + 1,) and generalised Hessian (d + 1, d + 1) of f."""
    penalty = np.append(np.ones(X.shape[1]), 0.0)
    gradient, hessian = penalty * w_and_b, np.diag(penalty)
    inside = (margins < 1.0) & (costs > 0)
    for start in range(0, len(X), BLOCK_ROWS):
        support = start + np.flatnonzero(inside[start : start + BLOCK_ROWS])
        rows = np.ones((len(support), X.shape[1] + 1))
        rows[:, :-1] = scaling.scale(X[support])
        weighted = 2.0 * costs[support, None] * rows
        gradient -= (signs[support] * (1.0 - margins[support])) @ weighted
        hessian += rows.T @ weighted
    hessian[-1, -1] += 1e-12 * max(1.0, hessian[-1, -1])  # without a row inside the margin, b is free
    return gradient, hessian


def _step_length(w_and_b: Array, step: Array, margins: Array, change: Array, costs: Array, promised: float) -> float:
    before, length = _objective(w_and_b, margins, costs), 1.0
    while length > SHORTEST:
        after = _objective(w_and_b + length * step, margins + length * change, costs)
        if after <= before - SUFFICIENT * length * promised:
            return length
        length /= 2.0
    return 0.0
