"""Chunks compressed by Blosc, which does not look at the length of its input: a truncated chunk reads stale memory."""

from __future__ import annotations

import struct
from pathlib import Path

HEADER = struct.Struct("<4B3I")
"""Version, version of the codec, flags, size of a number; bytes unpacked, of a block, packed."""


def is_whole(path: Path) -> bool:
    """Whether the chunk in this file is as long as its header says."""
    with open(path, "rb") as file:
        head = file.read(HEADER.size)
    return len(head) == HEADER.size and HEADER.unpack(head)[-1] == path.stat().st_size
