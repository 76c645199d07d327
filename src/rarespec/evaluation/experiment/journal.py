"""The journal of an experiment: one line for every finished task, so that nothing finished is done again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from rarespec.errors import UsageError
from rarespec.evaluation.experiment.plan import Task
from rarespec.evaluation.experiment.task_runner import Outcome

NAME = "journal.jsonl"

Identity = dict[str, Any]
"""What must be the same for outcomes to belong together: survey, features, class, seed, version."""


class Journal:
    """Outcomes by the key of their task, as far as they are known; `add` writes each at once."""

    def __init__(self, file: IO[bytes], outcomes: dict[str, Outcome]) -> None:
        self._file = file
        self._outcomes = outcomes

    def __contains__(self, task: Task) -> bool:
        return task.key in self._outcomes

    def __getitem__(self, task: Task) -> Outcome:
        return self._outcomes[task.key]

    def add(self, task: Task, outcome: Outcome) -> None:
        if "error" not in outcome:  # what failed is tried again by the next run
            self._file.write(_line({"key": task.key, "outcome": outcome}))
            self._file.flush()
        self._outcomes[task.key] = outcome


def require_ours(folder: Path, identity: Identity) -> None:
    """Refuse early what would be refused after much work: a folder in use, or one with another experiment in it.

    `identity` may be a part of the whole.
    """
    if (folder / NAME).exists():
        with _lock(folder) as file:
            first = file.readline()
            if first.endswith(b"\n"):
                _require_same(_parse(first, folder), identity, folder)


@contextmanager
def journal_in(folder: Path, identity: Identity) -> Iterator[Journal]:
    """The journal of this folder, for one process at a time; a last line that was cut off is taken away."""
    folder.mkdir(parents=True, exist_ok=True)
    with _lock(folder) as file:
        content = file.read()
        whole = content[: content.rfind(b"\n") + 1]
        file.truncate(len(whole))
        if not whole:
            file.write(_line(identity))
        yield Journal(file, _outcomes(whole, identity, folder))


@contextmanager
def _lock(folder: Path) -> Iterator[IO[bytes]]:
    import fcntl

    with open(folder / NAME, "a+b") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            busy = f"{folder}: another experiment is writing here; wait until it ends, or choose another --out"
            raise UsageError(busy) from None
        file.seek(0)
        yield file


def _outcomes(content: bytes, identity: Identity, folder: Path) -> dict[str, Outcome]:
    lines = content.splitlines()
    if not lines:
        return {}
    _require_same(_parse(lines[0], folder), identity, folder)
    records = [_parse(line, folder) for line in lines[1:]]
    try:
        return {record["key"]: record["outcome"] for record in records}
    except KeyError:
        raise _damage_error(folder) from None


def _parse(line: bytes, folder: Path) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except ValueError:
        raise _damage_error(folder) from None
    if not isinstance(record, dict):
        raise _damage_error(folder)
    return record


def _damage_error(folder: Path) -> UsageError:
    return UsageError(f"{folder / NAME}: damaged; delete it to run all trials again")


def _require_same(kept: Identity, identity: Identity, folder: Path) -> None:
    other = ", ".join(name for name in identity if kept.get(name) != identity[name])
    if other:
        raise UsageError(
            f"{folder}: contains an experiment with a different {other}; choose another --out, or delete {NAME} there"
        )


def _line(record: dict[str, Any]) -> bytes:
    return json.dumps(record).encode() + b"\n"
