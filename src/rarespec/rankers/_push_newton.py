"""The Newton direction of the interior-point method.

Notation, beside that of `_interior_point`: y = (a, -b) in the order of the rows, z = (dw, dtau), for K > 1 followed by
(d sum(u)/K, d sum(a)), and G the rows (x, -1), for K > 1 with two more columns. Eliminating the multipliers leaves
    dy = omega (r - G z),   G' dy = C z + k,   so   (C + G' omega G) z = G' omega r - k.
omega says how much a row's dual variable gives way to a change of its score. It grows without bound for rows at the
threshold, and the matrix then loses all its digits. Those rows keep dy as an unknown of their own, with 1/omega in the
matrix instead of omega: the same solution, and stable to the end.
"""

from __future__ import annotations

import numpy as np

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
        loss, self.top_k = problems.objective.loss, problems.objective.top_k
        eta = state.u.sum(axis=1, keepdims=True) / self.top_k
        above = state.s - state.tau[:, None]  # score minus threshold
        no_multiplier = not loss.bounded_below
        self.off_a = above[:, : problems.m] - eta + loss.slope(state.a) - (0 if no_multiplier else state.p)
        self.off_b = -above[:, problems.m :] - state.c + (state.u if problems.bounded else 0)
        self.rho = state.u / problems.distance_from_bound(state) if problems.bounded else np.zeros((len(state.a), 0))
        give_a = loss.curvature(state.a) + (0 if no_multiplier else state.p / state.a)
        give_b = state.c / state.b + (self.rho if problems.bounded else 0)
        self.omega = 1 / np.concatenate([give_a, give_b], axis=1)
        self.g = self._extended_rows()
        self._assemble()

    def _extended_rows(self) -> Values:
        if not self.problems.bounded:
            return self.problems.extended
        g = self.problems.extended.copy()
        g[:, self.problems.m :, -1] = self.rho / self.top_k
        return g

    def _assemble(self) -> None:
        d, size = self.problems.x.shape[2], self.g.shape[2]
        largest = (self.omega * self.problems.squared_lengths).max()
        self.n_strong = min(N_STRONG, self.omega.shape[1]) if largest > ILL_CONDITIONED * self.problems.scale else 0
        weak = self.omega
        if self.n_strong:
            self.strong = np.argpartition(-self.omega, self.n_strong - 1, axis=1)[:, : self.n_strong]
            weak = self.omega.copy()
            np.put_along_axis(weak, self.strong, 0, axis=1)
        self.weak = weak
        matrix = np.zeros((len(weak), size + self.n_strong, size + self.n_strong))
        core = matrix[:, :size, :size]
        np.matmul((self.g * weak[..., None]).transpose(0, 2, 1), self.g, out=core)
        core[:, range(d), range(d)] += self.problems.scale
        if self.problems.bounded:
            core[:, d + 1, d + 2] -= 1
            core[:, d + 2, d + 1] -= 1
            core[:, d + 2, d + 2] -= self.rho.sum(axis=1) / self.top_k**2
        if self.n_strong:
            self._border(matrix, size)
        self.matrix = matrix

    def _border(self, matrix: Values, size: int) -> None:
        g = np.take_along_axis(self.g, self.strong[..., None], axis=1)
        matrix[:, size:, :size] = g
        matrix[:, :size, size:] = -g.transpose(0, 2, 1)
        own = range(size, size + self.n_strong)
        matrix[:, own, own] = 1 / np.take_along_axis(self.omega, self.strong, axis=1)

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
        z, dy = self._solved(np.concatenate([r_a, -r_b], axis=1), 0 if to_bound is None else to_bound / gamma)
        da, db = dy[:, : problems.m], -dy[:, problems.m :]
        dp, du = np.zeros_like(state.p), np.zeros_like(state.u)
        if to_a is not None:
            dp = (to_a - state.p * da) / state.a
        if to_bound is not None:
            du = (to_bound - state.u * (da.sum(axis=1, keepdims=True) / self.top_k - db)) / gamma
        return Variables(da, db, dp, (to_b - state.c * db) / state.b, du, z[:, problems.x.shape[2]])

    def _solved(self, r: Values, lift: Values | int) -> tuple[Values, Values]:
        """z (B, columns of G) and dy (B, m + n)."""
        size = self.g.shape[2]
        right = np.matmul((self.weak * r)[:, None, :], self.g)[:, 0]
        if self.problems.bounded:
            right[:, -1] -= np.sum(lift, axis=1) / self.top_k
        if self.n_strong:
            right = np.concatenate([right, np.take_along_axis(r, self.strong, axis=1)], axis=1)
        solved = np.linalg.solve(self.matrix, right[..., None])[..., 0]
        z = solved[:, :size]
        dy = self.omega * (r - np.matmul(self.g, z[..., None])[..., 0])
        if self.n_strong:
            np.put_along_axis(dy, self.strong, solved[:, size:], axis=1)
        return z, dy
