"""BipartiteLogistic: known above unlabelled by a balanced univariate loss, on all rows or on random bags."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from rarespec.rankers._bags import draw_bags
from rarespec.rankers._balanced_loss import LOSSES, BalancedLoss, Minimum, minimise
from rarespec.rankers._convergence import warn_unless_converged
from rarespec.rankers.linear import LinearRanker
from rarespec.rankers.linear_map import SCALINGS, LinearMap, linear_map
from rarespec.rankers.parameters import require_count, require_one_of, require_positive
from rarespec.rankers.rows import Rows


class BipartiteLogistic(LinearRanker):
    """Linear ranker that treats unlabelled rows as negatives, with both classes given the same total weight.

    Minimises, over weights w and an intercept b on the scaled rows z,

        1/2 [ mean over known of l(z.w + b) + mean over negatives of l(-(z.w + b)) ] + regularisation/2 |w|^2

    with l(t) = log(1 + exp(-t)) or exp(-t). A univariate loss of this balanced kind bounds the rank loss (one minus the
    AUC), at a cost linear in the number of rows where pairs are quadratic. The intercept does not matter to the ranking
    and is not kept.

    With `n_bags=None` all unlabelled rows are the negatives (Kotlowski et al. 2011). With bags, each of `n_bags` fits
    sees the known and `bag_size` random unlabelled rows (the random negatives of Lee et al. 2013), and the weights are
    averaged: one vector, whatever the number of bags. Bags spread the risk that hidden examples among the negatives
    spoil a fit, and cost little where a survey is very large.

    Parameters
    ----------
    loss : "logistic" (default) or "exponential"
        The exponential loss with its best intercept is the pairwise exponential loss of RankBoost; a hidden example
        among the negatives weighs heavily in it.
    regularisation : float, default 1.0
        Must be positive, as a few known examples can always be separated. It refers to rows as scaled by `scaling`:
        with "whiten" and "standard" the default means the same for every survey, with "none" it depends on the units.
        The default was chosen on whitened features of simulated surveys, for both losses.
    scaling : "whiten" (default), "standard" or "none"
        Learned from the unlabelled rows: decorrelated and of variance 1 (Ledoit-Wolf covariance), each feature of
        variance 1, or as given.
    n_bags : int or None, default None
        Number of bags; None for one fit on all rows.
    bag_size : int, default 200
        Unlabelled rows in a bag, drawn without repetition (all of them if there are fewer). Not used without bags.
    tol : float, default 1e-8
        Newton decrement at which a fit ends; half its square estimates what the loss is above its minimum.
    max_iter : int, default 100
        Newton steps at most.
    random_state : int, RandomState or None
        Draws the bags.

    Attributes
    ----------
    coef_ : (d,) float64
        Weights on X as given: the mean over the bags.
    gradient_norm_ : float
        Norm of the gradient by (w, b) where the fit ended; the largest over the bags.
    newton_decrement_ : float
        The largest over the bags.
    n_iter_ : int
        Newton steps; the largest over the bags.
    converged_ : bool
        Whether every fit reached `tol`.

    Notes
    -----
    With the logistic loss, scaling="none" and no bags this is `LogisticRegression(class_weight="balanced", C=c)` with
    regularisation = 1 / (c n), n the number of all rows. As the regularisation grows, the ranking with scaling="whiten"
    becomes that of `MatchedFilter(method="lda")`: the default lies between that and a freer fit. A Newton step costs
    n d^2 + d^3: meant for up to some hundreds of features. Not TopPush: that looks at the highest negative
    alone, this at all of them.

    References
    ----------
    W. Kotlowski, K. Dembczynski, E. Huellermeier (2011), "Bipartite ranking through minimization of univariate loss",
    ICML, 1113.
    C. H. Lee, O. Koyejo, J. Ghosh (2013), EMBC, 3459.
    """

    gradient_norm_: float
    newton_decrement_: float
    n_iter_: int
    converged_: bool

    def __init__(
        self,
        loss: Literal["logistic", "exponential"] = "logistic",
        regularisation: float = 1.0,
        scaling: Literal["whiten", "standard", "none"] = "whiten",
        n_bags: int | None = None,
        bag_size: int = 200,
        tol: float = 1e-8,
        max_iter: int = 100,
        random_state: int | RandomState | None = None,
    ):
        self.loss = loss
        self.regularisation = regularisation
        self.scaling = scaling
        self.n_bags = n_bags
        self.bag_size = bag_size
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def _fit(self, X: Rows, known: NDArray[np.bool_]) -> None:
        self._check_parameters()
        # blocks and bags are small: more BLAS threads would be slower, and could change the last digit
        with threadpool_limits(1, user_api="blas"):
            scaled = self._centred_map(X, known)
            minima = self._minima(X, known, scaled)
        self.coef_ = scaled.weights_of(np.mean([minimum.weights for minimum in minima], axis=0))
        self.gradient_norm_ = max(minimum.gradient_norm for minimum in minima)
        self.newton_decrement_ = max(minimum.newton_decrement for minimum in minima)
        self.n_iter_ = max(minimum.n_iter for minimum in minima)
        self.converged_ = all(minimum.converged for minimum in minima)
        decrement = f"at a Newton decrement of {self.newton_decrement_:.2g}, above tol={self.tol:.2g}"
        advice = "raise tol, max_iter or regularisation"
        warn_unless_converged(self.converged_, f"{decrement}, after {self.n_iter_} steps", advice)

    def _minima(self, X: Rows, known: NDArray[np.bool_], scaled: LinearMap) -> list[Minimum]:
        if self.n_bags is None:
            return [self._minimum(X, known, scaled)]
        return [self._minimum(X[rows], known[rows], scaled) for rows in self._rows_of_bags(known)]

    def _minimum(self, X: Rows, known: NDArray[np.bool_], scaled: LinearMap) -> Minimum:
        loss = BalancedLoss(X, known, scaled, self.loss, float(self.regularisation))
        return minimise(loss, self.tol, self.max_iter)

    def _centred_map(self, X: Rows, known: NDArray[np.bool_]) -> LinearMap:
        # the intercept absorbs any shift; rows near the origin keep the Hessian well conditioned
        scaled = linear_map(self.scaling, X, ~known)
        return replace(scaled, mean=X.mean(axis=0, dtype=np.float64)) if self.scaling == "none" else scaled

    def _rows_of_bags(self, known: NDArray[np.bool_]) -> Iterator[NDArray[np.intp]]:
        """Row numbers of each bag: all the known and some unlabelled."""
        assert self.n_bags is not None
        for negatives in draw_bags(known, self.n_bags, self.bag_size, self.random_state):
            yield np.concatenate([np.flatnonzero(known), negatives])

    def _check_parameters(self) -> None:
        require_one_of(self, "loss", tuple(LOSSES))
        require_one_of(self, "scaling", SCALINGS)
        require_positive(self, "regularisation", "tol")
        require_count(self, "bag_size", "max_iter")
        require_count(self, "n_bags", optional=True)
