"""How many true objects are left in a ranked list after some of it has been looked at.

Members that were found by looking cannot be hidden to see where others stand, as the examples given at the start can:
they were found because they stood first, and those that stood before and beside them are known too. Hidden, each of
them comes back to the first place, and nothing seems to be left. (Of 182 carbon stars that were left after twenty
looks, the yield curve expected 0.2 this way, and 181 in the way below.)
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rarespec.searching.yields.yield_curve import WORTH_A_LOOK, YieldCurve, yield_curve

Floats = NDArray[np.float64]


def yield_after_looks(
    scores: Floats, hidden_places: NDArray[np.int64], n_known: int, n_looked: int, n_found: int
) -> YieldCurve:
    """Estimate what is left in a list after some of it was looked at.

    The spectra looked at are put back before the others, about where they stood when they were looked at. So the places
    of the examples that were hidden before the first look hold for this list. It is a cautious answer: a ranking that
    has learned has its members nearer to the top than the first one had.

    Parameters
    ----------
    scores : (n,) float64 array
        Of the listed rows, falling; none of them has been looked at.
    hidden_places : (m,) int64 array
        Of the examples given at the start, among all rows that were listed then.
    n_known : int
        Examples given at the start.
    n_looked : int
        Rows that were looked at and are no longer listed.
    n_found : int
        True objects among them.

    Returns
    -------
    YieldCurve
        Of the rest of the list.
    """
    # Only their number counts: they came from earlier rankings, so no fall of the score may be read into them.
    looked = np.full(n_looked, scores[0])
    places = np.minimum(hidden_places, n_looked + len(scores) + 1)
    whole = yield_curve(np.concatenate([looked, scores]), places, n_known)
    if n_looked == 0:
        return whole
    return _curve_of_rest(whole, n_looked, n_found, len(places)) if whole.can_tell else _unknown(whole, len(scores))


def _curve_of_rest(whole: YieldCurve, n_looked: int, n_found: int, n_hidden: int) -> YieldCurve:
    chance = whole.chance[n_looked:]
    expected = np.cumsum(chance)
    k = np.arange(1.0, len(chance) + 1)
    # What was found is certain: it comes off both ends, and the interval must still hold the expected number.
    low = np.clip(whole.low[n_looked:] - n_found, 0, np.floor(expected))
    high = np.minimum(np.maximum(whole.high[n_looked:] - n_found, np.ceil(expected)), k)
    stop = int(np.searchsorted(-chance, -WORTH_A_LOOK, side="right"))
    left = replace(
        whole,
        expected=expected,
        low=low,
        high=high,
        chance=chance,
        stopping_rank=stop,
        n_total=float(expected[-1]),
        n_total_low=float(low[-1]),
        n_total_high=float(high[-1]),
    )
    basis = (
        f"from the ranks of {n_hidden} known examples when hidden, and from {n_looked} labels, {n_found} of them yes"
    )
    return replace(left, why=f"{_in_words(left)} Estimated {basis}.")


def _in_words(left: YieldCurve) -> str:
    stop = left.stopping_rank
    whole = f"The rest of the list contains {_about(left, len(left.expected))}."
    if not stop:
        return f"Stop here: of the next candidates, fewer than one in ten is expected to be a true object. {whole}"
    return f"Expect {_about(left, stop)} true objects in the next {stop} candidates, then stop. {whole}"


def _about(curve: YieldCurve, k: int) -> str:
    middle = f"about {curve.expected[k - 1]:.0f}" if curve.expected[k - 1] >= 0.5 else "fewer than one"
    return f"{middle} ({curve.low[k - 1]:.0f} to {curve.high[k - 1]:.0f})"


def _unknown(whole: YieldCurve, n: int) -> YieldCurve:
    nothing, k = np.full(n, np.nan), np.arange(1.0, n + 1)
    return replace(whole, expected=nothing, low=np.zeros(n), high=k, chance=nothing.copy(), n_total_high=float(n))
