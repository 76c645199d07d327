"""One thing that somebody did: a label given, or an earlier event taken back."""

from __future__ import annotations

import getpass
import math
import operator
import os
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any
from uuid import UUID, uuid4

from rarespec.errors import UsageError

# ---- What a person may say about a spectrum.


class Label(StrEnum):
    """What a person may say about a spectrum: yes, no, unsure, or bad data.

    Examples
    --------
    >>> from rarespec import Label
    >>> Label("yes") is Label.YES
    True
    >>> [str(label) for label in Label]
    ['yes', 'no', 'unsure', 'bad']
    """

    YES = "yes"
    NO = "no"
    UNSURE = "unsure"
    BAD = "bad"
    """Bad data: nobody could tell."""


def label_named(word: str) -> Label:
    try:
        return Label(word.strip().lower())
    except ValueError:
        raise UsageError(f"the label {word!r} is not one of {', '.join(Label)}") from None


# ---- The name under which somebody labels.


MAX_PERSON = 100


def person_named(name: str | None = None) -> str:
    """Bring a name to one form: no blanks around it, accents typed one way. Without a name, take the user's."""
    name = unicodedata.normalize("NFC", (_user() if name is None else name).strip())
    if not name:
        raise UsageError("the name of the person labelling is empty; give one, for example Ada")
    if len(name) > MAX_PERSON or not name.isprintable():
        raise UsageError(f"the name {name[:MAX_PERSON]!r} must have at most {MAX_PERSON} characters, all printable")
    return name


def _user() -> str:
    """Who the hub says it is, or the system: all users of a hub may be one to its system."""
    try:
        return os.environ.get("JUPYTERHUB_USER") or getpass.getuser()
    except (KeyError, OSError, ImportError):  # a user that the system has no name for
        raise UsageError("cannot find your user name; give a name with --person") from None


# ---- Tags of one's own beside the label: a few short words, such as dC or CH.


MAX_TAG, MAX_TAGS = 20, 10
BETWEEN_TAGS = ","
"""How tags are written in one text; no tag contains it."""


def tag_named(word: str) -> str:
    """Bring a tag to one form. Case counts: dC is a dwarf carbon star, DC a white dwarf without lines."""
    tag = unicodedata.normalize("NFC", " ".join(word.split()))
    if not tag:
        raise UsageError("the tag is empty; give a short word, for example dC")
    if len(tag) > MAX_TAG or not tag.isprintable() or any(sign in tag for sign in ",;"):
        raise UsageError(
            f"the tag {tag[:MAX_TAG]!r} must have at most {MAX_TAG} characters, all printable, no comma or semicolon"
        )
    return tag


def tags_named(words: Iterable[str]) -> tuple[str, ...]:
    """Bring tags to one form, each once, in the order given."""
    tags = tuple(dict.fromkeys(map(tag_named, words)))
    if len(tags) > MAX_TAGS:
        raise UsageError(f"{len(tags)} tags for one spectrum, more than the limit of {MAX_TAGS}")
    return tags


def tags_in(text: str) -> tuple[str, ...]:
    """Read tags that were written in one text."""
    return tags_named(word for word in text.split(BETWEEN_TAGS) if word.strip())


MAX_SPECTRUM = 1000
MAX_COMMENT = 4000
"""Characters. As JSON, each of them escaped, they and the tags fit into 64 KiB."""


@dataclass(frozen=True)
class LabelEvent:
    """A label that somebody gave, or an undo; it never changes once it is in a log.

    Parameters
    ----------
    event_id : str
        A UUID made by whoever labels, so that an event sent twice counts once; see `new_event_id`.
    spectrum : str
        Id of the spectrum. An undo may leave it empty; the log fills it in.
    label : Label or None
        The label; None for an undo.
    undoes : str, optional
        `event_id` of the event that is taken back, which may be an undo; None for a label.
    person : str
        Who says so.
    at : str
        Time in ISO 8601 with a time zone, such as 2025-03-01T20:15:00Z; the log sets it when it is empty.
    rank : int, optional
        Rank that the person saw.
    score : float, optional
        Score that the person saw.
    revision : int, optional
        In which ranking of the campaign they saw it.
    comment : str
        What else they say.
    tags : tuple of str
        Tags of their own, such as dC; a label of the same spectrum later has its own tags.
    chance : float, optional
        Chance that the person saw.

    Examples
    --------
    >>> from rarespec.labels import Label, LabelEvent, new_event_id
    >>> event = LabelEvent(new_event_id(), "0355-51788-0579", Label.YES, person="Ada", comment="strong C2 bands")
    >>> str(event.label)
    'yes'
    """

    event_id: str
    spectrum: str
    label: Label | None
    undoes: str | None = None
    person: str = ""
    at: str = ""
    rank: int | None = None
    score: float | None = None
    revision: int | None = None
    comment: str = ""
    tags: tuple[str, ...] = ()
    chance: float | None = None


