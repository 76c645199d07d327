"""The Zarr arrays of a survey, as they lie on disk and as flux and errors; one chunk is one block of whole rows."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import numpy as np
from numpy.typing import NDArray

from rarespec.errors import SurveyError
from rarespec.formats.inflating import BLOSC_HEADER
from rarespec.survey.store.location import content_of, is_remote, ranges_of, size_of
from rarespec.survey.store.manifest import Manifest, chunk_file
from rarespec.survey.store.precision import EXACT, Precision, unpack_flux, unpack_ivar

# ---- A file that is read in parts: on disk by seeking, on an object store by requests for ranges.


FIRST_BYTES = 64 << 10
"""Asked for at once: the beginning of a file says where everything else is, and a request costs more than its bytes."""


class ByteRanges(Protocol):
    """A file that can be read in parts."""

    size: int

    def read(self, places: Sequence[tuple[int, int]]) -> list[bytes]:
        """Read at each of these places, (start, length); fewer bytes where the file ends."""


@contextmanager
def open_ranges(path: Path) -> Iterator[ByteRanges]:
    if is_remote(path):
        yield OnStore(path)
        return
    with open(path, "rb") as file:
        yield OnDisk(file)


class OnDisk:
    """An open file."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.size = os.fstat(file.fileno()).st_size

    def read(self, places: Sequence[tuple[int, int]]) -> list[bytes]:
        return [self._read(*place) for place in places]

    def _read(self, start: int, length: int) -> bytes:
        self._file.seek(start)
        return self._file.read(length)


class InMemory:
    """The content of a file that was read as a whole."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self.size = len(content)

    def read(self, places: Sequence[tuple[int, int]]) -> list[bytes]:
        return [self._content[start : start + length] for start, length in places]


class OnStore:
    """A file on an object store; its first bytes are fetched at once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.size = size_of(path)
        self._first = ranges_of(path, [(0, min(FIRST_BYTES, self.size))])[0] if self.size else b""

    def read(self, places: Sequence[tuple[int, int]]) -> list[bytes]:
        ranges = [(start, min(start + length, self.size)) for start, length in places]
        if all(stop <= len(self._first) for _, stop in ranges):
            return [self._first[start:stop] for start, stop in ranges]
        return self._fetch(ranges)

    def _fetch(self, ranges: list[tuple[int, int]]) -> list[bytes]:
        """Fetch ranges that follow each other with one request."""
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


# ---- A chunk of an array, read whole or in part: for some rows, only the pieces in which they lie are read and
# unpacked.
#
# Blosc packs a chunk in pieces of some ten thousand bytes, each by itself:
#
#     header (16 bytes) | where each piece starts (int32 each; absent when the chunk is not packed) | pieces
#
# The pieces that are wanted are put together to a smaller chunk, which Blosc unpacks like any other. Zarr, which
# has written the chunk, would unpack all of it for one row.


NOT_PACKED = 2
"""Bit of the flags: pieces are stored as they are."""

Numbers = NDArray[np.int64]


def whole_chunk(path: Path, shape: tuple[int, int], dtype: str) -> NDArray[Any]:
    """Read all rows of a chunk.

    Parameters
    ----------
    path : Path
        File of the chunk, on disk or on an object store.
    shape : (int, int)
        Rows and numbers in a row.
    dtype : str
        NumPy's name of the type of the numbers.

    Returns
    -------
    array
        Of this shape and type.

    Raises
    ------
    SurveyError
        If the chunk is missing or damaged.
    """
    rows = np.empty(shape, dtype)
    with _name_errors(path):
        content = content_of(path)
        if _Chunk.open(InMemory(content)).n_bytes != rows.nbytes:
            raise _DamagedError("it has the wrong size for a block")
        _unpack(content, rows)
    return rows


