"""One label per spectrum out of those of several people, by a rule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from rarespec.errors import UsageError
from rarespec.labels.event import Label, LabelEvent, tag_named

# ---- Which labels stand: the last of each person about each spectrum that no undo has taken back.


Events: TypeAlias = Iterable[LabelEvent | tuple[int, LabelEvent]]
"""In the order of the log, with or without their sequence numbers."""


def find_standing_labels(events: Events) -> dict[tuple[str, str], LabelEvent]:
    """Find the labels that stand: the last of each person about each spectrum that no undo has taken back.

    The time counts, not the place in the log: logs that were merged are in no order of time.

    Parameters
    ----------
    events : iterable of LabelEvent or (int, LabelEvent)
        In the order of the log, with or without their sequence numbers.

    Returns
    -------
    dict
        (spectrum, person) -> the event, earliest first.

    Examples
    --------
    >>> from rarespec.labels import Label, LabelEvent, find_standing_labels, new_event_id
    >>> first = LabelEvent(new_event_id(), "a", Label.UNSURE, person="Ada", at="2025-03-01T20:15:00Z")
    >>> second = LabelEvent(new_event_id(), "a", Label.YES, person="Ada", at="2025-03-01T20:16:00Z")
    >>> str(find_standing_labels([first, second])["a", "Ada"].label)
    'yes'
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
    gone = _find_taken_back(in_order)
    left = [event for event in in_order if event.label is not None and event.event_id not in gone]
    return sorted(left, key=lambda event: event.at)


def _find_taken_back(events: list[LabelEvent]) -> set[str]:
    """From the last to the first: an undo that is itself taken back takes nothing back."""
    gone: set[str] = set()
    for event in reversed(events):
        if event.undoes is not None and event.event_id not in gone:
            gone.add(event.undoes)
    return gone


@dataclass(frozen=True)
class Merged:
    """What people say together about a spectrum.

    Parameters
    ----------
    label : Label or None
        The label by the rule; None when the rule does not decide.
    by : dict
        Person -> label that stands.
    disagree : bool
        Whether not all say the same.
    comments : dict
        Person -> comment, of those who made one.
    tags : dict
        Person -> tags, of those who gave some.

    Examples
    --------
    >>> from rarespec.labels import Label, Merged
    >>> Merged(None, {"Ada": Label.YES, "Bea": Label.NO}, disagree=True, comments={}).disagree
    True
    """

    label: Label | None
    by: dict[str, Label]
    disagree: bool
    comments: dict[str, str]
    tags: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def all_tags(self) -> tuple[str, ...]:
        """The tags that anybody gave, each once."""
        return tuple(dict.fromkeys(tag for tags in self.tags.values() for tag in tags))


def merge_labels(events: Events, rule: str = "majority") -> dict[str, Merged]:
    """Merge the labels of several people into one for each spectrum, by a rule.

    Parameters
    ----------
    events : iterable of LabelEvent or (int, LabelEvent)
        In the order of the log, with or without their sequence numbers.
    rule : str
        "majority" (no label in a tie), "latest", "unanimous" (no label unless all agree), or "any_yes" (yes if one
        person says so, else the majority).

    Returns
    -------
    dict
        Spectrum -> Merged, in the order of the earliest labels that stand.

    Raises
    ------
    UsageError
        If there is no such rule.

    Examples
    --------
    >>> from rarespec.labels import Label, LabelEvent, merge_labels, new_event_id
    >>> at = "2025-03-01T20:15:00Z"
    >>> said = {"Ada": Label.YES, "Bea": Label.YES, "Cleo": Label.NO}
    >>> events = [LabelEvent(new_event_id(), "a", label, person=name, at=at) for name, label in said.items()]
    >>> merged = merge_labels(events)["a"]
    >>> str(merged.label), merged.disagree
    ('yes', True)
    """
    if rule not in RULES:
        raise UsageError(f"there is no rule {rule!r}; choose from {', '.join(RULES)}")
    of_spectrum: dict[str, list[LabelEvent]] = {}
    for event in find_standing_labels(events).values():
        of_spectrum.setdefault(event.spectrum, []).append(event)
    return {spectrum: _merge_labels(said, RULES[rule]) for spectrum, said in of_spectrum.items()}


Rule = Callable[[Sequence[Label]], Label | None]
"""From the labels of one spectrum, one of each person, the earliest first."""


def _merge_labels(said: list[LabelEvent], rule: Rule) -> Merged:
    by = {event.person: event.label for event in said if event.label}
    comments = {event.person: event.comment for event in said if event.comment}
    tags = {event.person: event.tags for event in said if event.tags}
    return Merged(rule(list(by.values())), by, len(set(by.values())) > 1, comments, tags)


def _majority(labels: Sequence[Label]) -> Label | None:
    (label, most), *others = Counter(labels).most_common()
    return None if others and others[0][1] == most else label


def _latest(labels: Sequence[Label]) -> Label | None:
    return labels[-1]


def _unanimous(labels: Sequence[Label]) -> Label | None:
    return labels[0] if len(set(labels)) == 1 else None


def _any_yes(labels: Sequence[Label]) -> Label | None:
    return Label.YES if Label.YES in labels else _majority(labels)


RULES: dict[str, Rule] = {
    "majority": _majority,
    "latest": _latest,
    "unanimous": _unanimous,
    "any_yes": _any_yes,
}


# ---- Some of the labels: those with a combined label, or a tag.


@dataclass(frozen=True)
class ChosenLabels:
    """The labels that were asked for.

    Parameters
    ----------
    rows : list of LabelEvent
        Labels that stand, spectrum by spectrum.
    together : dict
        Spectrum -> what people say together.
    """

    rows: list[LabelEvent]
    together: dict[str, Merged]

    def count_tags(self) -> Counter[str]:
        """Tag -> spectra to which somebody gave it."""
        return Counter(tag for said in self.together.values() for tag in said.all_tags)


def choose_labels(
    events: Events, rule: str = "majority", only: Label | None = None, tag: str | None = None
) -> ChosenLabels:
    """Choose labels that stand.

    Parameters
    ----------
    events : iterable of LabelEvent or (int, LabelEvent)
        In the order of the log.
    rule : str
        A rule of `merge_labels`.
    only : Label, optional
        Only of spectra that have this label by the rule.
    tag : str, optional
        Only of spectra to which somebody gave this tag.

    Returns
    -------
    ChosenLabels
        The labels, and what they say together.
    """
    events = list(events)
    wanted = None if tag is None else tag_named(tag)
    together = {
        id: said
        for id, said in merge_labels(events, rule).items()
        if only in (None, said.label) and (wanted is None or wanted in said.all_tags)
    }
    place = {id: number for number, id in enumerate(together)}
    rows = [event for event in find_standing_labels(events).values() if event.spectrum in together]
    return ChosenLabels(sorted(rows, key=lambda event: place[event.spectrum]), together)
