"""TopPush by a primal-dual interior-point method (Mehrotra 1992), for many bags at once.

Notation, beside that of `problem.py`; the first axis of every array counts the B problems.
    a, p        dual variable of a positive and the multiplier of a >= 0 (losses with a kink only)
    b, c        dual variable of a negative and the multiplier of b >= 0
    gamma, u    distance of b from its upper bound sum(a)/K and the multiplier of that bound (K > 1 only)
    tau         threshold of the negatives; that of the positives is t = tau + sum(u)/K
Optimal:  s_i + l*'(a_i) = t + p_i,  s_j = tau + u_j - c_j,  a p = b c = gamma u = 0,  sum(a) = sum(b).
A step follows the path a p = b c = gamma u = mu towards mu = 0.

Its Newton direction: y = (a, -b) in the order of the rows, z = (dw, dtau), for K > 1 followed by (d sum(u)/K,
d sum(a)), and G the rows (x, -1), for K > 1 with two more columns. Eliminating the multipliers leaves
    dy = omega (r - G z),   G' dy = C z + k,   so   (C + G' omega G) z = G' omega r - k.
omega says how much a row's dual variable gives way to a change of its score. It grows without bound for rows at the
threshold, and the matrix then loses all its digits. Those rows keep dy as an unknown of their own, with 1/omega in the
matrix instead of omega: the same solution, and stable to the end.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from array_api_compat import array_namespace, device

from rarespec.rankers.toppush.arrays import (
    at_least,
    at_most,
    largest_places,
    no_columns,
    replace_columns,
    rows_replaced,
    singular_errors,
)
from rarespec.rankers.toppush.problem import Objective, Solution, Values, duality_gap, primal_value, threshold
from rarespec.rankers.toppush.state import Problems, State, Variables

TO_THE_BOUNDARY = 0.95
"""Share of the way to the boundary that a step may go."""
PATIENCE = 40
"""Iterations without progress after which the best weights so far are returned."""
SMALLEST_SLACK = 1e-3
"""Multipliers start no smaller; the losses change over a distance of 1."""
N_STRONG = 24
"""Rows with an unknown of their own."""
ILL_CONDITIONED = 1e8
"""Above this ratio of the matrix's largest entry to its smallest the strongest rows are treated apart."""


def solve(positives: Values, negatives: Values, objective: Objective, tol: float, max_iter: int) -> Solution:
    """Solve B problems until gap <= tol * primal value.

    Parameters
    ----------
    positives : (B, m, d) float64
        Known rows.
    negatives : (B, n, d) float64
        Rows that they should come before.
    objective : Objective
        What to minimise.
    tol : float
        Relative gap at which a problem is done.
    max_iter : int
        Iterations at most.

    Returns
    -------
    Solution
        The best weights found, with their gaps.
    """
    n = negatives.shape[1]
    if 1 < objective.top_k >= n:
        # the threshold is the mean score of all negatives, which is the score of their mean
        xp = array_namespace(positives, negatives)
        mean = solve(positives, xp.mean(negatives, axis=1, keepdims=True), replace(objective, top_k=1), tol, max_iter)
        return replace(mean, b=xp.repeat(mean.b / n, n, axis=1))
    problems = Problems.of(positives, negatives, objective)
    if problems.x.shape[1] >= problems.x.shape[2]:
        return _solve(problems, tol, max_iter)
    problems, basis = problems.in_their_span()
    solution = _solve(problems, tol, max_iter)
    return replace(solution, weights=array_namespace(basis).matmul(basis, solution.weights[..., None])[..., 0])


def _solve(problems: Problems, tol: float, max_iter: int) -> Solution:
    xp = array_namespace(problems.x)
    state = start(problems)
    live = xp.arange(problems.x.shape[0], device=device(problems.x))
    best, n_iter, since_best = state, xp.zeros_like(live), xp.zeros_like(live)
    for _ in range(max_iter):
        waited = xp.take(since_best, live)
        unfinished = ~(xp.take(best.within(tol), live) | (waited >= PATIENCE))
        if not bool(xp.any(unfinished)):
            break
        if not bool(xp.all(unfinished)):
            live, waited, problems = live[unfinished], waited[unfinished], problems.at(unfinished)
            state = state.at(unfinished)
        try:
            state = advance(problems, state)
        except singular_errors(xp):
            break
        better = state.gap < xp.take(best.gap, live)
        n_iter = rows_replaced(n_iter, live, xp.take(n_iter, live) + 1)
        since_best = rows_replaced(since_best, live, xp.where(better, xp.zeros_like(waited), waited + 1))
        best = best.replace(live[better], state.at(better))
    return Solution(best.weights, best.primal, best.gap, n_iter, best.within(tol), best.a, best.b)


