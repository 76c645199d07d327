"""Pictures of the sky beside spectra: fetched by threads of their own, kept beside the survey.

A service that is slow, gone or hostile costs a picture and nothing else: labels and spectra do not wait for it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from threading import Condition, Thread

from rarespec.errors import RarespecError
from rarespec.fetching.pictures import OneHostWeb, PictureService, fetch_picture, media_type_of
from rarespec.labels.log import path_beside
from rarespec.storage.whole_file import write_whole

THREADS = 2
MOST_WAITING = 12
"""Pictures asked for and not begun; the one that was asked for first is given up."""
RETRY_SECONDS = 60.0
"""A picture that did not come is asked for again after this time."""
MOST_KEPT, MOST_KEPT_BYTES = 5000, 256 << 20
"""Pictures on disk; the oldest are removed."""


@dataclass(frozen=True)
class Cutout:
    """A picture, or why there is none."""

    content: bytes = b""
    why: str = ""

    @property
    def media_type(self) -> str:
        return media_type_of(self.content) or ""


class Cutouts:
    """Pictures of a service around positions. All methods may be called from any thread.

    Parameters
    ----------
    service : PictureService
        Where they come from.
    folder : Path or None
        Where they are kept; None for nowhere.
    now : callable
        Seconds that pass; tests bring their own.
    """

    def __init__(self, service: PictureService, folder: Path | None, now: Callable[[], float] = time.monotonic) -> None:
        self.service = service
        self._kept, self._now = KeptPictures(folder), now
        self._web = OneHostWeb(connections=THREADS)
        self._wanted: dict[str, Future[Cutout]] = {}  # address -> its picture; begun and waiting
        self._waiting: list[str] = []
        self._failed: dict[str, tuple[float, str]] = {}  # address -> when, why
        self._change, self._closed = Condition(), False
        for i in range(THREADS):  # daemons: who stops the page does not wait for a service
            Thread(target=self._work, name=f"cutouts-{i}", daemon=True).start()

    def picture(self, ra: float, dec: float) -> Future[Cutout]:
        """Return the picture around a position: at once where it is kept, else when the service has sent it."""
        address = self.service.address(ra, dec)
        content = self._kept.read(address)
        if content is not None:
            return _done(Cutout(content))
        with self._change:
            when, why = self._failed.get(address, (0.0, ""))
            if why and self._now() - when < RETRY_SECONDS:
                return _done(Cutout(why=why))
            return self._wanted[address] if address in self._wanted else self._want(address)

    def _want(self, address: str) -> Future[Cutout]:
        future = self._wanted[address] = Future()
        self._waiting.append(address)
        while len(self._waiting) > MOST_WAITING:
            self._finish(self._waiting.pop(0), Cutout(why="It was not fetched, as others were asked for since."))
        self._change.notify()
        return future

    def close(self) -> None:
        """Fetch no more."""
        with self._change:
            self._closed = True
            self._change.notify_all()
        self._web.stop()

    def _work(self) -> None:
        while (address := self._next()) is not None:
            try:
                content = fetch_picture(self._web, address)
            except RarespecError as error:
                found = Cutout(why=f"{self.service.host} gives no picture: {error}")
            except Exception as error:  # this thread has to live on
                found = Cutout(why=f"{self.service.host} gives no picture: {type(error).__name__}")
            else:
                self._kept.keep(address, content)
                found = Cutout(content)
            with self._change:
                if found.why:
                    self._failed[address] = self._now(), found.why
                else:
                    self._failed.pop(address, None)
                self._finish(address, found)

    def _next(self) -> str | None:
        """The one asked for last is most likely the one on the screen."""
        with self._change:
            self._change.wait_for(lambda: self._closed or self._waiting)
            return None if self._closed else self._waiting.pop()

    def _finish(self, address: str, found: Cutout) -> None:
        self._wanted.pop(address).set_result(found)


def _done(cutout: Cutout) -> Future[Cutout]:
    future: Future[Cutout] = Future()
    future.set_result(cutout)
    return future


# ---- Pictures on disk, each under a name that only its address tells.


class KeptPictures:
    """Pictures in a folder; where it cannot be written, nothing is kept and nobody is troubled."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._kept = 0
        if folder is not None and folder.is_dir():
            self._forget_oldest()

    def read(self, address: str) -> bytes | None:
        if self._folder is None or self._folder.is_symlink():
            return None
        try:
            content = self._path(address).read_bytes()
        except OSError:
            return None
        return content if media_type_of(content) is not None else None

    def keep(self, address: str, content: bytes) -> None:
        if self._folder is None or self._folder.is_symlink():
            return
        with suppress(OSError):
            self._folder.mkdir(exist_ok=True)
            write_whole(self._path(address), content)
            self._kept += 1
            if self._kept % 100 == 0:
                self._forget_oldest()

    def _path(self, address: str) -> Path:
        assert self._folder is not None
        return self._folder / f"{sha256(address.encode()).hexdigest()}.picture"

    def _forget_oldest(self) -> None:
        assert self._folder is not None
        with suppress(OSError), os.scandir(self._folder) as entries:
            files = [
                (entry.stat(follow_symlinks=False), entry.path) for entry in entries if entry.name.endswith(".picture")
            ]
            files.sort(key=lambda file: file[0].st_mtime, reverse=True)
            total = 0
            for i, (status, path) in enumerate(files):
                total += status.st_size
                if i >= MOST_KEPT or total > MOST_KEPT_BYTES:
                    os.unlink(path)


def folder_beside(survey: str | os.PathLike[str]) -> Path:
    """Say where the pictures of a survey are kept: beside it, as its labels are."""
    labels = path_beside(survey)
    return labels.with_name(labels.name.removesuffix(".labels.sqlite") + ".cutouts")
