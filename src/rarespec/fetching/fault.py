"""Faults between us and an archive, and how long to wait before we ask again."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TypeVar

from rarespec.errors import RarespecError


class FaultError(RarespecError):
    """One request that did not give what was asked for.

    Parameters
    ----------
    reason : str
        What happened, in words.
    passing : bool
        Whether another try may help.
    absent : bool
        Whether the archive says that there is no such file.
    busy : bool
        Whether the archive has too much to do, so that everyone should leave it alone for a while.
    wait : float, optional
        Seconds that the archive asks us to wait.
    status : int
        The HTTP status, where that was the fault; else 0.
    """

    def __init__(
        self,
        reason: str,
        *,
        passing: bool = False,
        absent: bool = False,
        busy: bool = False,
        wait: float | None = None,
        status: int = 0,
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.passing = passing
        self.absent = absent
        self.busy = busy
        self.wait = wait
        self.status = status


class StoppedError(Exception):
    """The whole fetch is over: nobody is waiting for this file."""


# ---- How long to wait before asking an archive again, and who waits: everyone, when the archive says so.


Value = TypeVar("Value")


class Clock:
    """Time that passes; tests bring their own."""

    def __init__(self) -> None:
        self._stopped = threading.Event()

    def now(self) -> float:
        return time.monotonic()

    def wait(self, seconds: float) -> None:
        """Wait; raise StoppedError as soon as the fetch is over."""
        if self._stopped.wait(seconds):
            raise StoppedError

    def stop(self) -> None:
        """End all waiting, now and later."""
        self._stopped.set()

    @property
    def stopped(self) -> bool:
        return self._stopped.is_set()


@dataclass
class Patience:
    """How often to try again, and how long to wait between tries.

    The waits are 1, 2, 4 ... seconds up to `longest`, each shortened at random by up to half.

    Parameters
    ----------
    tries : int
        Tries in all.
    first : float
        The first wait in seconds.
    longest : float
        The longest wait in seconds.
    too_long : float
        An archive that asks for more seconds than this is not waited for.
    clock : Clock
        Tells the time and waits.
    chance : callable
        Gives a random number from 0 to 1.
    """

    tries: int = 6
    first: float = 1.0
    longest: float = 120.0
    too_long: float = 900.0
    clock: Clock = field(default_factory=Clock)
    chance: Callable[[], float] = random.random
    _closed_until: dict[str, float] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def insist(self, ask: Callable[[], Value], host: str) -> Value:
        """Return what `ask` returns; after faults that may pass, wait and ask again. The last fault is raised."""
        for n_failed in range(self.tries):
            self._wait_for(host)
            try:
                return ask()
            except FaultError as fault:
                if not fault.passing or n_failed + 1 == self.tries or (fault.wait or 0.0) > self.too_long:
                    raise
                self._wait_after(fault, n_failed, host)
        raise AssertionError("at least one try")

    def _wait_after(self, fault: FaultError, n_failed: int, host: str) -> None:
        own = min(self.first * 2.0**n_failed, self.longest) * (1.0 - self.chance() / 2)
        if not fault.busy:
            return self.clock.wait(own)
        with self._lock:  # the archive speaks to all of us
            until = self.clock.now() + (own if fault.wait is None else fault.wait)
            self._closed_until[host] = max(until, self._closed_until.get(host, until))
        return None

    def _wait_for(self, host: str) -> None:
        if self.clock.stopped:
            raise StoppedError
        with self._lock:
            seconds = self._closed_until.get(host, 0.0) - self.clock.now()
        if seconds > 0:
            self.clock.wait(seconds)


def seconds_asked(retry_after: str | None, now: datetime | None = None) -> float | None:
    """Read Retry-After, a number of seconds or a date, as seconds; None when it is neither."""
    text = (retry_after or "").strip()
    if text.isascii() and text.isdigit():
        return float(text)
    try:
        date = parsedate_to_datetime(text)
    except (TypeError, ValueError):
        return None
    date = date if date.tzinfo else date.replace(tzinfo=UTC)
    return max((date - (now or datetime.now(UTC))).total_seconds(), 0.0)