def start(problems: Problems) -> State:
    """A feasible dual point whose scores are of order one, and multipliers well away from zero."""
    xp, m, n = array_namespace(problems.x), problems.m, problems.n
    first, loss = problems.x[:, :, 0], problems.objective.loss
    a, b = xp.full_like(first[:, :m], loss.start), xp.full_like(first[:, m:], loss.start * m / n)
    _, s = problems.weights_and_scores(a, b)
    spread = xp.abs(xp.sum(s * xp.concat([a, -b], axis=1), axis=1)) / xp.sum(a, axis=1)
    shrink = (1 / at_least(spread, 1.0))[:, None]
    a, b, s = a * shrink, b * shrink, s * shrink
    top = xp.max(s[:, m:], axis=1)
    slack = at_least(top - xp.mean(s[:, m:], axis=1), SMALLEST_SLACK)
    tau = top + slack
    u = xp.repeat(slack[:, None], n, axis=1) if problems.bounded else no_columns(a)
    c = tau[:, None] - s[:, m:] + (u if problems.bounded else 0)
    p = xp.ones_like(a) if loss.bounded_below else no_columns(a)
    return _evaluate(problems, Variables(a, b, p, c, u, tau))


def _evaluate(problems: Problems, at: Variables) -> State:
    xp, a, m = array_namespace(at.a), at.a, problems.m
    b = at.b * (xp.sum(a, axis=1) / xp.sum(at.b, axis=1))[:, None]  # feasible to the last digit, for the certificate
    weights, s = problems.weights_and_scores(a, b)
    t = threshold(s[:, m:], problems.objective.top_k)
    primal = primal_value(problems.objective, weights, s[:, :m], t)
    gap = duality_gap(problems.objective, a, b, s[:, :m], s[:, m:], t)
    return State(a, b, at.p, at.c, at.u, at.tau, weights, s, primal, gap)


def advance(problems: Problems, state: State) -> State:
    """One predictor-corrector step."""
    pairs = problems.pairs(state)
    newton = NewtonStep(problems, state)
    predicted = newton.direction([-x * y for x, y in pairs])
    mu = _mean_product(pairs)
    ahead = state.move(predicted, at_most(_largest_step(problems, state, predicted), 1.0))
    # Mehrotra's choice: aim low where the pure Newton step gets far, stay near the path where it does not
    target = ((_mean_product(problems.pairs(ahead)) / mu) ** 3 * mu)[:, None]
    changes = problems.pairs(predicted)
    # dx dy is what the predicted step, which is linear, misses of the product
    targets = [target - x * y - dx * dy for (x, y), (dx, dy) in zip(pairs, changes, strict=True)]
    direction = newton.direction(targets)
    step = at_most(TO_THE_BOUNDARY * _largest_step(problems, state, direction), 1.0)
    return _evaluate(problems, state.move(direction, step))


def _mean_product(pairs: list[tuple[Values, Values]]) -> Values:
    xp = array_namespace(pairs[0][0])
    total = sum(xp.sum(x * y, axis=1) for x, y in pairs)
    return total / sum(x.shape[1] for x, _ in pairs)


def _largest_step(problems: Problems, state: State, direction: Variables) -> Values:
    """How far each problem can go until a variable leaves its domain, (B,)."""
    xp, moving = array_namespace(state.a), [(state.a, direction.a)]
    for (x, y), (dx, dy) in zip(problems.pairs(state), problems.pairs(direction), strict=True):
        moving += [(x, dx), (y, dy)]
    if math.isfinite(problems.objective.loss.upper):
        moving.append((problems.objective.loss.upper - state.a, -direction.a))
    speed = xp.max(xp.stack([xp.max(-dx / x, axis=1) for x, dx in moving]), axis=0)
    return 1 / at_least(speed, float(np.finfo(np.float64).tiny))


