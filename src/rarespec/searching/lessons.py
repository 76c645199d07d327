"""What a search learns from labels that people gave: who joins the known, who is refused, who is not listed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Lessons:
    """Ids by what people said of them; `rarespec.labels.read_lessons` reads them from a log.

    Parameters
    ----------
    members : tuple of str
        Labelled yes: known examples.
    refused : tuple of str
        Labelled no: known non-members. A known example that is among them is known no longer.
    bad : tuple of str
        Labelled as bad data: not listed, and nothing is learned from them.
    left_out : tuple of str
        Looked at without a verdict (unsure, or people disagree): not listed, otherwise as before.
    about : mapping
        What the provenance of a ranking says of the labels.
    said : tuple of str
        What to tell the user, a line each.
    started_with : tuple of str
        Ids of the known examples of the campaign in which the labels were given, if there was one and it had ids.

    Examples
    --------
    >>> from rarespec.searching.lessons import Lessons
    >>> sorted(Lessons(members=("a",), refused=("b",), left_out=("c",)).ids)
    ['a', 'b', 'c']
    """

    members: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    bad: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    about: Mapping[str, Any] = field(default_factory=dict)
    said: tuple[str, ...] = ()
    started_with: tuple[str, ...] = ()

    @property
    def ids(self) -> frozenset[str]:
        """All spectra that have a label; none of them is listed."""
        return frozenset((*self.members, *self.refused, *self.bad, *self.left_out))

    def doubts(self, known_ids: list[str]) -> list[str]:
        """Say so if these labels seem to be about another kind of object than these known examples."""
        if not self.started_with or not self.ids or not set(self.started_with).isdisjoint((*known_ids, *self.ids)):
            return []
        return [other_examples(self.started_with, str(self.about.get("log", "the log")))]


def other_examples(started_with: tuple[str, ...], log: str) -> str:
    """Word the doubt that labels are about another kind of object."""
    some = ", ".join(started_with[:3]) + (", ..." if len(started_with) > 3 else "")
    return (
        f"{log}: these labels were given in a search for other examples ({some}); if you look for another kind of "
        "object now, keep the kinds apart with --kind NAME"
    )
