"""The journal of an experiment: one line for every finished task, so that nothing finished is done again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from rarespec.evaluation.experiment.bench import Outcome
from rarespec.evaluation.experiment.task import Task
from rarespec.survey.manifest import WrongUseError

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


@contextmanager
def journal_in(folder: Path, identity: Identity) -> Iterator[Journal]:
    """The journal of this folder, for one process at a time; a last line that was cut off is taken away."""
    import fcntl

    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / NAME, "a+b") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise WrongUseError(
                f"{folder}: another experiment is writing here; wait for it, or choose another --out"
            ) from None
        file.seek(0)
        content = file.read()
        whole = content[: content.rfind(b"\n") + 1]
        file.truncate(len(whole))
        if not whole:
            file.write(_line(identity))
        yield Journal(file, _outcomes(whole, identity, folder))


def _outcomes(content: bytes, identity: Identity, folder: Path) -> dict[str, Outcome]:
    lines = content.splitlines()
    if not lines:
        return {}
    try:
        kept, *records = (json.loads(line) for line in lines)
        outcomes = {record["key"]: record["outcome"] for record in records}
    except (ValueError, KeyError, TypeError):
        raise WrongUseError(f"{folder / NAME}: is damaged; remove it, and all trials run again") from None
    if kept != identity:
        other = ", ".join(name for name in identity if kept.get(name) != identity[name])
        raise WrongUseError(
            f"{folder}: holds an experiment with another {other}; choose another --out, or remove {NAME} there"
        )
    return outcomes


def _line(record: dict[str, Any]) -> bytes:
    return json.dumps(record).encode() + b"\n"
