"""The list as it is shown: one revision of the ranking in the order chosen, which never changes under a reader."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import Any

from rarespec.labels.campaign import Campaign
from rarespec.labels.event import Label, LabelEvent
from rarespec.labels.log import LabelLog
from rarespec.labels.merging import Merged, find_standing_labels, labels_left, last_label, merge_labels
from rarespec.searching.ranking import Ranking

Facts = dict[str, Any]
"""One row of the table of candidates: rank, id, ra, dec, class, subclass, z, snr, score, chance, ..."""


@dataclass(frozen=True, eq=False)
class Listing:
    """The list that the page shows.

    Parameters
    ----------
    revision : int
        Number of the ranking.
    ranking : Ranking
        The ranking.
    order : str
        The order chosen.
    ids : tuple of str
        In this order.
    facts : mapping
        Id -> its row of the table.
    moved : mapping
        Id -> the rank before the last learning, or None.
    ranked : frozenset of str
        Ids that the newest ranking ranks; the others have left it, as they are examples now or were refused.
    """

    revision: int
    ranking: Ranking
    order: str
    ids: tuple[str, ...]
    facts: Mapping[str, Facts]
    moved: Mapping[str, int | None]
    ranked: frozenset[str]


def listing_of(
    campaign: Campaign,
    order: str,
    seen: Mapping[tuple[str, str], LabelEvent],
    facts_before: Mapping[str, Facts],
    moved: Mapping[str, int | None],
) -> Listing:
    """List the newest revision of a campaign in this order.

    Parameters
    ----------
    campaign : Campaign
        The campaign.
    order : str
        "likely" or "informative".
    seen : mapping
        (spectrum, person) -> label that stands; it tells rank and score of spectra that have left the ranking.
    facts_before : mapping
        Id -> what was shown of a spectrum that has left the ranking since.
    moved : mapping
        Id -> the rank before the last learning, or None.

    Returns
    -------
    Listing
        The list that the page shows.
    """
    revision = campaign.now
    ids, ranked = tuple(revision.list_ids(order)), table_rows(revision.ranking)
    events = {spectrum: event for (spectrum, _), event in seen.items()}
    left = campaign.describe([id for id in ids if id not in ranked])
    facts = ranked | {id: _of_the_past(facts_before.get(id), events.get(id), now) for id, now in left.items()}
    shown = {id: facts[id] for id in ids}
    return Listing(revision.number, revision.ranking, order, ids, shown, moved, frozenset(ranked))


def table_rows(ranking: Ranking) -> dict[str, Facts]:
    """Id -> its row of the table, as plain values."""
    columns = {name: ranking.table[name].tolist() for name in ranking.table.colnames}
    rows = zip(*columns.values(), strict=True)
    return {row["id"]: row for row in (dict(zip(columns, values, strict=True)) for values in rows)}


def column_units(ranking: Ranking) -> dict[str, str]:
    """Name of a column -> its unit, for those whose unit is known."""
    units = {name: ranking.table[name].unit for name in ranking.table.colnames}
    return ranking.survey.units | {name: str(unit) for name, unit in units.items() if unit is not None}


def _of_the_past(before: Facts | None, event: LabelEvent | None, now: Facts) -> Facts:
    """Describe a spectrum as it was when it was still ranked; from an earlier session, only its label knows that."""
    if before is not None:
        return {**before, "flags": now["flags"]}  # which may be found only now
    past = {"rank": event.rank, "score": event.score} if event else {"rank": None, "score": None}
    return {**now, **past, "chance": None}


# ---- The labels that stand, of everyone: the log, read on from where it was read last.


@dataclass(frozen=True)
class LabelHistory:
    """What everyone has said up to some moment.

    Parameters
    ----------
    events : tuple of LabelEvent
        All of them, the oldest first.
    """

    events: tuple[LabelEvent, ...]

    @cached_property
    def standing(self) -> dict[tuple[str, str], LabelEvent]:
        """(spectrum, person) -> the label that stands."""
        return find_standing_labels(self.events)

    @cached_property
    def merged(self) -> dict[str, Merged]:
        """Spectrum -> what all of them say together."""
        return merge_labels(self.events)

    @property
    def labels(self) -> dict[str, Label]:
        """Spectrum -> the label to learn from; without those on which people disagree."""
        return {spectrum: one.label for spectrum, one in self.merged.items() if one.label is not None}

    @property
    def tags(self) -> list[str]:
        """Every tag that somebody has given, in the order of their first use, which does not change."""
        return list(dict.fromkeys(tag for event in self.events for tag in event.tags))

    def about(self, spectrum: str) -> LabelHistory:
        return LabelHistory(tuple(event for event in self.events if event.spectrum == spectrum))

    def of(self, person: str) -> LabelHistory:
        """Keep only what this person said."""
        return LabelHistory(tuple(event for event in self.events if event.person == person))

    def seen_blind_by(self, person: str) -> LabelHistory:
        """Leave out what others say of spectra that this person has not labelled."""
        own = {spectrum for spectrum, who in self.standing if who == person}
        return LabelHistory(tuple(event for event in self.events if event.person == person or event.spectrum in own))

    def event(self, event_id: str) -> LabelEvent | None:
        return next((event for event in reversed(self.events) if event.event_id == event_id), None)

    def last_of(self, person: str) -> LabelEvent | None:
        """Find the last label of this person that was not taken back."""
        return last_label(self.events, person)

    def left_of(self, person: str, event_id: str) -> LabelEvent | None:
        """Find this label of this person, unless it was taken back."""
        own = (event for event in labels_left(self.events) if event.person == person)
        return next((event for event in own if event.event_id == event_id), None)


class LabelsSoFar:
    """The log as it is now, for any thread; others may write to it meanwhile."""

    def __init__(self, log: LabelLog) -> None:
        self._log = log
        self._lock = Lock()
        self._last = 0
        self._said = LabelHistory(())

    def now(self) -> LabelHistory:
        with self._lock:
            new = self._log.events(after=self._last)
            if new:
                self._last = new[-1][0]
                self._said = LabelHistory((*self._said.events, *(event for _, event in new)))
            return self._said


# ---- Candidates as the page lists them: the row of the table, and what people said.


MOST = 1000
"""Candidates in one answer."""


def candidates_payload(listing: Listing, said: LabelHistory, person: str, start: int, n: int) -> dict[str, Any]:
    """Describe some candidates as the page lists them.

    Parameters
    ----------
    listing : Listing
        The list that the page shows.
    said : LabelHistory
        Labels that this person may see.
    person : str
        Who is looking; their own label is kept apart from those of others.
    start : int
        Position of the first candidate, from 0.
    n : int
        How many candidates.

    Returns
    -------
    dict
        Number of the revision, length of the list, and the candidates.
    """
    ids = enumerate(listing.ids[start : start + n], start)
    rows = [_candidate(listing, said, person, id, position) for position, id in ids]
    return {"revision": listing.revision, "total": len(listing.ids), "candidates": rows}


def _candidate(listing: Listing, said: LabelHistory, person: str, id: str, position: int) -> dict[str, Any]:
    facts, own = listing.facts[id], said.standing.get((id, person))
    return {
        **facts,
        "position": position,
        "ranked": id in listing.ranked,
        "moved": listing.moved.get(id),
        "label": own.label if own else None,
        "comment": own.comment if own else "",
        "tags": list(own.tags) if own else [],
        **others_payload(said, person, id),
    }


def others_payload(said: LabelHistory, person: str, id: str) -> dict[str, Any]:
    """Describe what others say of a spectrum.

    Parameters
    ----------
    said : LabelHistory
        Labels that this person may see.
    person : str
        Who is looking; what they say themselves is left out.
    id : str
        The spectrum.

    Returns
    -------
    dict
        Labels (`others`), comments (`remarks`) and tags (`others_tags`) by person, and `disagree`: whether not all say
        the same.
    """
    together = said.merged.get(id)
    if together is None:
        return {"others": {}, "remarks": {}, "others_tags": {}, "disagree": False}
    others = {who: label for who, label in together.by.items() if who != person}
    remarks = {who: comment for who, comment in together.comments.items() if who != person}
    tags = {who: given for who, given in together.tags.items() if who != person}
    return {"others": others, "remarks": remarks, "others_tags": tags, "disagree": together.disagree}


def disagreements_payload(said: LabelHistory) -> list[dict[str, Any]]:
    """List the spectra on which people disagree."""
    found = ((id, one) for id, one in said.merged.items() if one.disagree)
    return [
        {
            "id": id,
            "labels": one.by,
            "remarks": one.comments,
            "times": {who: said.standing[id, who].at for who in one.by},
            "merged": one.label,
        }
        for id, one in found
    ]
