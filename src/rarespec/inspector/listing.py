"""The list as it is shown: one revision of the ranking in the order chosen, which never changes under a reader."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rarespec.inspector.shelf import Shelf
from rarespec.labels.campaign import Revision
from rarespec.labels.event import LabelEvent
from rarespec.searching.candidates import FROM_CATALOGUE
from rarespec.searching.ranking import Ranking

Facts = dict[str, Any]
"""One row of the table of candidates: rank, id, ra, dec, class, subclass, z, snr, score, expected_precision, ..."""


@dataclass(frozen=True, eq=False)
class Listing:
    """ids : in the order chosen; facts : of each of them; moved : id -> the rank before the last learning, or None."""

    revision: int
    ranking: Ranking
    order: str
    ids: tuple[str, ...]
    facts: Mapping[str, Facts]
    moved: Mapping[str, int | None]


def listing_of(
    revision: Revision,
    order: str,
    shelf: Shelf,
    seen: Mapping[tuple[str, str], LabelEvent],
    facts_before: Mapping[str, Facts],
    moved: Mapping[str, int | None],
) -> Listing:
    """A revision of a campaign in this order.

    seen : labels that stand; they tell rank and score of spectra that have left the ranking
    facts_before : what was shown of spectra that have left the ranking since
    """
    ids = tuple(revision.listed(order))
    facts = {**facts_before, **table_rows(revision.ranking)}
    absent = [id for id in ids if id not in facts]
    facts |= _without_a_row(absent, shelf, {spectrum: event for (spectrum, _), event in seen.items()})
    return Listing(revision.number, revision.ranking, order, ids, {id: facts[id] for id in ids}, moved)


def table_rows(ranking: Ranking) -> dict[str, Facts]:
    """Id -> its row of the table, as plain values."""
    columns = {name: ranking.table[name].tolist() for name in ranking.table.colnames}
    rows = zip(*columns.values(), strict=True)
    return {row["id"]: row for row in (dict(zip(columns, values, strict=True)) for values in rows)}


def _without_a_row(ids: Sequence[str], shelf: Shelf, seen: Mapping[str, LabelEvent]) -> dict[str, Facts]:
    """Of spectra labelled in an earlier session, which are examples now and no candidates: what was seen then."""
    rows = {}
    for spectrum in shelf.fetch(ids):
        event = seen.get(spectrum.id)
        past = {"rank": event.rank, "score": event.score} if event else {"rank": None, "score": None}
        unknown = {"expected_precision": None, "nearest_known": "", "flags": ""}
        catalogue = {name: spectrum.catalogue.get(name) for name in FROM_CATALOGUE}
        rows[spectrum.id] = {"id": spectrum.id, **past, **catalogue, **unknown}
    return rows
