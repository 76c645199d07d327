"""Zarr groups (v2 or v3) with arrays `flux` (n, pixels) and `wavelength` or `loglam`."""

from __future__ import annotations

import itertools
import json
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import zarr
from numpy.typing import NDArray

from rarespec.formats.columns import ANY_WAVELENGTH, FLUX, IDS
from rarespec.formats.inflating import LARGEST_CHUNK, check_chunk, is_whole
from rarespec.formats.matrices.matrix import MOST_ARRAYS, Lazy, read_matrix, wavelength_unit
from rarespec.formats.reader import Found, Reader, ReadOptions, faults_of
from rarespec.formats.source import Container, Source
from rarespec.spectrum import DefectError, Reason

METADATA = ("zarr.json", ".zarray")
"""Of an array, by version of the format; the first that is there counts, as it does for zarr."""
NOT_CHUNKS = (*METADATA, ".zgroup", ".zattrs", ".zmetadata")
COMPRESSORS = frozenset({"blosc", "bz2", "gzip", "lz4", "lzma", "zlib", "zstd"})
HARMLESS = COMPRESSORS | {
    *("bytes", "endian", "transpose", "sharding_indexed", "vlen-utf8", "vlen-bytes", "vlen-array"),
    *("adler32", "crc32", "crc32c", "fletcher32", "jenkins_lookup3"),
    *("astype", "bitround", "categorize", "delta", "fixedscaleoffset", "packbits", "quantize", "shuffle"),
}
"""Codecs of numbers and text. Any installed package may bring others, and `pickle` runs code."""
LARGEST_METADATA = 16 << 20
INDEX_ENTRY = 16
"""Bytes of the index of a shard for each chunk in it."""


def read(source: Source, options: ReadOptions) -> Iterator[Found]:
    with faults_of("Zarr"):
        if _metadata_file(source.path) is not None and not _is_group(source.path):
            raise DefectError(Reason.LAYOUT, "a single array instead of a group with flux and wavelength")
        members = {path.name: _open(path) for path in _array_directories(source.path)}
        arrays = {name: _lazy(name, array, source.path / name) for name, array in members.items()}
        unit = wavelength_unit(members)
    yield from read_matrix(arrays, source, options, unit)


def _metadata_file(directory: Path) -> Path | None:
    return next((directory / name for name in METADATA if (directory / name).is_file()), None)


def _is_group(directory: Path) -> bool:
    return (directory / ".zgroup").is_file() or _json(directory / "zarr.json").get("node_type") == "group"


def _json(path: Path) -> dict[str, Any]:
    """Metadata of a node; an empty one when there is none, or when it is no JSON object."""
    if not path.is_file():
        return {}
    if path.stat().st_size > LARGEST_METADATA:
        raise DefectError(Reason.TOO_LARGE, f"{path.name} of {path.stat().st_size >> 20} MiB")
    content = json.loads(path.read_text(encoding="utf-8"))
    return content if isinstance(content, dict) else {}


def _array_directories(group: Path) -> list[Path]:
    """The arrays right below a group, sorted; the metadata that a group may keep of them is not used."""
    found = []
    for entry in os.scandir(group):
        if entry.is_dir() and (metadata := _metadata_file(Path(entry.path))):
            if _json(metadata).get("node_type", "array") == "array":
                found.append(Path(entry.path))
            if len(found) > MOST_ARRAYS:
                raise DefectError(Reason.LAYOUT, f"more than {MOST_ARRAYS} arrays")
    return sorted(found)


def _open(directory: Path) -> zarr.Array:
    """Open the array in this directory, after a check of all that decoding it would do."""
    metadata = _metadata_file(directory)
    codecs = _codecs(_json(metadata)) if metadata else []
    if unknown := sorted(set(codecs) - HARMLESS):
        why = "rarespec never unpickles Python objects" if "pickle" in unknown[0] else "it is not supported"
        detail = f"array {directory.name} needs the codec {unknown[0]!r}: {why}; save numbers and text"
        raise DefectError(Reason.LAYOUT, detail)
    compressors = [codec for codec in codecs if codec in COMPRESSORS]
    if len(compressors) > 1:
        raise DefectError(Reason.LAYOUT, f"array {directory.name} is compressed more than once")
    array = zarr.open_array(zarr.storage.LocalStore(directory, read_only=True), mode="r")
    _check_chunks(directory, array, compressors[0] if compressors else None)
    return array


