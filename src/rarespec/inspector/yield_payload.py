"""The yield curve, thinned to what a small picture shows."""

from __future__ import annotations

from typing import Any

import numpy as np

from rarespec.searching.yield_curve import YieldCurve

MOST_DEPTHS = 300


def yield_payload(curve: YieldCurve) -> dict[str, Any]:
    """Expected number of true objects among the first k and its interval; nothing to draw where it cannot be told."""
    k = depths(len(curve.expected)) if curve.can_tell else np.empty(0, np.int64)
    at = k - 1
    return {
        "can_tell": curve.can_tell,
        "why": curve.why,
        "stopping_rank": curve.stopping_rank,
        "k": k,
        "expected": curve.expected[at],
        "low": curve.low[at],
        "high": curve.high[at],
    }


def depths(n: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Rising whole numbers from 1 to n, (m,) int64, m <= 300: dense at the top of the list."""
    steps = np.geomspace(1, n, min(n, MOST_DEPTHS)).round().astype(np.int64)
    return np.unique(steps)
