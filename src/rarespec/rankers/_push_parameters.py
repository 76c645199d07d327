"""The parameters that TopPush and BaggingTopPush share, checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rarespec.rankers._interior_point import solve
from rarespec.rankers._parameters import require_count, require_one_of, require_positive
from rarespec.rankers._push_loss import LOSSES, Values
from rarespec.rankers._push_nesterov import solve_published
from rarespec.rankers._push_problem import Objective, Solution, stacked

ADVICE = "raise tol or max_iter, or scale X so that |x|^2 and regularisation are comparable"
"""To someone whose fit did not converge."""
SOLVERS = {"interior-point": (1e-6, 200), "published": (1e-4, 10_000)}
"""Solver -> tol and max_iter when not given."""


@dataclass(frozen=True)
class PushSettings:
    """What to minimise and how."""

    objective: Objective
    solver: str
    tol: float
    max_iter: int

    def solved(self, positives: Values, negatives: Values) -> Solution:
        """B problems: positives (B, m, d) against negatives (B, n, d)."""
        if self.solver == "interior-point":
            return solve(positives, negatives, self.objective, self.tol, self.max_iter)
        pairs = zip(positives, negatives, strict=True)
        return stacked([solve_published(p, n, self.objective, self.tol, self.max_iter) for p, n in pairs])


def checked_settings(ranker: Any) -> PushSettings:
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
