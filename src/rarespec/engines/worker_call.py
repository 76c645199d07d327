"""The worker's side of a Dask cluster: run a function on an item, and say what can be seen from there."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

from rarespec.engines.one_blas_thread import one_blas_thread

MOST_UNPACKED = 2
"""Parcels that a process keeps unpacked: one in use, and the next one while the last calls of the first still run."""

_unpacked: dict[str, tuple[Callable[..., Any], Any]] = {}
_lock = Lock()


@dataclass(frozen=True)
class Parcel:
    """A function with what all its calls share, as bytes: schedulers and workers pass it on without opening it."""

    name: str
    content: bytes

    def unpacked(self) -> tuple[Callable[..., Any], Any]:
        """Opened once per process, not once per call."""
        with _lock:
            if self.name not in _unpacked:
                while len(_unpacked) >= MOST_UNPACKED:
                    del _unpacked[next(iter(_unpacked))]
                _unpacked[self.name] = pickle.loads(self.content)
            return _unpacked[self.name]


def call(parcel: Parcel, item: Any) -> tuple[str, Any]:
    """The address of this worker, and the function's result."""
    from distributed import get_worker

    function, shared = parcel.unpacked()
    with one_blas_thread():
        return get_worker().address, function(shared, item)


def handed_on(parcel: Parcel) -> Parcel:
    """A parcel as a task: a worker that needs it gets it from another, and if all who had it died it is sent anew."""
    return parcel


def sees(path: bytes) -> bool:
    """Whether this path is there; pickled, because a worker that cannot import its class would die of it."""
    there: Path = pickle.loads(path)
    return there.exists()
