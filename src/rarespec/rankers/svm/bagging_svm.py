"""Bagging SVM: the mean of many small machines, each of the known against a few random unlabelled rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarespec.rankers.bags import draw_bags
from rarespec.rankers.parameters import (
    require,
    require_count,
    require_one_of,
    require_positive,
    unheard,
    warn_unless_converged,
)
from rarespec.rankers.ranker import Ranker, Scores, weighted_sums
from rarespec.rankers.rows import Rows, fingerprint_of_rows
from rarespec.rankers.svm.kernel import Array, Kernel, Scaling, kernel_sums, require_gamma, resolve_gamma

SOLVER_TOL = 1e-4
"""Tolerance of libsvm, in units of the margin. A tighter one costs many times the steps where rows are tied."""

MAX_STEPS = 200_000
"""Steps of libsvm for each machine, at most: it creeps where C is large and rows of both kinds are equal."""


class BaggingSVM(Ranker):
    """Mean decision value of `n_bags` support vector machines (Mordelet & Vert 2014).

    Each machine separates the known from `bag_size` random unlabelled rows. Decision values are averaged, never
    probabilities: fitted to so few rows, those can turn a ranking upside down.

    Fitted rows are scored out of bag: a machine has no say about the unlabelled rows that it was shown as negatives.
    `decision_function` of the very matrix that was fitted (same shape, same values) returns these `scores_`; a row
    drawn into every bag gets the plain mean over all machines, as do the known and any other matrix. So the same row
    can have two scores, one as a member of the fitted matrix and one outside of it.

    All linear machines together are one vector, and all rbf machines one sum of kernels, so that scoring does not
    depend on the number of bags (linear) or grows with the rows drawn (rbf).

    Rows are centred and divided by one number inside, the root of the mean squared distance to the mean: C refers to
    that scale and not to the units of X.

    Not to be confused with `BiasedSVM`, which is one machine that sees every unlabelled row.

    Parameters
    ----------
    kernel : "linear" (default) or "rbf"
        With rbf, rows far from all known and drawn rows get the same score.
    C : float > 0, default 100.0
        Cost of an error. The grid of Du et al. (2016) is e^-8 to e^8. The default, about e^4.6, was picked on simulated
        surveys of five rare classes, three draws each: with ten known, e^0 and less ranked far worse in all five,
        and between e^4 and e^8 some gained and some lost.
    n_bags : int >= 1, default 30
        As in Mordelet & Vert, T.
    bag_size : int >= 1 or None, default None
        Unlabelled rows in a bag, K; None for as many as there are known, as in Mordelet & Vert. All unlabelled rows if
        there are fewer.
    class_weight : "balanced" (default) or None
        Whether known and drawn rows have the same total cost. Without effect where a bag is as large as the known.
    gamma : "scale" (default) or float > 0
        Of the rbf kernel; "scale" is 1 / (sum of the variances of the columns of X).
    random_state : int, RandomState or None
        Draws the bags, all of them before the first machine is trained.

    Attributes
    ----------
    scores_ : (n,) float64
        Of the fitted rows, out of bag.
    coef_ : (d,) float64 or None
        Mean weights, for X as given; None for rbf.
    intercept_ : float
        Mean intercept.
    support_vectors_ : (s, d) float64 or None
        For rbf: the known and drawn rows with a weight.
    dual_coef_ : (s,) float64 or None
        For rbf: their weights.
    gamma_ : float or None
        For rbf: gamma of the kernel.
    converged_ : bool
        Whether every machine was solved; if not, a ConvergenceWarning was given as well.
    fingerprint_ : str
        Of the fitted matrix, by which it is recognised.

    References
    ----------
    Mordelet & Vert (2014), Pattern Recognition Letters 37, 201.

    Examples
    --------
    >>> import numpy as np
    >>> from rarespec.rankers import BaggingSVM
    >>> X = np.random.default_rng(0).normal(size=(60, 4))
    >>> X[:4] += 6.0  # four rare rows, of which two are known
    >>> y = np.zeros(60, int)
    >>> y[:2] = 1
    >>> sorted(BaggingSVM(random_state=0).fit(X, y).rank(X)[:4].tolist())
    [0, 1, 2, 3]
    """

    coef_: Any
    support_vectors_: Any
    dual_coef_: Any
    gamma_: Any
    intercept_: float
    scores_: Scores
    converged_: bool
    fingerprint_: str

    def __init__(
        self,
        kernel: str = "linear",
        C: float = 100.0,
        n_bags: int = 30,
        bag_size: int | None = None,
        class_weight: str | None = "balanced",
        gamma: float | str = "scale",
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.n_bags = n_bags
        self.bag_size = bag_size
        self.class_weight = class_weight
        self.gamma = gamma
        self.random_state = random_state

    def feature_weights(self) -> Array | None:
        """Return `coef_`, (d,), of a linear kernel; None for rbf."""
        weights: Array | None = self.coef_
        return weights

    def _fit(self, X: Rows, known: NDArray[np.bool_]) -> None:
        self._check_parameters()
        bag_size = int(known.sum()) if self.bag_size is None else self.bag_size
        bags = draw_bags(known, self.n_bags, bag_size, self.random_state)
        self.gamma_ = resolve_gamma(self.gamma, X) if self.kernel == "rbf" else None
        drawn = np.unique(bags)
        machines = self._train(X, np.flatnonzero(known), drawn, bags)
        self._keep_mean(machines)
        self.scores_ = self._mean_values(X)
        self.scores_[drawn] = _out_of_bag(self._values(machines, X[drawn]), _membership(drawn, bags))
        self.fingerprint_ = fingerprint_of_rows(X)
        self.converged_ = machines.n_unsolved == 0
        where = f"after {MAX_STEPS} steps in {machines.n_unsolved} of {self.n_bags} machines"
        warn_unless_converged(self.converged_, where, "use a smaller C")

    def _train(self, X: Rows, known: NDArray[np.intp], drawn: NDArray[np.intp], bags: NDArray[np.intp]) -> _Machines:
        """One machine for each bag, as weights of all known and drawn rows."""
        rows = np.concatenate([known, drawn])
        vectors, scaling = X[rows].astype(np.float64), Scaling.of(X)
        scaled = scaling.scale(vectors)
        weights, intercepts, n_unsolved = np.zeros((len(rows), len(bags))), np.empty(len(bags)), 0
        for t, bag in enumerate(bags):
            members = np.concatenate([np.arange(len(known)), len(known) + np.searchsorted(drawn, bag)])
            with unheard():
                machine = self._machine(scaling.unit).fit(scaled[members], np.arange(len(members)) < len(known))
            weights[members[machine.support_], t] = machine.dual_coef_[0]
            intercepts[t] = machine.intercept_[0]
            n_unsolved += int(machine.fit_status_ != 0)
        if self.kernel == "rbf":
            return _Machines(vectors, weights, intercepts, n_unsolved)
        coefs = scaled.T @ weights / scaling.unit
        return _Machines(None, coefs, intercepts - scaling.centre @ coefs, n_unsolved)

    def _machine(self, unit: float) -> Any:
        from sklearn.svm import SVC

        gamma = 1.0 if self.gamma_ is None else self.gamma_ * unit**2
        limits = {"tol": SOLVER_TOL, "max_iter": MAX_STEPS}
        return SVC(kernel=self.kernel, C=self.C, gamma=gamma, class_weight=self.class_weight, **limits)

    def _keep_mean(self, machines: _Machines) -> None:
        mean = machines.weights.mean(axis=1)
        self.intercept_ = float(machines.intercepts.mean())
        if machines.vectors is None:
            self.coef_, self.support_vectors_, self.dual_coef_ = mean, None, None
        else:
            self.coef_, self.support_vectors_, self.dual_coef_ = None, machines.vectors[mean != 0], mean[mean != 0]

    def _values(self, machines: _Machines, rows: Rows) -> Array:
        """Value of each row by each machine, (n, n_bags)."""
        if machines.vectors is None:
            return rows.astype(np.float64) @ machines.weights + machines.intercepts
        return kernel_sums(Kernel("rbf", self.gamma_), rows, machines.vectors, machines.weights) + machines.intercepts

    def _mean_values(self, X: Rows) -> Scores:
        """Mean over all machines, (n,)."""
        if self.coef_ is not None:
            return weighted_sums(X, self.coef_) + self.intercept_
        return kernel_sums(Kernel("rbf", self.gamma_), X, self.support_vectors_, self.dual_coef_) + self.intercept_

    def _scores(self, X: Rows) -> Scores:
        if len(X) == len(self.scores_) and fingerprint_of_rows(X) == self.fingerprint_:
            return self.scores_.copy()
        return self._mean_values(X)

    def _check_parameters(self) -> None:
        require_one_of(self, "kernel", ("linear", "rbf"))
        require_positive(self, "C")
        require_count(self, "n_bags")
        require_count(self, "bag_size", optional=True)
        fine = self.class_weight is None or (isinstance(self.class_weight, str) and self.class_weight == "balanced")
        require(self, "class_weight", fine, "'balanced' or None")
        require_gamma(self)


@dataclass(frozen=True)
class _Machines:
    """vectors (s, d) with weights (s, n_bags) for rbf; no vectors and weights (d, n_bags) for linear."""

    vectors: Array | None
    weights: Array
    intercepts: Array
    n_unsolved: int


def _membership(drawn: NDArray[np.intp], bags: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Whether each drawn row is in each bag, (n_drawn, n_bags)."""
    member = np.zeros((len(drawn), len(bags)), dtype=bool)
    for t, bag in enumerate(bags):
        member[np.searchsorted(drawn, bag), t] = True
    return member


def _out_of_bag(values: Array, member: NDArray[np.bool_]) -> Scores:
    """Mean of each row's values over the bags that it is not in; over all bags if it is in every one."""
    heard = ~member | member.all(axis=1, keepdims=True)
    return np.average(values, axis=1, weights=heard)
