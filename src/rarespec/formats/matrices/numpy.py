"""NumPy files: npz with flux and wavelength, structured npy, or a plain npy matrix with its wavelengths beside it.

Nothing is unpickled. Arrays are read forwards in blocks of rows, whether the zip member is compressed or not, after
one pass that verifies every member's CRC-32.
"""

from __future__ import annotations

import io
import math
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from rarespec.formats.columns import ANY_WAVELENGTH, missing
from rarespec.formats.inflating import largest_inflated
from rarespec.formats.matrices.matrix import MOST_ARRAYS, Sliceable, read_matrix
from rarespec.formats.reader import Found, Reader, ReadOptions, faults_of
from rarespec.formats.source import Container, Source, SourceFile
from rarespec.spectrum import DefectError, Reason

WHOLE_ARRAY_BYTES = 1 << 30
"""Column-major arrays must be read whole to get at a row; larger ones are refused."""

SIBLINGS = ("{stem}.wavelength.npy", "{stem}.loglam.npy", "wavelength.npy", "loglam.npy")
"""Where the wavelengths of a plain matrix `<stem>.npy` may be."""

NUMPYS_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


class StreamedArray:
    """The array of one .npy stream, read in slices of rows; going forwards costs no seeking back."""

    def __init__(self, name: str, open_stream: Callable[[], BinaryIO], n_bytes: int) -> None:
        self._stream = open_stream()
        with faults_of(f"array {name}"):
            shape, self._fortran, self.dtype = _header(self._stream)
        self.shape: tuple[int, ...] = shape or (1,)
        self._start = self._stream.tell()
        self._name = name
        self._last: tuple[tuple[int, int], NDArray] | None = None
        if self.dtype.hasobject:
            detail = f"array {name} contains Python objects, which rarespec never unpickles; save it as text or numbers"
            raise DefectError(Reason.LAYOUT, detail)
        if min(self.shape) < 0 or self.dtype.itemsize == 0:
            raise DefectError(Reason.CORRUPT, f"array {name} of shape {self.shape} and type {self.dtype}")
        missing_bytes = self._start + math.prod(self.shape) * self.dtype.itemsize - n_bytes
        if missing_bytes > 0:
            raise DefectError(Reason.TRUNCATED, f"{missing_bytes} bytes of array {name} are missing; fetch it again")

    def __getitem__(self, rows: slice, /) -> NDArray:
        start, stop, _ = rows.indices(self.shape[0])
        # The fields of a structured array ask for the same rows one after the other.
        if self._last is None or self._last[0] != (start, stop):
            self._last = (start, stop), self._read(start, stop)
        return self._last[1]

    def _read(self, start: int, stop: int) -> NDArray:
        if self._fortran and len(self.shape) > 1:
            return self._whole()[start:stop]
        row_shape = self.shape[1:]
        row_bytes = math.prod(row_shape) * self.dtype.itemsize
        content = self._bytes(start * row_bytes, (stop - start) * row_bytes)
        return np.frombuffer(content, dtype=self.dtype).reshape(stop - start, *row_shape)

    def _whole(self) -> NDArray:
        n_bytes = math.prod(self.shape) * self.dtype.itemsize
        if n_bytes > WHOLE_ARRAY_BYTES:
            raise DefectError(Reason.TOO_LARGE, f"array {self._name} is column-major; save it row by row (C order)")
        return np.frombuffer(self._bytes(0, n_bytes), dtype=self.dtype).reshape(self.shape, order="F")

    def _bytes(self, offset: int, n_bytes: int) -> bytes:
        with faults_of(f"array {self._name}"):
            self._stream.seek(self._start + offset)
            content = self._stream.read(n_bytes)
        if len(content) < n_bytes:
            raise DefectError(Reason.TRUNCATED, f"array {self._name} ends early; fetch it again")
        return content


def _header(stream: BinaryIO) -> tuple[tuple[int, ...], bool, np.dtype]:
    version = npy.read_magic(stream)
    if version == (1, 0):
        return npy.read_array_header_1_0(stream)
    shape, fortran, dtype = npy.read_array_header_2_0(stream)
    if version == (3, 0) and dtype.names:  # as version 2, with the field names in UTF-8
        dtype.names = tuple(name.encode("latin1").decode() for name in dtype.names)
    return shape, fortran, dtype


