"""The TopPush problem, its losses and its certificate: primal value, dual value, and the gap between them.

Notation (Li, Jin & Zhou 2014; lam, m, n, P, N as in the paper): rows of P are the m positives, rows of N the n
negatives of one bag, s = x.w the score of a row, t the threshold that positives should exceed: the largest s of N, or
the mean of the K largest (TopPushK).
    primal   lam/2 |w|^2 + 1/m sum_i l(t - s_i)
    dual     -g/m,  g(a, b) = |a'P - b'N|^2 / (2 lam m) + sum_i l*(a_i)
             over a >= 0, 0 <= b <= sum(a)/K, sum(a) = sum(b)
    weights  w = (a'P - b'N) / (lam m)
    l(z)     how much it costs that a negative comes z above a positive (usually z < 0)
    l*(a)    max_z a z - l(z), its convex conjugate; solvers need its first two derivatives strictly inside its domain
Any feasible (a, b) gives a lower bound of the optimum, so the gap, primal - dual, bounds how far w is from it. By
strong convexity |w - w*|^2 <= 2 gap / lam. With w from (a, b) the gap is a sum of terms none of which is negative,
    gap      1/m [ sum_i l(z_i) + l*(a_i) - a_i z_i  +  sum_j b_j (t - s_j) ],   z_i = t - s_i,
and is computed as such: the difference of two nearly equal values would lose its digits.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from array_api_compat import array_namespace

from rarespec.rankers.toppush.arrays import at_least, at_most, mean_of_largest, times_log

Values = Any
"""float64, of NumPy or of any library that follows the array API standard."""


class PushLoss(ABC):
    """A convex, non-decreasing loss and its conjugate."""

    upper = math.inf
    """The conjugate's domain is 0 <= a <= upper."""
    bounded_below = False
    """Whether the conjugate ends at a = 0 with a finite slope, so that a >= 0 needs a multiplier."""
    start = 1.0
    """A value well inside the domain."""

    @abstractmethod
    def loss(self, z: Values) -> Values:
        """l(z)."""

    @abstractmethod
    def conjugate(self, a: Values) -> Values:
        """l*(a)."""

    @abstractmethod
    def slope(self, a: Values) -> Values:
        """Derivative of l*(a): the z that belongs to a."""

    @abstractmethod
    def curvature(self, a: Values) -> Values:
        """Second derivative of l*(a)."""


class TruncatedQuadratic(PushLoss):
    """l(z) = max(0, 1 + z)^2, the loss of the paper."""

    bounded_below = True

    def loss(self, z: Values) -> Values:
        return at_least(1 + z, 0.0) ** 2

    def conjugate(self, a: Values) -> Values:
        return a * a / 4 - a

    def slope(self, a: Values) -> Values:
        return a / 2 - 1

    def curvature(self, a: Values) -> Values:
        return array_namespace(a).full_like(a, 0.5)


class Exponential(PushLoss):
    """l(z) = exp(z)."""

    def loss(self, z: Values) -> Values:
        return array_namespace(z).exp(at_most(z, 700.0))  # no overflow in a certificate far from the optimum

    def conjugate(self, a: Values) -> Values:
        return times_log(a) - a

    def slope(self, a: Values) -> Values:
        return array_namespace(a).log(a)

    def curvature(self, a: Values) -> Values:
        return 1 / a


class Logistic(PushLoss):
    """l(z) = log(1 + exp(z))."""

    upper = 1.0
    start = 0.5

    def loss(self, z: Values) -> Values:
        xp = array_namespace(z)
        return xp.logaddexp(xp.zeros_like(z), z)

    def conjugate(self, a: Values) -> Values:
        return times_log(a) + times_log(1 - a)

    def slope(self, a: Values) -> Values:
        xp = array_namespace(a)
        return xp.log(a) - xp.log1p(-a)

    def curvature(self, a: Values) -> Values:
        return 1 / (a * (1 - a))


LOSSES = {"truncated-quadratic": TruncatedQuadratic(), "exponential": Exponential(), "logistic": Logistic()}


@dataclass(frozen=True)
class Objective:
    """What is minimised."""

    loss: PushLoss
    regularisation: float
    top_k: int = 1


@dataclass(frozen=True)
class Solution:
    """Weights of B problems, with what is known of their exactness."""

    weights: Values
    """(B, d)."""
    primal: Values
    gap: Values
    n_iter: Values
    """(B,) integers."""
    converged: Values
    """(B,) bool."""
    a: Values
    """Dual variables of the positives, (B, m)."""
    b: Values
    """Dual variables of the negatives, (B, n)."""

    @property
    def relative_gap(self) -> Values:
        return self.gap / np.maximum(self.primal, np.finfo(float).tiny)

    def weight_error(self, regularisation: float) -> Values:
        """Bound |w - w*| / |w| from above, (B,); inf where w is zero."""
        norms = np.linalg.norm(self.weights, axis=1)
        bound = np.sqrt(2 * self.gap / regularisation)
        return np.divide(bound, norms, out=np.full_like(norms, np.inf), where=norms > 0)


def threshold(scores: Values, top_k: int) -> Values:
    """Take the mean of the `top_k` largest scores along the last axis, or of all if there are fewer."""
    xp = array_namespace(scores)
    if top_k == 1:
        return xp.max(scores, axis=-1)
    if top_k >= scores.shape[-1]:
        return xp.mean(scores, axis=-1)
    return mean_of_largest(scores, top_k)


def primal_value(objective: Objective, w: Values, s_positive: Values, t: Values) -> Values:
    """Compute the primal value of weights.

    Parameters
    ----------
    objective : Objective
        Loss and regularisation.
    w : (B, d) float64
        Weights.
    s_positive : (B, m) float64
        Scores of the positives under these weights.
    t : (B,) float64
        Thresholds that the positives should exceed.

    Returns
    -------
    (B,) float64
        The values.
    """
    xp = array_namespace(w)
    fit = xp.mean(objective.loss.loss(t[..., None] - s_positive), axis=-1)
    return objective.regularisation / 2 * xp.sum(w * w, axis=-1) + fit


def duality_gap(
    objective: Objective, a: Values, b: Values, s_positive: Values, s_negative: Values, t: Values
) -> Values:
    """Compute the gaps of feasible dual points; inf where they are not finite.

    Parameters
    ----------
    objective : Objective
        What is minimised.
    a : (B, m) float64
        Dual variables of the positives.
    b : (B, n) float64
        Dual variables of the negatives.
    s_positive : (B, m) float64
        Scores of the positives, under the weights of (a, b).
    s_negative : (B, n) float64
        Scores of the negatives; those with b > 0 are enough when `t` is the threshold of all.
    t : (B,) float64
        Thresholds.

    Returns
    -------
    (B,) float64
        The gaps.
    """
    xp, z = array_namespace(a), t[..., None] - s_positive
    of_positives = objective.loss.loss(z) + objective.loss.conjugate(a) - a * z
    of_negatives = b * (t[..., None] - s_negative)
    gap = (xp.sum(of_positives, axis=-1) + xp.sum(of_negatives, axis=-1)) / a.shape[-1]
    return xp.where(xp.isfinite(gap), at_least(gap, 0.0), xp.full_like(gap, float("inf")))


def stack_solutions(solutions: list[Solution]) -> Solution:
    """Join the solutions of several sets of problems."""
    return Solution(*(np.concatenate([getattr(s, field.name) for s in solutions]) for field in fields(Solution)))
