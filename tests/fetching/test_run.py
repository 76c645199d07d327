"""Many tasks: in order, bounded, and an archive that only fails is left alone."""

from __future__ import annotations

import threading
from functools import partial

import pytest

from rarespec.fetching.fault import Clock
from rarespec.fetching.record import Cause, FetchReport, Outcome, Result, record_failure
from rarespec.fetching.run import GIVE_UP_AFTER, Task, run_all


def quiet(*_: object) -> None:
    pass


def good(i: int) -> list[Result]:
    return [Result((str(i),), Outcome.FETCHED, str(i))]


def bad(cause: Cause, calls: list[int], i: int) -> list[Result]:
    calls.append(i)
    return [record_failure([str(i)], "HTTP status 500", str(i), cause=cause)]


def test_results_come_in_order_and_are_noted_once() -> None:
    noted: list[Result] = []
    seen: list[tuple[int, int, str]] = []
    tasks = [Task(partial(good, i), [str(i)]) for i in range(100)]
    results = run_all(tasks, 7, quiet, noted.append, lambda *now: seen.append(now))
    assert [result.name for result in results] == [str(i) for i in range(100)]
    assert sorted(noted, key=lambda one: int(one.name)) == results
    assert seen[-1] == (100, 100, "")


def test_never_more_at_once_than_asked_for() -> None:
    barrier, now, most, lock = threading.Barrier(3), [0], [0], threading.Lock()

    def work(i: int) -> list[Result]:
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        barrier.wait(10)
        with lock:
            now[0] -= 1
        return good(i)

    run_all([Task(partial(work, i), []) for i in range(30)], 3, quiet, quiet, quiet)
    assert most == [3]


def test_an_archive_that_only_fails_is_left_alone() -> None:
    calls: list[int] = []
    tasks = [Task(partial(bad, Cause.FAULT, calls, i), [str(i)]) for i in range(200)]
    results = run_all(tasks, 2, quiet, quiet, quiet)
    assert len(results) == 200
    assert GIVE_UP_AFTER <= len(calls) <= GIVE_UP_AFTER + 4
    assert results[-1].reason.startswith("not requested, because 25 files in a row failed")
    assert "HTTP status 500" in results[-1].reason


def test_files_that_are_not_there_are_no_reason_to_give_up() -> None:
    calls: list[int] = []
    tasks = [Task(partial(bad, Cause.ABSENT, calls, i), [str(i)]) for i in range(200)]
    run_all(tasks, 2, quiet, quiet, quiet)
    assert len(calls) == 200


def test_a_fault_of_our_own_ends_everything() -> None:
    clock = Clock()

    def full() -> list[Result]:
        raise OSError(28, "No space left on device")

    def waiting() -> list[Result]:
        clock.wait(20)
        return []

    tasks = [Task(waiting, ["a"]), Task(full, ["b"]), *(Task(waiting, ["c"]) for _ in range(10))]
    with pytest.raises(OSError, match="No space left"):
        run_all(tasks, 2, clock.stop, quiet, quiet)
    assert clock.stopped


def test_where_an_object_needs_several_files_the_worst_counts(tmp_path) -> None:
    results = [
        Result(("a", "b"), Outcome.ALREADY_THERE, "1"),
        Result(("a",), Outcome.FETCHED, "2", n_bytes=10),
        Result(("b", "c"), Outcome.FETCHED, "3", n_bytes=5),
        record_failure(["c"], "500", "4"),
    ]
    report = FetchReport(tmp_path, results)
    assert report.objects == {"a": Outcome.FETCHED, "b": Outcome.FETCHED, "c": Outcome.FAILED}
    assert report.counts == {"fetched": 2, "failed": 1}
    assert (report.n_bytes, len(report.files), len(report.failures)) == (15, 3, 1)
