"""A hidden list in the folder of a fetch: the files that are there with their lengths, a line each, added at once."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rarespec.errors import UsageError
from rarespec.fetching.targets import RemoteFile

if TYPE_CHECKING:
    from rarespec.survey.store.accounts import IngestReport


# ---- The result of every file and object that was asked for: fetched, already there, or failed.


class Cause(StrEnum):
    """Why something failed, as far as it changes what is done about it."""

    FAULT = "fault"
    ABSENT = "absent"
    """The archive does not have it."""
    NO_ID = "no id"
    """The id is not of the form that this archive uses."""


class Outcome(StrEnum):
    """In the words printed to the user."""

    FETCHED = "fetched"
    ALREADY_THERE = "already there"
    FAILED = "failed"


WORST_FIRST = (Outcome.FAILED, Outcome.FETCHED, Outcome.ALREADY_THERE)


@dataclass(frozen=True, slots=True)
class Result:
    """The result of one file, or of an id for which no file could even be named.

    Parameters
    ----------
    ids : tuple of str
        Ids of the objects that need the file.
    outcome : Outcome
        Fetched, already there, or failed.
    name : str
        The file, relative to the folder; empty when it could not be named.
    address : str
        Where it comes from.
    reason : str
        Why it failed, in words.
    n_bytes : int
        Its size.
    digest : str
        "sha1:..." of what was fetched.
    verified : bool
        Whether the archive publishes that digest.
    cause : Cause
        Of a failure.
    """

    ids: tuple[str, ...]
    outcome: Outcome
    name: str = ""
    address: str = ""
    reason: str = ""
    n_bytes: int = 0
    digest: str = ""
    verified: bool = False
    cause: Cause = Cause.FAULT

    def to_json(self) -> dict[str, Any]:
        return {"ids": list(self.ids), "outcome": str(self.outcome), "file": self.name, "address": self.address,
                "reason": self.reason, "bytes": self.n_bytes, "digest": self.digest,
                "checksum verified": self.verified}  # fmt: skip


def record_failure(
    ids: Iterable[str], reason: str, name: str = "", address: str = "", cause: Cause = Cause.FAULT
) -> Result:
    """Make the result of something that could not be fetched.

    Parameters
    ----------
    ids : iterable of str
        Ids of the objects that need the file.
    reason : str
        Why it failed, in words for the user.
    name : str
        The file, relative to the folder; empty if it could not be named.
    address : str
        Where it was looked for.
    cause : Cause
        Kind of failure; only faults count towards giving up on an archive.

    Returns
    -------
    Result
        With the outcome "failed".
    """
    return Result(tuple(ids), Outcome.FAILED, name, address, reason, cause=cause)


@dataclass
class FetchReport:
    """The account of one fetch.

    Parameters
    ----------
    folder : Path
        Where the files are.
    results : list of Result
        One for each file.
    ingest : IngestReport or None
        The account of the ingest, if the files were stored in a survey.
    """

    folder: Path
    results: list[Result] = field(default_factory=list)
    ingest: IngestReport | None = None

    @property
    def objects(self) -> dict[str, Outcome]:
        """Id -> outcome. Where an object needs several files, the worst counts."""
        outcomes: dict[str, Outcome] = {}
        for result in self.results:
            for id in result.ids:
                outcomes[id] = min(outcomes.get(id, result.outcome), result.outcome, key=WORST_FIRST.index)
        return outcomes

    @property
    def counts(self) -> Counter[str]:
        """Outcome -> how many objects."""
        return Counter(map(str, self.objects.values()))

    @property
    def failures(self) -> list[Result]:
        """The files that could not be fetched."""
        return [result for result in self.results if result.outcome == Outcome.FAILED]

    @property
    def files(self) -> list[Path]:
        """The files that are there now, in the order in which they were asked for."""
        there = (result for result in self.results if result.outcome != Outcome.FAILED and result.name)
        return [self.folder / result.name for result in there]

    @property
    def n_bytes(self) -> int:
        """Bytes of the files that were fetched this time."""
        return sum(result.n_bytes for result in self.results if result.outcome == Outcome.FETCHED)

    def to_json(self) -> dict[str, Any]:
        counts = {str(outcome): self.counts[outcome] for outcome in Outcome}
        return {
            "folder": str(self.folder),
            "objects": {"asked": len(self.objects)} | counts,
            "bytes fetched": self.n_bytes,
            "files": [result.to_json() for result in self.results],
            "ingest": self.ingest.to_json() if self.ingest else None,
        }


NAME = ".fetched.jsonl"


@contextmanager
def sole_user(folder: Path) -> Iterator[None]:
    """Lock the folder, so that only one process at a time fetches into it."""
    import fcntl

    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / NAME, "ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            busy = f"{folder}: another fetch is writing here; wait until it ends, or choose another --out"
            raise UsageError(busy) from None
        yield


class Record:
    """The list of a folder, and the names of the files whose spectra a survey has already."""

    def __init__(self, folder: Path, in_survey: Iterable[str] = ()) -> None:
        self._folder = folder
        self._lengths = dict(_entries(folder / NAME))
        self._in_survey = {_strip_gz(name) for name in in_survey}

    def already_there(self, remote: RemoteFile) -> Result | None:
        """The result when the file is listed and has the length that was fetched, or is in the survey.

        A file of that name that we did not fetch may be a piece of one: it is fetched again.
        """
        for name in (remote.name, f"{remote.name}.gz"):
            length = self._lengths.get(name)
            if length is not None and _length_of(self._folder / name) == length:
                return Result(remote.ids, Outcome.ALREADY_THERE, name, n_bytes=length)
        if _strip_gz(Path(remote.name).name) in self._in_survey:
            return Result(remote.ids, Outcome.ALREADY_THERE, reason="in the survey")
        return None

    def add(self, result: Result) -> None:
        """Note a file that was fetched. If the process dies while it writes, only this line is lost."""
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


def _strip_gz(name: str) -> str:
    return Path(name).name.removesuffix(".gz")