def _codecs(metadata: dict[str, Any]) -> list[str]:
    """Names of the codecs that an array's metadata (v2 or v3) name, also of those within shards."""
    v2 = [metadata.get("compressor"), *(metadata.get("filters") or ())]
    names = [str(codec.get("id")) for codec in v2 if codec]
    for codec in metadata.get("codecs") or ():
        named = codec if isinstance(codec, dict) else {"name": codec}
        names.append(str(named.get("name")).removeprefix("numcodecs."))
        inner = named.get("configuration") or {}
        names += _codecs({"codecs": [*(inner.get("codecs") or ()), *(inner.get("index_codecs") or ())]})
    return names


def _check_chunks(directory: Path, array: zarr.Array, compressor: str | None) -> None:
    """Refuse chunks that are declared too large, that unfold to more than they declare, or that were cut."""
    chunk_bytes = math.prod(array.chunks) * max(array.dtype.itemsize, 1)
    index_bytes = math.prod(array.shards or ()) // max(math.prod(array.chunks), 1) * INDEX_ENTRY
    if max(chunk_bytes, index_bytes) > LARGEST_CHUNK:
        raise DefectError(
            Reason.TOO_LARGE, f"array {directory.name} has chunks of {chunk_bytes >> 20} MiB; use smaller ones"
        )
    if compressor is None or array.shards:
        return
    # Text has no size of its own; filters may keep numbers in wider ones.
    limit = LARGEST_CHUNK if array.dtype.kind in "OT" else min(LARGEST_CHUNK, (1 << 20) + 8 * chunk_bytes)
    for path in chunk_files(directory):
        if compressor == "blosc" and not is_whole(path):
            raise DefectError(Reason.TRUNCATED, f"chunk {path.name} of {directory.name} is truncated; fetch it again")
        check_chunk(compressor, path, limit)


def chunk_files(directory: Path) -> Iterator[Path]:
    """List all files of an array but its metadata."""
    for top, _, names in os.walk(directory):
        yield from (Path(top, name) for name in names if name not in NOT_CHUNKS)


def _lazy(name: str, array: zarr.Array, directory: Path) -> Lazy:
    if name.lower() in (*FLUX, *ANY_WAVELENGTH, *IDS):
        _check_written(name, array, directory)
    return Lazy(array.shape or (1,), array.dtype, lambda rows: _rows(name, array, rows))


def _rows(name: str, array: zarr.Array, rows: slice) -> NDArray[Any]:
    with faults_of(f"Zarr array {name}"):
        return np.asarray(array[rows] if array.shape else array[()]).reshape(-1, *array.shape[1:])


def _check_written(name: str, array: zarr.Array, directory: Path) -> None:
    """Check that every chunk is there: a lost one would be read as zeros. The work is linear in the files."""
    grid = [-(-n // size) for n, size in zip(array.shape, array.shards or array.chunks, strict=True)]
    there = {path.relative_to(directory).as_posix() for path in chunk_files(directory)}
    expected, absent = math.prod(grid), math.prod(grid) - len(there)
    if absent <= 0:
        keys = (array.metadata.encode_chunk_key(at) for at in itertools.product(*map(range, grid)))
        absent = sum(key not in there for key in keys)
    if absent > 0:
        raise DefectError(Reason.TRUNCATED, f"{absent} of {expected} chunks of {name} are missing; fetch it again")


READER = Reader(
    "zarr", Container.ZARR, lambda source: True, read, "Zarr group with flux (n, pixels) and wavelength or loglam"
)
