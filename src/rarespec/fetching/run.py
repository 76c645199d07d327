"""Fetch many files at once, but no more than the archive can bear; every file ends with a result."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice

from rarespec.fetching.fault import StoppedError
from rarespec.fetching.record import Cause, Outcome, Result, record_failure
from rarespec.progress import Progress

GIVE_UP_AFTER = 25
"""After so many failures in a row, other than absent files, no more is asked of the archive."""


class Task:
    """Work that gives the results of some files, and the ids for which it is done."""

    def __init__(self, work: Callable[[], list[Result]], ids: Sequence[str], n_files: int = 1) -> None:
        self.work = work
        self.ids = ids
        self.n_files = n_files


class Streak:
    """Counts failures in a row."""

    def __init__(self, limit: int = GIVE_UP_AFTER) -> None:
        self._limit = limit
        self._length = 0
        self._reason = ""
        self._lock = threading.Lock()

    def add(self, results: Iterable[Result]) -> None:
        with self._lock:
            for result in results:
                if result.outcome != Outcome.FAILED:
                    self._length = 0
                elif result.cause == Cause.FAULT:
                    self._length, self._reason = self._length + 1, result.reason

    @property
    def why_over(self) -> str:
        """Empty while there is hope."""
        if self._length < self._limit:
            return ""
        return f"not requested, because {self._limit} files in a row failed; the last one: {self._reason}"


def run_all(
    tasks: Sequence[Task],
    connections: int,
    stop: Callable[[], None],
    done: Callable[[Result], None],
    progress: Progress,
) -> list[Result]:
    """Run all tasks, several at the same time.

    An interruption, or a fault that is not the archive's, calls `stop`, which ends all waiting, and is raised again.

    Parameters
    ----------
    tasks : sequence of Task
        What to fetch.
    connections : int
        Tasks at the same time.
    stop : callable
        Ends all waiting.
    done : callable
        Called with each result as it comes, by this thread.
    progress : callable
        Called with the files done, in all, and how many failed.

    Returns
    -------
    list of Result
        In the order of the tasks.
    """
    results: list[list[Result]] = [[] for _ in tasks]
    streak = Streak()
    left = iter(enumerate(tasks))
    running: dict[Future[list[Result]], int] = {}
    n_files, n_done, n_failed = sum(task.n_files for task in tasks), 0, 0
    with ThreadPoolExecutor(connections, "fetch") as pool:
        try:
            while True:
                for i, task in islice(left, 2 * connections - len(running)):
                    running[pool.submit(_result_of, task, streak)] = i
                if not running:
                    return [result for some in results for result in some]
                finished, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in finished:
                    results[i := running.pop(future)] = future.result()
                    streak.add(results[i])
                    n_done, n_failed = n_done + tasks[i].n_files, n_failed + _count_failed(results[i])
                    for result in results[i]:
                        done(result)
                    progress(n_done, n_files, f"{n_failed} failed" if n_failed else "")
        except BaseException:
            stop()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _result_of(task: Task, streak: Streak) -> list[Result]:
    if streak.why_over:
        return [record_failure(task.ids, streak.why_over)]
    try:
        return task.work()
    except StoppedError:
        return [record_failure(task.ids, "interrupted")]


def _count_failed(results: Iterable[Result]) -> int:
    return sum(result.outcome == Outcome.FAILED for result in results)
