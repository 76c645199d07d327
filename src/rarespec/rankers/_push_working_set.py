"""TopPush over all unlabelled rows of a survey: solved on those near the top, certified on all.

Only negatives at the threshold have a dual variable above zero, so the optimum over a few hundred well-chosen rows is
the optimum over all of them once no other row scores above the threshold. Rows that do are added until the gap, with
the threshold over all rows, is small enough.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from rarespec.rankers._linear_map import LinearMap
from rarespec.rankers._push_loss import Values
from rarespec.rankers._push_parameters import PushSettings
from rarespec.rankers._push_problem import Solution, duality_gap, primal_value, threshold
from rarespec.rankers.linear import weighted_sums
from rarespec.rankers.rows import Rows

SOLVED_WHOLE = 2000
"""Up to so many negatives all enter the first problem."""
N_ADDED = 300
"""Rows added at a time."""
NEGLIGIBLE = 1e-9
"""Share of the dual weight below which a row may leave."""
MAX_ROUNDS = 100


def solve_all_rows(X: Rows, known: NDArray[np.bool_], scaled: LinearMap, settings: PushSettings) -> Solution:
    """The known rows of X against all others; B = 1."""
    positives, unlabelled = scaled.apply(X[known]), np.flatnonzero(~known)
    with threadpool_limits(1, user_api="blas"):  # the matrices are small, and threads could change the last digit
        if len(unlabelled) <= max(SOLVED_WHOLE, 2 * settings.objective.top_k) or settings.solver == "published":
            return settings.solved(positives[None], scaled.apply(X[unlabelled])[None])
        return _grown(X, unlabelled, positives, scaled, settings)


def _grown(
    X: Rows, unlabelled: NDArray[np.intp], positives: Values, scaled: LinearMap, settings: PushSettings
) -> Solution:
    inner = replace(settings, tol=settings.tol / 2)
    towards_known = positives.mean(axis=0) - scaled.apply(X.mean(axis=0, dtype=np.float64)[None])[0]
    scores = weighted_sums(X, scaled.weights_of(towards_known))[unlabelled]
    n_top = settings.objective.top_k + N_ADDED  # fewer rows than top_k could not hold the weight that b spreads over
    chosen, n_iter = _highest(scores, n_top), 0
    for _ in range(MAX_ROUNDS):
        solution = inner.solved(positives[None], scaled.apply(X[unlabelled[chosen]])[None])
        n_iter += int(solution.n_iter[0])
        scores = weighted_sums(X, scaled.weights_of(solution.weights[0]))[unlabelled]
        solution = _certified_on_all(solution, positives @ solution.weights[0], scores, chosen, scaled, settings)
        solved = chosen
        if solution.converged[0]:
            break
        chosen = _next_choice(chosen, solution.b[0], scores, n_top)
    b = np.zeros((1, len(unlabelled)))
    b[:, solved] = solution.b
    return replace(solution, n_iter=np.array([n_iter]), b=b)


def _next_choice(chosen: NDArray[np.intp], b: Values, scores: Values, n_top: int) -> NDArray[np.intp]:
    """Rows that carry weight stay, so that the dual value never falls, and the highest of the others join."""
    carrying = chosen[b > NEGLIGIBLE * b.sum()]
    outside = scores.copy()
    outside[chosen] = -np.inf
    return np.union1d(np.union1d(carrying, _highest(scores, n_top)), _highest(outside, N_ADDED))


def _highest(scores: Values, k: int) -> NDArray[np.intp]:
    k = min(k, len(scores))
    return np.argpartition(scores, len(scores) - k)[len(scores) - k :]


def _certified_on_all(
    solution: Solution,
    s_positive: Values,
    s_all: Values,
    chosen: NDArray[np.intp],
    scaled: LinearMap,
    settings: PushSettings,
) -> Solution:
    """The dual point stays feasible with b = 0 for the rows left out; the threshold is that of all rows."""
    w, objective = solution.weights, settings.objective
    s_all = s_all - scaled.weights_of(w[0]) @ scaled.mean  # scores of X as given carry a constant more
    t = threshold(s_all[None], objective.top_k)
    primal = primal_value(objective, w, s_positive[None], t)
    gap = duality_gap(objective, solution.a, solution.b, s_positive[None], s_all[None, chosen], t)
    return replace(solution, primal=primal, gap=gap, converged=gap <= settings.tol * primal)
