"""What would be fetched, and how large it is, without fetching it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from rarespec.fetching.fault import FaultError
from rarespec.fetching.record import Cause, Outcome, Record, Result, record_failure
from rarespec.fetching.run import Task, run_all
from rarespec.fetching.secret import origin_of
from rarespec.fetching.targets import RemoteFile
from rarespec.fetching.web import Web, length_of
from rarespec.progress import Progress

HEADS = 200
"""Most files whose size is asked for. Of more files, so many are asked for, evenly spread; the rest is estimated."""


@dataclass
class Preview:
    """The files that a fetch would ask for.

    Parameters
    ----------
    folder : Path
        Where they would go.
    missing : list of RemoteFile
        Files to fetch.
    there : list of Result
        Files that are there already.
    failures : list of Result
        Ids and files that cannot be fetched.
    sizes : dict
        Name -> bytes, where the archive said how large the file is.
    looked_at : frozenset of str
        Names of the files whose size was asked for.
    """

    folder: Path
    missing: list[RemoteFile]
    there: list[Result]
    failures: list[Result]
    sizes: dict[str, int] = field(default_factory=dict)
    looked_at: frozenset[str] = frozenset()

    @property
    def total(self) -> int | None:
        """Bytes of all files to fetch, estimated from the mean of the known sizes; None when no size is known."""
        return round(sum(self.sizes.values()) / len(self.sizes) * len(self.missing)) if self.sizes else None

    @property
    def total_is_exact(self) -> bool:
        return len(self.sizes) == len(self.missing)

    def to_json(self) -> dict[str, Any]:
        files = [{"ids": list(one.ids), "file": one.name, "addresses": list(one.addresses),
                  "bytes": self.sizes.get(one.name)} for one in self.missing]  # fmt: skip
        return {"folder": str(self.folder), "to fetch": files, "already there": [one.to_json() for one in self.there],
                "failed": [one.to_json() for one in self.failures], "bytes": self.total,
                "bytes are exact": self.total_is_exact, "sizes asked for": len(self.looked_at)}  # fmt: skip


def preview(
    files: Sequence[RemoteFile],
    failures: Sequence[Result],
    folder: Path,
    record: Record,
    web: Web,
    connections: int,
    progress: Progress,
    ask_sizes: bool = True,
) -> Preview:
    """List what a fetch would ask for, and ask the archive for the sizes.

    Parameters
    ----------
    files : sequence of RemoteFile
        Files that are needed.
    failures : sequence of Result
        Objects for which no file could be named.
    folder : Path
        Where the files would go.
    record : Record
        Tells which files are there already.
    web : Web
        Asks for sizes (HEAD).
    connections : int
        Requests at the same time.
    progress : callable
        Called with the sizes asked for, in all, and how many failed.
    ask_sizes : bool
        Whether to ask; of more than 200 files, 200 are asked for.

    Returns
    -------
    Preview
        Files that the archive turns out not to have are among its failures.
    """
    found = {one.name: record.already_there(one) for one in files}
    missing = [one for one in files if not found[one.name]]
    view = Preview(folder, missing, [there for there in found.values() if there], list(failures))
    if ask_sizes:
        chosen = missing if len(missing) <= HEADS else [missing[i * len(missing) // HEADS] for i in range(HEADS)]
        tasks = [Task(partial(_sizes, one, web), one.ids) for one in chosen]
        results = run_all(tasks, connections, web.stop, lambda _: None, progress)
        view.looked_at = frozenset(one.name for one in chosen)
        view.sizes = {result.name: result.n_bytes for result in results if result.n_bytes}
        absent = {result.name: result for result in results if result.cause == Cause.ABSENT}
        view.failures += absent.values()
        view.missing = [one for one in missing if one.name not in absent]
    return view


def _sizes(remote: RemoteFile, web: Web) -> list[Result]:
    return [_size(remote, web)]


def _size(remote: RemoteFile, web: Web) -> Result:
    for address in remote.addresses:
        try:
            n_bytes = web.patience.insist(partial(_length, address, web), origin_of(address))
            return Result(remote.ids, Outcome.FETCHED, remote.name, address, n_bytes=n_bytes)
        except FaultError as fault:
            if not fault.absent or address == remote.addresses[-1]:
                cause = Cause.ABSENT if fault.absent else Cause.FAULT
                return record_failure(remote.ids, web.hide(fault.reason), remote.name, address, cause)
    return record_failure(remote.ids, "no known address", remote.name)


def _length(address: str, web: Web) -> int:
    with web.ask("HEAD", address) as response:
        return length_of(response) or 0
