"""Candidates as the page lists them: the row of the table, what people said, and where to look on the sky."""

from __future__ import annotations

from typing import Any

from rarespec.inspector.labels_so_far import Said
from rarespec.inspector.listing import Listing
from rarespec.searching.sky_links import sky_links

MOST = 1000
"""Candidates in one answer."""


def candidates_payload(listing: Listing, said: Said, person: str, start: int, n: int) -> dict[str, Any]:
    """n candidates from this position of the list on."""
    ids = enumerate(listing.ids[start : start + n], start)
    rows = [_candidate(listing, said, person, id, position) for position, id in ids]
    return {"revision": listing.revision, "total": len(listing.ids), "candidates": rows}


def _candidate(listing: Listing, said: Said, person: str, id: str, position: int) -> dict[str, Any]:
    facts, own = listing.facts[id], said.standing.get((id, person))
    return {
        **facts,
        "position": position,
        "ranked": id in listing.ranked,
        "moved": listing.moved.get(id),
        "label": own.label if own else None,
        "comment": own.comment if own else "",
        **others_payload(said, person, id),
        "links": [{"name": name, "url": url} for name, url in _links(facts).items()],
    }


def others_payload(said: Said, person: str, id: str) -> dict[str, Any]:
    """What the others say of a spectrum: labels and comments by their names, and whether not all say the same."""
    together = said.merged.get(id)
    if together is None:
        return {"others": {}, "remarks": {}, "disagree": False}
    others = {who: label for who, label in together.by.items() if who != person}
    remarks = {who: comment for who, comment in together.comments.items() if who != person}
    return {"others": others, "remarks": remarks, "disagree": together.disagree}


def _links(facts: dict[str, Any]) -> dict[str, str]:
    place = facts["ra"], facts["dec"]
    return sky_links(float(place[0]), float(place[1])) if None not in place else {}


def disagreements_payload(said: Said) -> list[dict[str, Any]]:
    """Spectra on which people do not say the same."""
    found = ((id, one) for id, one in said.merged.items() if one.disagree)
    return [{"id": id, "labels": one.by, "remarks": one.comments, "merged": one.label} for id, one in found]
