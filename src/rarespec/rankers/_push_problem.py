"""The TopPush problem and its certificate: primal value, dual value, and the gap between them.

Notation (Li, Jin & Zhou 2014; lam, m, n, P, N as in the paper): rows of P are the m positives, rows of N the n
negatives of one bag, s = x.w the score of a row, t the threshold that positives should exceed: the largest s of N, or
the mean of the K largest (TopPushK).
    primal   lam/2 |w|^2 + 1/m sum_i l(t - s_i)
    dual     -g/m,  g(a, b) = |a'P - b'N|^2 / (2 lam m) + sum_i l*(a_i)
             over a >= 0, 0 <= b <= sum(a)/K, sum(a) = sum(b)
    weights  w = (a'P - b'N) / (lam m)
Any feasible (a, b) gives a lower bound of the optimum, so primal - dual bounds how far w is from it. By strong
convexity |w - w*|^2 <= 2 (primal - dual) / lam.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from rarespec.rankers._push_loss import PushLoss, Values


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
    n_iter: NDArray[np.int64]
    converged: NDArray[np.bool_]
    a: Values
    """Dual variables of the positives, (B, m)."""
    b: Values
    """Dual variables of the negatives, (B, n)."""

    @property
    def relative_gap(self) -> Values:
        return self.gap / np.maximum(self.primal, np.finfo(float).tiny)

    def weight_error(self, regularisation: float) -> Values:
        """Upper bound of |w - w*| / |w|, (B,); inf where w is zero."""
        norms = np.linalg.norm(self.weights, axis=1)
        bound = np.sqrt(2 * np.maximum(self.gap, 0) / regularisation)
        return np.divide(bound, norms, out=np.full_like(norms, np.inf), where=norms > 0)


def threshold(scores: Values, top_k: int) -> Values:
    """Mean of the `top_k` largest scores along the last axis, or of all if there are fewer."""
    n = scores.shape[-1]
    if top_k == 1:
        return scores.max(axis=-1)
    if top_k >= n:
        return scores.mean(axis=-1)
    return np.partition(scores, n - top_k, axis=-1)[..., n - top_k :].mean(axis=-1)


def primal_value(objective: Objective, w: Values, s_positive: Values, s_negative: Values) -> Values:
    """Primal values from weights (B, d) and scores (B, m), (B, n)."""
    t = threshold(s_negative, objective.top_k)
    fit = objective.loss.loss(t[..., None] - s_positive).mean(axis=-1)
    return objective.regularisation / 2 * (w * w).sum(axis=-1) + fit


def dual_value(objective: Objective, w: Values, a: Values) -> Values:
    """Dual values of feasible (a, b) whose weights are w."""
    return -objective.regularisation / 2 * (w * w).sum(axis=-1) - objective.loss.conjugate(a).mean(axis=-1)


def stacked(solutions: list[Solution]) -> Solution:
    """Solutions of several sets of problems as one."""
    return Solution(*(np.concatenate([getattr(s, field.name) for s in solutions]) for field in fields(Solution)))