def rows_of_chunk(path: Path, rows: NDArray[np.integer], width: int, dtype: str) -> NDArray[Any]:
    """Read some rows of a chunk; only the pieces that hold them are read and unpacked.

    Parameters
    ----------
    path : Path
        File of the chunk, on disk or on an object store.
    rows : (k,) integer array
        Numbers of the rows within the chunk, in any order, at least one.
    width : int
        Numbers in a row.
    dtype : str
        NumPy's name of the type of the numbers.

    Returns
    -------
    (k, width) array
        The rows, in this order.

    Raises
    ------
    SurveyError
        If the chunk is missing or damaged.
    """
    row_bytes = width * np.dtype(dtype).itemsize
    starts = rows.astype(np.int64) * row_bytes
    with _name_errors(path), open_ranges(path) as file:
        chunk = _Chunk.open(file)
        pieces = chunk.pieces_with(starts, row_bytes)
        unpacked = np.empty(chunk.n_bytes_of(pieces), np.uint8)
        _unpack(chunk.only(pieces), unpacked)
    first = starts // chunk.piece_bytes
    # Only the wanted pieces were unpacked, one after the other: each row moves with its first piece.
    places = np.searchsorted(pieces, first) * chunk.piece_bytes + starts - first * chunk.piece_bytes
    return np.stack([np.frombuffer(unpacked, dtype, width, place) for place in places.tolist()])


class _DamagedError(Exception):
    """Says what is wrong with a chunk."""


