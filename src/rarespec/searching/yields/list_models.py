"""Ways in which the members of a rare class may lie in a ranked list, and how likely each is.

Notation: k place in the list; n its length; N members in it.
One way has four parameters: the share of members near the top p, the depth of the group k0, the sharpness of its edge
a, and the share f of members that the ranker misses. Expected members among the first k places:

    C(k) = p * integral_0^k dx / (1 + (x / k0)^a)      the group
    N = C(n) / (1 - f)
    N R(k) = C(k) + f N ln(1 + k / k0) / ln(1 + n / k0)    and those that are scattered over the logarithm of the place
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

# ---- Where the scores of a ranked list fall steeply: the edge of a group that stands apart from the rest of the
# survey.


Floats = NDArray[np.float64]

HALF_WIDTH = 1.35
"""The fall at place k is measured from k / 1.35 to k * 1.35: wide enough for a handful of rows at place 10."""

GENTLEST, STEEPEST = 0.3, 16.0
"""Ratios beyond count as these: how much steeper than ten times depends on the scale of one ranker."""

N_BULK = 40
MIN_BULK = 10
"""Places of the bulk that are looked at, and how many must have a fall for it to have a trend."""


def relative_fall(scores: Floats, places: Floats) -> Floats:
    """Measure how much faster than in the bulk the score falls with the logarithm of the place, around each of
    `places`.

    The tail of a smooth distribution falls as some power of the place: not at all for exponential tails, as 1 / place
    for heavy ones, as the place itself for scores that are ranks. That trend is read off the bulk of the list, and
    the ratio to it is 1 for any such tail; only a group that stands apart from the bulk makes it large, at its edge.

    Parameters
    ----------
    scores : (n,) float64 array
        Falling.
    places : (p,) float64 array
        From 0, not necessarily whole.

    Returns
    -------
    (p,) float64 array
        From 0.3 to 16; all 1 where the bulk has no trend (short lists, lists of ties).
    """
    n = len(scores)
    bulk = np.geomspace(max(10.0, n / 1000), max(10.0, n / 4), N_BULK)
    falls = _fall(scores, bulk)
    falling = falls > 0
    if n < 4 * MIN_BULK or falling.sum() < MIN_BULK:
        return np.ones(len(places))
    level, power = _robust_line(np.log(bulk[falling]), np.log(falls[falling]))
    around = np.maximum(places, HALF_WIDTH)
    return np.clip(_fall(scores, around) / np.exp(level + power * np.log(around)), GENTLEST, STEEPEST)


def _fall(scores: Floats, places: Floats) -> Floats:
    """-d score / d ln place, (p,)."""
    n = len(scores)
    above = np.clip(np.floor(places / HALF_WIDTH), 1, n - 1).astype(np.intp)
    below = np.clip(np.ceil(places * HALF_WIDTH), above + 1, n).astype(np.intp)
    return (scores[above - 1] - scores[below - 1]) / np.log(below / above)


def _robust_line(x: Floats, y: Floats) -> tuple[float, float]:
    """Level and slope of Theil and Sen: medians, so that a bump does not bend the trend."""
    first, second = np.triu_indices(len(x), max(1, len(x) // 8))
    apart = x[second] > x[first]
    rise, run = (y[second] - y[first])[apart], (x[second] - x[first])[apart]
    slope = float(np.median(rise / run)) if len(run) else 0.0
    return float(np.median(y - slope * x)), slope


# ---- Ways in which the members may lie, and how likely each is. The notation is at the top of this file.


SHARES = np.array([0.003, 0.01, 0.03, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.97, 1.0])
SHARE_PRIOR = np.array([0.05] * 6 + [0.0625] * 4 + [0.135, 0.315])
"""p: nearly half of the weight on a top of members alone, a third on one with few or almost none."""

SHARPNESS = np.array([1.3, 2.0, 5.0, 25.0])
SHARPNESS_PRIOR = np.array([0.1, 0.2, 0.35, 0.35])
"""a: from a list that thins out slowly to a group that ends at a place."""

MISSED = np.array([0.01, 0.05, 0.15, 0.35, 0.6])
MISSED_PRIOR = np.array([0.3, 0.3, 0.2, 0.15, 0.05])
"""f."""

N_DEPTHS = 48
SHALLOWEST = 0.2
"""k0 goes from here (nobody but the known) to a third of the list, in equal steps of its logarithm, all as likely."""

RARE = 0.01
"""Share of the list from which on N becomes less likely, as 1 / N: what is searched for is rare."""

PLACE_WEIGHT = 0.7
"""Weight of each hidden example's place: they are not independent, for they share the examples they were ranked by."""

