"""Arrays that are kept beside a survey because they took long to compute: written whole, never unpickled."""

from __future__ import annotations

import io
import warnings
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from rarespec.survey.location import content_of, is_remote, put
from rarespec.whole_file import write_whole

UNREADABLE = (OSError, ValueError, EOFError, KeyError, BadZipFile)
"""What a missing, truncated or damaged file raises; it is then made anew."""


def load_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Raises one of UNREADABLE for a file that is missing or damaged."""
    try:
        with np.load(io.BytesIO(content_of(path)) if is_remote(path) else path, allow_pickle=False) as arrays:
            return dict(arrays)
    except UNREADABLE:
        raise
    except Exception as error:  # zipfile has many ways to stumble over a flipped bit
        raise ValueError(f"{path}: damaged ({type(error).__name__}: {error})") from None


def npz(arrays: dict[str, NDArray[Any]]) -> bytes:
    content = io.BytesIO()
    np.savez(content, allow_pickle=False, **arrays)
    return content.getvalue()


def keep_if_possible(path: Path, content: bytes) -> bool:
    """Whether the file could be written; a warning says so if not, as what was computed is good without its file."""
    try:
        if is_remote(path):
            put(path, content)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, content)
    except OSError as error:
        warnings.warn(
            f"{path.parent}: results could not be kept ({error.strerror or error}) and will be computed again",
            stacklevel=3,
        )
        return False
    return True
