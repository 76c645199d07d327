"""The three losses of TopPush: how much it costs that a negative comes z above a positive (usually z < 0).

Notation (Li, Jin & Zhou 2014): l(z) the loss, l*(a) = max_z a z - l(z) its convex conjugate on the dual side; the
solvers need l* and its first two derivatives for a strictly inside its domain.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

from array_api_compat import array_namespace

from rarespec.rankers._push_arrays import at_least, at_most, times_log

Values = Any
"""float64, of NumPy or of any library that follows the array API standard."""


class PushLoss(ABC):
    """A convex, non-decreasing loss and its conjugate."""

    upper = math.inf
    """The conjugate's domain is 0 <= a <= upper."""
    bounded_below = False
    """Whether the conjugate ends at a = 0 with a finite slope, so that a >= 0 needs a multiplier."""
    start = 1.0
    """A value well inside the domain."""

    @abstractmethod
    def loss(self, z: Values) -> Values:
        """l(z)."""

    @abstractmethod
    def conjugate(self, a: Values) -> Values:
        """l*(a)."""

    @abstractmethod
    def slope(self, a: Values) -> Values:
        """Derivative of l*(a): the z that belongs to a."""

    @abstractmethod
    def curvature(self, a: Values) -> Values:
        """Second derivative of l*(a)."""


class TruncatedQuadratic(PushLoss):
    """l(z) = max(0, 1 + z)^2, the loss of the paper."""

    bounded_below = True

    def loss(self, z: Values) -> Values:
        return at_least(1 + z, 0.0) ** 2

    def conjugate(self, a: Values) -> Values:
        return a * a / 4 - a

    def slope(self, a: Values) -> Values:
        return a / 2 - 1

    def curvature(self, a: Values) -> Values:
        return array_namespace(a).full_like(a, 0.5)


class Exponential(PushLoss):
    """l(z) = exp(z)."""

    def loss(self, z: Values) -> Values:
        return array_namespace(z).exp(at_most(z, 700.0))  # no overflow in a certificate far from the optimum

    def conjugate(self, a: Values) -> Values:
        return times_log(a) - a

    def slope(self, a: Values) -> Values:
        return array_namespace(a).log(a)

    def curvature(self, a: Values) -> Values:
        return 1 / a


class Logistic(PushLoss):
    """l(z) = log(1 + exp(z))."""

    upper = 1.0
    start = 0.5

    def loss(self, z: Values) -> Values:
        xp = array_namespace(z)
        return xp.logaddexp(xp.zeros_like(z), z)

    def conjugate(self, a: Values) -> Values:
        return times_log(a) + times_log(1 - a)

    def slope(self, a: Values) -> Values:
        xp = array_namespace(a)
        return xp.log(a) - xp.log1p(-a)

    def curvature(self, a: Values) -> Values:
        return 1 / (a * (1 - a))


LOSSES = {"truncated-quadratic": TruncatedQuadratic(), "exponential": Exponential(), "logistic": Logistic()}
