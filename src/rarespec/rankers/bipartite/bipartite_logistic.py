"""BipartiteLogistic: known above unlabelled by a balanced univariate loss, on all rows or on random bags."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.special import expit

from rarespec.engines.here import one_blas_thread
from rarespec.rankers.bags import draw_bags
from rarespec.rankers.linear_map import SCALINGS, LinearMap, linear_map
from rarespec.rankers.parameters import require_count, require_one_of, require_positive, warn_unless_converged
from rarespec.rankers.ranker import LinearRanker
from rarespec.rankers.rows import BLOCK_ROWS, Rows

# ---- Newton's method for the balanced logistic and exponential losses of a linear ranker.
#
# Notation
# --------
# Kotlowski, Dembczynski & Huellermeier (2011), with a ridge; m known rows, n unlabelled rows, z = M (x - mean) the
# mapped rows:
#
#     F(w, b) = 1/2 [ mean_known l(z.w + b) + mean_unlabelled l(-(z.w + b)) ] + regularisation/2 |w|^2
#     l(t) = log(1 + e^-t)  (logistic)   or   l(t) = e^-t  (exponential)
#
# g and H are the gradient and the Hessian of F at theta = (w, b). The Newton decrement sqrt(g' H^-1 g) tells how
# far the end is: F(theta) - min F is half its square, up to higher orders.


Array = NDArray[np.float64]
State = tuple[float, Array, Array]
"""F, g, (d + 1,), and H, (d + 1, d + 1), at some theta."""

SHORTEST_STEP = 1e-10
ARMIJO = 1e-4


def _logistic(t: Array) -> tuple[Array, Array, Array]:
    return np.logaddexp(0.0, -t), -expit(-t), expit(t) * expit(-t)


def _exponential(t: Array) -> tuple[Array, Array, Array]:
    value = np.exp(-t)
    return value, -value, value


LOSSES: dict[str, Callable[[Array], tuple[Array, Array, Array]]] = {"logistic": _logistic, "exponential": _exponential}
"""l(t), l'(t) and l''(t) by name."""


@dataclass(frozen=True)
class BalancedLoss:
    """F as above, for rows X, (n, d), of which `known`, (n,) bool, marks the known; X is read in blocks."""

    X: Rows
    known: NDArray[np.bool_]
    linear_map: LinearMap
    loss: str
    regularisation: float

    def at(self, theta: Array) -> State:
        """Compute F, its gradient and its Hessian at theta = (w, b)."""
        value, gradient, hessian = self._data_terms(theta)
        w = theta[:-1]
        gradient[:-1] = self.linear_map.weights_of(gradient[:-1]) + self.regularisation * w
        hessian[:-1] = self.linear_map.weights_of(hessian[:-1].T).T
        hessian[:, :-1] = self.linear_map.weights_of(hessian[:, :-1])
        hessian[np.arange(len(w)), np.arange(len(w))] += self.regularisation
        return value + 0.5 * self.regularisation * float(w @ w), gradient, hessian

    def _data_terms(self, theta: Array) -> State:
        """The two means with their derivatives by weights on centred rows x - mean, before the map."""
        coef, intercept = self.linear_map.weights_of(theta[:-1]), theta[-1]
        value, gradient, hessian = 0.0, np.zeros(len(theta)), np.zeros((len(theta), len(theta)))
        for rows, sign, share in self._blocks():
            l0, l1, l2 = LOSSES[self.loss](sign * (rows @ coef + intercept))
            value += float(share @ l0)
            slopes, curvatures = share * sign * l1, share * l2
            gradient[:-1] += slopes @ rows
            gradient[-1] += slopes.sum()
            hessian[:-1, :-1] += (rows * curvatures[:, None]).T @ rows
            hessian[:-1, -1] += curvatures @ rows
            hessian[-1, -1] += curvatures.sum()
        hessian[-1, :-1] = hessian[:-1, -1]
        return value, gradient, hessian

    def _blocks(self) -> Iterator[tuple[Array, Array, Array]]:
        """Centred rows, (k, d), with their sign, +1 known and -1 unlabelled, and their share of the loss, both (k,)."""
        share_known, share_unlabelled = 0.5 / np.count_nonzero(self.known), 0.5 / np.count_nonzero(~self.known)
        for start in range(0, len(self.X), BLOCK_ROWS):
            known = self.known[start : start + BLOCK_ROWS]
            rows = self.X[start : start + BLOCK_ROWS] - self.linear_map.mean
            yield rows, np.where(known, 1.0, -1.0), np.where(known, share_known, share_unlabelled)


