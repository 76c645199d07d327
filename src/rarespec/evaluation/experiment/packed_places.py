"""Places as short text: a class of thousands would make the journal, and the memory it is read into, very large."""

from __future__ import annotations

import base64
import zlib

import numpy as np
from numpy.typing import NDArray


def packed_places(places: NDArray[np.integer]) -> str:
    """Of rising places: their differences, compressed."""
    steps = np.diff(places, prepend=0).astype("<u4")
    return base64.b64encode(zlib.compress(steps.tobytes())).decode()


def unpacked_places(text: str) -> NDArray[np.int64]:
    steps = np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype="<u4")
    return np.cumsum(steps, dtype=np.int64)
