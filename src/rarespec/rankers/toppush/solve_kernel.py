# mypy: ignore-errors
# Triton compiles a part of Python only, without annotations.
"""Many small systems of linear equations on a GPU, one to a program: Gauss-Jordan with pivots, in registers.

Library calls for batches this small spend most of their time waiting. Imports Triton: only where there is a GPU.
"""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl


def solve_by_kernel(matrix: Any, right: Any) -> Any:
    """Solve matrix (B, n, n) x = right (B, n), float64 CUDA tensors; x is not finite where a matrix is singular."""
    import torch

    n_problems, n = right.shape
    solution = torch.empty_like(right)
    size = max(16, 1 << (n - 1).bit_length())
    solve_kernel[(n_problems,)](
        matrix.contiguous(), right.contiguous(), solution, n, SIZE=size, num_warps=16 if size > 64 else 8
    )
    return solution


@triton.jit
def solve_kernel(matrix, right, solution, n, SIZE: tl.constexpr):
    """Solve one system of linear equations in each program.

    Parameters
    ----------
    matrix : pointer to (B, n, n) float64
        The matrices, contiguous.
    right : pointer to (B, n) float64
        The right-hand sides, contiguous.
    solution : pointer to (B, n) float64
        Written; not finite where a matrix is singular.
    n : int
        Unknowns.
    SIZE : int
        A power of two, n or larger: the size of the matrix in registers.
    """
    problem = tl.program_id(0).to(tl.int64)
    row, column = tl.arange(0, SIZE), tl.arange(0, SIZE)
    inside = (row < n)[:, None] & (column < n)[None, :]
    at = problem * n * n + row[:, None] * n + column[None, :]
    m = tl.load(matrix + at, mask=inside, other=0.0)
    r = tl.load(right + problem * n + row, mask=row < n, other=0.0)
    waiting = row < n
    solves = row  # which unknown a row gives in the end
    pivots = tl.full((SIZE,), 1.0, tl.float64)
    for k in range(n):
        # the row with the largest entry of column k becomes the pivot; rows are not swapped, `solves` remembers it
        of_k = tl.sum(tl.where((column == k)[None, :], m, 0.0), axis=1)
        chosen = row == tl.argmax(tl.where(waiting, tl.abs(of_k), -1.0), axis=0)
        pivot = tl.sum(tl.where(chosen, of_k, 0.0), axis=0)
        pivot_row = tl.sum(tl.where(chosen[:, None], m, 0.0), axis=0)
        share = tl.where(chosen, 0.0, of_k / pivot)
        m -= share[:, None] * pivot_row[None, :]
        r -= share * tl.sum(tl.where(chosen, r, 0.0), axis=0)
        solves = tl.where(chosen, k, solves)
        pivots = tl.where(chosen, pivot, pivots)
        waiting = waiting & (chosen == 0)
    tl.store(solution + problem * n + solves, r / pivots, mask=row < n)
