"""The Newton direction of the interior-point method.

Notation, beside that of `_interior_point`: y = (a, -b) in the order of the rows, z = (dw, dtau), for K > 1 followed by
(d sum(u)/K, d sum(a)), and G the rows (x, -1), for K > 1 with two more columns. Eliminating the multipliers leaves
    dy = omega (r - G z),   G' dy = C z + k,   so   (C + G' omega G) z = G' omega r - k.
omega says how much a row's dual variable gives way to a change of its score. It grows without bound for rows at the
threshold, and the matrix then loses all its digits. Those rows keep dy as an unknown of their own, with 1/omega in the
matrix instead of omega: the same solution, and stable to the end.
"""

from __future__ import annotations

from array_api_compat import array_namespace, device

from rarespec.rankers._push_arrays import largest_places, no_columns, replaced
from rarespec.rankers._push_loss import Values
from rarespec.rankers._push_state import Problems, State, Variables

N_STRONG = 24
"""Rows with an unknown of their own."""
ILL_CONDITIONED = 1e8
"""Above this ratio of the matrix's largest entry to its smallest the strongest rows are treated apart."""


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
        self.g = self._extended_rows()
        self._assemble()

    def _extended_rows(self) -> Values:
        if not self.problems.bounded:
            return self.problems.extended
        extended, m = self.problems.extended, self.problems.m
        bound = self.xp.concat([extended[:, :m, -1], self.rho / self.top_k], axis=1)
        return self.xp.concat([extended[:, :, :-1], bound[:, :, None]], axis=2)

    def _assemble(self) -> None:
        self.n_strong, self.weak = self._n_apart(), self.omega
        if self.n_strong:
            self.strong = largest_places(self.omega, self.n_strong)
            self.weak = replaced(self.omega, self.strong, 0 * self.omega[:, : self.n_strong])
        weighted = self.xp.matrix_transpose(self.g * self.weak[..., None])
        core = self.xp.matmul(weighted, self.g) + self._constant_part()
        self.matrix = self._bordered(core) if self.n_strong else core

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

    def _bordered(self, core: Values) -> Values:
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
        z, dy = self._solved(self.xp.concat([r_a, -r_b], axis=1), None if to_bound is None else to_bound / gamma)
        da, db = dy[:, : problems.m], -dy[:, problems.m :]
        dp, du = self.xp.zeros_like(state.p), self.xp.zeros_like(state.u)
        if to_a is not None:
            dp = (to_a - state.p * da) / state.a
        if to_bound is not None:
            total = self.xp.sum(da, axis=1, keepdims=True)
            du = (to_bound - state.u * (total / self.top_k - db)) / gamma
        return Variables(da, db, dp, (to_b - state.c * db) / state.b, du, z[:, problems.x.shape[2]])

    def _solved(self, r: Values, lift: Values | None) -> tuple[Values, Values]:
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
            dy = replaced(dy, self.strong, solved[:, size:])
        return z, dy