def read(source: Source, options: ReadOptions) -> Iterator[Found]:
    if source.read(0, min(source.length, 4)) == b"PK\x03\x04":
        with _archive(source) as archive:
            _verify(archive, source.length)
            yield from read_matrix(_members(archive), source, options)
    else:
        yield from read_matrix(_npy_arrays(source), source, options)


def _archive(source: Source) -> zipfile.ZipFile:
    try:
        with faults_of("zip"):
            return zipfile.ZipFile(cast(BinaryIO, _buffer(source)))
    except DefectError as error:
        if "not a zip file" in error.detail:
            detail = "the directory at the end of the zip is missing; fetch it again"
            raise DefectError(Reason.TRUNCATED, detail) from None
        raise


def _buffer(source: Source) -> io.BufferedReader:
    return io.BufferedReader(SourceFile(source), 1 << 20)


def _verify(archive: zipfile.ZipFile, n_bytes: int) -> None:
    """Every member read to its end, where the CRC-32 is compared: before the first row is given away."""
    limit = largest_inflated(n_bytes)
    if len(archive.infolist()) > MOST_ARRAYS:
        raise DefectError(Reason.LAYOUT, f"more than {MOST_ARRAYS} arrays")
    if packed := next((m for m in archive.infolist() if m.compress_type not in NUMPYS_METHODS), None):
        # Python unfolds the others in one go, whatever size the archive declares.
        raise DefectError(Reason.LAYOUT, f"{packed.filename} was not written by NumPy; save it with NumPy")
    if sum(member.file_size for member in archive.infolist()) > limit:
        raise DefectError(Reason.TOO_LARGE, f"{n_bytes} bytes inflate to more than {limit >> 20} MiB")
    for member in archive.infolist():
        with faults_of("zip"), archive.open(member) as stream:
            left = member.file_size
            while part := stream.read(1 << 20):
                left -= len(part)
        if left:
            raise DefectError(Reason.TRUNCATED, f"{left} bytes of {member.filename} are missing; fetch it again")


def _members(archive: zipfile.ZipFile) -> dict[str, Sliceable]:
    arrays: dict[str, Sliceable] = {}
    for member in archive.infolist():
        if member.filename.endswith(".npy"):
            name = member.filename.removesuffix(".npy")
            arrays[name] = StreamedArray(name, lambda m=member: _open_member(archive, m), member.file_size)  # type: ignore[misc]
    if not arrays:
        raise DefectError(Reason.UNRECOGNISED, "a zip archive without arrays of NumPy; unpack it first")
    return arrays


def _open_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> BinaryIO:
    with faults_of("zip"):
        return cast(BinaryIO, archive.open(member))


def _npy_arrays(source: Source) -> dict[str, Sliceable]:
    array = StreamedArray("flux", lambda: cast(BinaryIO, _buffer(source)), source.length)
    role, sibling = _wavelengths_beside(source.path)
    if array.dtype.names:
        has_wavelength = any(name.lower() in ANY_WAVELENGTH for name in array.dtype.names)
        return {"table": array} if sibling is None or has_wavelength else {"table": array, role: sibling}
    if sibling is None:
        names = [name.format(stem=source.path.stem) for name in SIBLINGS]
        raise missing("wavelength for a plain matrix", names, ["flux"])
    return {"flux": array, role: sibling}


def _wavelengths_beside(path: Path) -> tuple[str, Sliceable | None]:
    for pattern in SIBLINGS:
        beside = path.parent / pattern.format(stem=path.stem)
        if beside.is_file() and beside.name != path.name:
            return ("loglam" if "loglam" in pattern else "wavelength"), _whole_vector(beside)
    return "wavelength", None


def _whole_vector(path: Path) -> NDArray:
    try:
        with Source(path) as source:
            array = StreamedArray(path.name, lambda: cast(BinaryIO, _buffer(source)), source.length)
            return array[: array.shape[0]]
    except DefectError as error:
        raise DefectError(error.reason, f"{path.name}, the wavelengths: {error.detail}") from None


READER = Reader(
    "numpy", Container.NUMPY, lambda source: True, read, "npz or npy with flux (n, pixels) and wavelength or loglam"
)
