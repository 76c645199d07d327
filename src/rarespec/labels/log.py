"""The log of labels: events are added and never changed; one that was acknowledged survives any crash."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import astuple, replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from rarespec.errors import DifferentEventError, LabelLogError, UsageError
from rarespec.labels.database import (
    COLUMNS,
    FIRST_COLUMNS,
    explain_errors,
    journal_of,
    open_to_read,
    open_to_write,
    version_of,
    writing,
)
from rarespec.labels.event import BETWEEN_TAGS, LabelEvent, check_event, now, tags_in
from rarespec.labels.kinds import path_beside
from rarespec.labels.place import check_writable
from rarespec.storage.file_systems import file_system_of

if TYPE_CHECKING:
    from rarespec.survey import Survey

__all__ = ["DifferentEventError", "LabelLog", "LabelLogError", "check_place", "path_beside"]

_INSERT = f"INSERT INTO events ({', '.join(COLUMNS)}) VALUES ({', '.join('?' * len(COLUMNS))})"
_SELECT = {
    1: f"SELECT sequence, {', '.join(FIRST_COLUMNS)}, '', NULL FROM events",
    2: f"SELECT sequence, {', '.join(COLUMNS)} FROM events",
}
"""Version of the log -> how events are read; a log that is only read stays as it is."""

RESTORE = "restore it from a backup"


def check_place(path: Path) -> None:
    """Refuse a place where no log could be opened, without creating one there."""
    if path.exists():
        LabelLog(path).close()
    else:
        check_writable(path)


class LabelLog:
    """A log of labels in one SQLite file; events are added and never changed.

    Any number of threads and processes may use it: one writes at a time, the others wait. Use it in a `with` block, or
    call `close`.

    Parameters
    ----------
    path : path or str
        The file; it is created when it does not exist.
    read_only : bool
        Open an existing log, also where this user may not write.
    file_system : callable
        Says of what type the file system of a path is.
    shared : bool
        Make a new log readable and writable for its group too, for several people who label. By default it belongs to
        its maker alone.

    Attributes
    ----------
    journal : str
        The journal of SQLite: "wal", or "delete" (a rollback journal) on network file systems.

    Raises
    ------
    UsageError
        If the file is no log of labels, or cannot be opened.
    LabelLogError
        If the log is damaged, or another program holds it.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from rarespec.labels import Label, LabelEvent, LabelLog, new_event_id
    >>> with TemporaryDirectory() as folder, LabelLog(f"{folder}/labels.sqlite") as log:
    ...     stored = log.append(LabelEvent(new_event_id(), "a", Label.YES, person="Ada"))
    ...     undo = log.append(LabelEvent(new_event_id(), "", None, undoes=stored.event_id, person="Ada"))
    ...     print(len(log.events()), undo.spectrum)
    2 a
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        read_only: bool = False,
        file_system: Callable[[Path], str | None] = file_system_of,
        shared: bool = False,
    ) -> None:
        self.path = Path(path)
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._connection = (
            open_to_read(self.path) if read_only else open_to_write(self.path, file_system(self.path), shared)
        )
        self.read_only = read_only
        self._select = _SELECT[version_of(self._connection)]
        self.journal = journal_of(self._connection)
        """`wal`, or `delete` (a rollback journal) on network file systems."""

    @classmethod
    def beside(cls, survey: Survey, kind: str | None = None) -> LabelLog:
        """Open the log next to the directory of a survey, `<survey directory>.labels.sqlite`.

        Parameters
        ----------
        survey : Survey
            The survey.
        kind : str, optional
            What is looked for, if several kinds are kept apart; see `path_beside`.

        Returns
        -------
        LabelLog
            The log, created when there is none.
        """
        return cls(path_beside(survey.path, kind))

    def append(self, event: LabelEvent) -> LabelEvent:
        """Store an event; when this returns, the event is on the disk.

        The same event again is answered the same and stored once. After an error nothing has changed.

        Parameters
        ----------
        event : LabelEvent
            A label, or an undo.

        Returns
        -------
        LabelEvent
            The event as stored, with its time and spectrum filled in.

        Raises
        ------
        DifferentEventError
            If the log has another event under this id.
        UsageError
            If the event is not valid: an undo of nothing, or of what another person did.
        LabelLogError
            If the event could not be stored.
        """
        with self._writing():
            return self._store(check_event(event))[0]

    def add(self, events: Iterable[LabelEvent]) -> int:
        """Store all of these events or, on an error, none.

        Parameters
        ----------
        events : iterable of LabelEvent
            Labels and undos, in their order.

        Returns
        -------
        int
            How many the log did not have.

        Raises
        ------
        DifferentEventError
            If the log has another event under one of the ids.
        UsageError
            If an event is not valid.
        LabelLogError
            If the events could not be stored.
        """
        ready = [check_event(event) for event in events]
        with self._writing():
            return sum(self._store(event)[1] for event in ready)

    def events(self, after: int = 0) -> list[tuple[int, LabelEvent]]:
        """Read the events in the order in which they were stored.

        Parameters
        ----------
        after : int
            Only events behind this sequence number.

        Returns
        -------
        list of (int, LabelEvent)
            Sequence numbers, rising, and events.

        Raises
        ------
        LabelLogError
            If the log is damaged.
        """
        with self._using():
            rows = self._connection.execute(f"{self._select} WHERE sequence > ? ORDER BY sequence", (after,))
            return list(self._check_rows(after, rows))

    def _check_rows(self, after: int, rows: Iterable[tuple[Any, ...]]) -> Iterator[tuple[int, LabelEvent]]:
        """Check row by row: in a damaged file, pages may lead back to each other without end."""
        for sequence, *values in rows:
            if sequence <= after:
                raise LabelLogError(f"{self.path}: the log is damaged (event {sequence} appears twice); {RESTORE}")
            after = sequence
            yield sequence, self._event(sequence, values)

    def _event(self, sequence: int, values: Iterable[Any]) -> LabelEvent:
        """As stored; whoever can write the file may have put anything there."""
        *others, tags, chance = values
        try:
            event = LabelEvent(*[*others, tags_in(tags), chance])
            same = check_event(event)
        except (UsageError, TypeError, AttributeError, ValueError) as error:
            raise LabelLogError(f"{self.path}: event {sequence} is not valid ({error}); {RESTORE}") from None
        if same != event or BETWEEN_TAGS.join(event.tags) != tags or not (event.spectrum and event.at):
            raise LabelLogError(f"{self.path}: event {sequence} was not written by rarespec; {RESTORE}")
        return same

    def close(self) -> None:
        """Close the file; what was stored stays."""
        with self._lock:
            self._connection.close()

    def __enter__(self) -> LabelLog:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    @contextmanager
    def _using(self) -> Iterator[None]:
        # SQLite forbids a connection after a fork: parent and child would share its locks and damage the file.
        if os.getpid() != self._process:
            raise UsageError(f"{self.path}: opened by another process; open the log again after a fork")
        with self._lock, explain_errors(self.path):
            yield

    @contextmanager
    def _writing(self) -> Iterator[None]:
        if self.read_only:
            raise UsageError(f"{self.path}: the log is open read-only")
        with self._using(), writing(self._connection):
            yield

    def _store(self, event: LabelEvent) -> tuple[LabelEvent, bool]:
        """The event as it is in the log now, and whether it is new there."""
        known = self._find(event.event_id)
        if known is not None:
            _check_same(event, known)
            return known, False
        if event.undoes is not None:
            event = self._check_undo(event, event.undoes)
        event = replace(event, at=event.at or self._time_for(event.person))
        self._connection.execute(_INSERT, _row_of(event))
        return event, True

    def _check_undo(self, undo: LabelEvent, undoes: str) -> LabelEvent:
        undone = self._find(undoes)
        if undone is None:
            raise UsageError(f"{self.path}: there is no event {undoes} to undo")
        if undone.person != undo.person:
            raise UsageError(f"event {undoes} was made by {undone.person}; {undo.person} cannot undo it")
        if undo.spectrum not in ("", undone.spectrum):
            raise UsageError(f"event {undoes} is about {undone.spectrum}, not {undo.spectrum}")
        return replace(undo, spectrum=undone.spectrum)

    def _time_for(self, person: str) -> str:
        """Now, or the last time of this person where a clock was set back: what was said last must stay the last."""
        last = self._connection.execute("SELECT max(at) FROM events WHERE person = ?", (person,)).fetchone()[0]
        return max(now(), last or "")

    def _find(self, event_id: str) -> LabelEvent | None:
        row = self._connection.execute(f"{self._select} WHERE event_id = ?", (event_id,)).fetchone()
        return None if row is None else self._event(row[0], row[1:])


def _row_of(event: LabelEvent) -> tuple[Any, ...]:
    """In the order of COLUMNS; tags in one text."""
    *others, tags, chance = astuple(event)
    return *others, BETWEEN_TAGS.join(tags), chance


def _check_same(event: LabelEvent, known: LabelEvent) -> None:
    """What the log fills in need not be said again."""
    spectrum = known.spectrum if event.undoes is not None and not event.spectrum else event.spectrum
    if replace(event, at=event.at or known.at, spectrum=spectrum) != known:
        said = known.label or f"undo of {known.undoes}"
        raise DifferentEventError(
            f"event {known.event_id} is already in the log with different content "
            f"({known.person}, {known.spectrum}: {said}); give a new event a new id"
        )
