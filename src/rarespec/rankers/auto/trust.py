"""How much each part of Auto is trusted, and how their ranks become one score.

Parts are trusted by where hidden known examples land. Where some rows are known not to be of the kind, Auto also learns
whether members are more unusual than these. Nothing else in it tells unusual rows from others: where such are looked
for, members are found that are like no known one; where they are not, as with artefacts, they come later.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from rarespec.rankers.neighbours.exact import in_threads
from rarespec.rankers.ranker import Scores

PRIOR = {"signal": 1.0, "given": 1.0, "expanded": 0.3}
"""Weight of each part before any known example has been hidden."""

TEMPER = 0.35
"""Power of the evidence: places of hidden examples under different parts are far from independent."""

MAX_EVIDENCE = 6
"""Hidden examples that count, at most."""

RANKED_AT_ONCE = 1 << 16
"""Rows that a thread ranks at a time."""

RARITY = 1 / 300
"""Share of a survey that may be of the kind: a hidden example among so many first rows is found as well as can be."""

NEGLIGIBLE = 1e-3
"""Share below which a part is left out."""

NOTEWORTHY = 0.1
"""Leaning to unusual rows that is mentioned."""

USUAL_SLOPE = 0.3
"""Spread of the slope before anything was refused: logarithm of the odds for a factor e in the rank."""

WORDS = {
    "signal": "neighbour graph of the signal",
    "given": "neighbour graph of the features",
    "expanded": "matched filter",
    "taught": "machine taught by the first of the list",
}

AT_THE_EDGE = (
    "the known example lies at the edge of its kind, among spectra of other kinds, so the ranking also starts from the "
    "spectra most like it: add one more example"
)

Places = Mapping[str, NDArray[np.float64]]


def trust(places: Places, n_unlabelled: int, seen: float) -> dict[str, float]:
    """Return the share of each part; those that would hardly count are set to 0.

    Parameters
    ----------
    places : mapping of str to (h,) float
        Places of hidden examples under each part; none when only one is known.
    n_unlabelled : int
        Rows among which the examples were placed.
    seen : float
        Share of what tells the known from the survey that lies where the survey has signal: all that walks can see.

    Returns
    -------
    dict of str to float
        Part to share.
    """
    prior = {name: weight if name == "expanded" else seen * weight for name, weight in PRIOR.items()}
    shares = shares_by_places(places, prior, n_unlabelled)
    shares = {name: share if share > NEGLIGIBLE else 0.0 for name, share in shares.items()}
    return {name: share / sum(shares.values()) for name, share in shares.items()}


def shares_by_places(places: Places, prior: Mapping[str, float], n_unlabelled: int) -> dict[str, float]:
    """Weigh the parts by where they place hidden known examples.

    The weight is the prior times the places to a negative power. Places among as many rows as there may be members
    count alike: members that come before a hidden one are no fault.

    Parameters
    ----------
    places : mapping of str to (h,) float
        Places of the hidden examples under each part, from 1; only the first MAX_EVIDENCE count.
    prior : mapping of str to float
        Weight of each part before any example was hidden.
    n_unlabelled : int
        Rows among which the examples were placed.

    Returns
    -------
    dict of str to float
        Share of each part; they add up to 1.
    """
    logs = {name: np.log(prior[name]) + _evidence_of(found, n_unlabelled) for name, found in places.items()}
    weights = {name: float(np.exp(log - max(logs.values()))) for name, log in logs.items()}
    return {name: weight / sum(weights.values()) for name, weight in weights.items()}


def _evidence_of(places: NDArray[np.float64], n_unlabelled: int) -> float:
    return -TEMPER * float(np.log(places + RARITY * n_unlabelled)[:MAX_EVIDENCE].sum())


def confirm(part: str, places: Places, n_unlabelled: int) -> float:
    """Say how far hidden examples confirm a part that has learned from the list of the others, from 0 to 1.

    Parameters
    ----------
    part : str
        The part. That list has seen the examples that were hidden from the part, which makes its places too good: what
        still speaks against it counts twice.
    places : mapping of str to (h,) float
        Places of the hidden examples under every part; none when only one is known.
    n_unlabelled : int
        Rows among which the examples were placed.

    Returns
    -------
    float
        1 where no other part finds the hidden examples better.
    """
    evidence = {name: _evidence_of(found, n_unlabelled) for name, found in places.items()}
    return float(np.exp(2 * min(0.0, evidence[part] - max(evidence.values()))))


def in_words(weights: Mapping[str, float], places: Places, leaning: float = 0.0) -> str:
    """Say which parts were used, and why.

    Parameters
    ----------
    weights : mapping of str to float
        Share of each part. Parts below 1 % are not mentioned.
    places : mapping of str to (h,) float
        Places of the hidden examples under each part; empty when only one example is known.
    leaning : float, default 0
        How much more unusual members are than refused rows. Small values are not mentioned.

    Returns
    -------
    str
        A sentence without a full stop.
    """
    used = sorted((name for name in weights if weights[name] >= 0.01), key=lambda name: -weights[name])
    shares = ", ".join(f"{WORDS[name]} {weights[name]:.0%}{_describe_places(places[name])}" for name in used)
    if any(len(found) for found in places.values()):
        why = f"methods weighted by how high they rank hidden known examples: {shares}"
    else:
        why = f"fixed weights, because a single known example cannot be hidden: {shares}"
    return why + _leaning_in_words(leaning)


def _leaning_in_words(leaning: float) -> str:
    if abs(leaning) < NOTEWORTHY:
        return ""
    more, earlier = ("more", "earlier") if leaning > 0 else ("less", "later")
    return f"; members are {more} unusual than non-members, so unusual spectra come {earlier}"


def _describe_places(places: NDArray[np.float64]) -> str:
    return f" (median rank {np.median(places):.0f})" if len(places) else ""


def rank_from_end(values: Scores, levels: Scores) -> Scores:
    """Measure how unusual rows are, (n,), by the logarithm of the rank from the end; the first ranks count alike."""
    return -np.log(ranks_among(values, levels) + RARITY * len(levels))


def leaning(members: Scores, refused: Scores) -> float:
    """Learn how fast the odds of being a member grow with `rank_from_end`, as a slope of their logarithm."""
    x, y = np.concatenate([members, refused]), np.arange(len(members) + len(refused)) < len(members)
    return float(LogisticRegression(C=USUAL_SLOPE**2).fit(x[:, None], y).coef_[0, 0])


def levels_and_ranks(scores: Scores, unlabelled: NDArray[np.intp]) -> tuple[Scores, Scores]:
    """Sort the scores of unlabelled rows, and rank all rows among them: as `ranks_among`, without a search for each.

    Parameters
    ----------
    scores : (n,) float64
        Of all rows.
    unlabelled : (m,) int
        Which rows carry no label.

    Returns
    -------
    levels : (m,) float64
        The scores of the unlabelled rows, rising.
    ranks : (n,) float64
        Of all rows.
    """
    of_unlabelled = scores[unlabelled]
    lowest = of_unlabelled.min()
    # most rows are equal under some parts: none of their walks arrives, or the list ends above them
    above = np.flatnonzero(of_unlabelled > lowest)
    above = above[np.argsort(of_unlabelled[above])]
    levels = np.full(len(of_unlabelled), lowest)
    levels[len(levels) - len(above) :] = of_unlabelled[above]
    del of_unlabelled  # of ten million rows, each array counts
    last_of_equal = np.flatnonzero(np.append(levels[1:] != levels[:-1], True))
    of_levels = np.repeat(len(levels) - last_of_equal, np.diff(last_of_equal, prepend=-1))
    ranks = np.full(len(scores), float(of_levels[0]))
    ranks[unlabelled[above]] = of_levels[len(levels) - len(above) :]
    labelled = np.ones(len(scores), bool)
    labelled[unlabelled] = False
    ranks[labelled] = ranks_among(scores[labelled], levels)
    return levels, ranks


def ranks_among(scores: Scores, levels: Scores) -> Scores:
    """Rank each score among the unlabelled ones, whose scores `levels` rise; between two of them it is interpolated.

    Above them all ranks go on from 1 towards 0, so that rows above all fitted ones still have an order.
    """
    ranks = _interpolate(scores, levels, np.arange(len(levels), 0.0, -1.0))
    spread = levels[-1] - levels[len(levels) // 2]
    beyond = scores > levels[-1]
    ranks[beyond] = 1 / (1 + (scores[beyond] - levels[-1]) / spread) if spread > 0 else 0.5
    return ranks


def _interpolate(x: Scores, xp: Scores, fp: Scores) -> Scores:
    """As `numpy.interp`, to the last bit, in several threads where there are many."""
    if len(x) <= RANKED_AT_ONCE:
        return np.asarray(np.interp(x, xp, fp))
    values = np.empty(len(x))

    def fill(start: int) -> int:
        part = slice(start, start + RANKED_AT_ONCE)
        values[part] = np.interp(x[part], xp, fp)
        return start

    list(in_threads(fill, range(0, len(x), RANKED_AT_ONCE), None))
    return values


def fuse(ranks: Mapping[str, NDArray[np.float64]], weights: Mapping[str, float], n_unlabelled: int) -> Scores:
    """Combine the ranks that rows have under the parts into one score.

    Parameters
    ----------
    ranks : mapping of str to (n,) float
        Ranks of the rows among the unlabelled ones under each part, from 1.
    weights : mapping of str to float
        Share of each part.
    n_unlabelled : int
        Unlabelled rows. Ranks among as many as there may be members count nearly alike: which of the members comes
        first is chance, and a row that a single part puts there by chance must not lead the list.

    Returns
    -------
    (n,) float64
        Scores.
    """
    first, scores = RARITY * n_unlabelled, np.empty(len(next(iter(ranks.values()))))
    used = {name: weight for name, weight in weights.items() if weight > 0}
    for start in range(0, len(scores), RANKED_AT_ONCE):  # in one go, ten million rows would need arrays for every part
        part = slice(start, start + RANKED_AT_ONCE)
        scores[part] = sum(weight / np.sqrt(ranks[name][part] + first) for name, weight in used.items())
    return np.log(scores, out=scores)
