"""TopPush solved on many bags, or on all unlabelled rows; with the settings that TopPush and BaggingTopPush share.

Bags are solved on several threads, or all at once where arrays of other libraries are. Which thread solves a bag
changes nothing.

All unlabelled rows of a survey are solved on those near the top, and certified on all. Only negatives at the threshold
have a dual variable above zero, so the optimum over a few hundred well-chosen rows is the optimum over all of them once
no other row scores above the threshold. Rows that do are added until the gap, with the threshold over all rows, is
small enough.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields, replace
from importlib.util import find_spec
from typing import Any

import numpy as np
from array_api_compat import array_namespace, is_torch_array
from numpy.typing import NDArray

from rarespec.engines.here import one_blas_thread
from rarespec.rankers.linear_map import LinearMap
from rarespec.rankers.other_arrays import Array, as_numpy, is_other_array, like, rows_at
from rarespec.rankers.parameters import require_count, require_one_of, require_positive
from rarespec.rankers.ranker import weighted_sums
from rarespec.rankers.rows import Rows
from rarespec.rankers.toppush.arrays import rows_replaced
from rarespec.rankers.toppush.interior_point import solve
from rarespec.rankers.toppush.nesterov import solve_published
from rarespec.rankers.toppush.problem import (
    LOSSES,
    Objective,
    Solution,
    Values,
    duality_gap,
    primal_value,
    stack_solutions,
    threshold,
)

ADVICE = "raise tol or max_iter, or scale X so that |x|^2 and regularisation are comparable"
"""To someone whose fit did not converge."""
SOLVERS = {"interior-point": (1e-6, 200), "published": (1e-4, 10_000)}
"""Solver -> tol and max_iter when not given."""

NUMBERS_AT_ONCE = 200_000
"""Bags are solved together until their rows hold so many numbers: few calls, and all of it in the cache."""

SOLVED_WHOLE = 2000
"""Up to so many negatives all enter the first problem."""
N_ADDED = 300
"""Rows added at a time."""
NEGLIGIBLE = 1e-9
"""Share of the dual weight below which a row may leave."""
MAX_ROUNDS = 100


@dataclass(frozen=True)
class PushSettings:
    """What to minimise and how."""

    objective: Objective
    solver: str
    tol: float
    max_iter: int

    def solve(self, positives: Values, negatives: Values) -> Solution:
        """B problems: positives (B, m, d) against negatives (B, n, d)."""
        if self.solver == "interior-point":
            return solve(positives, negatives, self.objective, self.tol, self.max_iter)
        pairs = zip(positives, negatives, strict=True)
        return stack_solutions([solve_published(p, n, self.objective, self.tol, self.max_iter) for p, n in pairs])


def check_settings(ranker: Any) -> PushSettings:
    """From a ranker's parameters; a ValueError names the one that is wrong."""
    require_positive(ranker, "regularisation")
    require_one_of(ranker, "loss", tuple(LOSSES))
    require_count(ranker, "top_k")
    require_one_of(ranker, "solver", tuple(SOLVERS))
    require_count(ranker, "max_iter", optional=True)
    require_positive(ranker, "tol", optional=True)
    if ranker.solver == "published" and (ranker.loss != "truncated-quadratic" or ranker.top_k != 1):
        raise ValueError('solver="published" supports only the truncated quadratic loss with top_k = 1')
    tol, max_iter = SOLVERS[ranker.solver]
    objective = Objective(LOSSES[ranker.loss], float(ranker.regularisation), int(ranker.top_k))
    return PushSettings(objective, ranker.solver, float(ranker.tol or tol), int(ranker.max_iter or max_iter))


def where_stopped(relative_gap: float, settings: PushSettings) -> str:
    return f"at a relative duality gap of {relative_gap:.2g}, above tol, after at most {settings.max_iter} iterations"


