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
    """How far a campaign has come: counts of labelled spectra, and whether to go on.

    Parameters
    ----------
    inspected : int
        Spectra with a label.
    found : int
        Labelled yes.
    unsure : int
        Labelled unsure.
    bad : int
        Labelled as bad data.
    refused : int
        Labelled no.
    expected_remaining : tuple of float or None
        Low, middle and high of the number of members not labelled yet; None if there is no estimate.
    suggestion : str
        Whether to go on, and why, in words.

    Examples
    --------
    >>> from rarespec.labels import CampaignProgress
    >>> progress = CampaignProgress(30, 12, 1, 0, 17, (2.0, 5.5, 11.0), "Continue: the next 8 are worth a look.")
    >>> progress.found
    12
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
    remaining = estimate_remaining(ranking, left)
    return CampaignProgress(
        inspected=len(labels),
        found=counts[Label.YES],
        unsure=counts[Label.UNSURE],
        bad=counts[Label.BAD],
        refused=counts[Label.NO],
        expected_remaining=remaining,
        suggestion=_suggestion(ranking, left, remaining, list(labels.values())[-RECENT:]),
    )


def estimate_remaining(ranking: Ranking, left: NDArray[np.bool_]) -> Remaining | None:
    """Estimate how many members are left in the list, without the candidates that were labelled since it was ranked.

    Parameters
    ----------
    ranking : Ranking
        The newest ranking.
    left : (k,) bool array
        Which candidates of the table have no label.

    Returns
    -------
    tuple of float or None
        Low, middle and high; None if the yield curve has no estimate.
    """
    curve = ranking.yield_curve
    if not curve.can_tell:
        return None
    # The curve is older than these labels: they take the share that was expected of them off all three numbers.
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
    """What a campaign changed when it learned.

    Parameters
    ----------
    revision : int
        Number of the new ranking.
    moved : dict
        Id -> (rank before, rank now) of the candidates whose rank changed. Both ranks count only the spectra listed
        now, so taking labelled ones off the list moves nothing. None means that it was not ranked before.
    n_yes : int
        Spectra labelled yes.
    n_no : int
        Spectra labelled no.
    seconds : float
        How long it took.

    Examples
    --------
    >>> from rarespec.labels import Change
    >>> Change(revision=2, moved={"a": (7, 3), "b": (None, 9)}, n_yes=4, n_no=6, seconds=0.1).moved["a"]
    (7, 3)
    """

    revision: int
    moved: dict[str, tuple[int | None, int]]
    n_yes: int
    n_no: int
    seconds: float


def find_moved(ids: Sequence[str], before: NDArray[np.int64]) -> dict[str, tuple[int | None, int]]:
    """Find candidates that moved: `ids` best first, `before` (n,) their earlier ranks, 0 where they had none."""
    pairs = zip(ids, before.tolist(), strict=True)
    return {id: (old or None, new) for new, (id, old) in enumerate(pairs, start=1) if old != new}


# ---- In which order the candidates are looked at.


ORDERS = ("likely", "informative")


def in_order(order: str, chance: NDArray[np.float64]) -> NDArray[np.intp]:
    """Order the places of the list for looking.

    - "likely": best first. It finds most members for the looks.
    - "informative": candidates with even chances first, that is those of the likely candidates whose chance is nearest
      to 1/2. A question whose answer is nearly sure teaches nothing; one that is as likely to be yes as no teaches most
      (uncertainty sampling, Lewis & Gale 1994), and here it says where the members end. Candidates that are not worth a
      look come last, best first. Where the yield curve has no estimate, the order is "likely".

    Parameters
    ----------
    order : str
        "likely" or "informative".
    chance : (k,) float64 array
        Chance of each place, best first; NaN without an estimate.

    Returns
    -------
    (k,) intp array
        Places, from 0, in the order in which to look at them.

    Raises
    ------
    UsageError
        If there is no such order.
    """
    if order not in ORDERS:
        raise UsageError(f"there is no order {order!r}; choose from {', '.join(ORDERS)}")
    if order == "likely":
        return np.arange(len(chance))
    return np.argsort(np.where(chance >= WORTH_A_LOOK, np.abs(chance - 0.5), 1.0), kind="stable")


def arrange(others: Iterable[str], places: Mapping[str, int]) -> list[str]:
    """Put some ids at places of their own among the others, which keep their order; beyond the end is at the end."""
    listed = [id for id in others if id not in places]
    for id, place in sorted(places.items(), key=lambda item: item[1]):
        listed.insert(place, id)
    return listed
