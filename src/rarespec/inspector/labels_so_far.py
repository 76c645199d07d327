"""The labels that stand, of everyone: the log, read on from where it was read last."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from threading import Lock

from rarespec.labels.event import LabelEvent
from rarespec.labels.label import Label
from rarespec.labels.log import LabelLog
from rarespec.labels.merging import Merged, merged
from rarespec.labels.standing import labels_left, last_label, standing


@dataclass(frozen=True)
class Said:
    """What everyone has said up to some moment.

    events : all of them, the oldest first
    """

    events: tuple[LabelEvent, ...]

    @cached_property
    def standing(self) -> dict[tuple[str, str], LabelEvent]:
        """(spectrum, person) -> the label that stands."""
        return standing(self.events)

    @cached_property
    def merged(self) -> dict[str, Merged]:
        """Spectrum -> what all of them say together."""
        return merged(self.events)

    @property
    def labels(self) -> dict[str, Label]:
        """Spectrum -> the label to learn from; without those on which people disagree."""
        return {spectrum: one.label for spectrum, one in self.merged.items() if one.label is not None}

    def about(self, spectrum: str) -> Said:
        return Said(tuple(event for event in self.events if event.spectrum == spectrum))

    def of(self, person: str) -> Said:
        """As if nobody else had said anything."""
        return Said(tuple(event for event in self.events if event.person == person))

    def seen_blind_by(self, person: str) -> Said:
        """Without what others say of spectra on which no label of this person stands."""
        own = {spectrum for spectrum, who in self.standing if who == person}
        return Said(tuple(event for event in self.events if event.person == person or event.spectrum in own))

    def event(self, event_id: str) -> LabelEvent | None:
        return next((event for event in reversed(self.events) if event.event_id == event_id), None)

    def last_of(self, person: str) -> LabelEvent | None:
        """The label this person gave last, of those that are not taken back."""
        return last_label(self.events, person)

    def left_of(self, person: str, event_id: str) -> LabelEvent | None:
        """This label of this person, if it is not taken back."""
        own = (event for event in labels_left(self.events) if event.person == person)
        return next((event for event in own if event.event_id == event_id), None)


class LabelsSoFar:
    """The log as it is now, for any thread; others may write to it meanwhile."""

    def __init__(self, log: LabelLog) -> None:
        self._log = log
        self._lock = Lock()
        self._last = 0
        self._said = Said(())

    def now(self) -> Said:
        with self._lock:
            new = self._log.events(after=self._last)
            if new:
                self._last = new[-1][0]
                self._said = Said((*self._said.events, *(event for _, event in new)))
            return self._said
