"""TopPush on many bags: on several threads, or all at once where arrays of other libraries are.

Which thread solves a bag changes nothing.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from importlib.util import find_spec

import numpy as np
from array_api_compat import array_namespace, is_torch_array
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from rarespec.rankers._linear_map import LinearMap
from rarespec.rankers._other_arrays import Array, as_numpy, is_other_array, like, rows_at
from rarespec.rankers._push_arrays import rows_replaced
from rarespec.rankers._push_loss import Values
from rarespec.rankers._push_parameters import PushSettings
from rarespec.rankers._push_problem import Solution, stacked
from rarespec.rankers.rows import Rows

NUMBERS_AT_ONCE = 200_000
"""Bags are solved together until their rows hold so many numbers: few calls, and all of it in the cache."""


def solve_bags(
    X: Rows, positives: Values, bags: NDArray[np.intp], scaled: LinearMap, settings: PushSettings, n_threads: int
) -> Solution:
    """The scaled positives (m, d) against each bag of rows of X, bags (T, K)."""
    if is_other_array(X) and settings.solver == "interior-point":
        return _solved_there(X, positives, bags, scaled, settings)
    numbers = (len(positives) + bags.shape[1]) * X.shape[1]
    size = max(1, NUMBERS_AT_ONCE // numbers)
    groups = [bags[start : start + size] for start in range(0, len(bags), size)]

    def solved(group: NDArray[np.intp]) -> Solution:
        negatives = scaled.apply(as_numpy(rows_at(X, group.ravel()))).reshape(*group.shape, X.shape[1])
        return settings.solved(np.broadcast_to(positives, (len(group), *positives.shape)), negatives)

    # the matrices are small: threads inside BLAS would cost more than they give, and could change the last digit
    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(n_threads) as threads:
        return stacked(list(threads.map(solved, groups)))


def _solved_there(
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
    here = settings.solved(as_numpy(same)[again], as_numpy(negatives)[again])
    names = [one.name for one in fields(Solution)]
    return Solution(*(rows_replaced(getattr(solution, name), again, getattr(here, name)) for name in names))


def _batch_solved(positives: Array, negatives: Array, settings: PushSettings) -> Solution:
    n_rows, width = positives.shape[1] + negatives.shape[1], positives.shape[2]
    regular = n_rows >= width and settings.objective.top_k < negatives.shape[1]
    if is_torch_array(positives) and positives.is_cuda and regular and find_spec("triton"):
        from rarespec.rankers._push_cuda import solve_together

        return solve_together(positives, negatives, settings.objective, settings.tol, settings.max_iter)
    return settings.solved(positives, negatives)
