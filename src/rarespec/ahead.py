"""Results in the order of the work, computed ahead by threads, a bounded number of them at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

N_THREADS = 2
"""One waits for a disk or runs on one core while the other computes."""


def computed_ahead(
    function: Callable[[Item], Result], items: Iterable[Item], n_threads: int = N_THREADS
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
