"""Projection onto the feasible set of TopPush's dual: a >= 0, b >= 0, sum(a) = sum(b)."""

from __future__ import annotations

from typing import Any

import numpy as np

from rarespec.rankers._push_loss import Values


def project(a0: Values, b0: Values) -> tuple[Values, Values]:
    """The feasible (a, b) nearest to (a0, b0), exact; a0 (m,), b0 (n,).

    Notation (Li, Jin & Zhou 2014): a = [a0 - v]_+, b = [b0 + v]_+, where v is the root of the falling, piecewise
    linear f(v) = sum [a0 - v]_+ - sum [b0 + v]_+, which bends at every a0 and every -b0. The root lies between two
    neighbouring bends, where f is a straight line. Values that tie with a bend add nothing to either sum there, so
    they may not be treated as if they were on one side only: doing so gives infeasible points when positives are few.
    """
    a_rising, b_rising = np.sort(a0), np.sort(-b0)
    a_from = np.append(np.cumsum(a_rising[::-1])[::-1], 0.0)  # sums of a_rising[i:]
    b_until = np.append(0.0, np.cumsum(b_rising))  # sums of b_rising[:j]
    bends = np.sort(np.concatenate([a_rising, b_rising]))

    def line_at(v: Values) -> tuple[Any, Any]:
        """Near v, f is intercept - steepness * v."""
        i, j = np.searchsorted(a_rising, v, side="right"), np.searchsorted(b_rising, v, side="left")
        return a_from[i] + b_until[j], len(a_rising) - i + j

    intercept, steepness = line_at(bends)
    k = int(np.count_nonzero(intercept - steepness * bends > 0))
    if k == 0:  # f is zero at its first bend already
        v = bends[0]
    else:
        right = bends[min(k, len(bends) - 1)]
        intercept, steepness = line_at((bends[k - 1] + right) / 2)
        v = intercept / steepness if steepness else right
    return np.maximum(a0 - v, 0), np.maximum(b0 + v, 0)