def new_event_id() -> str:
    """Make an id for a new event.

    Returns
    -------
    str
        A random UUID.

    Examples
    --------
    >>> from rarespec.labels import new_event_id
    >>> len(new_event_id())
    36
    """
    return str(uuid4())


def check_event(event: LabelEvent) -> LabelEvent:
    """Return the event with plain Python values, its time in UTC; raise a UsageError where something cannot be."""
    _check_id(event.event_id)
    if (event.label is None) == (event.undoes is None):
        raise UsageError(f"event {event.event_id}: give either a label or the event to undo")
    if event.undoes is not None:
        _check_id(event.undoes)
    elif not event.spectrum:
        raise UsageError(f"event {event.event_id}: a label needs the id of a spectrum")
    _check_text("id of the spectrum", event.spectrum, MAX_SPECTRUM)
    _check_text("comment", event.comment, MAX_COMMENT)
    if event.tags and event.label is None:
        raise UsageError(f"event {event.event_id}: an undo has no tags")
    return replace(
        event,
        label=None if event.label is None else label_named(event.label),
        person=person_named(event.person),
        at=in_utc(event.at) if event.at else "",
        rank=_whole("rank", event.rank),
        score=_finite("score", event.score),
        revision=_whole("revision", event.revision),
        tags=tags_named(event.tags),
        chance=_share("chance", event.chance),
    )


def now() -> str:
    return _format_time(datetime.now(UTC))


def in_utc(time: str) -> str:
    """Write a time of any zone in UTC, always as many characters, so that texts sort as times do."""
    try:
        moment = datetime.fromisoformat(time)
    except ValueError:
        raise UsageError(f"the time {time!r} is not ISO 8601, for example 2025-03-01T20:15:00Z") from None
    if moment.tzinfo is None:
        raise UsageError(f"the time {time!r} has no time zone; add Z for UTC, or an offset such as +01:00")
    try:
        return _format_time(moment.astimezone(UTC))
    except OverflowError:
        raise UsageError(f"the time {time!r} is out of range") from None


def _format_time(moment: datetime) -> str:
    return moment.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def _check_id(event_id: str) -> None:
    try:
        good = str(UUID(event_id)) == event_id
    except (ValueError, AttributeError, TypeError):
        good = False
    if not good:
        raise UsageError(f"{event_id!r} is not an event id; use a UUID in lower case, such as {uuid4()}")


def _check_text(what: str, text: str, most: int) -> None:
    if len(text) > most:
        raise UsageError(f"the {what} has {len(text)} characters, more than the limit of {most}: {text[:40]!r}...")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UsageError(f"the {what} {text[:40]!r} contains invalid text") from None


def _whole(what: str, value: Any) -> int | None:
    """Bring a whole number to Python's own type: SQLite would keep NumPy's as bytes."""
    if value is None:
        return None
    try:
        number = operator.index(value)
    except TypeError:
        raise UsageError(f"the {what} {value!r} is not a whole number") from None
    if not 0 <= number < 1 << 63:
        raise UsageError(f"the {what} {number} is out of range")
    return number


def _finite(what: str, value: Any) -> float | None:
    """Check that a number is finite: SQLite would keep NaN as nothing."""
    if value is None:
        return None
    if isinstance(value, str) or not math.isfinite(value):
        raise UsageError(f"the {what} {value!r} is not a finite number; leave it out if unknown")
    return float(value)


def _share(what: str, value: Any) -> float | None:
    number = _finite(what, value)
    if number is not None and not 0 <= number <= 1:
        raise UsageError(f"the {what} {number} is not between 0 and 1")
    return number