def solve_bags(
    X: Rows, positives: Values, bags: NDArray[np.intp], scaled: LinearMap, settings: PushSettings, n_threads: int
) -> Solution:
    """Solve the known examples against each bag of unlabelled rows.

    Parameters
    ----------
    X : (n, d) array
        All rows; an array of another library is solved where it is.
    positives : (m, d) float64
        The known rows, scaled.
    bags : (T, K) int
        Row numbers of each bag.
    scaled : LinearMap
        The scaling of rows.
    settings : PushSettings
        What to minimise and how.
    n_threads : int
        Threads that share the bags.

    Returns
    -------
    Solution
        Of T problems.
    """
    if is_other_array(X) and settings.solver == "interior-point":
        return _solve_there(X, positives, bags, scaled, settings)
    numbers = (len(positives) + bags.shape[1]) * X.shape[1]
    size = max(1, NUMBERS_AT_ONCE // numbers)
    groups = [bags[start : start + size] for start in range(0, len(bags), size)]

    def solved(group: NDArray[np.intp]) -> Solution:
        negatives = scaled.apply(as_numpy(rows_at(X, group.ravel()))).reshape(*group.shape, X.shape[1])
        return settings.solve(np.broadcast_to(positives, (len(group), *positives.shape)), negatives)

    # the matrices are small: threads inside BLAS would cost more than they give, and could change the last digit
    with one_blas_thread(), ThreadPoolExecutor(n_threads) as threads:
        return stack_solutions(list(threads.map(solved, groups)))


def _solve_there(
    X: Array, positives: Values, bags: NDArray[np.intp], scaled: LinearMap, settings: PushSettings
) -> Solution:
    """All bags in one batch, where X is; bags that do not converge there are solved again here."""
    xp = array_namespace(X)
    negatives = xp.reshape(scaled.apply(rows_at(X, bags.ravel())), (*bags.shape, X.shape[1]))
    same = xp.broadcast_to(like(X, positives)[None, :, :], (len(bags), *positives.shape))
    found = _batch_solved(same, negatives, settings)
    solution = Solution(*(as_numpy(getattr(found, one.name)) for one in fields(Solution)))
    if solution.converged.all():
        return solution
    again = np.flatnonzero(~solution.converged)
    here = settings.solve(as_numpy(same)[again], as_numpy(negatives)[again])
    names = [one.name for one in fields(Solution)]
    return Solution(*(rows_replaced(getattr(solution, name), again, getattr(here, name)) for name in names))


def _batch_solved(positives: Array, negatives: Array, settings: PushSettings) -> Solution:
    n_rows, width = positives.shape[1] + negatives.shape[1], positives.shape[2]
    regular = n_rows >= width and settings.objective.top_k < negatives.shape[1]
    if is_torch_array(positives) and positives.is_cuda and regular and find_spec("triton"):
        from rarespec.rankers.toppush.cuda import solve_together

        return solve_together(positives, negatives, settings.objective, settings.tol, settings.max_iter)
    return settings.solve(positives, negatives)


def solve_all_rows(X: Rows, known: NDArray[np.bool_], scaled: LinearMap, settings: PushSettings) -> Solution:
    """Solve the known rows against all other rows.

    Parameters
    ----------
    X : (n, d) array
        All rows.
    known : (n,) bool
        Which are known.
    scaled : LinearMap
        The scaling of rows.
    settings : PushSettings
        What to minimise and how.

    Returns
    -------
    Solution
        Of one problem.
    """
    positives, unlabelled = scaled.apply(X[known]), np.flatnonzero(~known)
    with one_blas_thread():  # the matrices are small, and threads could change the last digit
        if len(unlabelled) <= max(SOLVED_WHOLE, 2 * settings.objective.top_k) or settings.solver == "published":
            return settings.solve(positives[None], scaled.apply(X[unlabelled])[None])
        return _grow(X, unlabelled, positives, scaled, settings)


def _grow(
    X: Rows, unlabelled: NDArray[np.intp], positives: Values, scaled: LinearMap, settings: PushSettings
) -> Solution:
    inner = replace(settings, tol=settings.tol / 2)
    towards_known = positives.mean(axis=0) - scaled.apply(X.mean(axis=0, dtype=np.float64)[None])[0]
    scores = weighted_sums(X, scaled.weights_of(towards_known))[unlabelled]
    n_top = settings.objective.top_k + N_ADDED  # fewer rows than top_k could not hold the weight that b spreads over
    chosen, n_iter = _highest(scores, n_top), 0
    for _ in range(MAX_ROUNDS):
        solution = inner.solve(positives[None], scaled.apply(X[unlabelled[chosen]])[None])
        n_iter += int(solution.n_iter[0])
        scores = weighted_sums(X, scaled.weights_of(solution.weights[0]))[unlabelled]
        solution = _certify_on_all(solution, positives @ solution.weights[0], scores, chosen, scaled, settings)
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


def _certify_on_all(
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
