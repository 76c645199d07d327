"""Connections on which a request comes in time, and not too many of them: nobody keeps others out by being slow.

uvicorn has a time-out for what comes between two requests alone. Any process of this machine, and any page in its
browser, can open connections and say nothing, or a byte now and then, without knowing the token.
"""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

SECONDS = 20.0
"""From the first byte of a request, or from a new connection, to the last byte of the request."""
MOST_CONNECTIONS = 100
"""A browser opens six."""


class Timely(H11Protocol):
    """Closed when a request takes too long to come; when there are too many, the one that has waited longest goes."""

    seconds, most = SECONDS, MOST_CONNECTIONS
    _deadline: asyncio.TimerHandle | None = None
    _given_up = False

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._begin()
        others = [one for one in self.connections if isinstance(one, Timely) and not one._given_up]
        if len(others) > self.most:
            # A dict would keep their order; uvicorn has a set. Of those that are answered now, none is sent away.
            waiting = [one for one in others if one is not self and one._deadline is not None]
            min(waiting, key=lambda one: one._until, default=self)._give_up()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
            self._end()
        elif self._deadline is None:
            self._begin()

    def connection_lost(self, exc: Exception | None) -> None:
        self._end()
        super().connection_lost(exc)

    @property
    def _until(self) -> float:
        return float("inf") if self._deadline is None else self._deadline.when()

    def _begin(self) -> None:
        self._deadline = self.loop.call_later(self.seconds, self._give_up)

    def _end(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _give_up(self) -> None:
        self._given_up = True
        self._end()
        self.transport.abort()  # what was not read of an answer would keep it open


def timely(seconds: float, most: int) -> type[Timely]:
    return type("Timely", (Timely,), {"seconds": seconds, "most": most})
