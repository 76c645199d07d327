"""TopPush problems and their solution by a general solver."""

from __future__ import annotations

import cvxpy as cp
import numpy as np


def random_problem(seed: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Positives, negatives and regularisation of all sizes and scales; separable and not, with ties."""
    rng = np.random.default_rng(seed)
    m, n, d = rng.choice([1, 2, 3, 10, 30]), rng.choice([1, 2, 20, 80]), rng.choice([1, 3, 10, 40])
    scale = rng.choice([0.1, 1, 10])
    positives = scale * (rng.normal(size=(m, d)) + rng.choice([0, 1, 3]))
    negatives = scale * rng.normal(size=(n, d))
    if rng.random() < 0.2:
        negatives[n // 2 :] = negatives[0]
    return positives, negatives, float(10.0 ** rng.integers(-3, 4))


def _mean_of_largest(scores: cp.Expression, top_k: int) -> cp.Expression:
    if top_k == 1:
        return cp.max(scores)
    # older versions of cvxpy cannot sum as many as there are
    return cp.sum_largest(scores, top_k) / top_k if top_k < scores.size else cp.sum(scores) / scores.size


def optimum(
    positives: np.ndarray, negatives: np.ndarray, lam: float, loss: str, top_k: int = 1
) -> tuple[float, np.ndarray]:
    """Objective and weights by cvxpy."""
    w = cp.Variable(positives.shape[1])
    scores = negatives @ w
    threshold = _mean_of_largest(scores, top_k)
    z = threshold - positives @ w
    fit = {
        "truncated-quadratic": lambda: cp.sum_squares(cp.pos(1 + z)),
        "exponential": lambda: cp.sum(cp.exp(z)),
        "logistic": lambda: cp.sum(cp.logistic(z)),
    }[loss]()
    problem = cp.Problem(cp.Minimize(lam / 2 * cp.sum_squares(w) + fit / len(positives)))
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9)
    return float(problem.value), np.asarray(w.value)


def objective_at(
    w: np.ndarray, positives: np.ndarray, negatives: np.ndarray, lam: float, loss: str, top_k: int
) -> float:
    """Written from the paper's formula, apart from the solvers."""
    scores = np.sort(negatives @ w)[::-1]
    z = scores[:top_k].mean() - positives @ w
    fit = {
        "truncated-quadratic": lambda: np.maximum(0, 1 + z) ** 2,
        "exponential": lambda: np.exp(z),
        "logistic": lambda: np.log1p(np.exp(z)),
    }[loss]()
    return float(lam / 2 * w @ w + fit.mean())
