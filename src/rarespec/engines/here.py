"""Threads of this process, the engine that is always there, and which engine a user means."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any

from rarespec.engines.engine import Item, Result, Shared
from rarespec.storage.processes import available_cores

# ---- One thread of BLAS for as long as any thread of this process asks for it.


_lock = Lock()
_n_inside = 0
_limits: list[Any] = []
"""The first sets the limit; others add libraries that were loaded later."""
_controller: Any = None
_n_modules = 0
"""Loaded when the controller was made. To look for libraries takes milliseconds, so it is done when there may be new
ones."""


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """The limit is one of the whole process: the first to come sets it, the last to go lifts it.

    Results are then the same to the last bit on any number of cores, and threads of BLAS do not fight those of ours.
    Most products here are small: threads of BLAS would wait for each other longer than they work.
    """
    _enter()
    try:
        yield
    finally:
        _leave()


def _enter() -> None:
    from threadpoolctl import ThreadpoolController

    global _n_inside, _controller, _n_modules
    with _lock:
        may_be_new = len(sys.modules) != _n_modules
        if may_be_new:
            _controller, _n_modules = ThreadpoolController(), len(sys.modules)
        if may_be_new or _n_inside == 0:
            _limits.append(_controller.limit(limits=1, user_api="blas"))
        _n_inside += 1


def _leave() -> None:
    global _n_inside
    with _lock:
        _n_inside -= 1
        while _n_inside == 0 and _limits:
            _limits.pop().restore_original_limits()


# ---- Threads of this process: the engine that is always there.


FEWEST, MOST = 2, 8
"""Threads. On one core, one waits for a disk while the other computes; each may hold a block of a survey or two."""


class Here:
    """Threads of this process, the engine that is always there.

    Parameters
    ----------
    n_threads : int, optional
        Items computed at a time; as many results may wait to be taken. By default one for each core, from 2 to 8.

    Examples
    --------
    >>> from rarespec.engines import Here
    >>> list(Here(n_threads=2).map(divmod, 7, [2, 3]))
    [(3, 1), (2, 1)]
    """

    in_this_process = True

    def __init__(self, n_threads: int | None = None) -> None:
        self.n_threads = n_threads or min(max(available_cores(), FEWEST), MOST)

    def map(
        self,
        function: Callable[[Shared, Item], Result],
        shared: Shared,
        items: Iterable[Item],
    ) -> Iterator[Result]:
        """Yield `function(shared, item)` for each item, in the order of the items.

        No item can take a thread down without the whole process.

        Parameters
        ----------
        function : callable
            Any function.
        shared : object
            The same for all items; not copied.
        items : iterable
            The items.

        Yields
        ------
        object
            One result for each item.
        """
        with one_blas_thread():
            yield from compute_ahead(partial(function, shared), items, self.n_threads)

    def require(self, path: Path) -> None:
        """Check nothing: this is where the caller is.

        Parameters
        ----------
        path : Path
            Ignored.
        """


def compute_ahead(
    function: Callable[[Item], Result], items: Iterable[Item], n_threads: int = FEWEST
) -> Iterator[Result]:
    """Yield `function(item)` for each item, in order; threads work ahead of the caller.

    Parameters
    ----------
    function : callable
        Of one item.
    items : iterable
        The items.
    n_threads : int, optional
        At most so many results wait to be taken while as many are computed.

    Yields
    ------
    object
        One result for each item.
    """
    waiting: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(n_threads) as threads:
        try:
            for item in items:
                waiting.append(threads.submit(function, item))
                if len(waiting) > n_threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
