"""One thread of BLAS for as long as any thread of this process asks for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

_lock = Lock()
_n_inside = 0
_limits: Any = None


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """The limit is one of the whole process: the first to come sets it, the last to go lifts it.

    Results are then the same to the last bit on any number of cores, and threads of BLAS do not fight those of ours.
    """
    _enter()
    try:
        yield
    finally:
        _leave()


def _enter() -> None:
    from threadpoolctl import threadpool_limits

    global _n_inside, _limits
    with _lock:
        if _n_inside == 0:
            _limits = threadpool_limits(1, user_api="blas")
        _n_inside += 1


def _leave() -> None:
    global _n_inside, _limits
    with _lock:
        _n_inside -= 1
        if _n_inside == 0:
            _limits.restore_original_limits()
            _limits = None
