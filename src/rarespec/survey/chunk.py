"""A chunk of an array, read whole or in part: for some rows, only the pieces in which they lie are read and unpacked.

Blosc packs a chunk in pieces of some ten thousand bytes, each by itself:

    header (16 bytes) | where each piece starts (int32 each; absent when the chunk is not packed) | pieces

The pieces that are wanted are put together to a smaller chunk, which Blosc unpacks like any other. Zarr, which has
written the chunk, would unpack all of it for one row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarespec.formats.blosc_chunk import HEADER
from rarespec.survey.byte_ranges import ByteRanges, InMemory, opened_ranges
from rarespec.survey.location import content_of
from rarespec.survey.manifest import SurveyError

NOT_PACKED = 2
"""Bit of the flags: pieces are stored as they are."""

Numbers = NDArray[np.int64]


def whole_chunk(path: Path, shape: tuple[int, int], dtype: str) -> NDArray[Any]:
    """All rows, of this shape, of the chunk in this file."""
    rows = np.empty(shape, dtype)
    with _told(path):
        content = content_of(path)
        if _Chunk.opened(InMemory(content)).n_bytes != rows.nbytes:
            raise _DamagedError("it has the wrong size for a block")
        _unpack(content, rows)
    return rows


def rows_of_chunk(path: Path, rows: NDArray[np.integer], width: int, dtype: str) -> NDArray[Any]:
    """These rows, (k, width), of the chunk in this file; k >= 1."""
    row_bytes = width * np.dtype(dtype).itemsize
    starts = rows.astype(np.int64) * row_bytes
    with _told(path), opened_ranges(path) as file:
        chunk = _Chunk.opened(file)
        pieces = chunk.pieces_with(starts, row_bytes)
        unpacked = np.empty(chunk.n_bytes_of(pieces), np.uint8)
        _unpack(chunk.only(pieces), unpacked)
    first = starts // chunk.piece_bytes
    places = np.searchsorted(pieces, first) * chunk.piece_bytes + starts - first * chunk.piece_bytes
    return np.stack([np.frombuffer(unpacked, dtype, width, place) for place in places.tolist()])


class _DamagedError(Exception):
    """With what is wrong."""


@contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise SurveyError(f"{path}: missing or truncated; run `rarespec verify`") from None
    except _DamagedError as error:
        raise SurveyError(f"{path}: damaged ({error}); run `rarespec verify`") from None


@dataclass(frozen=True)
class _Chunk:
    """A chunk in a file that is open: its header, and where its pieces are."""

    file: ByteRanges
    head: tuple[int, ...]
    """Versions, flags and size of a number, as in the file."""
    n_bytes: int
    """Unpacked."""
    piece_bytes: int
    """Of every piece but the last, which may be shorter, unpacked."""
    starts: Numbers
    ends: Numbers

    @classmethod
    def opened(cls, file: ByteRanges) -> _Chunk:
        *head, n_bytes, piece_bytes, n_packed = HEADER.unpack(_read(file, [(0, HEADER.size)])[0])
        if not 0 < piece_bytes <= n_bytes or n_packed != file.size:
            raise _DamagedError("its header is wrong")
        n_pieces = -(-n_bytes // piece_bytes)
        n_before = HEADER.size + (0 if head[2] & NOT_PACKED else 4 * n_pieces)
        if n_before >= n_packed:
            raise _DamagedError("it is smaller than its header says")
        if head[2] & NOT_PACKED:
            starts = n_before + np.arange(n_pieces, dtype=np.int64) * piece_bytes
        else:
            starts = np.frombuffer(_read(file, [(HEADER.size, 4 * n_pieces)])[0], "<i4").astype(np.int64)
        if starts.min() < n_before or starts.max() >= n_packed:
            raise _DamagedError("its index is wrong")
        # several threads may have written the pieces in any order: each ends where the next in the file starts
        in_file = np.append(np.sort(starts), n_packed)
        ends = in_file[np.searchsorted(in_file, starts, side="right")]
        return cls(file, tuple(head), n_bytes, piece_bytes, starts, ends)

    def pieces_with(self, starts: Numbers, length: int) -> Numbers:
        """Numbers, rising, of the pieces that hold so many unpacked bytes from each of these places on."""
        if (starts < 0).any() or (starts + length > self.n_bytes).any():
            raise _DamagedError("it is smaller than a block")
        first, last = starts // self.piece_bytes, (starts + length - 1) // self.piece_bytes
        wanted = np.zeros(len(self.starts), bool)
        for reach in range(int((last - first).max()) + 1):
            wanted[np.minimum(first + reach, last)] = True
        # Blosc takes no chunk that is shorter than a piece, so the last one never stands alone
        wanted[-2:] |= wanted[-1]
        return np.flatnonzero(wanted)

    def n_bytes_of(self, pieces: Numbers) -> int:
        """Unpacked, of pieces in rising order."""
        missing = len(self.starts) * self.piece_bytes - self.n_bytes if pieces[-1] == len(self.starts) - 1 else 0
        return len(pieces) * self.piece_bytes - missing

    def only(self, pieces: Numbers) -> bytes:
        """A chunk of these pieces alone."""
        lengths = (self.ends - self.starts)[pieces]
        content = _read(self.file, list(zip(self.starts[pieces].tolist(), lengths.tolist(), strict=True)))
        n_before = HEADER.size + (0 if self.head[2] & NOT_PACKED else 4 * len(pieces))
        starts = n_before + np.cumsum(lengths) - lengths
        table = starts.astype("<i4").tobytes()[: n_before - HEADER.size]
        header = HEADER.pack(*self.head, self.n_bytes_of(pieces), self.piece_bytes, n_before + int(lengths.sum()))
        return b"".join([header, table, *content])


def _read(file: ByteRanges, places: Sequence[tuple[int, int]]) -> list[bytes]:
    contents = file.read(places)
    if any(len(content) != length for content, (_, length) in zip(contents, places, strict=True)):
        raise _DamagedError("it is truncated")
    return contents


def _unpack(chunk: bytes, into: NDArray[Any]) -> None:
    from numcodecs.blosc import decompress

    try:
        decompress(chunk, into)
    except (RuntimeError, ValueError) as error:
        raise _DamagedError(str(error)) from None
