"""Where the scores of a ranked list fall steeply: the edge of a group that stands apart from the rest of the survey."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

HALF_WIDTH = 1.35
"""The fall at place k is measured from k / 1.35 to k * 1.35: wide enough for a handful of rows at place 10."""

GENTLEST, STEEPEST = 0.3, 16.0
"""Ratios beyond count as these: how much steeper than ten times depends on the scale of one ranker."""

N_BULK = 40
MIN_BULK = 10
"""Places of the bulk that are looked at, and how many must have a fall for it to have a trend."""


def relative_fall(scores: Floats, places: Floats) -> Floats:
    """How much faster than in the bulk the score falls with the logarithm of the place, around each of `places`.

    The tail of a smooth distribution falls as some power of the place: not at all for exponential tails, as 1 / place
    for heavy ones, as the place itself for scores that are ranks. That trend is read off the bulk of the list, and
    the ratio to it is 1 for any such tail; only a group that stands apart from the bulk makes it large, at its edge.

    Parameters
    ----------
    scores : (n,) falling.
    places : (p,) from 0, not necessarily whole.

    Returns
    -------
    (p,) from 0.3 to 16; all 1 where the bulk has no trend (short lists, lists of ties).
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
