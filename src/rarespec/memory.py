"""Memory that was freed, given back."""

from __future__ import annotations

import ctypes
import sys


def give_back_freed() -> None:
    """The C library keeps what threads have freed for their next arrays; with glibc it can be asked to let go."""
    if sys.platform != "linux":
        return
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (AttributeError, OSError):  # another C library
        return
