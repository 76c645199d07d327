"""Ways in which the members of a rare class may lie in a ranked list, and how likely each is.

Notation: k place in the list; n its length; N members in it.
One way has four parameters: the share of members near the top p, the depth of the group k0, the sharpness of its edge
a, and the share f of members that the ranker misses. Expected members among the first k places:

    C(k) = p * integral_0^k dx / (1 + (x / k0)^a)      the group
    N = C(n) / (1 - f)
    N R(k) = C(k) + f N ln(1 + k / k0) / ln(1 + n / k0)    and those that are scattered over the logarithm of the place

The logarithm of a way's weight is a sum of evidence, each term times a number that was fitted to lists whose members
are known: `benchmarks/yield_weights.py` fits these numbers, so that true lists become as likely as they can.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

SHARES = np.array([0.01, 0.05, 0.15, 0.3, 0.5, 0.7, 0.9, 1.0])
"""p: from a top with almost no members to one of members alone."""

SHARPNESS = np.array([1.3, 2.0, 4.0, 15.0])
"""a: from a list that thins out slowly to a group that ends at a place."""

MISSED = np.array([0.01, 0.06, 0.18, 0.4])
"""f."""

N_DEPTHS = 44
SHALLOWEST = 0.3
"""k0 goes from here (nobody but the known) to a third of the list, in equal steps of its logarithm."""

RARE = 0.01
"""Share of the list from which on N becomes less likely: what is searched for is rare."""

HALF_WIDTH = 1.35
"""The fall at place k is measured from k / 1.35 to k * 1.35: wide enough for a handful of rows at place 10."""

MISFIT = 0.15
"""Spread of the logarithm of true counts about the best of these ways: no list is exactly like one of them."""

WEIGHTS = {
    "places": 0.71,
    "steep, members": 1.51,
    "flat before, members": 0.18,
    "reach, members": -1.08,
    "reach squared, members": -0.23,
    "reach, others": 1.26,
    "reach squared, others": -1.49,
    "depth, members": 0.47,
    "few known, members": -1.18,
    "common": -1.00,
}
SHARE_WEIGHTS = np.array([-0.38, 1.00, 1.07, -0.51, -0.26, -0.28, -1.02, 0.38])
SHARPNESS_WEIGHTS = np.array([-0.04, 0.89, -0.12, -0.73])
MISSED_WEIGHTS = np.array([1.92, -0.21, -0.66, -1.06])
"""What counts how much. Only differences within each of the last three matter."""


@dataclass(frozen=True, eq=False)
class ListModels:
    """A grid of ways, for lists of n rows, in the order k0, a, f, with a last axis of p where it matters."""

    depths: NDArray[np.int64]
    """(d,) places at which curves are kept, rising from 1 to n."""
    k0: Floats
    """(44,)."""
    recall: Floats
    """(44, 4, 4, d) R."""
    members: Floats
    """(44, 4, 4, 8) N."""

    @classmethod
    def of_length(cls, n: int) -> Self:
        depths, k0 = _depths(n), np.geomspace(SHALLOWEST, max(1.0, n / 3), N_DEPTHS)
        group = _group_sizes(depths, k0)
        f = MISSED[:, None]
        found = (group / group[..., -1:])[:, :, None, :]
        scattered = (np.log1p(depths / k0[:, None]) / np.log1p(n / k0[:, None]))[:, None, None, :]
        members = group[:, :, -1, None, None] / (1 - f) * SHARES
        return cls(depths, k0, (1 - f) * found + f * scattered, members)

    def posterior(
        self, scores: Floats, hidden_places: NDArray[np.int64], n_known: int, looked: tuple[int, int] = (0, 0)
    ) -> Floats:
        """Weigh the ways: (44, 4, 4, 8), of sum 1.

        Parameters
        ----------
        scores : (n,) float64 array
            Of the listed rows, falling.
        hidden_places : (m,) int64 array
            Where known examples came when they were hidden; none where one is known.
        n_known : int
            Known examples.
        looked : (int, int)
            How many of the first rows were looked at, and the members among them.

        Returns
        -------
        float64 array
            The weights.
        """
        terms = self.evidence(scores, hidden_places, n_known)
        log_weights = sum(WEIGHTS[name] * term for name, term in terms.items()) + SHARE_WEIGHTS
        log_weights = log_weights + SHARPNESS_WEIGHTS[:, None, None] + MISSED_WEIGHTS[:, None]
        if looked[0]:
            log_weights = log_weights + self.log_fit(*(np.array([number]) for number in looked))
        weights = np.exp(log_weights - log_weights.max())
        return np.asarray(weights / weights.sum())

    def evidence(self, scores: Floats, hidden_places: NDArray[np.int64], n_known: int) -> dict[str, Floats]:
        """Give the terms that `WEIGHTS` weighs, each of a shape that broadcasts to (44, 4, 4, 8).

        Terms of members count as far as the group is of members, p; terms of others as far as it is not, 1 - p.
        """
        shape = read_shape(scores, self.k0)
        by_depth = {
            "steep": shape.steep,
            "flat before": -shape.steep_before,
            "reach": shape.reach,
            "reach squared": shape.reach**2,
            "depth": np.log(self.k0),
        }
        terms = {"places": self._log_likelihood(hidden_places)[..., None]}
        for name, values in by_depth.items():
            for whom, share in (("members", SHARES), ("others", 1 - SHARES)):
                if f"{name}, {whom}" in WEIGHTS:
                    terms[f"{name}, {whom}"] = (values[:, None] * share)[:, None, None, :]
        terms["few known, members"] = SHARES / max(n_known, 1)
        terms["common"] = np.log1p(self.members / (RARE * len(scores)))
        return terms

    def log_fit(self, places: NDArray[np.int64], counts: NDArray[np.int64]) -> Floats:
        """Log likelihood of so many members among the first `places`, (44, 4, 4, 8), for places that are kept or not.

        The counts scatter binomially and by `MISFIT`.
        """
        cell = np.searchsorted(self.depths, places)
        expected = self._counts(cell)
        spread = MISFIT**2 + (1 - 0.98 * expected / self.depths[cell]) / (expected + 1)
        missed = np.log((counts + 1) / (expected + 1)) ** 2
        return np.asarray(-0.5 * (missed / spread + np.log(spread)).sum(axis=-1))

    def _counts(self, cell: NDArray[np.intp]) -> Floats:
        """Members expected among the first depths[cell], (44, 4, 4, 8, c); never more than places."""
        return np.minimum(self.members[..., None] * self.recall[:, :, :, None, cell], self.depths[cell])

    def _log_likelihood(self, places: NDArray[np.int64]) -> Floats:
        """Of the places, (44, 4, 4): R's mean slope between the two depths around each."""
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
    """C(k) for p = 1, (44, 4, d)."""
    x = np.append(0.0, np.geomspace(1e-4, depths[-1] / k0[0], 4000))
    density = 1 / (1 + x ** SHARPNESS[:, None])
    steps = np.diff(x) * (density[:, 1:] + density[:, :-1]) / 2
    cumulated = np.append(np.zeros((len(SHARPNESS), 1)), np.cumsum(steps, axis=1), axis=1)
    relative = depths / k0[:, None]
    return k0[:, None, None] * np.stack([np.interp(relative, x, row) for row in cumulated], axis=1)


