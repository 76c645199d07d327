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

from rarespec.searching._score_fall import relative_fall

Floats = NDArray[np.float64]

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

    def drawn(self, weights: Floats, n_drawn: int) -> Floats:
        """Members expected among the first `depths` places, (n_drawn, d), of ways drawn by weight.

        Drawn at equal steps of the cumulated weight, so the same weights give the same answer.
        """
        steps = (np.arange(n_drawn) + 0.5) / n_drawn
        chosen = np.minimum(np.searchsorted(np.cumsum(weights), steps), weights.size - 1)
        members = self.members.ravel()[chosen, None]
        curves = self.recall.reshape(-1, len(self.depths))[chosen // len(SHARES)]
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
