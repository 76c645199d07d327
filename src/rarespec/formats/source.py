"""One input opened for reading: its kind is recognised by its first bytes, never by its name."""

from __future__ import annotations

import io
import os
import re
import stat
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from rarespec.formats.inflating import inflate
from rarespec.spectrum import DefectError, Reason
from rarespec.storage.text import printable

if TYPE_CHECKING:
    from rarespec.formats.fits.blocks import Hdu


WHOLE_FILE_BYTES = 8 << 20
"""Files up to this size are read in one go; larger ones piece by piece, so that what is skipped costs nothing."""


class Container(StrEnum):
    """Kinds of file, recognised by their first bytes.

    Examples
    --------
    >>> from rarespec.formats import Container
    >>> print(Container.HDF5)
    HDF5
    """

    FITS = "FITS"
    NUMPY = "NumPy"
    HDF5 = "HDF5"
    PARQUET = "Parquet"
    ZARR = "Zarr"
    TEXT = "text table"


class Source:
    r"""An input file or Zarr directory, opened: its kind, its bytes, and its FITS HDUs.

    It inflates a gzipped file in memory, up to a limit and always to the end, so that the checksum is always verified.

    Parameters
    ----------
    path : str or path-like
        The file, or the directory of a Zarr store.

    Attributes
    ----------
    name : str
        The path, fit to print.
    container : Container
        What kind of file it is.
    length : int
        Bytes, after inflating.

    Raises
    ------
    DefectError
        If the file cannot be opened, is empty, or is of no known kind.

    Examples
    --------
    >>> import tempfile
    >>> from rarespec.formats import Source
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     _ = file.write(b"wavelength flux\n4000 1.5\n")
    ...     file.flush()
    ...     with Source(file.name) as source:
    ...         print(source.container, source.length)
    text table 25
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = os.fspath(path)
        self.name = printable(self._path)
        self._file: io.FileIO | None = None
        self._content: bytes | None = None
        if os.path.isdir(self._path):
            self.length = 0
            self.container = _container_of_directory(self.path)
            return
        self._open()
        try:
            self.container = _container_of(self.read(0, min(self.length, 4096)))
        except BaseException:
            self.close()
            raise

    def _open(self) -> None:
        # Opened without blocking: a named pipe would otherwise wait for a writer for ever.
        try:
            descriptor = os.open(self._path, os.O_RDONLY | os.O_NONBLOCK | getattr(os, "O_BINARY", 0))
        except OSError as error:
            raise DefectError(Reason.UNREADABLE, f"{error.strerror}; check the path and its permissions") from None
        self._file = io.FileIO(descriptor)
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            self.close()
            raise DefectError(Reason.UNREADABLE, "not a regular file")
        self.length = status.st_size
        if self.length == 0:
            self.close()
            raise DefectError(Reason.EMPTY, "0 bytes; fetch it again")
        if self.length <= WHOLE_FILE_BYTES or self._is_gzip():
            self._read_whole()

    def _is_gzip(self) -> bool:
        return self.read(0, min(2, self.length)) == b"\x1f\x8b"

    def _read_whole(self) -> None:
        content = self.read(0, self.length)
        self._close_file()
        if content[:2] == b"\x1f\x8b":
            content = inflate(content)
        self._content, self.length = content, len(content)

    @cached_property
    def path(self) -> Path:
        """The path of the file."""
        return Path(self._path)

    @property
    def in_memory(self) -> bool:
        """Whether the whole (inflated) file is held, so that checking all of it costs no further reading."""
        return self._content is not None

    def read(self, offset: int, n_bytes: int) -> bytes:
        """Read exactly these bytes of the (inflated) file.

        Parameters
        ----------
        offset : int
            First byte.
        n_bytes : int
            How many.

        Returns
        -------
        bytes
            The bytes.

        Raises
        ------
        DefectError
            If the file ends before them, or the disk fails.
        """
        if offset < 0 or offset + n_bytes > self.length:
            missing = offset + n_bytes - self.length
            raise DefectError(Reason.TRUNCATED, f"{missing} bytes are missing at the end; fetch it again")
        if self._content is not None:
            return self._content[offset : offset + n_bytes]
        assert self._file is not None
        try:
            self._file.seek(offset)
            parts, left = [], n_bytes
            while left and (part := self._file.read(left)):
                parts.append(part)
                left -= len(part)
        except OSError as error:
            raise DefectError(Reason.UNREADABLE, f"{error.strerror} while reading") from None
        if left:
            raise DefectError(Reason.TRUNCATED, f"{left} bytes are missing at the end; fetch it again")
        return parts[0] if len(parts) == 1 else b"".join(parts)

    @cached_property
    def hdus(self) -> list[Hdu]:
        """The HDUs of a FITS file, headers parsed, data read and verified on demand."""
        from rarespec.formats.fits.blocks import open_hdus

        return open_hdus(self)

    def close(self) -> None:
        """Let go of the file and its content at once: HDUs point back here, so only the collector would free it."""
        self._close_file()
        self._content = None
        self.__dict__.pop("hdus", None)

    def _close_file(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def __enter__(self) -> Source:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


_MAGIC = (
    (b"SIMPLE  =", Container.FITS),
    (b"PK\x03\x04", Container.NUMPY),
    (b"\x93NUMPY", Container.NUMPY),
    (b"\x89HDF\r\n\x1a\n", Container.HDF5),
    (b"PAR1", Container.PARQUET),
)


PACKED = (
    (b"BZh", "bzip2"),
    (b"\xfd7zXZ\0", "xz"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"\x1f\x9d", "compress"),
    (b"7z\xbc\xaf\x27\x1c", "7-Zip"),
)
"""How compressed files begin that are not read, and what packed them."""
TAR = (257, b"ustar")
"""Where a tar archive says what it is."""

_BINARY = re.compile(rb"[\x00-\x08\x0e-\x1f\x7f]")
"""Bytes that no text has."""


def _container_of(head: bytes) -> Container:
    for magic, container in _MAGIC:
        if head.startswith(magic):
            return container
    if packer := next((name for magic, name in PACKED if head.startswith(magic)), None):
        raise DefectError(Reason.UNRECOGNISED, f"packed with {packer}; unpack it first, or pack it with gzip")
    if head[TAR[0] :].startswith(TAR[1]):
        raise DefectError(Reason.UNRECOGNISED, "a tar archive; unpack it first")
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")[:64].lower()
    if start.startswith((b"<!doctype html", b"<html")):
        raise DefectError(Reason.HTML_PAGE, "an archive's error page saved under a data file's name; fetch it again")
    if not start:
        raise DefectError(Reason.EMPTY, "nothing but white space; fetch it again")
    if _looks_like_text(head):
        return Container.TEXT
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise DefectError(Reason.UNRECOGNISED, "text in UTF-16; save it as UTF-8")
    if not _BINARY.search(head):
        raise DefectError(Reason.UNRECOGNISED, "text with letters that are not UTF-8; save it as UTF-8")
    raise DefectError(Reason.UNRECOGNISED, f"starts with {head[:8]!r}, which no reader recognises")


def _looks_like_text(head: bytes) -> bool:
    if b"\0" in head:
        return False
    try:
        head.decode()
    except UnicodeDecodeError as error:
        return error.start > len(head) - 4  # a character cut by the end of the sample
    return True


def is_zarr(directory: Path) -> bool:
    return any((directory / name).is_file() for name in ("zarr.json", ".zgroup", ".zarray"))


def _container_of_directory(directory: Path) -> Container:
    if is_zarr(directory):
        return Container.ZARR
    raise DefectError(Reason.UNRECOGNISED, "a directory without zarr.json, .zgroup or .zarray")


# ---- A source as a seekable file, for libraries that want one.


class SourceFile(io.RawIOBase):
    """Bytes of a source from any position; it never reads past the end."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._source.length}[whence]
        if start + offset < 0:
            raise OSError(f"seek to {start + offset}")
        self._at = start + offset
        return self._at

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        n = max(0, min(len(view), self._source.length - self._at))
        view[:n] = self._source.read(self._at, n)
        self._at += n
        return n