# ---- The shape of a list of scores: a group that stands apart is flat at first, and ends where the score falls.


@dataclass(frozen=True, eq=False)
class ScoreShape:
    """Of a list around some places, (p,) each, in logarithms. All are 0 for a tail that falls as ln k, and for ties."""

    steep: Floats
    """How fast the score falls with ln k here, relative to the mean from the top to the middle of the list."""
    steep_before: Floats
    """The same at a third of the place."""
    reach: Floats
    """How much of the fall from the top to the middle of the list lies before, relative to the share of ln k."""


def read_shape(scores: Floats, places: Floats) -> ScoreShape:
    """Measure the shape of a list of scores; neither their unit nor their zero matters.

    Parameters
    ----------
    scores : (n,) float64 array
        Falling.
    places : (p,) float64 array
        From 0, not necessarily whole.

    Returns
    -------
    ScoreShape
        What the list looks like around these places.
    """
    n = len(scores)
    middle = max(n // 2, 2)
    fall = scores[0] - scores[middle - 1]
    if fall <= 0:
        return ScoreShape(np.zeros(len(places)), np.zeros(len(places)), np.zeros(len(places)))
    e_folds = np.log(middle)
    at = np.maximum(places, 1.0)
    before = (scores[0] - np.interp(at, np.arange(1, n + 1), scores)) / fall
    reach = np.log(np.clip(before * e_folds / np.log1p(at), 0.03, 3.0))
    steep, steep_before = (
        np.log(np.clip(_steepness(scores, here) * e_folds / fall, 0.05, 20.0)) for here in (places, places / 3)
    )
    return ScoreShape(steep, steep_before, reach)


def _steepness(scores: Floats, places: Floats) -> Floats:
    """-d score / d ln place, (p,)."""
    n = len(scores)
    around = np.clip(places, HALF_WIDTH, n / HALF_WIDTH)
    above = np.clip(np.floor(around / HALF_WIDTH), 1, n - 1).astype(np.intp)
    below = np.clip(np.ceil(around * HALF_WIDTH), above + 1, n).astype(np.intp)
    return (scores[above - 1] - scores[below - 1]) / np.log(below / above)
