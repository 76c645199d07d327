"""How far compressed bytes unfold, measured without ever holding more than a limit."""

from __future__ import annotations

import bz2
import lzma
import os
import re
import struct
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from rarespec.spectrum import DefectError, Reason

# ---- Chunks compressed by Blosc, which does not look at the length of its input: a truncated chunk reads stale
# memory.


BLOSC_HEADER = struct.Struct("<4B3I")
"""Version, version of the codec, flags, size of a number; bytes unpacked, of a block, packed."""


def is_whole(path: Path) -> bool:
    """Say whether the chunk in this file is as long as its header says."""
    with open(path, "rb") as file:
        head = file.read(BLOSC_HEADER.size)
    return len(head) == BLOSC_HEADER.size and BLOSC_HEADER.unpack(head)[-1] == path.stat().st_size


LARGEST_CHUNK = 512 << 20
"""Bytes that one chunk of an array may unfold to: libraries unfold chunks whole, to get at a single row."""

DEFLATE_RATIO = 1032
"""No deflated stream (gzip, zip, HDF5) unfolds further than this, so short ones need no look."""

FIRST_PIECE, LARGEST_PIECE = 1 << 10, 1 << 20
"""Bytes given to a decompressor at a time. What it leaves is copied: short at first, since streams may be short."""

_ZEROS = re.compile(rb"\0*")
_GZIP = 31
"""zlib's number for a stream with the header of gzip."""
LONGEST_HEADER = 32
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"


def largest_inflated(n_bytes: int) -> int:
    """Limit what so many compressed bytes may unfold to: far more than spectra ever do, far less than a bomb does."""
    return (64 << 20) + 30 * n_bytes


def inflate(compressed: bytes) -> bytes:
    """Inflate a whole gzip stream, all members, and verify each trailer; stop at the limit and never fill memory."""
    return b"".join(_inflate(compressed, largest_inflated(len(compressed)), _DECOMPRESSORS["gzip"]))


def _inflate(compressed: bytes, limit: int, decompressor: Callable[[], Any]) -> Iterator[bytes]:
    """Yield what one stream after the other unfolds to, piece by piece; the work is linear in both lengths."""
    total, at = 0, 0
    while at < len(compressed):
        stream, length = decompressor(), FIRST_PIECE
        while not stream.eof:
            piece = compressed[at : at + length]
            if not piece:
                raise DefectError(Reason.TRUNCATED, "the gzip stream ends early; fetch it again")
            part = _unfold(stream, piece, limit - total + 1)
            total += len(part)
            if total > limit:
                raise DefectError(Reason.TOO_LARGE, f"{len(compressed)} bytes inflate to more than {limit >> 20} MiB")
            if part:
                yield part
            at += len(piece) - len(stream.unused_data)
            length = min(4 * length, LARGEST_PIECE)
        padding = _ZEROS.match(compressed, at)  # tapes and some archives pad with zeros
        at = padding.end() if padding else at


def _unfold(stream: Any, piece: bytes, most: int) -> bytes:
    try:
        return stream.decompress(piece, most)
    except (zlib.error, lzma.LZMAError, OSError) as error:
        raise DefectError(Reason.CORRUPT, f"gzip: {error}; fetch it again") from None


def check_deflated(compressed: bytes, limit: int, gzip: bool = False) -> None:
    """Refuse a deflated stream that unfolds to more bytes than a limit; a damaged one is left to its reader.

    Parameters
    ----------
    compressed : bytes
        The whole stream.
    limit : int
        Bytes that it may unfold to.
    gzip : bool
        Whether the stream has gzip's header; by default zlib's.

    Raises
    ------
    DefectError
        If it unfolds further.
    """
    if DEFLATE_RATIO * len(compressed) > limit:
        _check_streams(compressed, limit, _DECOMPRESSORS["gzip" if gzip else "zlib"])


def check_chunk(codec: str, path: Path, limit: int) -> None:
    """Refuse a chunk of a Zarr array that unfolds to more bytes than a limit; a damaged one is left to its reader.

    Parameters
    ----------
    codec : str
        How it is packed, in the words of numcodecs: blosc, lz4, zstd, gzip, zlib, bz2 or lzma.
    path : Path
        The chunk's file.
    limit : int
        Bytes that it may unfold to.

    Raises
    ------
    DefectError
        If it unfolds further, or says so in its header.
    """
    with open(path, "rb") as file:
        head, n_bytes = file.read(LONGEST_HEADER), os.fstat(file.fileno()).st_size
    # Blosc, lz4 and (mostly) zstd declare what they unfold to; with other codecs only unfolding tells.
    if codec == "blosc":
        size = BLOSC_HEADER.unpack_from(head)[4] if len(head) >= BLOSC_HEADER.size else 0
    elif codec == "lz4":
        size = int.from_bytes(head[:4], "little")
    elif codec == "zstd":
        declared = _zstd_content_size(head)
        size = _zstd_counted(path.read_bytes(), limit) if declared is None else declared
    else:
        size = 0
        # bz2 and lzma have no bound like DEFLATE_RATIO: even a short chunk may be a bomb.
        if codec in ("bz2", "lzma") or DEFLATE_RATIO * n_bytes > limit:
            _check_streams(path.read_bytes(), limit, _DECOMPRESSORS[codec])
    if size > limit:
        raise DefectError(Reason.TOO_LARGE, f"{n_bytes} bytes inflate to more than {limit >> 20} MiB")


_DECOMPRESSORS: dict[str, Callable[[], Any]] = {
    "gzip": lambda: zlib.decompressobj(wbits=_GZIP),
    "zlib": zlib.decompressobj,
    "bz2": bz2.BZ2Decompressor,
    "lzma": lzma.LZMADecompressor,
}


def _check_streams(compressed: bytes, limit: int, decompressor: Callable[[], Any]) -> None:
    try:
        for _ in _inflate(compressed, limit, decompressor):
            pass
    except DefectError as error:
        if error.reason is Reason.TOO_LARGE:
            raise


def _zstd_content_size(frame: bytes) -> int | None:
    """RFC 8878, 3.1.1.1: after the magic number a descriptor, a window, a dictionary, then the size, if any."""
    if len(frame) < 18 or not frame.startswith(_ZSTD_MAGIC):
        return None
    descriptor = frame[4]
    single_segment, size_flag, dictionary_flag = descriptor >> 5 & 1, descriptor >> 6, descriptor & 3
    at = 5 + (1 - single_segment) + (0, 1, 2, 4)[dictionary_flag]
    length = (single_segment, 2, 4, 8)[size_flag]
    if length == 0:
        return None
    return int.from_bytes(frame[at : at + length], "little") + (256 if length == 2 else 0)


def _zstd_counted(compressed: bytes, limit: int) -> int:
    import pyarrow as pa

    total = 0
    try:
        with pa.CompressedInputStream(pa.BufferReader(compressed), "zstd") as stream:
            while total <= limit and (part := stream.read(LARGEST_PIECE)):
                total += len(part)
    except (OSError, pa.ArrowException):  # damaged: its reader will say so
        pass
    return total
