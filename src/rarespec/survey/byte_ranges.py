"""A file of which parts are read: on disk by moving in it, on an object store by requests for ranges."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Protocol

from rarespec.survey.location import is_remote, ranges_of, size_of

FIRST_BYTES = 64 << 10
"""Asked for at once: the beginning of a file says where everything else is, and a request costs more than its bytes."""


class ByteRanges(Protocol):
    size: int

    def read(self, places: Sequence[tuple[int, int]]) -> list[bytes]:
        """So many bytes from each of these places on, as (start, length); fewer where the file ends."""


@contextmanager
def opened_ranges(path: Path) -> Iterator[ByteRanges]:
    if is_remote(path):
        yield OnStore(path)
        return
    with open(path, "rb") as file:
        yield OnDisk(file)


class OnDisk:
    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.size = os.fstat(file.fileno()).st_size

    def read(self, places: Sequence[tuple[int, int]]) -> list[bytes]:
        return [self._read(*place) for place in places]

    def _read(self, start: int, length: int) -> bytes:
        self._file.seek(start)
        return self._file.read(length)


class InMemory:
    def __init__(self, content: bytes) -> None:
        self._content = content
        self.size = len(content)

    def read(self, places: Sequence[tuple[int, int]]) -> list[bytes]:
        return [self._content[start : start + length] for start, length in places]


class OnStore:
    def __init__(self, path: Path) -> None:
        self._path = path
        self.size = size_of(path)
        self._first = ranges_of(path, [(0, min(FIRST_BYTES, self.size))])[0] if self.size else b""

    def read(self, places: Sequence[tuple[int, int]]) -> list[bytes]:
        ranges = [(start, min(start + length, self.size)) for start, length in places]
        if all(stop <= len(self._first) for _, stop in ranges):
            return [self._first[start:stop] for start, stop in ranges]
        return self._fetched(ranges)

    def _fetched(self, ranges: list[tuple[int, int]]) -> list[bytes]:
        """One request for ranges that follow upon each other."""
        runs: list[tuple[int, int]] = []
        run_of = []
        for start, stop in ranges:
            follows = runs and runs[-1][1] == start
            begin = runs.pop()[0] if follows else start
            runs.append((begin, stop))
            run_of.append(len(runs) - 1)
        contents = ranges_of(self._path, runs)
        return [
            contents[run][start - runs[run][0] : stop - runs[run][0]]
            for run, (start, stop) in zip(run_of, ranges, strict=True)
        ]