class NewtonStep:
    """The linear system at one iterate; `direction` solves it for given targets of the products."""

    def __init__(self, problems: Problems, state: State) -> None:
        self.problems, self.state = problems, state
        self.xp = xp = array_namespace(problems.x)
        loss, self.top_k = problems.objective.loss, problems.objective.top_k
        eta = xp.sum(state.u, axis=1, keepdims=True) / self.top_k
        above = state.s - state.tau[:, None]  # score minus threshold
        no_multiplier = not loss.bounded_below
        self.off_a = above[:, : problems.m] - eta + loss.slope(state.a) - (0 if no_multiplier else state.p)
        self.off_b = -above[:, problems.m :] - state.c + (state.u if problems.bounded else 0)
        self.rho = state.u / problems.distance_from_bound(state) if problems.bounded else no_columns(state.a)
        give_a = loss.curvature(state.a) + (0 if no_multiplier else state.p / state.a)
        give_b = state.c / state.b + (self.rho if problems.bounded else 0)
        self.omega = 1 / xp.concat([give_a, give_b], axis=1)
        self.g = self._extend_rows()
        self._assemble()

    def _extend_rows(self) -> Values:
        if not self.problems.bounded:
            return self.problems.extended
        extended, m = self.problems.extended, self.problems.m
        bound = self.xp.concat([extended[:, :m, -1], self.rho / self.top_k], axis=1)
        return self.xp.concat([extended[:, :, :-1], bound[:, :, None]], axis=2)

    def _assemble(self) -> None:
        self.n_strong, self.weak = self._n_apart(), self.omega
        if self.n_strong:
            self.strong = largest_places(self.omega, self.n_strong)
            self.weak = replace_columns(self.omega, self.strong, 0 * self.omega[:, : self.n_strong])
        weighted = self.xp.matrix_transpose(self.g * self.weak[..., None])
        core = self.xp.matmul(weighted, self.g) + self._constant_part()
        self.matrix = self._border(core) if self.n_strong else core

    def _n_apart(self) -> int:
        asked, n_rows = self.problems.n_apart, self.omega.shape[1]
        if asked is None:
            largest = self.xp.max(self.omega * self.problems.squared_lengths)
            asked = N_STRONG if bool(largest > ILL_CONDITIONED * self.problems.scale) else 0
        return min(asked, n_rows)

    def _constant_part(self) -> Values:
        """C: scale for the weights, and for K > 1 what ties the two sums to the rest; (1 or B, size, size)."""
        d, size = self.problems.x.shape[2], self.g.shape[2]
        index = self.xp.arange(size, device=device(self.g))
        row, column = index[:, None], index[None, :]
        of_weights = self._as_numbers((row == column) & (row < d)) * self.problems.scale
        if not self.problems.bounded:
            return of_weights[None, :, :]
        crossed = self._as_numbers((row + column == 2 * d + 3) & (row > d) & (column > d))
        corner = self._as_numbers((row == d + 2) & (column == d + 2))
        total = self.xp.sum(self.rho, axis=1) / self.top_k**2
        return (of_weights - crossed)[None, :, :] - total[:, None, None] * corner[None, :, :]

    def _as_numbers(self, mask: Values) -> Values:
        return self.xp.astype(mask, self.g.dtype)

    def _border(self, core: Values) -> Values:
        """The core, and an unknown for each of the strong rows."""
        g = self.xp.take_along_axis(self.g, self.strong[..., None], axis=1)
        given = self.xp.take_along_axis(1 / self.omega, self.strong, axis=1)
        index = self.xp.arange(self.n_strong, device=device(g))
        own = given[:, :, None] * self._as_numbers(index[:, None] == index[None, :])[None, :, :]
        upper = self.xp.concat([core, -self.xp.matrix_transpose(g)], axis=2)
        return self.xp.concat([upper, self.xp.concat([g, own], axis=2)], axis=1)

    def direction(self, targets: list[Values]) -> Variables:
        """`targets`: how much each product of a pair should change, in the order of `Problems.pairs`."""
        state, problems = self.state, self.problems
        to_b, *others = targets
        to_a = others.pop(0) if problems.objective.loss.bounded_below else None
        to_bound = others.pop(0) if problems.bounded else None
        r_a = -self.off_a if to_a is None else -self.off_a + to_a / state.a
        r_b = -self.off_b + to_b / state.b
        if to_bound is not None:
            gamma = problems.distance_from_bound(state)
            r_b = r_b - to_bound / gamma
        z, dy = self._solve(self.xp.concat([r_a, -r_b], axis=1), None if to_bound is None else to_bound / gamma)
        da, db = dy[:, : problems.m], -dy[:, problems.m :]
        dp, du = self.xp.zeros_like(state.p), self.xp.zeros_like(state.u)
        if to_a is not None:
            dp = (to_a - state.p * da) / state.a
        if to_bound is not None:
            total = self.xp.sum(da, axis=1, keepdims=True)
            du = (to_bound - state.u * (total / self.top_k - db)) / gamma
        return Variables(da, db, dp, (to_b - state.c * db) / state.b, du, z[:, problems.x.shape[2]])

    def _solve(self, r: Values, lift: Values | None) -> tuple[Values, Values]:
        """z (B, columns of G) and dy (B, m + n)."""
        xp, size = self.xp, self.g.shape[2]
        right = xp.matmul((self.weak * r)[:, None, :], self.g)[:, 0, :]
        if lift is not None:
            last = right[:, -1:] - xp.sum(lift, axis=1, keepdims=True) / self.top_k
            right = xp.concat([right[:, :-1], last], axis=1)
        if self.n_strong:
            right = xp.concat([right, xp.take_along_axis(r, self.strong, axis=1)], axis=1)
        solved = self.problems.linear_solve(self.matrix, right)
        z = solved[:, :size]
        dy = self.omega * (r - xp.matmul(self.g, z[..., None])[..., 0])
        if self.n_strong:
            dy = replace_columns(dy, self.strong, solved[:, size:])
        return z, dy
