"""TopPush: put the known examples above the highest of all other rows (Li, Jin & Zhou 2014)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rarespec.rankers.linear_map import linear_map
from rarespec.rankers.parameters import warn_unless_converged
from rarespec.rankers.ranker import LinearRanker
from rarespec.rankers.rows import Rows
from rarespec.rankers.toppush.solve import ADVICE, check_settings, solve_all_rows, where_stopped


class TopPush(LinearRanker):
    """Linear ranker that minimises how far known examples fall below the highest unlabelled row.

    The weights w minimise lam/2 |w|^2 + 1/m sum_i l(t - w.x_i) over the m known x_i, where t is the largest score w.x_j
    of the unlabelled rows, or the mean of the `top_k` largest. Every fit carries its certificate, the duality gap.

    All unlabelled rows count as negatives here, so one hidden example of the wanted kind at the top sets the threshold
    for all. That is what `BaggingTopPush` is for.

    Parameters
    ----------
    regularisation : float, default 100
        lam, the paper's value. It has a meaning only relative to |x|^2, X after `scaling`. The default refers to the
        paper's features: 50 principal components of spectra scaled from 0 to 1, not whitened, whose median distance
        from their mean is about 15. Multiply X by 10 and lam must be 100 times larger for the same ranking.
    loss : {"truncated-quadratic", "exponential", "logistic"}
        l(z) = max(0, 1 + z)^2 (the paper's), exp(z) or log(1 + exp(z)).
    top_k : int, default 1
        The threshold is the mean of this many largest negatives (TopPushK): 1 is TopPush. Larger values forgive as
        many hidden positives among the negatives. More than the number of unlabelled rows counts as all of them.
    scaling : {"none", "standard", "whiten"}
        Applied to X inside the estimator, learned from the unlabelled rows: nothing, unit variance of each feature, or
        removal of all correlations (Ledoit-Wolf covariance). `coef_` refers to X as given in any case.
    solver : {"interior-point", "published"}
        "interior-point" stops at the certificate: gap <= tol * objective. "published" is the accelerated gradient
        scheme of the authors with their stopping rule (relative change of the dual objective <= tol after at least ten
        iterations), here with an exact projection; truncated quadratic loss and top_k = 1 only. That rule stops early
        and so regularises in a way of its own; the gap tells by how much.
    tol : float, optional
        1e-6 for "interior-point", 1e-4 for "published" (the published default) when not given.
    max_iter : int, optional
        200 for "interior-point", 10000 for "published", when not given. With more than 2000 unlabelled rows it limits
        each of the problems that are solved one after the other, and `n_iter_` is their sum.

    Attributes
    ----------
    coef_ : (d,) float64
        Weights on X as given.
    duality_gap_ : float
        Objective at the weights minus a lower bound of the optimum.
    relative_gap_ : float
        The same, divided by the objective.
    weight_error_ : float
        Upper bound of |w - w*| / |w|, w* the exact optimum, both in the scaled features.
    objective_ : float
        What was minimised, at the weights.
    n_iter_ : int
        Iterations of the solver.
    converged_ : bool
        Whether the solver stopped by its own rule, and not at `max_iter`.

    References
    ----------
    N. Li, R. Jin, Z.-H. Zhou (2014), "Top rank optimization in linear time", NIPS, 1502.
    V. Macha, L. Adam, V. Smidl (2020), "Nonlinear classifiers for ranking problems based on kernelized SVM": TopPushK.

    Examples
    --------
    >>> import numpy as np
    >>> from rarespec.rankers import TopPush
    >>> X = np.random.default_rng(0).normal(size=(60, 4))
    >>> X[:4] += 6.0  # four rare rows, of which two are known
    >>> y = np.zeros(60, int)
    >>> y[:2] = 1
    >>> sorted(TopPush().fit(X, y).rank(X)[:4].tolist())
    [0, 1, 2, 3]
    """

    def __init__(
        self,
        regularisation: float = 100.0,
        loss: str = "truncated-quadratic",
        top_k: int = 1,
        scaling: str = "none",
        solver: str = "interior-point",
        tol: float | None = None,
        max_iter: int | None = None,
    ) -> None:
        self.regularisation = regularisation
        self.loss = loss
        self.top_k = top_k
        self.scaling = scaling
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter

    def _check_parameters(self) -> None:
        check_settings(self)

    def _fit(self, X: Rows, known: NDArray[np.bool_]) -> None:
        settings = check_settings(self)
        scaled = linear_map(self.scaling, X, ~known)
        solution = solve_all_rows(X, known, scaled, settings)
        self.coef_ = scaled.weights_of(solution.weights[0])
        self.duality_gap_ = float(solution.gap[0])
        self.relative_gap_ = float(solution.relative_gap[0])
        self.weight_error_ = float(solution.weight_error(self.regularisation)[0])
        self.objective_ = float(solution.primal[0])
        self.n_iter_ = int(solution.n_iter[0])
        self.converged_ = bool(solution.converged[0])
        warn_unless_converged(self.converged_, where_stopped(self.relative_gap_, settings), ADVICE)
