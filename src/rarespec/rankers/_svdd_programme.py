"""The quadratic programme of support vector data description: pair steps, with Newton steps on the free weights.

Notation (Tax & Duin 2004, eqs. 11-13), for m examples with kernel matrix K and k = diag(K):

    a : (m,) weights; minimise f(a) = a'Ka - k'a  subject to  sum a = 1 and 0 <= a <= C
    g : (m,) gradient of f, 2Ka - k; up to a constant, minus the squared distance of each example to the centre
    KKT : g_i >= g_j whenever a_i < C and a_j > 0; the violation is the most by which that fails

f does not change when all examples move together in feature space, so K is centred first, and divided by the mean of
its diagonal: tolerances are then shares of the mean squared distance of the examples to their mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

Array = NDArray[np.float64]

NEWTON_STEPS = 5
"""Newton steps after each round of pair steps, at most; each but the last sets one more weight to a bound."""

RIDGE = 1e-12
"""Added to the diagonal in Newton steps, because K may be singular. A step stays one of descent."""


@dataclass(frozen=True)
class Solution:
    weights: Array
    kkt_violation: float
    n_iter: int
    converged: bool


def solve_svdd(gram: Array, upper: float, tol: float, max_iter: int) -> Solution:
    """Weights (m,) of the smallest soft ball around m examples with kernel matrix `gram` (m, m); upper >= 1/m."""
    search = _Search(_normalised(gram), upper)
    while search.violation() > tol and search.n_iter < max_iter:
        search.pair_steps(min(search.m, max_iter - search.n_iter), tol)
        search.newton_steps()
        search.refresh()
    violation = search.violation()
    return Solution(search.a, violation, max(1, search.n_iter), violation <= tol)


def _normalised(gram: Array) -> Array:
    means = gram.mean(axis=0)
    centred = gram - means - means[:, None] + means.mean()
    scale = np.trace(centred) / len(gram)
    noise = 1e-14 * np.abs(np.diag(gram)).max()  # identical examples: nothing but rounding is left
    return centred / scale if scale > noise else np.zeros_like(gram)


class _Search:
    """A feasible point, its gradient, and the steps that improve it."""

    def __init__(self, K: Array, upper: float) -> None:
        self.K, self.k, self.C, self.m = K, np.diag(K).copy(), max(upper, 1.0 / len(K)), len(K)
        self.a = np.full(self.m, 1.0 / self.m)
        self.n_iter = 0
        self.refresh()

    def refresh(self) -> None:
        """The gradient anew: updates leave rounding errors behind."""
        self.g = 2.0 * self.K @ self.a - self.k

    def violation(self) -> float:
        can_grow, can_shrink = self.a < self.C, self.a > 0
        if not can_grow.any():
            return 0.0
        # np.maximum and not max: a NaN must show, or an overflow would pass for convergence
        return float(np.maximum(0.0, self.g[can_shrink].max() - self.g[can_grow].min()))

    def pair_steps(self, n_steps: int, tol: float) -> None:
        """Move weight between two examples at a time: from the one that gains most to the worst violator."""
        for _ in range(n_steps):
            i = int(np.where(self.a < self.C, self.g, np.inf).argmin())
            excess = np.where(self.a > 0, self.g - self.g[i], 0.0)
            if excess.max() <= tol:
                return
            curvature = np.maximum(self.k + self.k[i] - 2.0 * self.K[i], RIDGE)
            j = int((np.maximum(excess, 0.0) ** 2 / curvature).argmax())
            self._move(i, j, excess[j] / (2.0 * curvature[j]))
            self.n_iter += 1

    def _move(self, i: int, j: int, amount: float) -> None:
        amount = min(amount, self.C - self.a[i], self.a[j])
        # a weight that reaches its bound is set to it exactly
        self.a[i] = self.C if amount == self.C - self.a[i] else self.a[i] + amount
        self.a[j] = 0.0 if amount == self.a[j] else self.a[j] - amount
        self.g += 2.0 * amount * (self.K[i] - self.K[j])

    def newton_steps(self) -> None:
        """Minimise over the weights that are at no bound; stop short where one of them reaches its bound."""
        for _ in range(NEWTON_STEPS):
            free = np.flatnonzero((self.a > 0) & (self.a < self.C))
            if len(free) < 2 or not self._newton_step(free):
                return

    def _newton_step(self, free: NDArray[np.intp]) -> bool:
        """True if a bound was reached, so that a further step makes sense."""
        K_free = self.K[np.ix_(free, free)]
        try:
            p = _newton_direction(K_free, self.g[free])
        except np.linalg.LinAlgError:  # not positive definite by rounding: pair steps go on without it
            return False
        slope, curvature = self.g[free] @ p, 2.0 * p @ K_free @ p
        if slope >= 0:
            return False
        with np.errstate(divide="ignore"):
            room = np.where(p > 0, self.C - self.a[free], self.a[free]) / np.abs(p)
        nearest = int(room.argmin())
        blocked = bool(room[nearest] * curvature <= -slope)
        length = room[nearest] if blocked else -slope / curvature
        self._step(free, length * p)
        if blocked:
            self.a[free[nearest]] = self.C if p[nearest] > 0 else 0.0
        self.n_iter += 1
        return blocked

    def _step(self, free: NDArray[np.intp], change: Array) -> None:
        self.a[free] = np.clip(self.a[free] + change, 0.0, self.C)
        self.g += 2.0 * self.K[:, free] @ change


def _newton_direction(K_free: Array, g_free: Array) -> Any:
    """The p with sum 0 that minimises g'p + p'Kp."""
    factor = cho_factor(2.0 * K_free + RIDGE * len(K_free) * np.eye(len(K_free)))
    for_gradient, for_sum = cho_solve(factor, np.column_stack([g_free, np.ones(len(g_free))])).T
    p = for_sum * (for_gradient.sum() / for_sum.sum()) - for_gradient
    return p - p.mean()
