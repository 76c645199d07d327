"""How far a campaign has come: looked at, found, expected to remain, and whether to go on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rarespec.errors import UsageError
from rarespec.labels.event import Label
from rarespec.searching.ranking import Ranking
from rarespec.searching.yields.yield_curve import WORTH_A_LOOK

RECENT = 30
"""Looks by which it is judged whether looking is still worth it."""

ENOUGH = 10
"""Looks that count for more than an expectation."""

FEW = WORTH_A_LOOK * RECENT
"""Members among the recent looks: with fewer, each costs more than ten looks."""

Remaining = tuple[float, float, float]
"""Low, middle and high of a number that is expected."""


@dataclass(frozen=True)
class CampaignProgress:
    """Counts of spectra that were labelled at all, and yes, unsure, bad data and no.

    expected_remaining : low, middle and high of the members among those not labelled; None if it cannot be told
    suggestion         : whether to go on, and why, in words
    """

    inspected: int
    found: int
    unsure: int
    bad: int
    refused: int
    expected_remaining: Remaining | None
    suggestion: str


def progress_of(ranking: Ranking, labels: Mapping[str, Label]) -> CampaignProgress:
    """Of these labels, in the order of the looks; the ranking may have learned from none, some or all of them."""
    counts = Counter(labels.values())
    left = np.array([id not in labels for id in ranking.table["id"].tolist()], dtype=bool)
    remaining = expected_remaining(ranking, left)
    return CampaignProgress(
        inspected=len(labels),
        found=counts[Label.YES],
        unsure=counts[Label.UNSURE],
        bad=counts[Label.BAD],
        refused=counts[Label.NO],
        expected_remaining=remaining,
        suggestion=_suggestion(ranking, left, remaining, list(labels.values())[-RECENT:]),
    )


def expected_remaining(ranking: Ranking, left: NDArray[np.bool_]) -> Remaining | None:
    """Members in the whole list but for those candidates that were labelled since it was ranked.

    left : (k,) bool, which candidates of the table are not labelled
    """
    curve = ranking.yield_curve
    if not curve.can_tell:
        return None
    looked_at = float(curve.chance[: len(left)][~left].sum())
    share = max(0.0, 1 - looked_at / curve.n_total) if curve.n_total > 0 else 0.0
    return float(np.floor(share * curve.n_total_low)), share * curve.n_total, float(np.ceil(share * curve.n_total_high))


def _suggestion(ranking: Ranking, left: NDArray[np.bool_], remaining: Remaining | None, recent: list[Label]) -> str:
    n_found = recent.count(Label.YES)
    thin = len(recent) == RECENT and n_found < FEW
    lately = f"{n_found or 'none'} of your last {len(recent)} labels {'is' if n_found == 1 else 'are'} yes"
    if not left.any():
        more = ranking.n_listed > len(left)
        return f"{'Re-rank for more' if more else 'Stop'}: every candidate in the list has a label."
    if remaining is None:
        why = ranking.yield_curve.why
        return f"Few are left, or this ranking does not find them: {lately}. {why}" if thin else f"Continue. {why}"
    worth = int(left[: ranking.yield_curve.stopping_rank].sum())
    if thin and n_found == 0 and (worth == 0 or remaining[1] < 1):
        return f"Stop: {lately}."
    if thin:
        return f"Few are left: {lately}."
    if worth:
        return f"Continue: {'the next one is' if worth == 1 else f'the next {worth} are'} worth a look."
    if len(recent) >= ENOUGH and n_found >= WORTH_A_LOOK * len(recent):
        return f"Continue: {lately}."  # what was seen counts for more than what is expected
    return "Few are left: fewer than one in ten of the next candidates is expected to be true."


# ---- What a relearning did to the list.


@dataclass(frozen=True)
class Change:
    """From one revision of a ranking to the next.

    revision : the new one
    moved    : id -> rank before and now, of the candidates listed now whose rank is another. Both count the spectra
        that are listed now alone, so taking labelled ones off the list moves nothing. None: it was not ranked before
    n_yes    : spectra labelled yes
    n_no     : spectra labelled no
    seconds  : it took
    """

    revision: int
    moved: dict[str, tuple[int | None, int]]
    n_yes: int
    n_no: int
    seconds: float


def moved_between(ids: Sequence[str], before: NDArray[np.int64]) -> dict[str, tuple[int | None, int]]:
    """Candidates that moved: `ids` best first, `before` (n,) their earlier ranks, 0 where they had none."""
    pairs = zip(ids, before.tolist(), strict=True)
    return {id: (old or None, new) for new, (id, old) in enumerate(pairs, start=1) if old != new}


# ---- In which order the candidates are looked at.


ORDERS = ("likely", "informative")


def in_order(order: str, chance: NDArray[np.float64]) -> NDArray[np.intp]:
    """Places in the list, (k,), in the order in which to look at them.

    - "likely": best first. Most members for the looks.
    - "informative": the even chances first, that is those of the likely candidates whose chance is nearest
      to 1/2. The answer to a question whose answer is nearly sure teaches nothing; the one that is as likely to be yes
      as no teaches most (uncertainty sampling, Lewis & Gale 1994), and here it says where the members end. Candidates
      that are not worth a look come last, best first. Where the yield curve cannot tell, the order is "likely".

    chance : (k,) chance of each place, best first; NaN where it cannot be told
    """
    if order not in ORDERS:
        raise UsageError(f"there is no order {order!r}; choose from {', '.join(ORDERS)}")
    if order == "likely":
        return np.arange(len(chance))
    return np.argsort(np.where(chance >= WORTH_A_LOOK, np.abs(chance - 0.5), 1.0), kind="stable")


def arranged(others: Iterable[str], places: Mapping[str, int]) -> list[str]:
    """The others in their order, with some ids at places of their own; a place beyond the end is the end."""
    listed = [id for id in others if id not in places]
    for id, place in sorted(places.items(), key=lambda item: item[1]):
        listed.insert(place, id)
    return listed
