"""Arrays that are kept beside a survey because they took long to compute: written whole, never unpickled."""

from __future__ import annotations

import io
import os
import tempfile
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

UNREADABLE = (OSError, ValueError, EOFError, KeyError, BadZipFile)
"""What a missing, truncated or damaged file raises; it is then made anew."""


def load_arrays(path: Path) -> dict[str, NDArray[Any]]:
    with np.load(path, allow_pickle=False) as arrays:
        return dict(arrays)


def npz(arrays: dict[str, NDArray[Any]]) -> bytes:
    content = io.BytesIO()
    np.savez(content, allow_pickle=False, **arrays)
    return content.getvalue()


def write_whole(path: Path, content: bytes) -> None:
    """Whole or not at all, so that an interruption leaves the file as it was."""
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)
