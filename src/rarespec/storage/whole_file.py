"""Files that appear under their name whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4


def write_whole(path: Path, content: bytes) -> None:
    """Write a file whole or not at all; an interruption leaves what was there before.

    Parameters
    ----------
    path : Path
        The file.
    content : bytes
        All of it.
    """
    with open_whole(path) as file:
        file.write(content)


@contextmanager
def open_whole(path: Path) -> Iterator[BinaryIO]:
    """Open a file to write, which gets its name when the `with` block ends, and only if it ends without an error.

    Parameters
    ----------
    path : Path
        The file.

    Yields
    ------
    file
        Open for writing and reading.
    """
    temporary = path.with_name(f"{path.name}.{uuid4().hex}.tmp")
    try:
        with open(temporary, "x+b") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException as error:
        with suppress(OSError):  # the first error says more
            temporary.unlink()
        if isinstance(error, OSError):
            name_file(error, path)
        raise


def name_file(error: OSError, path: Path) -> None:
    """Let an error speak of the file that was asked for, instead of the temporary one beside it."""
    if error.filename is None:  # what Python itself raises names no file
        return
    error.filename = os.fspath(path)
    if error.filename2 is not None:
        del error.filename2
