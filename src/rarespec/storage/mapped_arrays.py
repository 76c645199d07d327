"""Arrays in a file that is mapped into memory instead of read, with a checksum of every piece.

    arrays      one after the other, each at a multiple of 64 bytes
    index       JSON: type, shape and place of each array, and the CRC-32 of every piece of what comes before
    trailer     length of the index, its SHA-256, and MARK

Pages of such a file that nobody changes are the operating system's to drop: they are no memory of the process. On a
network disk the file is read.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import stat
import time
import zlib
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from rarespec.storage.file_systems import file_system_of, is_network
from rarespec.storage.processes import available_cores
from rarespec.storage.whole_file import open_whole

MARK = b"rarespec mapped arrays 1"
N_LENGTH, N_DIGEST = 8, 32
ALIGNED = 64
PIECE, LARGEST_PIECE = 1 << 20, 1 << 26
"""Bytes under one checksum, as they are written, and at most as they are read."""
ABANDONED = 86400
"""Seconds after which a file that is not whole is nobody's."""
LONGEST_INDEX = 64 << 20
"""Bytes: that of a file of a terabyte has a fifth of it."""


class DamagedError(ValueError):
    """A kept file that is not as it was written."""


class ArraysWriter:
    """Writes arrays into a file; `write_arrays` opens it.

    Parameters
    ----------
    file : binary file
        Open for writing and reading, empty.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._places: dict[str, dict[str, Any]] = {}
        self._checksums: list[int] = []
        self._running, self._size = 0, 0

    def add(self, name: str, blocks: Iterable[NDArray[Any]]) -> NDArray[Any]:
        """Write an array, block by block.

        Parameters
        ----------
        name : str
            Its name.
        blocks : iterable of arrays
            At least one, of one type, and of one shape but for the first axis, along which they are joined.

        Returns
        -------
        array
            The whole array, mapped; it can be looked at until the file is whole.
        """
        self._write(bytes(-self._size % ALIGNED))
        start, length, like = self._size, 0, None
        for block in blocks:
            like = block if like is None else like
            length += len(block)
            self._write(np.ascontiguousarray(block).reshape(-1).view(np.uint8).data)
        assert like is not None
        shape = (length, *like.shape[1:])
        self._places[name] = {"type": like.dtype.str, "shape": shape, "start": start}
        self._file.flush()
        return _array_in(_map(self._file), like.dtype, shape, start) if length else like

    def finish(self) -> None:
        """Write the index, after which nothing can be added."""
        if self._size % PIECE:
            self._checksums.append(self._running)
        said = {"arrays": self._places, "size": self._size, "piece": PIECE, "checksums": self._checksums}
        index = json.dumps(said).encode()
        self._file.write(index + len(index).to_bytes(N_LENGTH, "little") + hashlib.sha256(index).digest() + MARK)

    def _write(self, content: bytes | memoryview) -> None:
        left = memoryview(content)
        while left:
            part = left[: PIECE - self._size % PIECE]
            self._file.write(part)
            self._running, self._size = zlib.crc32(part, self._running), self._size + len(part)
            if self._size % PIECE == 0:
                self._checksums.append(self._running)
                self._running = 0
            left = left[len(part) :]


@contextmanager
def write_arrays(path: Path) -> Iterator[ArraysWriter]:
    """Write a file of arrays, whole or not at all.

    Parameters
    ----------
    path : Path
        The file; it appears when the `with` block ends without an error.

    Yields
    ------
    ArraysWriter
        Takes the arrays.
    """
    with open_whole(path) as file:
        writer = ArraysWriter(file)
        yield writer
        writer.finish()


def sweep_beside(path: Path) -> None:
    """Remove the other files of this kind beside a new one, and what processes that died have left of theirs.

    Parameters
    ----------
    path : Path
        The new file. Those whose names end in the same way belong to states that are gone; who has mapped one keeps it.
    """
    for other in set(path.parent.glob(f"*{path.suffix}")) - {path}:
        other.unlink(missing_ok=True)
    for other in path.parent.glob(f"*{path.suffix}.*.tmp"):
        with suppress(FileNotFoundError):
            if time.time() - other.stat().st_mtime > ABANDONED:
                other.unlink()


def map_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Map the arrays of a file into memory, once every piece of it has been compared with its checksum.

    Parameters
    ----------
    path : Path
        A file that `write_arrays` wrote; a link or a pipe is refused.

    Returns
    -------
    dict of arrays
        Name -> array, which cannot be changed.

    Raises
    ------
    OSError
        If the file cannot be read.
    DamagedError
        If it is not as it was written.
    """
    if not stat.S_ISREG(path.lstat().st_mode):
        raise DamagedError("not a regular file")
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
        if os.fstat(file.fileno()).st_size < N_LENGTH + N_DIGEST + len(MARK):
            raise DamagedError("damaged (cut short)")
        # another computer may remove a file of a network disk, and to touch a page that is gone ends the process
        content = file.read() if is_network(file_system_of(path)) else _map(file)
        index = _index_of(content)
        try:
            _require_checksums(file, index["size"], index["piece"], index["checksums"])
            return {
                name: _array_in(content, np.dtype(about["type"]), tuple(about["shape"]), about["start"], index["size"])
                for name, about in index["arrays"].items()
            }
        except (KeyError, TypeError, AttributeError, OverflowError) as error:  # an index that nobody here wrote
            raise DamagedError(f"not a saved file ({type(error).__name__}: {error})") from None


