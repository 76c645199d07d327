"""How many true objects are among the first k of a ranked list, and where to stop looking."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from rarespec.searching.yields.list_models import MISFIT, ListModels

Floats = NDArray[np.float64]

WORTH_A_LOOK = 0.1
"""Chance below which looking stops: more than ten spectra for each further object."""

SCATTERED = 0.25
"""If the median hidden example stands deeper than this share of the list, the ranker does not find the class."""

MIN_HIDDEN = 2
"""One place has no spread: nothing says how far down others lie."""

VAGUE = 10.0
"""High over low end of the number in the list from which on the words say that this is little more than a guess."""

MIN_LISTED = 10

N_DRAWN = 2000
"""Possible lists that expectations and intervals are taken over."""


@dataclass(frozen=True, eq=False)
class YieldCurve:
    """How many true objects a ranked list holds, over depths k = 1 .. k_max.

    `expected[k - 1]` is for the first k candidates. Where no estimate can be made (`can_tell` is False), `expected`,
    `chance` and `n_total` are NaN and the intervals go from none to all.

    Parameters
    ----------
    expected : (k_max,) float64 array
        Expected number of true objects among the first k.
    low : (k_max,) float64 array
        Lower end of the interval of that number, a whole number.
    high : (k_max,) float64 array
        Upper end, a whole number.
    chance : (k_max,) float64 array
        Chance that the candidate at rank k is a true object; it never rises with k.
    stopping_rank : int or None
        Last rank with a chance of one in ten or more; 0 if there is none, None if no estimate can be made.
    n_total : float
        Expected number in the whole list.
    n_total_low : float
        Lower end of its interval.
    n_total_high : float
        Upper end of its interval.
    can_tell : bool
        Whether an estimate can be made.
    why : str
        What the curve says, or why it says nothing, in plain words.
    confidence : float
        Of the intervals; 0.9 means that nine of ten should hold the true number.

    Examples
    --------
    >>> import numpy as np
    >>> from rarespec.searching.yields.yield_curve import yield_curve
    >>> scores = -np.log(np.arange(1, 1001))
    >>> curve = yield_curve(scores, hidden_places=[1, 3, 5], n_known=3)
    >>> curve.can_tell, bool(curve.low[9] <= curve.expected[9] <= curve.high[9])
    (True, True)
    """

    expected: Floats
    low: Floats
    high: Floats
    chance: Floats
    stopping_rank: int | None
    n_total: float
    n_total_low: float
    n_total_high: float
    can_tell: bool
    why: str
    confidence: float

    def __repr__(self) -> str:
        from rarespec.searching.notebook_view import depths_in_words

        return "\n".join([f"<YieldCurve of the first {len(self.expected)}>", self.why, *depths_in_words(self)])

    def _repr_html_(self) -> str:
        from rarespec.searching.notebook_view import yield_html

        return yield_html(self)


def yield_curve(
    scores: ArrayLike,
    hidden_places: ArrayLike,
    n_known: int,
    k_max: int | None = None,
    confidence: float = 0.9,
) -> YieldCurve:
    """Estimate the number of true objects in a ranked list from the ranks of hidden known examples.

    Known examples are taken for a random sample of their class: where they rank when hidden, the other members rank
    too. Their places say how deep the class reaches. Scores that stay high and then fall steeply say where a group of
    its own ends. Neither proves that the group is of members alone, and with few known examples the depth is vague:
    the interval holds all of that. With one known example none can be hidden, and the scores alone are read. This is
    not recall: the number of members that nobody knows is estimated too.

    Parameters
    ----------
    scores : (n,) array
        Of the listed rows, falling, finite.
    hidden_places : (m,) array of int
        1 + how many listed rows stood before each known example while it was hidden. See `places_among`. m may be less
        than n_known; 2 are needed, or none where one example is known.
    n_known : int
        Known examples in all.
    k_max : int, optional
        Depth of the curves; by default the whole list.
    confidence : float
        Of the intervals.

    Returns
    -------
    YieldCurve
        The estimate, or why there is none.

    Raises
    ------
    ValueError
        If the scores do not fall, or a place is not in the list.
    """
    falling = _check_scores(scores)
    places = _check_places(hidden_places, len(falling), n_known)
    depth = _check_depth(k_max, len(falling))
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be between 0 and 1, not {confidence!r}")
    unknown = why_no_estimate(falling, places, n_known)
    if unknown is not None:
        return no_estimate(len(falling), depth, confidence, unknown)
    return estimate_yield(falling, places, n_known, depth, confidence)


def places_among(listed_scores: ArrayLike, hidden_scores: ArrayLike) -> NDArray[np.int64]:
    """Find the place of each hidden example among the listed rows, one example at a time.

    Parameters
    ----------
    listed_scores : (n,) array
        Of the listed rows, in any order, by the ranker from which the examples were hidden.
    hidden_scores : (m,) array
        Of the hidden examples, by the same ranker.

    Returns
    -------
    (m,) int64 array
        Places from 1; behind listed rows of equal score.
    """
    rising = np.sort(np.asarray(listed_scores, dtype=np.float64))
    return 1 + len(rising) - np.searchsorted(rising, np.asarray(hidden_scores, dtype=np.float64), side="left")


def estimate_yield(
    scores: Floats,
    places: NDArray[np.int64],
    n_known: int,
    k_max: int,
    confidence: float,
    looked: tuple[int, int] = (0, 0),
) -> YieldCurve:
    """Estimate the yield where that is possible; see `yield_curve`.

    `looked` is how many rows at the top were looked at, and how many of these are members. The curve is of the rest.
    """
    n_looked, n_found = looked
    models = ListModels.of_length(len(scores))
    counts = models.draw(models.posterior(scores, places, n_known, looked), N_DRAWN)
    chance = _chance(models.depths, counts.mean(axis=0))[n_looked:]
    expected = np.cumsum(chance)
    low, high = _interval(*_of_rest(models.depths, counts, n_looked), expected, confidence)
    stop = int(np.searchsorted(-chance, -WORTH_A_LOOK, side="right"))
    basis = _basis(len(places), n_looked, n_found)
    return YieldCurve(
        expected=expected[:k_max],
        low=low[:k_max],
        high=high[:k_max],
        chance=chance[:k_max],
        stopping_rank=stop,
        n_total=float(expected[-1]),
        n_total_low=float(low[-1]),
        n_total_high=float(high[-1]),
        can_tell=True,
        why=_describe_yield(stop, expected, low, high, basis, n_looked > 0),
        confidence=confidence,
    )


def _of_rest(depths: NDArray[np.int64], counts: Floats, n_looked: int) -> tuple[NDArray[np.int64], Floats]:
    """Depths behind the rows that were looked at, and the members expected from there on, (drawn, d)."""
    if n_looked == 0:
        return depths, counts
    before = np.array([np.interp(n_looked, depths, one) for one in counts])
    behind = depths > n_looked
    return depths[behind] - n_looked, np.maximum(counts[:, behind] - before[:, None], 0.0)


def _chance(depths: NDArray[np.int64], expected: Floats) -> Floats:
    """(n,) of each place: constant between depths, and nowhere rising."""
    steps = np.diff(depths, prepend=0)
    # Every way thins out with depth, so their mean does too. A rise could only come from interpolation, and with one
    # the stopping rank would have two answers.
    mean = np.minimum.accumulate(np.diff(expected, prepend=0.0) / steps)
    return np.repeat(np.clip(mean, 0.0, 1.0), steps)


def _interval(depths: NDArray[np.int64], counts: Floats, expected: Floats, confidence: float) -> tuple[Floats, Floats]:
    """Whole numbers, (n,) each, that hold `expected` and never fall with depth."""
    possible = _scatter(depths, counts)
    ends = np.quantile(possible, [(1 - confidence) / 2, (1 + confidence) / 2], axis=0)
    k = np.arange(1, depths[-1] + 1)
    low, high = (np.maximum.accumulate(np.interp(k, depths, end)) for end in ends)
    return np.floor(np.minimum(low, expected)), np.minimum(np.ceil(np.maximum(high, expected)), k)


def _scatter(depths: NDArray[np.int64], counts: Floats) -> Floats:
    """Add to each drawn way, (drawn, d), how it misses a true list, and its own luck; both the same at all depths."""
    # multiples of irrational numbers: evenly spread, unrelated to the order of the ways and to each other
    missed, luck = (
        ndtri((np.arange(1, len(counts) + 1) * step) % 1.0)[:, None] for step in (0.7548776662466927, 0.618033988749895)
    )
    members = np.minimum(counts * np.exp(MISFIT * missed), depths)
    spread = np.sqrt(members * (1 - members / depths))  # of a binomial number of members among k
    return np.asarray(np.clip(members + spread * luck, 0, depths))


def _basis(n_hidden: int, n_looked: int, n_found: int) -> str:
    hidden = f"the ranks of {n_hidden} known examples when hidden" if n_hidden else ""
    labels = f"{n_looked} labels, {n_found} of them yes" if n_looked else ""
    seen = [part for part in (hidden, labels) if part]
    if not seen:
        return "Estimated from how the scores fall alone, since a single known example cannot be hidden."
    return f"Estimated from {', from '.join(seen)}, and from how the scores fall."


def _describe_yield(stop: int, expected: Floats, low: Floats, high: Floats, basis: str, is_rest: bool) -> str:
    def about(k: int) -> str:
        middle = f"about {expected[k - 1]:.0f}" if expected[k - 1] >= 0.5 else "fewer than one"
        return f"{middle} ({low[k - 1]:.0f} to {high[k - 1]:.0f})"

    whole = f"The {'rest of the' if is_rest else 'whole'} list contains {about(len(expected))}. {basis}"
    if high[-1] + 1 > VAGUE * (low[-1] + 1):
        whole += " That is little evidence: each true object that you add to the known examples narrows it."
    where = ("next", "of the next candidates") if is_rest else ("first", "even at the top of the list")
    if stop == 0:
        said = f"{where[1]}, fewer than one in ten is expected to be a true object"
        return f"{'Stop here: ' + said if is_rest else said.capitalize()}. {whole}"
    return f"Expect {about(stop)} true objects in the {where[0]} {stop} candidates, then stop. {whole}"


def why_no_estimate(scores: Floats, places: NDArray[np.int64], n_known: int) -> str | None:
    """Say why no estimate can be made; None if one can."""
    if len(scores) < MIN_LISTED:
        return f"The list has only {len(scores)} spectra: look at all of them."
    if len(places) < MIN_HIDDEN and n_known != 1:
        return (
            f"There is no estimate of how many to expect. It takes at least {MIN_HIDDEN} known examples that can be "
            f"hidden in turn; only {len(places)} of {n_known} could be."
        )
    middle = float(np.median(places)) if len(places) else 0.0
    if middle > SCATTERED * len(scores):
        return (
            f"There is no estimate of how many to expect. When hidden, half of the known examples rank below "
            f"{middle:.0f} of {len(scores)}: this method does not find the class. Try another, or other known examples."
        )
    return None


def no_estimate(n: int, k_max: int, confidence: float, why: str) -> YieldCurve:
    """Say only what is certain: between none and all."""
    unknown, k = np.full(k_max, np.nan), np.arange(1.0, k_max + 1)
    return YieldCurve(unknown, np.zeros(k_max), k, unknown.copy(), None, np.nan, 0.0, float(n), False, why, confidence)


def _check_scores(scores: ArrayLike) -> Floats:
    values = np.asarray(scores, dtype=np.float64)
    if values.ndim != 1 or not np.isfinite(values).all() or (np.diff(values) > 0).any():
        raise ValueError("scores must be a one-dimensional array of finite numbers in decreasing order")
    return values


def _check_places(hidden_places: ArrayLike, n: int, n_known: int) -> NDArray[np.int64]:
    given = np.asarray(hidden_places)
    places = given.astype(np.int64)
    if given.ndim != 1 or (places != given).any() or (places < 1).any() or (places > n + 1).any():
        raise ValueError(f"hidden_places must be whole numbers from 1 to {n + 1}, the number of listed rows plus one")
    if len(places) > n_known:
        raise ValueError(f"{len(places)} hidden places for {n_known} known examples: there can be at most one each")
    return places


def _check_depth(k_max: int | None, n: int) -> int:
    if k_max is not None and k_max < 1:
        raise ValueError(f"k_max must be at least 1, not {k_max!r}")
    return n if k_max is None else min(int(k_max), n)
