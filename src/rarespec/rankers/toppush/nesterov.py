"""TopPush as its authors solved it: Nesterov's accelerated projected gradient on the dual, with backtracking.

Notation as in `problem.py` (Li, Jin & Zhou 2014, Algorithm 1), truncated quadratic loss only. Two things differ from
the published code: the projection is exact (the published one can return infeasible points when positives are few), and
the duality gap of the result is reported. The step length starts at L0 = 1/m, as in the code; the paper prints 1/(m+n).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from rarespec.rankers.toppush.problem import Objective, Solution, Values, duality_gap, primal_value, threshold


@dataclass(frozen=True)
class _Point:
    """Dual variables of one problem with g and w there."""

    a: Values
    b: Values
    weights: Values
    g: float


Finished = Callable[[int, _Point, _Point], bool]
"""Told the iteration, the point, and the point before."""

LEAST_ITERATIONS = 10
"""The published code looks at the change of g from here on."""


@dataclass(frozen=True)
class _Problem:
    positives: Values
    negatives: Values
    objective: Objective

    def at(self, a: Values, b: Values) -> _Point:
        scale = self.objective.regularisation * len(self.positives)
        weights = (a @ self.positives - b @ self.negatives) / scale
        g = scale / 2 * float(weights @ weights) + float(self.objective.loss.conjugate(a).sum())
        return _Point(a, b, weights, g)

    def gradient(self, point: _Point) -> tuple[Values, Values]:
        of_a = self.positives @ point.weights + self.objective.loss.slope(point.a)
        return of_a, -(self.negatives @ point.weights)

    def certify(self, point: _Point) -> tuple[float, float]:
        """Primal value and gap."""
        s_positive, s_negative = self.positives @ point.weights, self.negatives @ point.weights
        t = threshold(s_negative, self.objective.top_k)
        gap = duality_gap(self.objective, point.a, point.b, s_positive, s_negative, t)
        return float(primal_value(self.objective, point.weights, s_positive, t)), float(gap)


def solve_published(
    positives: Values, negatives: Values, objective: Objective, tol: float, max_iter: int, until_gap: bool = False
) -> Solution:
    """Solve one problem as published.

    The published rule stops when the relative change of g is at most `tol`. It acts as a regulariser of its own: the
    gap at that point can be large.

    Parameters
    ----------
    positives : (m, d) float64
        Known rows.
    negatives : (n, d) float64
        Rows that they should come before.
    objective : Objective
        What to minimise: truncated quadratic loss, top_k = 1.
    tol : float
        Of the stopping rule.
    max_iter : int
        Iterations at most.
    until_gap : bool, optional
        Stop when the gap is at most tol * primal value instead.

    Returns
    -------
    Solution
        B = 1.
    """
    # sum(a) = sum(b), so a common offset of all rows leaves w as it is; without one products keep more digits
    centre = positives.mean(axis=0)
    problem = _Problem(positives - centre, negatives - centre, objective)
    finished = _gap_reached(problem, tol) if until_gap else _change_is_small(tol)
    point, n_iter, converged = _descend(problem, finished, max_iter)
    primal, gap = problem.certify(point)
    return Solution(
        point.weights[None],
        np.array([primal]),
        np.array([gap]),
        np.array([n_iter]),
        np.array([converged]),
        point.a[None],
        point.b[None],
    )


def _descend(problem: _Problem, finished: Finished, max_iter: int) -> tuple[_Point, int, bool]:
    """The point where `finished` became true, the number of iterations, and whether it ever did."""
    m, n = len(problem.positives), len(problem.negatives)
    before = now = problem.at(np.zeros(m), np.zeros(n))
    momentum_before, momentum, lipschitz = 0.0, 1.0, 1.0 / m
    for n_iter in range(1, max_iter + 1):
        push = (momentum_before - 1) / momentum  # no push in the first two rounds: the points are equal, then this is 0
        search = problem.at(now.a + push * (now.a - before.a), now.b + push * (now.b - before.b))
        before = now
        now, lipschitz = _backtrack(problem, search, lipschitz)
        momentum_before, momentum = momentum, (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        if finished(n_iter, now, before):
            return now, n_iter, True
        if not np.isfinite(lipschitz):
            return before, n_iter, False
    return now, max_iter, False


def _backtrack(problem: _Problem, search: _Point, lipschitz: float) -> tuple[_Point, float]:
    """A projected gradient step; `lipschitz` doubles until the quadratic model bounds g from above."""
    of_a, of_b = problem.gradient(search)
    while np.isfinite(lipschitz):
        point = problem.at(*project(search.a - of_a / lipschitz, search.b - of_b / lipschitz))
        da, db = point.a - search.a, point.b - search.b
        model = search.g + of_a @ da + of_b @ db + lipschitz / 2 * (da @ da + db @ db)
        if point.g <= model + 1e-12 * abs(model):  # rounding must not keep it doubling at the optimum
            return point, lipschitz
        lipschitz *= 2
    return search, lipschitz  # numbers beyond the range of a double: `_descend` gives up


def _change_is_small(tol: float) -> Finished:
    return lambda n_iter, now, before: n_iter >= LEAST_ITERATIONS and abs(now.g - before.g) <= tol * abs(before.g)


def _gap_reached(problem: _Problem, tol: float) -> Finished:
    def reached(n_iter: int, now: _Point, before: _Point) -> bool:
        primal, gap = problem.certify(now)
        return gap <= tol * primal

    return reached


def project(a0: Values, b0: Values) -> tuple[Values, Values]:
    """The (a, b) with a >= 0, b >= 0, sum(a) = sum(b) nearest to (a0, b0), exact; a0 (m,), b0 (n,).

    Notation (Li, Jin & Zhou 2014): a = [a0 - v]_+, b = [b0 + v]_+, where v is the root of the falling, piecewise
    linear f(v) = sum [a0 - v]_+ - sum [b0 + v]_+, which bends at every a0 and every -b0. The root lies between two
    neighbouring bends, where f is a straight line. Values that tie with a bend add nothing to either sum there, so
    they may not be treated as if they were on one side only: doing so gives infeasible points when positives are few.
    """
    a_rising, b_rising = np.sort(a0), np.sort(-b0)
    a_from = np.append(np.cumsum(a_rising[::-1])[::-1], 0.0)  # sums of a_rising[i:]
    b_until = np.append(0.0, np.cumsum(b_rising))  # sums of b_rising[:j]
    bends = np.sort(np.concatenate([a_rising, b_rising]))

    def line_at(v: Values) -> tuple[Any, Any]:
        """Near v, f is intercept - steepness * v."""
        i, j = np.searchsorted(a_rising, v, side="right"), np.searchsorted(b_rising, v, side="left")
        return a_from[i] + b_until[j], len(a_rising) - i + j

    intercept, steepness = line_at(bends)
    k = int(np.count_nonzero(intercept - steepness * bends > 0))
    if k == 0:  # f is zero at its first bend already
        v = bends[0]
    else:
        right = bends[min(k, len(bends) - 1)]
        intercept, steepness = line_at((bends[k - 1] + right) / 2)
        v = intercept / steepness if steepness else right
    return np.maximum(a0 - v, 0), np.maximum(b0 + v, 0)
