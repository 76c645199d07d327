"""What a folder holds of what was fetched: a hidden list of files with their lengths, a line each, written at once."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rarespec.fetching.outcome import Outcome, Result
from rarespec.fetching.wanted import Wanted
from rarespec.survey.manifest import WrongUseError

NAME = ".fetched.jsonl"


@contextmanager
def sole_user(folder: Path) -> Iterator[None]:
    """Held by the one process that may fetch into this folder."""
    import fcntl

    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / NAME, "ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            busy = f"{folder}: another fetch is writing here; wait until it ends, or choose another --out"
            raise WrongUseError(busy) from None
        yield


class Record:
    """The list of a folder, and the names of the files of which a survey has the spectra already."""

    def __init__(self, folder: Path, in_survey: Iterable[str] = ()) -> None:
        self._folder = folder
        self._lengths = dict(_entries(folder / NAME))
        self._in_survey = {_plain(name) for name in in_survey}

    def already_there(self, wanted: Wanted) -> Result | None:
        """The result when the file is listed and has the length that was fetched, or is in the survey.

        A file of that name that we did not fetch may be a piece of one: it is fetched again.
        """
        for name in (wanted.name, f"{wanted.name}.gz"):
            length = self._lengths.get(name)
            if length is not None and _length_of(self._folder / name) == length:
                return Result(wanted.asked, Outcome.ALREADY_THERE, name, n_bytes=length)
        if _plain(Path(wanted.name).name) in self._in_survey:
            return Result(wanted.asked, Outcome.ALREADY_THERE, reason="in the survey")
        return None

    def add(self, result: Result) -> None:
        """Note a file that was fetched. A break in the middle of a line costs that line alone."""
        entry = {"file": result.name, "bytes": result.n_bytes, "digest": result.digest, "address": result.address}
        with open(self._folder / NAME, "ab") as file:
            start = b"\n" if file.tell() and not self._ends_with_newline() else b""
            file.write(start + json.dumps(entry).encode() + b"\n")
        self._lengths[result.name] = result.n_bytes

    def _ends_with_newline(self) -> bool:
        with open(self._folder / NAME, "rb") as file:
            file.seek(-1, os.SEEK_END)
            return file.read(1) == b"\n"


def _entries(path: Path) -> Iterable[tuple[str, int]]:
    try:
        lines = path.read_bytes().splitlines()
    except OSError:
        return
    for line in lines:
        try:
            entry: Any = json.loads(line)
            yield str(entry["file"]), int(entry["bytes"])
        except (ValueError, KeyError, TypeError):  # a line that was cut; its file is fetched again
            continue


def _length_of(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except OSError:
        return None


def _plain(name: str) -> str:
    return Path(name).name.removesuffix(".gz")
