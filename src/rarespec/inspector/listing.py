"""The list as it is shown: one revision of the ranking in the order chosen, which never changes under a reader."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rarespec.labels.campaign import Campaign
from rarespec.labels.event import LabelEvent
from rarespec.searching.ranking import Ranking

Facts = dict[str, Any]
"""One row of the table of candidates: rank, id, ra, dec, class, subclass, z, snr, score, chance, ..."""


@dataclass(frozen=True, eq=False)
class Listing:
    """ids : in the order chosen; facts : of each of them; moved : id -> the rank before the last learning, or None.

    ranked : ids that the newest ranking ranks; the others have left it, as they are examples now or were refused
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
    """The newest revision of a campaign in this order.

    seen : labels that stand; they tell rank and score of spectra that have left the ranking
    facts_before : what was shown of spectra that have left the ranking since
    """
    revision = campaign.now
    ids, ranked = tuple(revision.listed(order)), table_rows(revision.ranking)
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


def _of_the_past(before: Facts | None, event: LabelEvent | None, now: Facts) -> Facts:
    """What was shown of it when it was still ranked; in a session before this one, what its label says of that."""
    if before is not None:
        return {**before, "flags": now["flags"]}  # which may be found only now
    past = {"rank": event.rank, "score": event.score} if event else {"rank": None, "score": None}
    return {**now, **past, "chance": None}
