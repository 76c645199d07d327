"""Files read in parallel, their outcomes handed out in the order of the files."""

from __future__ import annotations

import os
import socket
import stat
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rarespec.engines.engine import Engine, EngineError
from rarespec.spectrum import Defect, Reason
from rarespec.survey.ingest.options import IngestOptions
from rarespec.survey.ingest.reading import Outcome, outcomes_of

GROUP_FILES = 32
GROUP_BYTES = 32 << 20
STREAMED_BYTES = 64 << 20
"""Larger files are streamed through this process, stack by stack; a worker would answer with all of it at once."""


@dataclass(frozen=True, slots=True)
class Unseen:
    """Stands for the outcomes of a file that is not there, as seen from this host."""

    host: str


@dataclass(frozen=True, slots=True)
class Crashed:
    """Stands for the answer of a worker that reading took down."""

    how: str


Answer = list[list[Outcome] | Unseen] | Crashed
"""To a group of files, for each of them."""


def read_all(
    paths: Iterable[str], options: IngestOptions, engine: Engine | None
) -> Iterator[tuple[str, Iterator[Outcome]]]:
    """Each path with its outcomes, in the order of the paths, wherever they are read; without an engine, right here."""
    if engine is None:
        yield from ((path, outcomes_of(path, options)) for path in paths)
        return
    in_turn: deque[list[str]] = deque()

    def sent() -> Iterator[list[str]]:
        for group in _groups(paths):
            in_turn.append(group)
            if not _is_streamed(group):
                yield group

    for answer in engine.map(outcomes_of_group, options, sent(), if_died=_crashed):
        yield from _streamed_first(in_turn, options)
        yield from _opened(in_turn.popleft(), answer, options, engine)
    yield from _streamed_first(in_turn, options)


def outcomes_of_group(options: IngestOptions, paths: list[str]) -> Answer:
    return [list(outcomes_of(path, options)) if os.path.lexists(path) else _unseen() for path in paths]


def _unseen() -> Unseen:
    return Unseen(socket.gethostname())


def _crashed(group: list[str], how: str) -> Answer:
    return Crashed(how)


def _streamed_first(in_turn: deque[list[str]], options: IngestOptions) -> Iterator[tuple[str, Iterator[Outcome]]]:
    """The large files whose turn it is."""
    while in_turn and _is_streamed(in_turn[0]):
        (path,) = in_turn.popleft()
        yield path, outcomes_of(path, options)


def _opened(
    group: list[str], answer: Answer, options: IngestOptions, engine: Engine
) -> Iterator[tuple[str, Iterator[Outcome]]]:
    if isinstance(answer, Crashed):
        yield from _one_by_one(group, options, engine)
    else:
        yield from ((path, _seen(path, one, options)) for path, one in zip(group, answer, strict=True))


def _one_by_one(group: list[str], options: IngestOptions, engine: Engine) -> Iterator[tuple[str, Iterator[Outcome]]]:
    """A group that took its worker down, again, to find the file that did it."""
    for path in group:
        (answer,) = engine.map(outcomes_of_group, options, [[path]], if_died=_crashed)
        if isinstance(answer, Crashed):
            detail = f"its reader took the process down ({answer.how})"
            yield path, iter([Defect(path, Reason.READER_CRASHED, detail)])
        else:
            yield path, _seen(path, answer[0], options)


def _seen(path: str, one: list[Outcome] | Unseen, options: IngestOptions) -> Iterator[Outcome]:
    """A file that is not there is read here, so that it is refused in the usual words, unless it is there after all."""
    if not isinstance(one, Unseen):
        return iter(one)
    if os.path.lexists(path):
        raise EngineError(
            f"{path}: the worker on {one.host} cannot see this file: all workers need the same shared file system "
            "under the same path"
        )
    return outcomes_of(path, options)


def _groups(paths: Iterable[str]) -> Iterator[list[str]]:
    """Neighbouring files, few enough to be one unit of work; a large file stands alone."""
    group: list[str] = []
    total = 0
    for path in paths:
        size = _size(path)
        if group and (total + size > GROUP_BYTES or len(group) == GROUP_FILES):
            yield group
            group, total = [], 0
        group.append(path)
        total += size
    if group:
        yield group


def _size(path: str) -> int:
    try:
        status = os.stat(path)
    except OSError:
        return 0
    return STREAMED_BYTES + 1 if stat.S_ISDIR(status.st_mode) else status.st_size


def _is_streamed(group: list[str]) -> bool:
    return len(group) == 1 and _size(group[0]) > STREAMED_BYTES
