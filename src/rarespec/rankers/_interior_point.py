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

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

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
        mean = solve(positives, negatives.mean(axis=1, keepdims=True), replace(objective, top_k=1), tol, max_iter)
        return replace(mean, b=np.repeat(mean.b / n, n, axis=1))
    problems = Problems.of(positives, negatives, objective)
    if problems.x.shape[1] >= problems.x.shape[2]:
        return _solved(problems, tol, max_iter)
    problems, basis = problems.in_their_span()
    solution = _solved(problems, tol, max_iter)
    return replace(solution, weights=np.matmul(basis, solution.weights[..., None])[..., 0])


def _solved(problems: Problems, tol: float, max_iter: int) -> Solution:
    n_problems = len(problems.x)
    state = _start(problems)
    best, n_iter, since_best = state, np.zeros(n_problems, np.int64), np.zeros(n_problems, np.int64)
    live = np.arange(n_problems)
    for _ in range(max_iter):
        unfinished = ~(best.within(tol)[live] | (since_best[live] >= PATIENCE))
        if not unfinished.any():
            break
        if not unfinished.all():
            live, problems, state = live[unfinished], problems.at(unfinished), state.at(unfinished)
        try:
            state = _advance(problems, state)
        except np.linalg.LinAlgError:
            break
        n_iter[live] += 1
        better = state.gap < best.gap[live]
        since_best[live] = np.where(better, 0, since_best[live] + 1)
        best = best.replaced(live[better], state.at(better))
    return Solution(best.weights, best.primal, best.gap, n_iter, best.within(tol), best.a, best.b)


def _start(problems: Problems) -> State:
    """A feasible dual point whose scores are of order one, and multipliers well away from zero."""
    n_problems, m, n = len(problems.x), problems.m, problems.n
    a = np.full((n_problems, m), problems.objective.loss.start)
    b = np.full((n_problems, n), problems.objective.loss.start * m / n)
    _, s = problems.weights_and_scores(a, b)
    spread = np.abs((s * np.concatenate([a, -b], axis=1)).sum(axis=1)) / a.sum(axis=1)
    shrink = (1 / np.maximum(spread, 1))[:, None]
    a, b, s = a * shrink, b * shrink, s * shrink
    top = s[:, m:].max(axis=1)
    slack = np.maximum(top - s[:, m:].mean(axis=1), SMALLEST_SLACK)
    tau = top + slack
    u = np.repeat(slack[:, None], n, axis=1) if problems.bounded else np.zeros((n_problems, 0))
    c = tau[:, None] - s[:, m:] + (u if problems.bounded else 0)
    p = np.ones_like(a) if problems.objective.loss.bounded_below else np.zeros((n_problems, 0))
    return _evaluated(problems, Variables(a, b, p, c, u, tau))


def _evaluated(problems: Problems, at: Variables) -> State:
    a = at.a
    b = at.b * (a.sum(axis=1) / at.b.sum(axis=1))[:, None]  # feasible to the last digit: the certificate rests on it
    weights, s = problems.weights_and_scores(a, b)
    t = threshold(s[:, problems.m :], problems.objective.top_k)
    primal = primal_value(problems.objective, weights, s[:, : problems.m], t)
    gap = duality_gap(problems.objective, a, b, s[:, : problems.m], s[:, problems.m :], t)
    return State(a, b, at.p, at.c, at.u, at.tau, weights, s, primal, gap)


def _advance(problems: Problems, state: State) -> State:
    """One predictor-corrector step."""
    pairs = problems.pairs(state)
    newton = NewtonStep(problems, state)
    predicted = newton.direction([-x * y for x, y in pairs])
    mu = _mean_product(pairs)
    ahead = state.moved(predicted, np.minimum(1, _largest_step(problems, state, predicted)))
    target = ((_mean_product(problems.pairs(ahead)) / mu) ** 3 * mu)[:, None]
    changes = problems.pairs(predicted)
    targets = [target - x * y - dx * dy for (x, y), (dx, dy) in zip(pairs, changes, strict=True)]
    direction = newton.direction(targets)
    step = np.minimum(1, TO_THE_BOUNDARY * _largest_step(problems, state, direction))
    return _evaluated(problems, state.moved(direction, step))


def _mean_product(pairs: list[tuple[Values, Values]]) -> Values:
    total = sum((x * y).sum(axis=1) for x, y in pairs)
    return np.asarray(total) / sum(x.shape[1] for x, _ in pairs)


def _largest_step(problems: Problems, state: State, direction: Variables) -> Values:
    """How far each problem can go until a variable leaves its domain, (B,)."""
    moving = [(state.a, direction.a)]
    for (x, y), (dx, dy) in zip(problems.pairs(state), problems.pairs(direction), strict=True):
        moving += [(x, dx), (y, dy)]
    if np.isfinite(problems.objective.loss.upper):
        moving.append((problems.objective.loss.upper - state.a, -direction.a))
    speed: NDArray[np.float64] = np.max([(-dx / x).max(axis=1) for x, dx in moving], axis=0)
    return 1 / np.maximum(speed, np.finfo(float).tiny)
