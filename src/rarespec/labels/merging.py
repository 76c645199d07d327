"""One label per spectrum out of those of several people, by a rule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rarespec.labels.event import LabelEvent
from rarespec.labels.label import Label
from rarespec.labels.standing import Events, standing
from rarespec.survey.manifest import WrongUseError


@dataclass(frozen=True)
class Merged:
    """What people say together about a spectrum.

    label    : None when the rule does not decide
    by       : person -> label that stands
    disagree : whether not all say the same
    comments : person -> comment, of those who made one
    """

    label: Label | None
    by: dict[str, Label]
    disagree: bool
    comments: dict[str, str]


def merged(events: Events, rule: str = "majority") -> dict[str, Merged]:
    """Spectrum -> what people say together, in the order of their earliest labels that stand."""
    if rule not in RULES:
        raise WrongUseError(f"there is no rule {rule!r}; choose from {', '.join(RULES)}")
    of_spectrum: dict[str, list[LabelEvent]] = {}
    for event in standing(events).values():
        of_spectrum.setdefault(event.spectrum, []).append(event)
    return {spectrum: _merged(said, RULES[rule]) for spectrum, said in of_spectrum.items()}


Rule = Callable[[Sequence[Label]], Label | None]
"""From the labels of one spectrum, one of each person, the earliest first."""


def _merged(said: list[LabelEvent], rule: Rule) -> Merged:
    by = {event.person: event.label for event in said if event.label}
    comments = {event.person: event.comment for event in said if event.comment}
    return Merged(rule(list(by.values())), by, len(set(by.values())) > 1, comments)


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
