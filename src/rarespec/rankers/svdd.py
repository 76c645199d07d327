"""Support vector data description: how far a row is inside the smallest ball around the known examples."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarespec.rankers._convergence import warn_unless_converged
from rarespec.rankers._kernel import (
    Array,
    Kernel,
    kernel_sums,
    level_on_margin,
    log_rbf_sums,
    require_gamma,
    resolved_gamma,
)
from rarespec.rankers._svdd_programme import solve_svdd
from rarespec.rankers.parameters import (
    is_number,
    require,
    require_count,
    require_one_of,
    require_positive,
    require_share,
)
from rarespec.rankers.ranker import Ranker, Scores
from rarespec.rankers.rows import BLOCK_ROWS, Rows

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
    support_vectors_ : (s, d) float64, the known examples with a weight
    dual_coef_ : (s,) float64, their weights, > 0 and of sum 1
    squared_radius_ : float, R^2 in feature space
    centre_squared_norm_ : float, a'Ka (for the linear kernel, measured from the mean of the known)
    objective_ : float, the dual objective sum a_i K_ii - a'Ka
    centre_ : (d,) float64 for the linear kernel, else None
    gamma_ : float, or None for the linear kernel
    kkt_violation_ : float, in the units of `tol`
    n_iter_ : int, steps taken, at least 1
    converged_ : bool, whether kkt_violation_ <= tol

    References
    ----------
    Tax & Duin (2004), Machine Learning 54, 45.
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
        self.gamma_ = None if self.kernel == "linear" else resolved_gamma(self.gamma, X)
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
