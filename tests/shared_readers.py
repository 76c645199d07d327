"""Processes that read files for all tests, whatever job a test gives them: starting new ones takes minutes in all.

The processes themselves are the usual ones. A reader with less memory than usual is started for its job, as always: one
that has read for other tests may hold too much already.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import chain
from typing import Any

from rarespec.formats import contained
from rarespec.storage.processes import Limits, Workers

of_one_job = contained._readers
"""As outside the tests."""


def do_any(_: None, job: tuple[Callable[[Any, Any], Iterator[Any]], Any, Any]) -> Iterator[Any]:
    function, shared, item = job
    return function(shared, item)


@lru_cache(maxsize=1)
def _of_all_jobs(owner: int) -> Workers:
    return Workers(do_any, None)


class _Readers:
    """Takes the place of the workers of one job."""

    def __init__(self, function: Callable[[Any, Any], Iterator[Any]], shared: Any) -> None:
        self._job = (function, shared)

    def results(self, item: Any, limits: Limits) -> Iterator[Any]:
        if _is_tight(limits):
            return of_one_job(*self._job, os.getpid()).results(item, limits)
        return _of_all_jobs(os.getpid()).results((*self._job, item), limits)

    def answers(self, items: Iterable[tuple[Any, Limits]], n_workers: int) -> Iterator[Any]:
        items = iter(items)
        first = next(items, None)
        if first is None:
            return
        items = chain([first], items)
        if _is_tight(first[1]):
            yield from of_one_job(*self._job, os.getpid()).answers(items, n_workers)
        else:
            sent = (((*self._job, item), limits) for item, limits in items)
            yield from _of_all_jobs(os.getpid()).answers(sent, n_workers)


def _is_tight(limits: Limits) -> bool:
    return limits.memory is not None and limits.memory < contained.USUAL_LIMITS.memory


def of_any_job(function: Callable[[Any, Any], Iterator[Any]], shared: Any, owner: int) -> _Readers:
    return _Readers(function, shared)


def _end() -> None:
    of_one_job.cache_clear()
    _of_all_jobs.cache_clear()


of_any_job.cache_clear = _end  # type: ignore[attr-defined]
