"""A source as a seekable file, for libraries that want one."""

from __future__ import annotations

import io
from typing import Any

from rarespec.formats.source import Source


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