@contextmanager
def _name_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
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
    def open(cls, file: ByteRanges) -> _Chunk:
        *head, n_bytes, piece_bytes, n_packed = BLOSC_HEADER.unpack(_read(file, [(0, BLOSC_HEADER.size)])[0])
        if n_packed > file.size:
            raise _DamagedError("it is truncated")
        if not 0 < piece_bytes <= n_bytes or n_packed != file.size:
            raise _DamagedError("its header is wrong")
        n_pieces = -(-n_bytes // piece_bytes)
        n_before = BLOSC_HEADER.size + (0 if head[2] & NOT_PACKED else 4 * n_pieces)
        if n_before >= n_packed:
            raise _DamagedError("it is smaller than its header says")
        if head[2] & NOT_PACKED:
            starts = n_before + np.arange(n_pieces, dtype=np.int64) * piece_bytes
        else:
            starts = np.frombuffer(_read(file, [(BLOSC_HEADER.size, 4 * n_pieces)])[0], "<i4").astype(np.int64)
        if starts.min() < n_before or starts.max() >= n_packed:
            raise _DamagedError("its index is wrong")
        # several threads may have written the pieces in any order: each ends where the next in the file starts
        in_file = np.append(np.sort(starts), n_packed)
        ends = in_file[np.searchsorted(in_file, starts, side="right")]
        return cls(file, tuple(head), n_bytes, piece_bytes, starts, ends)

    def pieces_with(self, starts: Numbers, length: int) -> Numbers:
        """Find the pieces, in rising order, that hold `length` unpacked bytes from each of these starts."""
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
        """Count the unpacked bytes of pieces in rising order."""
        missing = len(self.starts) * self.piece_bytes - self.n_bytes if pieces[-1] == len(self.starts) - 1 else 0
        return len(pieces) * self.piece_bytes - missing

    def only(self, pieces: Numbers) -> bytes:
        """Put together a chunk of these pieces only."""
        lengths = (self.ends - self.starts)[pieces]
        content = _read(self.file, list(zip(self.starts[pieces].tolist(), lengths.tolist(), strict=True)))
        n_before = BLOSC_HEADER.size + (0 if self.head[2] & NOT_PACKED else 4 * len(pieces))
        starts = n_before + np.cumsum(lengths) - lengths
        table = starts.astype("<i4").tobytes()[: n_before - BLOSC_HEADER.size]
        header = BLOSC_HEADER.pack(*self.head, self.n_bytes_of(pieces), self.piece_bytes, n_before + int(lengths.sum()))
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


def create(root: Path, manifest: Manifest) -> dict[str, Any]:
    """Create the arrays of a survey, without any chunk yet.

    Parameters
    ----------
    root : Path
        Directory below which they go.
    manifest : Manifest
        Says how many rows there are now, how many a block has, and how the numbers are stored.

    Returns
    -------
    dict
        Name -> zarr.Array, which can grow.
    """
    import zarr

    precision = manifest.precision
    return {
        name: zarr.create_array(
            root / name,
            shape=(manifest.n_rows, width),
            chunks=(manifest.block_rows, width),
            dtype=precision.dtypes[name],
            compressors=_codec(name, precision),
            fill_value=0,
            attributes={} if precision == EXACT else {"precision": str(precision), "meaning": MEANING[name]},
            config={"write_empty_chunks": True},  # every block has all its files, so that each has its digest
        )
        for name, width in precision.widths(manifest.grid.n_pixels).items()
    }


MEANING = {
    "flux": "flux in steps of each segment of 256 pixels, dithered; read it with rarespec",
    "ivar": "inverse variance: 0 is unknown, n is 2^((last step - n + 1) / 8)",
    "mask": "bad pixels, eight in a byte",
    "steps": "steps of the flux of each segment, then the largest inverse variance: n is 2^(n / 8)",
}
"""What a stored number is, for whoever opens a survey that is not exact with other programs."""


def _codec(name: str, precision: Precision) -> Any:
    from zarr.codecs import BloscCodec

    # Every search reads all flux, and noise hardly packs: lz4 is as small as any there, and unpacks fastest.
    if precision == EXACT or name == "flux":
        return BloscCodec(cname="lz4", clevel=1, shuffle="bitshuffle")
    return BloscCodec(cname="zstd", clevel=3, shuffle="shuffle")


def resize(zarrays: dict[str, Any], n_rows: int) -> None:
    for array in zarrays.values():
        array.resize((n_rows, array.shape[1]))


def stored_block(root: Path, array: str, block: int, manifest: Manifest) -> NDArray[Any]:
    """Read all rows of one chunk as they are stored, padding of a block that is not full included.

    Parameters
    ----------
    root : Path
        Directory of the survey.
    array : str
        Name of the array.
    block : int
        Number of the block.
    manifest : Manifest
        Of the survey.

    Returns
    -------
    (block_rows, width) array
        The rows.
    """
    shape = manifest.block_rows, manifest.precision.widths(manifest.grid.n_pixels)[array]
    return whole_chunk(root / chunk_file(array, block), shape, manifest.precision.dtypes[array])


def stored_rows(root: Path, array: str, rows: NDArray[np.intp], manifest: Manifest) -> NDArray[Any]:
    """Read these rows of an array as they are stored; of each chunk no more is read than its rows need.

    Parameters
    ----------
    root : Path
        Directory of the survey.
    array : str
        Name of the array.
    rows : (n,) intp array
        Row numbers, in any order.
    manifest : Manifest
        Of the survey.

    Returns
    -------
    (n, width) array
        In the order of `rows`.
    """
    dtype, width = manifest.precision.dtypes[array], manifest.precision.widths(manifest.grid.n_pixels)[array]
    taken = np.empty((len(rows), width), dtype)
    block_of = rows // manifest.block_rows
    for block in np.unique(block_of).tolist():
        places = np.flatnonzero(block_of == block)
        inside = rows[places] - block * manifest.block_rows
        taken[places] = rows_of_chunk(root / chunk_file(array, block), inside, width, dtype)
    return taken


# ---- Flux, inverse variance and mask, whatever the precision.


VALUES = ("flux", "ivar", "mask")
"""What can be read of a survey."""


def block_values(root: Path, name: str, block: int, manifest: Manifest) -> NDArray[Any]:
    """Read one array of one block.

    Parameters
    ----------
    root : Path
        Directory of the survey.
    name : str
        "flux", "ivar" or "mask".
    block : int
        Number of the block.
    manifest : Manifest
        Of the survey.

    Returns
    -------
    array
        (rows, pixels) float32 for flux and ivar; the mask has eight pixels in each uint8.
    """
    n_rows = manifest.blocks[block].rows
    stored = stored_block(root, name, block, manifest)[:n_rows]
    if manifest.precision == EXACT or name == "mask":
        return stored
    return _unpack_values(name, stored, stored_block(root, "steps", block, manifest)[:n_rows], np.arange(n_rows))


def row_values(root: Path, rows: NDArray[np.intp], manifest: Manifest) -> dict[str, NDArray[Any]]:
    """Read all arrays in these rows.

    Parameters
    ----------
    root : Path
        Directory of the survey.
    rows : (n,) intp array
        Row numbers, in any order.
    manifest : Manifest
        Of the survey.

    Returns
    -------
    dict of arrays
        Flux, ivar and mask as `block_values` gives them, in the order of `rows`.
    """
    stored = {name: stored_rows(root, name, rows, manifest) for name in manifest.precision.dtypes}
    steps = stored.pop("steps", None)
    if steps is not None:
        places = rows % manifest.block_rows
        stored |= {name: _unpack_values(name, stored[name], steps, places) for name in ("flux", "ivar")}
    return stored


def _unpack_values(
    name: str, stored: NDArray[Any], steps: NDArray[np.int16], rows: NDArray[np.intp]
) -> NDArray[np.float32]:
    if name == "ivar":
        return unpack_ivar(stored, steps)
    return unpack_flux(stored, steps, rows, np.empty(stored.shape, np.float32))


def masked_flux_parts(root: Path, block: int, manifest: Manifest, n_rows: int) -> Iterator[NDArray[np.float32]]:
    """Read the flux of a block, a few rows at a time, with NaN in bad pixels.

    The block is unpacked from its file at once. Its numbers become float32 part by part, so that a part is still in the
    processor's cache when it is used.

    Parameters
    ----------
    root : Path
        Directory of the survey.
    block : int
        Number of the block.
    manifest : Manifest
        Of the survey.
    n_rows : int
        Rows of a part.

    Yields
    ------
    (m, pixels) float32 array
        The next rows, which the caller may change.
    """
    stored = _stored_flux(root, block, manifest)
    for start in range(0, manifest.blocks[block].rows, n_rows):
        rows = np.arange(start, min(start + n_rows, manifest.blocks[block].rows))
        part = {name: array[start : start + len(rows)] for name, array in stored.items()}
        yield _masked_flux(part, rows, manifest)


def masked_flux_at(root: Path, block: int, manifest: Manifest, rows: NDArray[np.intp]) -> NDArray[np.float32]:
    """Read the flux of some rows of a block, with NaN in bad pixels.

    Parameters
    ----------
    root : Path
        Directory of the survey.
    block : int
        Number of the block.
    manifest : Manifest
        Of the survey.
    rows : (m,) intp array
        Numbers of the rows within the block.

    Returns
    -------
    (m, pixels) float32 array
        The rows, which the caller may change.
    """
    stored = _stored_flux(root, block, manifest)
    return _masked_flux({name: array[rows] for name, array in stored.items()}, rows, manifest)


def _stored_flux(root: Path, block: int, manifest: Manifest) -> dict[str, NDArray[Any]]:
    names = ("flux", "mask") if manifest.precision == EXACT else ("flux", "mask", "steps")
    return {name: stored_block(root, name, block, manifest) for name in names}


def _masked_flux(stored: dict[str, NDArray[Any]], rows: NDArray[np.intp], manifest: Manifest) -> NDArray[np.float32]:
    flux = stored["flux"]
    if manifest.precision != EXACT:
        flux = _unpack_values("flux", flux, stored["steps"], rows)
    flux.reshape(-1)[_bad_places(stored["mask"], manifest.grid.n_pixels)] = np.nan
    return flux


def _bad_places(mask: NDArray[np.uint8], n_pixels: int) -> NDArray[np.intp]:
    """Number the pixels that are marked, row by row; few are, so only bytes with a mark are unpacked."""
    row, byte = np.divmod(np.flatnonzero(mask), mask.shape[1])
    which, bit = np.nonzero(np.unpackbits(mask[row, byte][:, None], axis=1))
    pixel = 8 * byte[which] + bit
    inside = pixel < n_pixels  # the last byte has bits to spare
    return (row[which] * n_pixels + pixel)[inside]


def unpack(mask: NDArray[np.uint8], n_pixels: int) -> NDArray[np.bool_]:
    return np.unpackbits(mask, axis=1, count=n_pixels).view(bool)