@dataclass(frozen=True)
class Minimum:
    """Where Newton's method ended, and how near to the minimum that is."""

    weights: Array
    """(d,) float64, on mapped rows."""
    gradient_norm: float
    newton_decrement: float
    n_iter: int
    converged: bool


def minimise(loss: BalancedLoss, tol: float, max_iter: int) -> Minimum:
    """Minimise the loss by damped Newton steps from zero.

    Parameters
    ----------
    loss : BalancedLoss
        F, with its rows.
    tol : float
        Newton decrement at which to stop; F is then within tol^2 / 2 of its minimum, up to higher orders.
    max_iter : int
        Steps, at most.

    Returns
    -------
    Minimum
        The last point. It has not converged when the steps ran out, or when no step lowers F any more.
    """
    theta = np.zeros(loss.X.shape[1] + 1)
    state = loss.at(theta)
    n_iter = 0
    while True:
        step = _newton_step(state[1], state[2])
        decrement = max(0.0, float(-step @ state[1])) ** 0.5
        converged = decrement <= tol
        moved = None if converged or n_iter == max_iter else _line_search(loss, theta, state, step)
        if moved is None:
            return Minimum(theta[:-1], float(np.linalg.norm(state[1])), decrement, n_iter, converged)
        theta, state = moved
        n_iter += 1


def _newton_step(gradient: Array, hessian: Array, ridge: float = 1e-14) -> Array:
    """The Hessian is positive definite but for rounding: the ridge, a share of its diagonal, grows until it is so.

    The step is one of descent whatever the ridge: that changes the way to the minimum, not the minimum.
    """
    diagonal = np.diag(hessian) * ridge + np.finfo(np.float64).tiny
    try:
        return cho_solve(cho_factor(hessian + np.diag(diagonal)), -gradient)
    except np.linalg.LinAlgError:
        return _newton_step(gradient, hessian, 100.0 * ridge)


def _line_search(loss: BalancedLoss, theta: Array, state: State, step: Array) -> tuple[Array, State] | None:
    """The first of 1, 1/2, 1/4 ... of the step that lowers F enough: theta and state there; None if none does."""
    value, gradient, _ = state
    rounding = 8 * np.finfo(np.float64).eps * abs(value)
    fraction = 1.0
    while fraction > SHORTEST_STEP:
        with np.errstate(over="ignore", invalid="ignore"):  # an exponential that overflows is a step too long
            trial = loss.at(theta + fraction * step)
        if trial[0] <= value + ARMIJO * fraction * float(step @ gradient) + rounding and np.isfinite(trial[2]).all():
            return theta + fraction * step, trial
        fraction /= 2
    return None


# ---- bipartite logistic


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

    Examples
    --------
    >>> import numpy as np
    >>> from rarespec.rankers import BipartiteLogistic
    >>> X = np.random.default_rng(0).normal(size=(60, 4))
    >>> X[:4] += 6.0  # four rare rows, of which two are known
    >>> y = np.zeros(60, int)
    >>> y[:2] = 1
    >>> sorted(BipartiteLogistic().fit(X, y).rank(X)[:4].tolist())
    [0, 1, 2, 3]
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
        with one_blas_thread():
            scaled = self._centre(X, known)
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

    def _centre(self, X: Rows, known: NDArray[np.bool_]) -> LinearMap:
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
