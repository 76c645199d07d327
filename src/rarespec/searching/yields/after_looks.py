"""How many true objects are left in a ranked list after some of it has been looked at.

Members that were found by looking cannot be hidden to see where others stand, as the examples given at the start can:
they were found because they stood first, and those that stood before and beside them are known too. Hidden, each of
them comes back to the first place, and nothing seems to be left. (Of 182 carbon stars that were left after twenty
looks, the yield curve expected 0.2 this way.)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rarespec.searching.yields.yield_curve import YieldCurve, estimate_yield, no_estimate, why_no_estimate

Floats = NDArray[np.float64]

CONFIDENCE = 0.9


def yield_after_looks(
    scores: Floats, hidden_places: NDArray[np.int64], n_known: int, n_looked: int, n_found: int
) -> YieldCurve:
    """Estimate what is left in a list after some of it was looked at.

    The spectra looked at are put back before the others, about where they stood when they were looked at. So the places
    of the examples that were hidden before the first look hold for this list, and the members found among them tell how
    pure its top is. It is a cautious answer: a ranking that has learned has its members nearer to the top than the
    first one had.

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
    whole = np.concatenate([_neutral_scores(scores, n_looked), scores])
    places = np.minimum(hidden_places, len(whole) + 1)
    unknown = why_no_estimate(whole, places, n_known)
    if unknown is not None:
        return no_estimate(len(scores), len(scores), CONFIDENCE, unknown)
    return estimate_yield(whole, places, n_known, len(scores), CONFIDENCE, (n_looked, n_found))


def _neutral_scores(scores: Floats, n_looked: int) -> Floats:
    """Scores for the rows that were looked at, which fall with ln k as the rest does in the mean, (n_looked,).

    Only the number found among them counts: they came from earlier rankings, so nothing may be read into their scores.
    """
    middle = max(len(scores) // 2, 1)
    slope = (scores[0] - scores[middle - 1]) / np.log((n_looked + middle) / (n_looked + 1)) if middle > 1 else 0.0
    return np.asarray(scores[0] + slope * np.log((n_looked + 1) / np.arange(1.0, n_looked + 1)))
