"""Which labels stand: the last of each person about each spectrum that no undo has taken back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from rarespec.labels.event import LabelEvent

Events: TypeAlias = Iterable[LabelEvent | tuple[int, LabelEvent]]
"""In the order of the log, with or without their sequence numbers."""


def standing(events: Events) -> dict[tuple[str, str], LabelEvent]:
    """(spectrum, person) -> the label that stands, earliest first.

    The time counts, not the place in the log: logs that were merged are in no order of time.
    """
    found: dict[tuple[str, str], LabelEvent] = {}
    for event in labels_left(events):
        found.pop((event.spectrum, event.person), None)
        found[event.spectrum, event.person] = event
    return found


def last_label(events: Events, person: str) -> LabelEvent | None:
    """What this person would undo next; None when nothing is left."""
    return next((event for event in reversed(labels_left(events)) if event.person == person), None)


def labels_left(events: Events) -> list[LabelEvent]:
    """All labels that are not taken back, also those that a later one of the same person replaces; earliest first."""
    in_order = [event if isinstance(event, LabelEvent) else event[1] for event in events]
    gone = _taken_back(in_order)
    left = [event for event in in_order if event.label is not None and event.event_id not in gone]
    return sorted(left, key=lambda event: event.at)


def _taken_back(events: list[LabelEvent]) -> set[str]:
    """From the last to the first: an undo that is itself taken back takes nothing back."""
    gone: set[str] = set()
    for event in reversed(events):
        if event.undoes is not None and event.event_id not in gone:
            gone.add(event.undoes)
    return gone
