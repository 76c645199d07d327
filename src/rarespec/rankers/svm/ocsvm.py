"""One-class support vector machine: how far a row is inside the region that holds the known examples."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarespec.rankers.parameters import require_one_of, require_share, unheard, warn_unless_converged
from rarespec.rankers.ranker import Ranker, Scores, weighted_sums
from rarespec.rankers.rows import Rows
from rarespec.rankers.svm.kernel import Array, Kernel, level_on_margin, log_rbf_sums, require_gamma, resolve_gamma

SOLVER_TOL = 1e-6
"""Tolerance of libsvm, relative to the mean of the kernel's diagonal: its kernel matrix has single precision."""

MAX_STEPS = 200_000
"""Steps of libsvm, at most: it creeps where the origin lies among the examples."""


class OCSVM(Ranker):
    """One-class support vector machine (Schölkopf et al. 2001), trained on the known examples alone.

    The dual weights a minimise a'Ka / 2 with 0 <= a <= 1 and sum a = nu m, for m known examples. With s(x) the sum of
    a_i K(x_i, x) and rho its value on the boundary, the score is

    - `rbf`: log s(x) - log rho. This has the order and the sign of the usual s(x) - rho, and it still tells rows apart
      that are so far away that s(x) would be rounded to 0. With one known example the order is that of minus the
      Euclidean distance, whatever nu and gamma are.
    - `linear`: s(x) - rho = coef_ . x + intercept_. It separates the known from the origin, so it depends on where the
      origin is: features should be centred on the survey, as principal components are. If the origin lies among the
      known, no direction is left and the ranking means nothing.

    Not to be confused with `SVDD`, which draws a ball: the same ranking for `rbf`, another one for `linear`.

    Parameters
    ----------
    kernel : "rbf" (default) or "linear"
        The comparison of Du et al. (2016) does not say which was used.
    nu : float in (0, 1], default 0.5
        At most this share of the known lies outside the boundary, and at least this share supports it; 0.5 is
        scikit-learn's default, Du et al. tried 0.1 to 0.5.
    gamma : "scale" (default) or float > 0
        Of the rbf kernel exp(-gamma |x - z|^2). "scale" is 1 / (sum of the variances of the columns), taken over all
        rows of X. That is scikit-learn's rule for centred features, except that scikit-learn would take the known
        alone, which have no variance if there is one.

    Attributes
    ----------
    support_vectors_ : (s, d) float64
        The known examples with a weight.
    dual_coef_ : (s,) float64
        Their weights, all > 0.
    offset_ : float
        rho.
    gamma_ : float or None
        Of the rbf kernel; None for the linear one.
    coef_ : (d,) float64 or None
        Weights of the linear kernel; None for rbf.
    intercept_ : float
        -rho.
    converged_ : bool
        Whether the machine was solved; if not, a ConvergenceWarning was given as well.

    References
    ----------
    Schölkopf, Platt, Shawe-Taylor, Smola & Williamson (2001), Neural Computation 13, 1443.

    Examples
    --------
    >>> import numpy as np
    >>> from rarespec.rankers import OCSVM
    >>> X = np.random.default_rng(0).normal(size=(60, 4))
    >>> X[:4] += 6.0  # four rare rows, of which two are known
    >>> y = np.zeros(60, int)
    >>> y[:2] = 1
    >>> sorted(OCSVM().fit(X, y).rank(X)[:4].tolist())
    [0, 1, 2, 3]
    """

    support_vectors_: Array
    dual_coef_: Array
    coef_: Any
    gamma_: Any
    offset_: float
    intercept_: float
    converged_: bool

    def __init__(self, kernel: str = "rbf", nu: float = 0.5, gamma: float | str = "scale") -> None:
        self.kernel = kernel
        self.nu = nu
        self.gamma = gamma

    def feature_weights(self) -> Array | None:
        """Return `coef_`, (d,), of a linear kernel; None for rbf."""
        weights: Array | None = self.coef_
        return weights

    def _fit(self, X: Rows, known: NDArray[np.bool_]) -> None:
        self._check_parameters()
        examples = X[known].astype(np.float64)
        self.gamma_ = resolve_gamma(self.gamma, X) if self.kernel == "rbf" else None
        gram = Kernel(self.kernel, self.gamma_ or 1.0).between(examples, examples)
        weights, self.converged_ = _one_class_weights(gram, self.nu)
        self.support_vectors_, self.dual_coef_ = examples[weights > 0], weights[weights > 0]
        self.offset_ = level_on_margin(gram @ weights, weights, upper=1.0)
        self.intercept_ = -self.offset_
        self.coef_ = self.dual_coef_ @ self.support_vectors_ if self.kernel == "linear" else None
        warn_unless_converged(self.converged_, f"after {MAX_STEPS} steps", "centre X on the survey, or use rbf")

    def _check_parameters(self) -> None:
        require_one_of(self, "kernel", ("rbf", "linear"))
        require_share(self, "nu")
        require_gamma(self)

    def _scores(self, X: Rows) -> Scores:
        if self.coef_ is not None:
            return weighted_sums(X, self.coef_) + self.intercept_
        return log_rbf_sums(self.gamma_, X, self.support_vectors_, self.dual_coef_ / self.offset_)


def _one_class_weights(gram: Array, nu: float) -> tuple[Array, bool]:
    """Dual weights (m,), in [0, 1] and of sum nu m, and whether the solver converged."""
    from sklearn.svm import OneClassSVM

    # below 1/m no weight can reach its bound: they are those of 1/m in other units, which libsvm's tolerance ignores
    solvable = max(nu, 1.0 / len(gram))
    if solvable == 1:
        return np.full(len(gram), nu), True  # nothing to solve, and libsvm would find no boundary
    # the weights do not depend on the units of the kernel, but libsvm's tolerance does
    size = np.diag(gram).mean()
    machine = OneClassSVM(kernel="precomputed", nu=solvable, tol=SOLVER_TOL, max_iter=MAX_STEPS)
    with unheard():
        machine.fit(gram / size if size > 0 else gram)
    weights = np.zeros(len(gram))
    weights[machine.support_] = machine.dual_coef_[0] * (nu / solvable)
    return weights, machine.fit_status_ == 0
