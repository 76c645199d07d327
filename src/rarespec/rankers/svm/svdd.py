"""Support vector data description: how far a row is inside the smallest ball around the known examples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from rarespec.rankers.parameters import (
    is_number,
    require,
    require_count,
    require_one_of,
    require_positive,
    require_share,
    warn_unless_converged,
)
from rarespec.rankers.ranker import Ranker, Scores
from rarespec.rankers.rows import BLOCK_ROWS, Rows
from rarespec.rankers.svm.kernel import (
    Array,
    Kernel,
    kernel_sums,
    level_on_margin,
    log_rbf_sums,
    require_gamma,
    resolve_gamma,
)

# ---- The quadratic programme of support vector data description: pair steps, with Newton steps on the free
# weights.
#
# Notation (Tax & Duin 2004, eqs. 11-13), for m examples with kernel matrix K and k = diag(K):
#
#     a : (m,) weights; minimise f(a) = a'Ka - k'a  subject to  sum a = 1 and 0 <= a <= C
#     g : (m,) gradient of f, 2Ka - k; up to a constant, minus the squared distance of each example to the centre
#     KKT : g_i >= g_j whenever a_i < C and a_j > 0; the violation is the most by which that fails
#
# f does not change when all examples move together in feature space, so K is centred first, and divided by the mean
# of its diagonal: tolerances are then shares of the mean squared distance of the examples to their mean.


NEWTON_STEPS = 5
"""Newton steps after each round of pair steps, at most; each but the last sets one more weight to a bound."""

RIDGE = 1e-12
"""Added to the diagonal in Newton steps, because K may be singular. A step stays one of descent."""


@dataclass(frozen=True)
class Solution:
    weights: Array
    kkt_violation: float
    n_iter: int
    converged: bool


def solve_svdd(gram: Array, upper: float, tol: float, max_iter: int) -> Solution:
    """Find the smallest soft ball around m examples.

    Parameters
    ----------
    gram : (m, m) float64
        Kernel matrix of the examples.
    upper : float
        C, the largest weight of an example, at least 1/m.
    tol : float
        KKT violation at which to stop.
    max_iter : int
        Steps at most.

    Returns
    -------
    Solution
        Weights of the examples, and how good they are.
    """
    search = _Search(_normalise(gram), upper)
    while search.violation() > tol and search.n_iter < max_iter:
        search.pair_steps(min(search.m, max_iter - search.n_iter), tol)
        search.newton_steps()
        search.refresh()
    violation = search.violation()
    return Solution(search.a, violation, max(1, search.n_iter), violation <= tol)


def _normalise(gram: Array) -> Array:
    means = gram.mean(axis=0)
    centred = gram - means - means[:, None] + means.mean()
    scale = np.trace(centred) / len(gram)
    noise = 1e-14 * np.abs(np.diag(gram)).max()  # identical examples: nothing but rounding is left
    return centred / scale if scale > noise else np.zeros_like(gram)


class _Search:
    """A feasible point, its gradient, and the steps that improve it."""

    def __init__(self, K: Array, upper: float) -> None:
        self.K, self.k, self.C, self.m = K, np.diag(K).copy(), max(upper, 1.0 / len(K)), len(K)
        self.a = np.full(self.m, 1.0 / self.m)
        self.n_iter = 0
        self.refresh()

    def refresh(self) -> None:
        """The gradient anew: updates leave rounding errors behind."""
        self.g = 2.0 * self.K @ self.a - self.k

    def violation(self) -> float:
        can_grow, can_shrink = self.a < self.C, self.a > 0
        if not can_grow.any():
            return 0.0
        # np.maximum and not max: a NaN must show, or an overflow would pass for convergence
        return float(np.maximum(0.0, self.g[can_shrink].max() - self.g[can_grow].min()))

    def pair_steps(self, n_steps: int, tol: float) -> None:
        """Move weight between two examples at a time: from the one that gains most to the worst violator."""
        for _ in range(n_steps):
            i = int(np.where(self.a < self.C, self.g, np.inf).argmin())
            excess = np.where(self.a > 0, self.g - self.g[i], 0.0)
            if excess.max() <= tol:
                return
            # Along (e_i - e_j) f falls by excess^2 / (4 curvature) at its minimum: take the j that gains most.
            curvature = np.maximum(self.k + self.k[i] - 2.0 * self.K[i], RIDGE)
            j = int((np.maximum(excess, 0.0) ** 2 / curvature).argmax())
            self._move(i, j, excess[j] / (2.0 * curvature[j]))
            self.n_iter += 1

    def _move(self, i: int, j: int, amount: float) -> None:
        amount = min(amount, self.C - self.a[i], self.a[j])
        # a weight that reaches its bound is set to it exactly
        self.a[i] = self.C if amount == self.C - self.a[i] else self.a[i] + amount
        self.a[j] = 0.0 if amount == self.a[j] else self.a[j] - amount
        self.g += 2.0 * amount * (self.K[i] - self.K[j])

    def newton_steps(self) -> None:
        """Minimise over the weights that are at no bound; stop short where one of them reaches its bound."""
        for _ in range(NEWTON_STEPS):
            free = np.flatnonzero((self.a > 0) & (self.a < self.C))
            if len(free) < 2 or not self._newton_step(free):
                return

    def _newton_step(self, free: NDArray[np.intp]) -> bool:
        """True if a bound was reached, so that a further step makes sense."""
        K_free = self.K[np.ix_(free, free)]
        try:
            p = _newton_direction(K_free, self.g[free])
        except np.linalg.LinAlgError:  # not positive definite by rounding: pair steps go on without it
            return False
        slope, curvature = self.g[free] @ p, 2.0 * p @ K_free @ p
        if slope >= 0:
            return False
        with np.errstate(divide="ignore"):
            room = np.where(p > 0, self.C - self.a[free], self.a[free]) / np.abs(p)
        nearest = int(room.argmin())
        blocked = bool(room[nearest] * curvature <= -slope)
        length = room[nearest] if blocked else -slope / curvature
        self._step(free, length * p)
        if blocked:
            self.a[free[nearest]] = self.C if p[nearest] > 0 else 0.0
        self.n_iter += 1
        return blocked

    def _step(self, free: NDArray[np.intp], change: Array) -> None:
        self.a[free] = np.clip(self.a[free] + change, 0.0, self.C)
        self.g += 2.0 * self.K[:, free] @ change


def _newton_direction(K_free: Array, g_free: Array) -> Any:
    """The p with sum 0 that minimises g'p + p'Kp."""
    factor = cho_factor(2.0 * K_free + RIDGE * len(K_free) * np.eye(len(K_free)))
    for_gradient, for_sum = cho_solve(factor, np.column_stack([g_free, np.ones(len(g_free))])).T
    # Lagrange: p = H^-1 (v 1 - g) with v such that sum p = 0; the mean is what rounding has left of that sum
    p = for_sum * (for_gradient.sum() / for_sum.sum()) - for_gradient
    return p - p.mean()


KERNELS = ("rbf", "linear", "poly")


class SVDD(Ranker):
    """Smallest soft ball around the known examples (Tax & Duin 2004), trained on them alone.

    Minimises R^2 + C sum_i max(0, |phi(x_i) - c|^2 - R^2), C = 1 / (nu m), over the centre c and the radius R, for m
    known examples in the feature space of a kernel. Solved through its own dual programme, with the KKT violation
    reported. The score is

    - `linear`: R^2 - |x - c|^2 in the space of the features: inside the ball > 0.
    - `poly`: the same in the kernel's feature space, where |phi(x)| grows fast with |x|.
    - `rbf`: R^2 - |phi(x) - c|^2 has the order of s(x) = sum_i a_i K(x_i, x), as K(x, x) = 1. The score is
      log s(x) minus its value on the boundary: the same order and sign, without far rows being rounded to a tie.

    Not to be confused with `OCSVM`, which separates the known from the origin. For `rbf` (any kernel with constant
    K(x, x)) both have the same optimum for the same nu and gamma, and so the same ranking as far as both solvers reach
    it: rows whose scores agree to about 1e-6 may change places. For `linear` and `poly` they rank differently. With one
    known example, `linear` and `rbf` rank by minus the Euclidean distance.

    Parameters
    ----------
    kernel : "rbf" (default), "linear" or "poly"
        The space in which the ball lies.
    nu : float in (0, 1], default 0.5
        At most this share of the known lies outside the ball; C = 1 / (nu m). As in `OCSVM`. A nu <= 1 / m gives the
        hard ball, which holds all of them.
    gamma : "scale" (default) or float > 0
        Of exp(-gamma |x - z|^2) and (gamma x.z + coef0)^degree. "scale" is 1 / (sum of the variances of the columns
        of X), over known and unlabelled rows alike, so that it has a meaning from one known example up.
    degree : int >= 1, default 3
        Of the poly kernel.
    coef0 : float >= 0, default 1.0
        Of the poly kernel; Tax & Duin write (x.z + 1)^degree.
    tol : float > 0, default 1e-8
        KKT violation at which the solver stops, as a share of the mean squared distance of the known to their mean.
    max_iter : int >= 1, default 1_000_000
        Steps of the solver at most.

    Attributes
    ----------
    support_vectors_ : (s, d) float64
        The known examples with a weight.
    dual_coef_ : (s,) float64
        Their weights, > 0 and of sum 1.
    squared_radius_ : float
        R^2 in feature space.
    centre_squared_norm_ : float
        a'Ka (for the linear kernel, measured from the mean of the known).
    objective_ : float
        The dual objective sum a_i K_ii - a'Ka.
    centre_ : (d,) float64 or None
        For the linear kernel; None for the others.
    gamma_ : float or None
        Of the kernel; None for the linear one.
    kkt_violation_ : float
        In the units of `tol`.
    n_iter_ : int
        Steps taken, at least 1.
    converged_ : bool
        Whether kkt_violation_ <= tol.

    References
    ----------
    Tax & Duin (2004), Machine Learning 54, 45.

    Examples
    --------
    >>> import numpy as np
    >>> from rarespec.rankers import SVDD
    >>> X = np.random.default_rng(0).normal(size=(60, 4))
    >>> X[:4] += 6.0  # four rare rows, of which two are known
    >>> y = np.zeros(60, int)
    >>> y[:2] = 1
    >>> sorted(SVDD().fit(X, y).rank(X)[:4].tolist())
    [0, 1, 2, 3]
    """

    support_vectors_: Array
    dual_coef_: Array
    centre_: Any
    gamma_: Any
    squared_radius_: float
    centre_squared_norm_: float
    objective_: float
    kkt_violation_: float
    n_iter_: int
    converged_: bool

    def __init__(
        self,
        kernel: str = "rbf",
        nu: float = 0.5,
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 1.0,
        tol: float = 1e-8,
        max_iter: int = 1_000_000,
    ) -> None:
        self.kernel = kernel
        self.nu = nu
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.tol = tol
        self.max_iter = max_iter

    def _fit(self, X: Rows, known: NDArray[np.bool_]) -> None:
        self._check_parameters()
        examples = X[known].astype(np.float64)
        self.gamma_ = None if self.kernel == "linear" else resolve_gamma(self.gamma, X)
        # a ball moves along with its examples, so it is found where rounding errors are small
        origin = examples.mean(axis=0) if self.kernel == "linear" else np.zeros(examples.shape[1])
        gram = self._kernel().between(examples - origin, examples - origin)
        upper = 1.0 / (self.nu * len(examples))
        solution = solve_svdd(gram, upper, self.tol, self.max_iter)
        self.kkt_violation_, self.n_iter_ = solution.kkt_violation, solution.n_iter
        self.converged_ = solution.converged
        self._keep_ball(examples, origin, gram, solution.weights, upper)
        where = f"at a KKT violation of {self.kkt_violation_:.2g}, above tol={self.tol:.2g}, after {self.n_iter_} steps"
        warn_unless_converged(self.converged_, where, "raise tol, max_iter or nu")

    def _keep_ball(self, examples: Array, origin: Array, gram: Array, weights: Array, upper: float) -> None:
        self.support_vectors_, self.dual_coef_ = examples[weights > 0], weights[weights > 0]
        similarity = gram @ weights
        self.centre_squared_norm_ = float(weights @ similarity)
        squared_distances = np.diag(gram) - 2.0 * similarity + self.centre_squared_norm_
        self.squared_radius_ = max(0.0, -level_on_margin(-squared_distances, weights, upper))
        self.objective_ = float(weights @ np.diag(gram)) - self.centre_squared_norm_
        self.centre_ = origin + weights @ (examples - origin) if self.kernel == "linear" else None

    def _kernel(self) -> Kernel:
        return Kernel(self.kernel, self.gamma_ or 1.0, self.degree, self.coef0)

    def _check_parameters(self) -> None:
        require_one_of(self, "kernel", KERNELS)
        require_share(self, "nu")
        require_gamma(self)
        require_count(self, "degree", "max_iter")
        require(self, "coef0", is_number(self.coef0) and 0 <= self.coef0 < np.inf, "a number >= 0")
        require_positive(self, "tol")

    def _scores(self, X: Rows) -> Scores:
        if self.centre_ is not None:
            return self.squared_radius_ - _squared_distances_to(X, self.centre_)
        if self.kernel == "rbf":
            # |phi(x) - c|^2 = 1 - 2 s(x) + a'Ka equals R^2 where s(x) is this
            on_boundary = (1.0 + self.centre_squared_norm_ - self.squared_radius_) / 2.0
            return log_rbf_sums(self.gamma_, X, self.support_vectors_, self.dual_coef_ / on_boundary)
        similarity = kernel_sums(self._kernel(), X, self.support_vectors_, self.dual_coef_)
        distances = self._kernel().with_itself(X) - 2.0 * similarity + self.centre_squared_norm_
        return self.squared_radius_ - distances


def _squared_distances_to(X: Rows, centre: Array) -> Scores:
    distances = np.empty(len(X))
    for start in range(0, len(X), BLOCK_ROWS):
        block = slice(start, start + BLOCK_ROWS)
        distances[block] = np.square(X[block] - centre).sum(axis=1)
    return distances
