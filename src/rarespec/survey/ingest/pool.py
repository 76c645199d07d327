"""Files read in parallel, their outcomes handed out in the order of the files."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator

from rarespec.processes import Died, map_in_order
from rarespec.spectrum import Defect, Reason
from rarespec.survey.ingest.options import IngestOptions
from rarespec.survey.ingest.reading import Outcome, outcomes_of

GROUP_FILES = 32
GROUP_BYTES = 32 << 20
STREAMED_BYTES = 64 << 20
"""Larger files are streamed through this process, stack by stack; a worker would answer with all of it at once."""


def read_all(paths: Iterable[str], options: IngestOptions, jobs: int) -> Iterator[tuple[str, Iterator[Outcome]]]:
    """Each path with its outcomes, in the order of the paths, whatever the number of jobs."""
    if jobs <= 1:
        yield from ((path, outcomes_of(path, options)) for path in paths)
        return
    for group, results in map_in_order(outcomes_of_group, options, _groups(paths), jobs, _is_streamed):
        if results is None:
            yield group[0], outcomes_of(group[0], options)
        elif isinstance(results, Died):
            yield from _one_by_one(group, options)
        else:
            yield from zip(group, map(iter, results), strict=True)


def outcomes_of_group(options: IngestOptions, paths: list[str]) -> list[list[Outcome]]:
    return [list(outcomes_of(path, options)) for path in paths]


def _one_by_one(group: list[str], options: IngestOptions) -> Iterator[tuple[str, Iterator[Outcome]]]:
    """A group that took its worker down, again, to find the file that did it."""
    for (path,), results in map_in_order(outcomes_of_group, options, [[path] for path in group], 1):
        if isinstance(results, Died):
            detail = f"its reader took the process down (exit status {results.status})"
            yield path, iter([Defect(path, Reason.READER_CRASHED, detail)])
        elif results is not None:
            yield path, iter(results[0])


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