def _map(file: BinaryIO) -> mmap.mmap:
    return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def _index_of(content: mmap.mmap | bytes) -> dict[str, Any]:
    """Read the index; raise a DamagedError if it changed."""
    end = len(content) - len(MARK)
    if content[end:] != MARK:
        raise DamagedError("damaged, or not a saved file")
    length = int.from_bytes(content[end - N_DIGEST - N_LENGTH : end - N_DIGEST], "little")
    start = end - N_DIGEST - N_LENGTH - length
    if start < 0 or length > LONGEST_INDEX:
        raise DamagedError("damaged (its index has another length)")
    index = content[start : start + length]
    if hashlib.sha256(index).digest() != content[end - N_DIGEST : end]:
        raise DamagedError("damaged (its checksum does not match)")
    try:
        said = json.loads(index)
        if said["size"] != start:
            raise DamagedError("damaged (its arrays have another length)")
    except DamagedError:
        raise
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise DamagedError(f"not a saved file ({type(error).__name__}: {error})") from None
    return dict(said)


def _require_checksums(file: BinaryIO, size: int, piece: int, checksums: list[int]) -> None:
    """Compare every piece with its checksum, on all cores.

    Pieces are read, not looked at in the mapping: there, a disk that fails would end the process without a word.
    """
    if not 0 < piece <= LARGEST_PIECE or len(checksums) != -(-size // piece):
        raise DamagedError("damaged (pieces are missing)")

    def is_sound(i: int) -> bool:
        start = i * piece
        return zlib.crc32(os.pread(file.fileno(), min(piece, size - start), start)) == checksums[i]

    with ThreadPoolExecutor(available_cores()) as threads:
        if not all(threads.map(is_sound, range(len(checksums)))):
            raise DamagedError("damaged (a checksum does not match)")


def _array_in(
    content: mmap.mmap | bytes, dtype: np.dtype[Any], shape: tuple[int, ...], start: int, size: int | None = None
) -> NDArray[Any]:
    """Give an array inside the mapped file; raise a DamagedError for one that is not numbers inside it."""
    n_bytes = int(np.prod(shape, dtype=object)) * dtype.itemsize
    within = start >= 0 and n_bytes >= 0 and start + n_bytes <= (len(content) if size is None else size)
    if dtype.kind not in "biuf" or not within or start % ALIGNED or any(length < 0 for length in shape):
        raise DamagedError("not a saved file (an array lies elsewhere)")
    count = n_bytes // dtype.itemsize
    return np.frombuffer(content, dtype, count, start).reshape(shape) if count else np.empty(shape, dtype)
