"""Who waits how long before asking an archive again."""

from __future__ import annotations

import threading
from datetime import UTC, datetime

import pytest

from fetching.archive_server import QuickClock, quick_patience
from rarespec.fetching.fault import Clock, FaultError, Patience, StoppedError, seconds_asked


class Failing:
    """Fails with these faults, one after the other, then gives 1."""

    def __init__(self, *faults: FaultError) -> None:
        self._faults = list(faults)
        self.n_calls = 0

    def __call__(self) -> int:
        self.n_calls += 1
        if self._faults:
            raise self._faults.pop(0)
        return 1


def passing() -> FaultError:
    return FaultError("500", passing=True)


def waits(patience: Patience) -> list[float]:
    assert isinstance(patience.clock, QuickClock)
    return patience.clock.waits


def test_waits_double() -> None:
    patience = quick_patience(tries=5)
    assert patience.insist(Failing(*[passing() for _ in range(4)]), "h") == 1
    assert waits(patience) == [1.0, 2.0, 4.0, 8.0]


def test_waits_have_a_longest() -> None:
    patience = Patience(tries=12, clock=QuickClock(), chance=lambda: 0.0)
    patience.insist(Failing(*[passing() for _ in range(11)]), "h")
    assert max(waits(patience)) == patience.longest


def test_chance_shortens_a_wait_by_half_at_most() -> None:
    patience = Patience(clock=QuickClock(), chance=lambda: 1.0)
    patience.insist(Failing(passing()), "h")
    assert waits(patience) == [0.5]


def test_the_last_fault_is_raised() -> None:
    ask = Failing(*[passing() for _ in range(9)])
    with pytest.raises(FaultError, match="500"):
        quick_patience(tries=3).insist(ask, "h")
    assert ask.n_calls == 3


def test_faults_that_stay_are_not_asked_again() -> None:
    ask = Failing(FaultError("404", absent=True))
    with pytest.raises(FaultError):
        quick_patience().insist(ask, "h")
    assert ask.n_calls == 1


@pytest.mark.parametrize(("asked", "waited"), [(30.0, 30.0), (None, 1.0)])
def test_a_busy_archive_is_given_the_time_it_asks_for(asked: float | None, waited: float) -> None:
    patience = quick_patience()
    assert patience.insist(Failing(FaultError("429", passing=True, busy=True, wait=asked)), "archive") == 1
    assert waits(patience) == [waited]


def test_another_thread_waits_for_the_archive_too() -> None:
    patience = quick_patience()
    patience._wait_after(FaultError("429", passing=True, busy=True, wait=30.0), 0, "archive")
    patience.insist(Failing(), "elsewhere")
    assert waits(patience) == []
    patience.insist(Failing(), "archive")
    assert waits(patience) == [30.0]


def test_an_archive_that_asks_for_hours_is_not_waited_for() -> None:
    ask = Failing(FaultError("503", passing=True, busy=True, wait=7200.0))
    with pytest.raises(FaultError):
        quick_patience().insist(ask, "h")
    assert ask.n_calls == 1


def test_the_end_of_the_fetch_ends_all_waiting() -> None:
    clock = Clock()
    ended = threading.Event()

    def wait_long() -> None:
        with pytest.raises(StoppedError):
            clock.wait(3600.0)
        ended.set()

    thread = threading.Thread(target=wait_long)
    thread.start()
    clock.stop()
    thread.join(10)
    assert ended.is_set()
    with pytest.raises(StoppedError):
        Patience(clock=clock).insist(Failing(), "h")


NOW = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("120", 120.0),
        (" 0 ", 0.0),
        ("Thu, 01 Jan 2026 12:00:30 GMT", 30.0),
        ("Thu, 01 Jan 2026 11:00:00 GMT", 0.0),
        ("soon", None),
        ("-5", None),
        ("1e9", None),
        ("", None),
        (None, None),
    ],
)
def test_retry_after(text: str | None, seconds: float | None) -> None:
    assert seconds_asked(text, NOW) == seconds
