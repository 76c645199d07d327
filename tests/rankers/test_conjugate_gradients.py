"""Conjugate gradients against direct solutions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array, diags_array, random_array

from rarespec.rankers._conjugate_gradients import COLUMNS_AT_ONCE, OrderedMatrix, solve


def system(n, seed=0, spread=1.0):
    """A sparse symmetric positive definite matrix whose diagonal spans `spread` orders of magnitude."""
    rng = np.random.default_rng(seed)
    half = random_array((n, n), density=min(1.0, 4 / n), rng=rng)
    off = half + half.T
    scale = diags_array(10.0 ** rng.uniform(0, spread / 2, n))
    return csr_array(scale @ (diags_array(np.asarray(off.sum(axis=1)).ravel() + 0.1) - off) @ scale)


def right_hand_sides(n, q, seed=1):
    return np.random.default_rng(seed).normal(size=(n, q))


@given(st.integers(1, 60), st.integers(0, 20), st.integers(0, 10**6))
def test_against_a_direct_solution(n, q, seed):
    A, B = system(n, seed), right_hand_sides(n, q, seed)
    solution = solve(A, B, rtol=1e-12)
    assert solution.converged.all() and solution.x.shape == (n, q)
    assert np.allclose(solution.x, np.linalg.solve(A.toarray(), B), rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("rtol", [1e-3, 1e-8, 1e-12])
@pytest.mark.parametrize("kind", ["matrix", "ordered", "callable"])
def test_the_tolerance_is_kept_by_every_column(rtol, kind):
    A, B = system(400, spread=3.0), right_hand_sides(400, 20)
    B *= 10.0 ** np.arange(-10, 10)
    given_as = {"matrix": A, "ordered": OrderedMatrix.of(A), "callable": lambda block: A @ block}[kind]
    solution = solve(given_as, B, rtol=rtol, max_iter=5000)
    true = np.linalg.norm(B - A @ solution.x, axis=0) / np.linalg.norm(B, axis=0)
    assert solution.converged.all() and (true <= rtol * (1 + 1e-6)).all()
    assert np.allclose(solution.residuals, true, rtol=1e-3, atol=1e-15)


def test_columns_that_are_done_leave_the_block():
    A = system(300)
    B = right_hand_sides(300, 6)
    B[:, 2] = 0.0
    B[:, 4] = A @ np.ones(300) * 1e-3
    widths = []

    def product(block):
        widths.append(block.shape[1])
        return A @ block

    solution = solve(product, B, rtol=1e-10, diagonal=A.diagonal())
    assert solution.n_iter[2] == 0 and (solution.x[:, 2] == 0).all() and solution.residuals[2] == 0
    assert widths[0] == 5 and min(widths) < 5 and len(widths) < solution.n_iter.sum()
    assert len(set(solution.n_iter.tolist())) > 1


def test_the_preconditioner_saves_iterations():
    A, B = system(500, spread=6.0), right_hand_sides(500, 1)
    with_diagonal = solve(A, B, rtol=1e-8, max_iter=20_000)
    without = solve(A, B, rtol=1e-8, max_iter=20_000, diagonal=np.ones(500))
    assert with_diagonal.converged.all() and with_diagonal.n_iter[0] * 3 < without.n_iter[0]


def test_threads_change_nothing():
    A, B = system(700), right_hand_sides(700, 3 * COLUMNS_AT_ONCE + 1)
    one, four = (solve(A, B, n_jobs=n) for n in (1, 4))
    assert np.array_equal(one.x, four.x) and np.array_equal(one.n_iter, four.n_iter)


def test_a_column_is_given_up_and_said_so():
    A, B = system(400, spread=3.0), right_hand_sides(400, 3)
    solution = solve(A, B, rtol=1e-12, max_iter=5)
    assert not solution.converged.any() and (solution.n_iter == 5).all() and (solution.residuals > 1e-12).all()


def test_an_unreachable_tolerance_ends():
    A, B = system(200), right_hand_sides(200, 2)
    solution = solve(A, B, rtol=1e-30, max_iter=100_000)
    assert not solution.converged.any() and (solution.residuals < 1e-12).all()


def test_a_matrix_that_is_not_positive_definite_is_refused():
    with pytest.raises(ValueError, match="not positive definite"):
        solve(csr_array(np.diag([1.0, -1.0])), np.ones((2, 1)))


def test_the_input_is_left_alone():
    A, B = system(50), right_hand_sides(50, 3)
    kept = B.copy()
    solve(A, B)
    assert np.array_equal(B, kept)