FALL_WEIGHT = 3.0
STANDS_APART = 0.6
"""Groups with at least this share of members are expected to end where scores fall steeply: likelihood ~ fall^3."""


@dataclass(frozen=True, eq=False)
class ListModels:
    """A grid of ways, for lists of n rows, in the order k0, a, f, with a last axis of p where it matters."""

    depths: NDArray[np.int64]
    """(d,) places at which curves are kept, rising from 1 to n."""
    k0: Floats
    """(48,)."""
    recall: Floats
    """(48, 4, 5, d) R."""
    members: Floats
    """(48, 4, 5, 12) N."""

    @classmethod
    def of_length(cls, n: int) -> Self:
        depths, k0 = _depths(n), np.geomspace(SHALLOWEST, max(1.0, n / 3), N_DEPTHS)
        group = _group_sizes(depths, k0)
        f = MISSED[:, None]
        found = (group / group[..., -1:])[:, :, None, :]
        scattered = (np.log1p(depths / k0[:, None]) / np.log1p(n / k0[:, None]))[:, None, None, :]
        members = group[:, :, -1, None, None] / (1 - f) * SHARES
        return cls(depths, k0, (1 - f) * found + f * scattered, members)

    def posterior(self, scores: Floats, hidden_places: NDArray[np.int64]) -> Floats:
        """(48, 4, 5, 12) weights of the ways, of sum 1, given the scores of the list and where hidden examples came."""
        log_weights = PLACE_WEIGHT * self._log_likelihood(hidden_places)[..., None] + _log_prior()
        # The prior of N, 1 / (1 + N / (RARE n)): flat for a rare class, falling as 1 / N for a common one.
        log_weights = log_weights - np.log1p(self.members / (RARE * len(scores)))
        edge = FALL_WEIGHT * np.log(relative_fall(scores, self.k0))
        log_weights = log_weights + edge[:, None, None, None] * (SHARES >= STANDS_APART)
        weights = np.exp(log_weights - log_weights.max())
        return weights / weights.sum()

    def _log_likelihood(self, places: NDArray[np.int64]) -> Floats:
        """Of the places, (48, 4, 5): R's mean slope between the two depths around each."""
        cell = np.searchsorted(self.depths, np.minimum(places, self.depths[-1]))
        width = np.diff(self.depths, prepend=0)[cell]
        slope = np.diff(self.recall, axis=-1, prepend=0.0)[..., cell] / width
        return np.asarray(np.log(slope).sum(axis=-1))

    def draw(self, weights: Floats, n_drawn: int) -> Floats:
        """Members expected among the first `depths` places, (n_drawn, d), of ways drawn by weight.

        Drawn at equal steps of the cumulated weight, so the same weights give the same answer.
        """
        steps = (np.arange(n_drawn) + 0.5) / n_drawn
        chosen = np.minimum(np.searchsorted(np.cumsum(weights), steps), weights.size - 1)
        members = self.members.ravel()[chosen, None]
        curves = self.recall.reshape(-1, len(self.depths))[chosen // len(SHARES)]
        # There cannot be more members than places.
        return np.minimum(members * curves, self.depths)


def _depths(n: int) -> NDArray[np.int64]:
    """Every place up to 20, then in steps of a few per cent."""
    return np.unique(np.append(np.arange(1, min(n, 20) + 1), np.geomspace(min(n, 20), n, 240).round())).astype(np.int64)


def _group_sizes(depths: NDArray[np.int64], k0: Floats) -> Floats:
    """C(k) for p = 1, (48, 4, d)."""
    x = np.append(0.0, np.geomspace(1e-4, depths[-1] / k0[0], 4000))
    density = 1 / (1 + x ** SHARPNESS[:, None])
    steps = np.diff(x) * (density[:, 1:] + density[:, :-1]) / 2
    cumulated = np.append(np.zeros((len(SHARPNESS), 1)), np.cumsum(steps, axis=1), axis=1)
    relative = depths / k0[:, None]
    return k0[:, None, None] * np.stack([np.interp(relative, x, row) for row in cumulated], axis=1)


def _log_prior() -> Floats:
    """(4, 5, 12) of a, f and p; all k0 are as likely."""
    return np.log(SHARPNESS_PRIOR[:, None, None] * MISSED_PRIOR[:, None] * SHARE_PRIOR)
