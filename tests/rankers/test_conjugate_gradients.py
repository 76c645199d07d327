"""Conjugate gradients against direct solutions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import coo_array, csr_array, diags_array

from rarespec.rankers.graph.conjugate_gradients import (
    CHECK_EVERY,
    COLUMNS_AT_ONCE,
    OrderedMatrix,
    solve,
    solve_in_blocks,
)


def system(n, seed=0, spread=1.0):
    """A sparse symmetric positive definite matrix whose diagonal spans `spread` orders of magnitude."""
    rng = np.random.default_rng(seed)
    rows, columns = rng.integers(0, n, size=(2, 4 * n))
    half = coo_array((rng.random(4 * n), (rows, columns)), shape=(n, n)).tocsr()
    off = half + half.T
    scale = diags_array(10.0 ** rng.uniform(0, spread / 2, n))
    return csr_array(scale @ (diags_array(np.asarray(off.sum(axis=1)).ravel() + 0.1) - off) @ scale)


def right_hand_sides(n, q, seed=1):
    return np.random.default_rng(seed).normal(size=(n, q))


def from_nothing(A, B, **options):
    return solve(A.__matmul__, B, np.zeros_like(B), **({"rtol": 1e-8, "max_iter": 1000} | options))


def in_blocks(A, B, n_jobs=None, **options):
    def solve_block(columns, times):
        return solve(times, columns, np.zeros_like(columns), **({"rtol": 1e-8, "max_iter": 1000} | options))

    return solve_in_blocks(OrderedMatrix.of(A), B, solve_block, n_jobs)


@given(st.integers(1, 60), st.integers(0, 20), st.integers(0, 10**6))
def test_against_a_direct_solution(n, q, seed):
    A, B = system(n, seed), right_hand_sides(n, q, seed)
    solution = in_blocks(A, B, rtol=1e-12)
    assert solution.converged.all() and solution.x.shape == (n, q)
    assert np.allclose(solution.x, np.linalg.solve(A.toarray(), B), rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("rtol", [1e-3, 1e-8, 1e-12])
def test_the_tolerance_is_kept_by_every_row_of_every_column(rtol):
    A, B = system(400), np.abs(right_hand_sides(400, 20)) ** 9
    B *= 10.0 ** np.arange(-10, 10)
    solution = in_blocks(A, B, rtol=rtol, max_iter=5000)
    residuals = B - A @ solution.x
    assert solution.converged.all() and (np.abs(residuals) <= rtol * solution.x * (1 + 1e-3)).all()
    true = np.linalg.norm(residuals, axis=0) / np.linalg.norm(solution.x, axis=0)
    assert np.allclose(solution.residuals, true, rtol=1e-3, atol=1e-15)


def test_right_hand_sides_of_both_signs_are_solved_against_the_largest_value():
    """By symmetry the middle of this chain is 0, and nothing can be small against that."""
    A = csr_array(diags_array([-1.0, 2.5, -1.0], offsets=[-1, 0, 1], shape=(41, 41)))
    B = np.zeros((41, 1))
    B[[3, -4], 0] = 1.0, -1.0
    solution = from_nothing(A, B, rtol=1e-10)
    assert solution.converged.all() and solution.n_iter[0] < 60
    assert np.allclose(A @ solution.x, B, atol=1e-10)


def test_columns_that_are_done_stand_still():
    A = system(300)
    B = right_hand_sides(300, 6)
    B[:, 2] = 0.0
    B[:, 4] = A @ np.ones(300) * 1e-3
    solution = from_nothing(A, B, rtol=1e-10)
    assert solution.n_iter[2] == 0 and (solution.x[:, 2] == 0).all() and solution.residuals[2] == 0
    assert len(set(solution.n_iter.tolist())) > 1
    for j in range(6):
        alone = from_nothing(A, B[:, [j]], rtol=1e-10)
        assert abs(alone.n_iter[0] - solution.n_iter[j]) <= 2 * CHECK_EVERY  # sums of one column round otherwise
        assert np.allclose(alone.x[:, 0], solution.x[:, j], rtol=1e-7)


def test_a_start_that_is_good_enough_is_left_alone():
    A = system(200)
    X = np.random.default_rng(0).uniform(1, 2, (200, 3))
    solution = solve(A.__matmul__, A @ X, X.copy(), rtol=1e-8, max_iter=100)
    assert (solution.n_iter == 0).all() and np.array_equal(solution.x, X) and solution.converged.all()
    nearly = solve(A.__matmul__, A @ X, X * 1.001, rtol=1e-8, max_iter=1000)
    assert nearly.converged.all() and np.allclose(nearly.x, X, rtol=1e-6)


def test_the_preconditioner_saves_iterations():
    A, B = system(500, spread=6.0), right_hand_sides(500, 1)
    with_diagonal = from_nothing(A, B, max_iter=20_000, inverse_diagonal=1 / A.diagonal()[:, None])
    without = from_nothing(A, B, max_iter=20_000)
    assert with_diagonal.converged.all() and with_diagonal.n_iter[0] * 3 < without.n_iter[0]


@pytest.mark.parametrize("n_columns", [1, 3 * COLUMNS_AT_ONCE + 1])
def test_threads_change_nothing(n_columns):
    A, B = system(700), right_hand_sides(700, n_columns)
    one, four = (in_blocks(A, B, n_jobs=n) for n in (1, 4))
    assert np.array_equal(one.x, four.x) and np.array_equal(one.n_iter, four.n_iter)


def test_a_column_is_given_up_and_said_so():
    A, B = system(400, spread=3.0), right_hand_sides(400, 3)
    solution = from_nothing(A, B, rtol=1e-12, max_iter=5)
    assert not solution.converged.any() and (solution.n_iter == 5).all() and (solution.residuals > 1e-12).all()


def test_an_unreachable_tolerance_ends():
    A, B = system(200), right_hand_sides(200, 2)
    solution = from_nothing(A, B, rtol=1e-30, max_iter=2000)
    assert not solution.converged.any() and (solution.residuals < 1e-12).all()


def test_the_input_is_left_alone():
    A, B = system(50), right_hand_sides(50, 3)
    kept = B.copy()
    from_nothing(A, B)
    assert np.array_equal(B, kept)
