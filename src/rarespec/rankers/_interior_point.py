"""TopPush by a primal-dual interior-point method (Mehrotra 1992), for many bags at once.

Notation, beside that of `_push_problem`; the first axis of every array counts the B problems.
    a, p        dual variable of a positive and the multiplier of a >= 0 (losses with a kink only)
    b, c        dual variable of a negative and the multiplier of b >= 0
    gamma, u    distance of b from its upper bound sum(a)/K and the multiplier of that bound (K > 1 only)
    tau         threshold of the negatives; that of the positives is t = tau + sum(u)/K
Optimal:  s_i + l*'(a_i) = t + p_i,  s_j = tau + u_j - c_j,  a p = b c = gamma u = 0,  sum(a) = sum(b).
A step follows the path a p = b c = gamma u = mu towards mu = 0; `_push_newton` computes its direction.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from array_api_compat import array_namespace, device

from rarespec.rankers._push_arrays import at_least, at_most, no_columns, rows_replaced, singular_errors
from rarespec.rankers._push_loss import Values
from rarespec.rankers._push_newton import NewtonStep
from rarespec.rankers._push_problem import Objective, Solution, duality_gap, primal_value, threshold
from rarespec.rankers._push_state import Problems, State, Variables

TO_THE_BOUNDARY = 0.95
"""Share of the way to the boundary that a step may go."""
PATIENCE = 40
"""Iterations without progress after which the best weights so far are returned."""
SMALLEST_SLACK = 1e-3
"""Multipliers start no smaller; the losses change over a distance of 1."""


def solve(positives: Values, negatives: Values, objective: Objective, tol: float, max_iter: int) -> Solution:
    """Solve B problems, positives (B, m, d) against negatives (B, n, d), until gap <= tol * primal value."""
    n = negatives.shape[1]
    if 1 < objective.top_k >= n:
        # the threshold is the mean score of all negatives, which is the score of their mean
        xp = array_namespace(positives, negatives)
        mean = solve(positives, xp.mean(negatives, axis=1, keepdims=True), replace(objective, top_k=1), tol, max_iter)
        return replace(mean, b=xp.repeat(mean.b / n, n, axis=1))
    problems = Problems.of(positives, negatives, objective)
    if problems.x.shape[1] >= problems.x.shape[2]:
        return _solved(problems, tol, max_iter)
    problems, basis = problems.in_their_span()
    solution = _solved(problems, tol, max_iter)
    return replace(solution, weights=array_namespace(basis).matmul(basis, solution.weights[..., None])[..., 0])


def _solved(problems: Problems, tol: float, max_iter: int) -> Solution:
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
        best = best.replaced(live[better], state.at(better))
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
    return _evaluated(problems, Variables(a, b, p, c, u, tau))


def _evaluated(problems: Problems, at: Variables) -> State:
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
    ahead = state.moved(predicted, at_most(_largest_step(problems, state, predicted), 1.0))
    target = ((_mean_product(problems.pairs(ahead)) / mu) ** 3 * mu)[:, None]
    changes = problems.pairs(predicted)
    targets = [target - x * y - dx * dy for (x, y), (dx, dy) in zip(pairs, changes, strict=True)]
    direction = newton.direction(targets)
    step = at_most(TO_THE_BOUNDARY * _largest_step(problems, state, direction), 1.0)
    return _evaluated(problems, state.moved(direction, step))


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
