"""Newton's method for the balanced logistic and exponential losses of a linear ranker.

Notation
--------
Kotlowski, Dembczynski & Huellermeier (2011), with a ridge; m known rows, n unlabelled rows, z = M (x - mean) the mapped
rows:

    F(w, b) = 1/2 [ mean_known l(z.w + b) + mean_unlabelled l(-(z.w + b)) ] + regularisation/2 |w|^2
    l(t) = log(1 + e^-t)  (logistic)   or   l(t) = e^-t  (exponential)

g and H are the gradient and the Hessian of F at theta = (w, b). The Newton decrement sqrt(g' H^-1 g) tells how far the
end is: F(theta) - min F is half its square, up to higher orders.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.special import expit

from rarespec.rankers.linear_map import LinearMap
from rarespec.rankers.rows import BLOCK_ROWS, Rows

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
        """At theta = (w, b)."""
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
    """Damped Newton steps from zero until the Newton decrement is at most `tol`."""
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
