"""Prepared blocks that a worker keeps in memory between readings of a survey."""

from __future__ import annotations

from collections.abc import Hashable
from threading import Lock
from typing import Any, NamedTuple

MOST_BYTES = 10**9
"""Of one process: 33 blocks of the paper's spectra."""


class Place(NamedTuple):
    """Which block of which job: the survey and the recipe."""

    job: Hashable
    block: Hashable


class BlockMemory:
    """Keeps what fits in. When it is full, blocks of other jobs go; those of the same job stay.

    A job reads all blocks in turn, again and again: dropping the oldest would drop the very one that comes next.
    """

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._n_bytes = 0
        self._kept: dict[Place, tuple[Any, int]] = {}
        self._lock = Lock()

    def get(self, place: Place) -> Any:
        """None when it is not there."""
        with self._lock:
            return self._kept.get(place, (None, 0))[0]

    def keep(self, place: Place, block: Any, n_bytes: int) -> None:
        with self._lock:
            self._drop(place)
            for other in [kept for kept in self._kept if kept.job != place.job]:
                if self._n_bytes + n_bytes > self._most_bytes:
                    self._drop(other)
            if self._n_bytes + n_bytes <= self._most_bytes:
                self._kept[place] = block, n_bytes
                self._n_bytes += n_bytes

    def forget(self, place: Place) -> None:
        with self._lock:
            self._drop(place)

    def _drop(self, place: Place) -> None:
        self._n_bytes -= self._kept.pop(place, (None, 0))[1]


OF_THIS_PROCESS = BlockMemory(MOST_BYTES)
