"""The body of an answer, up to the length that such an answer may have, and no slower than a usable archive sends.

An archive that was broken into, or one that a redirect leads to, may send for ever, a byte at a time.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Timer
from typing import Any

import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection

from rarespec.fetching.fault import FaultError
from rarespec.fetching.patience import Clock

PIECE = 1 << 18
SLOWEST = 1000
"""Bytes a second, which the oldest of modems had."""
GRACE_SECONDS = 120.0
"""Before the speed counts."""


def body_of(response: urllib3.BaseHTTPResponse, most: int, clock: Clock) -> Iterator[bytes]:
    """Pieces as they come and as they lie on the archive's disk: nothing is unpacked."""
    started, n_bytes = clock.now(), 0
    while piece := response.read1(PIECE, decode_content=False):
        n_bytes += len(piece)
        if n_bytes > most:
            raise too_long(most)
        seconds = clock.now() - started
        if seconds > GRACE_SECONDS + n_bytes / SLOWEST:
            raise FaultError(f"the archive sends too slowly: {n_bytes} bytes in {seconds:.0f} s; try again later")
        yield piece


def too_long(most: int) -> FaultError:
    words = f"{most >> 20} MiB" if most >= 1 << 20 else f"{most} bytes"
    return FaultError(f"it is larger than {words}, too large for this kind of file")


class _OnTime:
    """A connection on which the head of an answer comes in time as a whole. The time-out of a socket is of one silence:
    it never ends when a byte, or one "100 Continue" after the other, comes now and then."""

    sock: socket.socket | None
    timeout: Any

    def getresponse(self) -> Any:
        seconds = GRACE_SECONDS + (self.timeout if isinstance(self.timeout, int | float) else 0.0)
        with _ended_after(seconds, self.sock):
            return super().getresponse()  # type: ignore[misc]


@contextmanager
def _ended_after(seconds: float, sock: socket.socket | None) -> Iterator[None]:
    timer = Timer(seconds, _end, (sock,))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _end(sock: socket.socket | None) -> None:
    with suppress(OSError, AttributeError):
        sock.shutdown(socket.SHUT_RDWR)  # type: ignore[union-attr]


class OnTimeHTTP(_OnTime, HTTPConnection):
    pass


class OnTimeHTTPS(_OnTime, HTTPSConnection):
    pass


class HTTPPool(urllib3.HTTPConnectionPool):
    ConnectionCls = OnTimeHTTP


class HTTPSPool(urllib3.HTTPSConnectionPool):
    ConnectionCls = OnTimeHTTPS


POOLS = {"http": HTTPPool, "https": HTTPSPool}
