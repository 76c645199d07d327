"""What can go wrong between us and an archive."""

from __future__ import annotations


class FaultError(Exception):
    """One request that did not give what was asked for.

    passing : whether another try may help
    absent  : whether the archive says that there is no such file
    busy    : whether the archive has too much to do, so that everyone should leave it alone for a while
    wait    : seconds that the archive asks us to wait
    status  : the HTTP status, where that was the fault
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
    """The whole fetch is over; nobody waits for this file any more."""
