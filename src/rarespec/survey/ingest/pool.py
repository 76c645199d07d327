"""Files read in parallel, in processes of their own, their outcomes handed out in the order of the files."""

from __future__ import annotations

import os
import socket
import stat
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, tee

from rarespec.engines.engine import Engine
from rarespec.errors import EngineError
from rarespec.formats.contained import read_groups_contained
from rarespec.formats.readers import MOST_TEXT, text_beside
from rarespec.spectrum import Spectra
from rarespec.survey.ingest import reading
from rarespec.survey.ingest.reading import IngestOptions, Outcome, plain_outcomes, read_outcomes

GROUP_FILES = 32
GROUP_BYTES = 32 << 20
STREAMED_BYTES = 64 << 20
"""Larger files are streamed through this process, stack by stack; an answer would hold all of it at once."""
ANSWER_BYTES = 256 << 20
"""So much may come out of one file of a group; one that holds more is streamed after all."""


DEFECT_BYTES = 1 << 10
"""About what one takes: a file may have millions."""


@dataclass(frozen=True, slots=True)
class Unseen:
    """Stands for the outcomes of a file that is not there, as seen from this host."""

    host: str


@dataclass(frozen=True, slots=True)
class TooMuch:
    """Stands for outcomes that are too many for one answer."""


Answer = list[list[Outcome] | Unseen | TooMuch]
"""To a group of files, for each of them."""


def read_all(
    paths: Iterable[str], options: IngestOptions, engine: Engine | None, n_readers: int
) -> Iterator[tuple[str, Iterator[Outcome]]]:
    """Read files, wherever that is done, and give their outcomes in the order of the paths.

    Parameters
    ----------
    paths : iterable of str
        The files.
    options : IngestOptions
        How they are read.
    engine : Engine or None
        Where they are read; None for processes of this machine.
    n_readers : int
        How many processes.

    Yields
    ------
    path : str
        The file.
    outcomes : iterator
        Spectra, defects and what was left out, in the order of the file.
    """
    in_turn: deque[list[str]] = deque()

    def sent() -> Iterator[list[str]]:
        for group in _groups(paths):
            in_turn.append(group)
            if not _is_streamed(group):
                yield group

    if engine:
        answers = engine.map(read_group, options, sent())
    elif n_readers == 1:
        answers = _read_plain_files_here(options, sent())
    else:
        answers = _read_groups(options, sent(), n_readers)
    for answer in answers:
        yield from _stream_large_files(in_turn, options)
        yield from ((path, _open(path, one, options)) for path, one in zip(in_turn.popleft(), answer, strict=True))
    yield from _stream_large_files(in_turn, options)


def read_group(options: IngestOptions, paths: list[str]) -> Answer:
    (answer,) = _read_groups(options, [paths], 1)
    return answer


def _read_plain_files_here(options: IngestOptions, groups: Iterable[list[str]]) -> Iterator[Answer]:
    """Read in this process while the files are plain and sound; from the first other one on, a second process reads.

    One that only reads, beside this one that only stores, would take longer: it has to start and to send the spectra.
    """
    groups = iter(groups)
    for paths in groups:
        answer: Answer = []
        for path in paths:
            outcomes = plain_outcomes(options, path)
            if outcomes is None:
                yield from _read_groups(options, chain([paths], groups), 1)
                return
            answer.append(outcomes)
        yield answer


def _read_groups(options: IngestOptions, groups: Iterable[list[str]], n_readers: int) -> Iterator[Answer]:
    """Read each group in one go; if a file is too much for its reader, read the files of the group one by one."""
    to_ask, under_way = tee(groups)
    task = (reading.outcomes_of, options)
    answers = read_groups_contained(read_each, task, to_ask, options.limits, n_readers)
    for answer, paths in zip(answers, under_way, strict=False):
        if answer is None:
            yield [_gather(read_outcomes(path, options)) if os.path.lexists(path) else _unseen() for path in paths]
        else:
            yield answer


def read_each(
    task: tuple[Callable[[IngestOptions, str], Iterator[Outcome]], IngestOptions], paths: list[str]
) -> Iterator[Answer]:
    """Read the files of a group, in the process that reads."""
    outcomes_of, options = task
    yield [_gather(outcomes_of(options, path)) if os.path.lexists(path) else _unseen() for path in paths]


def _gather(outcomes: Iterator[Outcome]) -> list[Outcome] | TooMuch:
    gathered, n_bytes = [], 0
    for outcome in outcomes:
        gathered.append(outcome)
        n_bytes += _bytes_of(outcome) if isinstance(outcome, Spectra) else DEFECT_BYTES
        if n_bytes > ANSWER_BYTES:
            return TooMuch()
    return gathered


def _bytes_of(spectra: Spectra) -> int:
    """Estimate the bytes of spectra from above: counting the text of a single one would take longer than sending it."""
    return spectra.flux.nbytes + (text_beside(spectra) if len(spectra) > 1 else MOST_TEXT)


def _unseen() -> Unseen:
    return Unseen(socket.gethostname())


def _stream_large_files(in_turn: deque[list[str]], options: IngestOptions) -> Iterator[tuple[str, Iterator[Outcome]]]:
    """Read the large files whose turn it is."""
    while in_turn and _is_streamed(in_turn[0]):
        (path,) = in_turn.popleft()
        yield path, read_outcomes(path, options)


def _open(path: str, one: list[Outcome] | Unseen | TooMuch, options: IngestOptions) -> Iterator[Outcome]:
    """Open the outcomes of a file. One that no worker saw, and that is not here either, is refused by its reader."""
    if isinstance(one, list):
        return iter(one)
    if isinstance(one, Unseen) and os.path.lexists(path):
        raise EngineError(
            f"{path}: the worker on {one.host} cannot see this file: all workers need the same shared file system "
            "under the same path"
        )
    return read_outcomes(path, options)


def _groups(paths: Iterable[str]) -> Iterator[list[str]]:
    """Group neighbouring files, few enough to be one unit of work; a large file is a group of its own."""
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
