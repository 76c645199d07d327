"""Threads of this process: the engine that is always there."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path

from rarespec.engines.engine import Item, Result, Shared
from rarespec.engines.one_blas_thread import one_blas_thread
from rarespec.processes import available_cores

FEWEST, MOST = 2, 8
"""Threads. On one core, one waits for a disk while the other computes; each may hold a block of a survey or two."""


class Here:
    """n_threads : how many items are computed at a time; as many results may wait to be taken"""

    in_this_process = True

    def __init__(self, n_threads: int | None = None) -> None:
        self.n_threads = n_threads or min(max(available_cores(), FEWEST), MOST)

    def map(
        self,
        function: Callable[[Shared, Item], Result],
        shared: Shared,
        items: Iterable[Item],
    ) -> Iterator[Result]:
        """As `Engine.map`; no item can take a thread down without the whole process."""
        with one_blas_thread():
            yield from computed_ahead(partial(function, shared), items, self.n_threads)

    def require(self, path: Path) -> None:
        """Nothing to ask: this is where the caller is."""


def computed_ahead(
    function: Callable[[Item], Result], items: Iterable[Item], n_threads: int = FEWEST
) -> Iterator[Result]:
    """`function` of each item; at most `n_threads` results wait to be taken while as many are computed."""
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
