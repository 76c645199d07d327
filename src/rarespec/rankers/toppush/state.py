"""Where the interior-point method stands: the rows of all problems, and the iterate of each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Self

from array_api_compat import array_namespace

from rarespec.rankers.toppush.arrays import rows_replaced, solve_systems
from rarespec.rankers.toppush.problem import Objective, Values


@dataclass(frozen=True)
class Problems:
    """Positives, then negatives, of B problems."""

    x: Values
    """(B, m + n, d), shifted by the mean positive: a common shift changes no ranking and no objective."""
    m: int
    objective: Objective
    linear_solve: Callable[[Values, Values], Values] = field(default=solve_systems, repr=False)
    """Solves B linear systems."""
    n_apart: int | None = None
    """So many of the strongest rows are treated apart in every step; None decides in each step whether it is needed."""

    @classmethod
    def of(cls, positives: Values, negatives: Values, objective: Objective) -> Self:
        """Put positives and negatives together, shifted by the mean positive.

        Parameters
        ----------
        positives : (B, m, d) float64
            Known rows.
        negatives : (B, n, d) float64
            Rows that they should come before.
        objective : Objective
            What to minimise.

        Returns
        -------
        Problems
            B problems of m + n rows.
        """
        xp = array_namespace(positives, negatives)
        centre = xp.mean(positives, axis=1, keepdims=True)
        return cls(xp.concat([positives - centre, negatives - centre], axis=1), positives.shape[1], objective)

    def in_their_span(self) -> tuple[Self, Values]:
        """Write the rows in an orthonormal basis (B, d, r) of the space they span; weights never leave it."""
        xp = array_namespace(self.x)
        basis = xp.linalg.qr(xp.matrix_transpose(self.x)).Q
        return replace(self, x=xp.matmul(self.x, basis)), basis

    @property
    def n(self) -> int:
        return self.x.shape[1] - self.m

    @property
    def scale(self) -> float:
        """lam m: the dual variables' weighted sum of rows is this times w."""
        return self.objective.regularisation * self.m

    @property
    def bounded(self) -> bool:
        """Whether b has an upper bound that matters: for K = 1 it follows from sum(b) = sum(a)."""
        return self.objective.top_k > 1

    @cached_property
    def squared_lengths(self) -> Values:
        """(B, m + n)."""
        return array_namespace(self.x).sum(self.x * self.x, axis=-1)

    @cached_property
    def extended(self) -> Values:
        """The rows (x, -1); where b is bounded with two more columns, of which the last is left to the Newton step."""
        xp, zero = array_namespace(self.x), 0 * self.x[:, :, :1]
        columns = [self.x, zero - 1]
        if self.bounded:
            columns += [xp.concat([zero[:, : self.m, :] - 1, zero[:, self.m :, :]], axis=1), zero]
        return xp.concat(columns, axis=2)

    def at(self, selection: Any) -> Self:
        return replace(self, x=self.x[selection])

    def weights_and_scores(self, a: Values, b: Values) -> tuple[Values, Values]:
        """Compute w (B, d) and s (B, m + n) that belong to dual variables."""
        xp = array_namespace(self.x)
        signed = xp.concat([a, -b], axis=1)
        weights = xp.matmul(signed[:, None, :], self.x)[:, 0, :] / self.scale
        return weights, xp.matmul(self.x, weights[:, :, None])[..., 0]

    def pairs(self, variables: Variables) -> list[tuple[Values, Values]]:
        """Pair variables with their multipliers, whose products go to zero; of a direction, the changes of both."""
        pairs = [(variables.b, variables.c)]
        if self.objective.loss.bounded_below:
            pairs.append((variables.a, variables.p))
        if self.bounded:
            pairs.append((self.distance_from_bound(variables), variables.u))
        return pairs

    def distance_from_bound(self, variables: Variables) -> Values:
        """Compute gamma = sum(a)/K - b."""
        total = array_namespace(variables.a).sum(variables.a, axis=1, keepdims=True)
        return total / self.objective.top_k - variables.b


@dataclass(frozen=True)
class Variables:
    """Of B problems, or their changes; p and u have no columns where the problem has no such multipliers."""

    a: Values
    b: Values
    p: Values
    c: Values
    u: Values
    tau: Values
    """(B,)."""

    def move(self, direction: Variables, step: Values) -> Variables:
        """Move each problem by its step (B,) in its direction."""
        by = step[:, None]
        return Variables(
            self.a + by * direction.a,
            self.b + by * direction.b,
            self.p + by * direction.p,
            self.c + by * direction.c,
            self.u + by * direction.u,
            self.tau + step * direction.tau,
        )


@dataclass(frozen=True)
class State(Variables):
    """Iterates of B problems, and what they are worth."""

    weights: Values
    s: Values
    primal: Values
    gap: Values

    def at(self, selection: Any) -> Self:
        return type(self)(*(getattr(self, one.name)[selection] for one in fields(self)))

    def replace(self, problems: Any, other: Self) -> Self:
        """Take these problems from `other`, the rest as they are."""
        names = [one.name for one in fields(self)]
        return type(self)(*(rows_replaced(getattr(self, name), problems, getattr(other, name)) for name in names))

    def within(self, tol: float) -> Any:
        """Tell which problems have reached the relative gap, (B,) bool."""
        return self.gap <= tol * self.primal
