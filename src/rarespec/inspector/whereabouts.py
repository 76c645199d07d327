"""Who is where: each running inspector tells the others in a small file of its own, in a folder beside the labels.

Nobody writes to the file of another, so there is nothing to lock, also on network file systems. All of it happens in a
thread of its own, so that a slow disk never holds up a label.
"""

from __future__ import annotations

import json
import logging
import os
import stat
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from rarespec.labels.event import MAX_PERSON, MAX_SPECTRUM
from rarespec.storage.text import as_json
from rarespec.storage.whole_file import write_whole

logger = logging.getLogger("uvicorn.error")

SECONDS_APART = 3.0
"""Between two writings."""
FORGOTTEN_AFTER = 90.0
"""Seconds. The page tells again every 20."""
PATIENCE = 0.5
"""Seconds to wait for the disk; then what was read before is good enough."""
MOST_FILES, MOST_BYTES = 200, 8192
DAY = 86400.0


@dataclass(frozen=True)
class Place:
    """Where somebody is.

    Parameters
    ----------
    person : str
        Who.
    spectrum : str
        The spectrum on their screen.
    at : float
        When they told it, in seconds since 1970.
    """

    person: str
    spectrum: str
    at: float


class Whereabouts:
    """Tells the others where this person is, and where they are. All methods may be called from any thread."""

    def __init__(self, log: Path, person: str, now: Callable[[], float] = time.time) -> None:
        self.here: str | None = None
        """What was told last."""
        self._log, self._person, self._now = log, person, now
        self._folder = log.with_name(f"{log.name}.people")
        self._file = self._folder / f"{uuid4().hex}.json"
        self._worker = ThreadPoolExecutor(1, "whereabouts")
        self._writing: Future[None] | None = None
        self._reading: Future[None] | None = None
        self._written_at = -DAY
        self._others: list[Place] = []
        self._has_complained = False

    def tell(self, spectrum: str) -> None:
        """Say that this person looks at this spectrum; soon after the last time, it waits for the next."""
        self.here = spectrum
        is_due = self._now() - self._written_at >= SECONDS_APART
        if is_due and (self._writing is None or self._writing.done()):
            self._writing = self._worker.submit(self._attempt, self._write)

    def others(self) -> list[Place]:
        """List where the others are, one place for each person, as far as the disk tells in time."""
        if self._reading is None or self._reading.done():
            self._reading = self._worker.submit(self._attempt, self._read)
        with suppress(TimeoutError):
            self._reading.result(PATIENCE)
        return [place for place in self._others if self._is_recent(place)]

    def close(self) -> None:
        self._worker.shutdown(cancel_futures=True)
        self._leave()

    def _attempt(self, work: Callable[[], None]) -> None:
        """One notice is enough: who is where matters less than labels."""
        try:
            work()
        except OSError as error:
            if not self._has_complained:
                logger.warning("others cannot see where you are, nor you them (%s); labels are not affected", error)
            self._has_complained = True

    def _write(self) -> None:
        self._written_at = self._now()
        is_shared = bool(self._log.stat().st_mode & stat.S_IWGRP)
        self._make_folder(0o770 if is_shared else 0o700)
        content = as_json({"person": self._person, "spectrum": self.here, "at": self._now()})
        write_whole(self._file, content.encode())
        self._file.chmod(0o660 if is_shared else 0o600)  # whatever the umask takes away

    def _make_folder(self, mode: int) -> None:
        with suppress(FileExistsError):
            self._folder.mkdir()
            self._folder.chmod(mode)
        if self._folder.is_symlink():
            raise OSError(f"{self._folder}: a link in place of the folder; ask who made it, and remove it")

    def _read(self) -> None:
        latest: dict[str, Place] = {}
        for place in sorted(self._places(), key=lambda place: place.at):
            if place.person != self._person and self._is_recent(place):
                latest[place.person] = place
        self._others = list(latest.values())

    def _places(self) -> Iterator[Place]:
        if self._folder.is_symlink() or not self._folder.is_dir():
            return
        with os.scandir(self._folder) as entries:
            files = [entry for entry, _ in zip(entries, range(MOST_FILES), strict=False)]
        for entry in files:
            # One that goes away meanwhile, or is not what we write, tells nothing.
            with suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
                if entry.name.endswith(".json") and entry.is_file(follow_symlinks=False):
                    yield _place_in(entry.path)

    def _is_recent(self, place: Place) -> bool:
        return abs(self._now() - place.at) < FORGOTTEN_AFTER

    def _leave(self) -> None:
        """Whoever leaves takes their file along, and files of those who were killed a day ago."""
        if self._folder.is_symlink() or not self._folder.is_dir():
            return
        with suppress(OSError):
            self._file.unlink(missing_ok=True)
            for file in list(self._folder.iterdir())[:MOST_FILES]:
                if self._now() - file.lstat().st_mtime > DAY:
                    file.unlink()
            self._folder.rmdir()  # refused while others are there


def _place_in(path: str) -> Place:
    """Whoever may write there may have written anything."""
    file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(file, "rb") as stream:
        content: Any = json.loads(stream.read(MOST_BYTES))
    place = Place(content["person"], content["spectrum"], float(content["at"]))
    for text, longest in ((place.person, MAX_PERSON), (place.spectrum, MAX_SPECTRUM)):
        if not isinstance(text, str) or not 0 < len(text) <= longest:
            raise ValueError("not a name")
    if not place.person.isprintable():
        raise ValueError("not a name of a person")
    return place
