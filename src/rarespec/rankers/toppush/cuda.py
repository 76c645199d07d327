"""TopPush for all bags at once on a GPU: interior-point steps, recorded once as a CUDA graph and replayed.

A step is some two hundred small operations. Started one by one they would keep the GPU waiting; a replay starts them
all together. Bags that are done go on with the others, and their best weights are kept.
"""

from __future__ import annotations

from dataclasses import fields, replace
from functools import lru_cache
from threading import Lock
from typing import Any

from rarespec.rankers.toppush.interior_point import N_STRONG, PATIENCE, advance, start
from rarespec.rankers.toppush.problem import Objective, Solution
from rarespec.rankers.toppush.state import Problems, State

Tensor = Any

FEWEST_APART = 8
"""Rows that have to be treated apart at least."""
STEPS_AT_ONCE = 2
"""Steps between two looks at the gaps."""
ONE_AT_A_TIME = Lock()
"""Fits on several threads share the recorded steps and their memory."""


def solve_together(positives: Tensor, negatives: Tensor, objective: Objective, tol: float, max_iter: int) -> Solution:
    """Solve B problems on a GPU, as the interior-point `solve` does.

    Parameters
    ----------
    positives : (B, m, d) float64 CUDA tensor
        Known rows; m + n must be at least d.
    negatives : (B, n, d) float64 CUDA tensor
        Rows that they should come before.
    objective : Objective
        What to minimise; its top_k must be below n.
    tol : float
        Relative gap at which a problem is done.
    max_iter : int
        Iterations at most.

    Returns
    -------
    Solution
        The best weights found, with their gaps, as tensors.
    """
    problems = _ready(Problems.of(positives, negatives, objective))
    with ONE_AT_A_TIME:
        recorded = _record_steps(tuple(problems.x.shape), problems.m, objective, problems.x.device)
        return recorded.solve(problems, tol, max_iter)


def _ready(problems: Problems) -> Problems:
    from rarespec.rankers.toppush.solve_kernel import solve_by_kernel

    return replace(problems, linear_solve=solve_by_kernel, n_apart=_n_apart(problems))


def _n_apart(problems: Problems) -> int:
    """As many as leave the matrix at a size that fits into registers; more where few would be left."""
    own = problems.x.shape[2] + (3 if problems.bounded else 1)
    room = (1 << (own - 1).bit_length()) - own
    return room if FEWEST_APART <= room <= N_STRONG else N_STRONG


@lru_cache(maxsize=8)
def _record_steps(shape: tuple[int, int, int], m: int, objective: Objective, device: Any) -> RecordedSteps:
    return RecordedSteps(shape, m, objective, device)


class RecordedSteps:
    """One step of B problems of one shape, in memory of its own."""

    def __init__(self, shape: tuple[int, int, int], m: int, objective: Objective, device: Any) -> None:
        import torch

        self.x = torch.randn(shape, dtype=torch.float64, device=device)
        trial = _ready(Problems(self.x, m, objective))
        self.state = start(trial)
        self.best = _copy(self.state)
        self.waited = torch.zeros(shape[0], dtype=torch.int64, device=device)
        stream = torch.cuda.Stream(device)
        with torch.cuda.stream(stream):  # compiles kernels and sets up libraries, which cannot be recorded
            advance(trial, self.state)
        torch.cuda.current_stream(device).wait_stream(stream)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self._step(_ready(Problems(self.x, m, objective)))

    def _step(self, problems: Problems) -> None:
        import torch

        after = advance(problems, self.state)
        better = after.gap < self.best.gap
        _assign(self.best, State(*(_where(better, new, old) for new, old in _pairs(after, self.best))))
        _assign(self.state, after)
        self.waited.copy_(torch.where(better, 0, self.waited + 1))

    def solve(self, problems: Problems, tol: float, max_iter: int) -> Solution:
        """Solve problems of the recorded shape by replaying the step.

        Parameters
        ----------
        problems : Problems
            Of the shape, m and objective that were recorded. Their rows are copied over the last ones.
        tol : float
            Relative gap at which a problem is done.
        max_iter : int
            Iterations at most, rounded up to a multiple of STEPS_AT_ONCE.

        Returns
        -------
        Solution
            The best weights found, with their gaps, as tensors that later calls leave alone.
        """
        import torch

        self.x.copy_(problems.x)
        _assign(self.state, start(replace(problems, x=self.x)))
        _assign(self.best, self.state)
        self.waited.zero_()
        n_iter = torch.zeros_like(self.waited)
        for _ in range(0, max_iter, STEPS_AT_ONCE):
            finished = self.best.within(tol) | (self.waited >= PATIENCE)
            if bool(finished.all()):
                break
            n_iter += STEPS_AT_ONCE * ~finished
            for _ in range(STEPS_AT_ONCE):
                self.graph.replay()
        best = _copy(self.best)
        return Solution(best.weights, best.primal, best.gap, n_iter, best.within(tol), best.a, best.b)


def _pairs(first: State, second: State) -> list[tuple[Tensor, Tensor]]:
    return [(getattr(first, one.name), getattr(second, one.name)) for one in fields(State)]


def _assign(target: State, source: State) -> None:
    for old, new in _pairs(target, source):
        old.copy_(new)


def _copy(state: State) -> State:
    return State(*(one.clone() for one, _ in _pairs(state, state)))


def _where(better: Tensor, new: Tensor, old: Tensor) -> Tensor:
    import torch

    return torch.where(better.reshape(-1, *[1] * (new.ndim - 1)), new, old)
