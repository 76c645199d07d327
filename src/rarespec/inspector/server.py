"""Serving the inspector to this machine alone, until it is stopped."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from threading import Thread
from typing import TYPE_CHECKING, Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from rarespec.errors import UsageError
from rarespec.inspector.app import app_for
from rarespec.inspector.entrance import Entrance
from rarespec.inspector.gate import Secrets
from rarespec.inspector.page_options import USUAL, PageOptions

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from rarespec.labels.campaign import Campaign
    from rarespec.labels.log import LabelLog


# ---- Connections on which a request comes in time, and not too many of them: nobody keeps others out by being
# slow.
#
# uvicorn has a time-out for what comes between two requests alone. Any process of this machine, and any page in its
# browser, can open connections and say nothing, or a byte now and then, without knowing the token.


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


__all__ = ["app_for", "serve"]

ADDRESS = "127.0.0.1"
SECONDS_TO_FINISH = 10
"""For requests that are being answered when the server is stopped."""


def serve(
    campaign: Campaign,
    log: LabelLog,
    person: str,
    listener: socket.socket,
    options: PageOptions = USUAL,
    open_browser: bool = True,
    say: Callable[[str, int], None] | None = None,
) -> None:
    """Serve the page until Ctrl-C; then finish what was begun and return.

    Parameters
    ----------
    campaign : Campaign
        Lists candidates and learns.
    log : LabelLog
        Where labels go.
    person : str
        Who labels.
    listener : socket
        Of `listening`. It is taken before the search, so that a port in use is known before anybody waits for a
        ranking.
    options : PageOptions
        What was chosen about the page.
    open_browser : bool
        Open the page in a browser.
    say : callable, optional
        Called with the address of the page, which has the token in it, and with the port.
    """
    secrets, port = Secrets.new(), listener.getsockname()[1]
    app = app_for(campaign, log, person, secrets, port, options)
    if say is not None:
        say(address(port, secrets.token, options.entrance), port)
    if open_browser:
        open_in_browser(port, secrets)
    try:
        run_until_stopped(app, listener)
    finally:
        app.state.inspection.close()


def open_in_browser(port: int, secrets: Secrets) -> None:
    # Some browsers return only when they are closed.
    Thread(target=webbrowser.open, args=(address(port, secrets.ticket()),), daemon=True).start()


def address(port: int, token: str, entrance: Entrance | None = None) -> str:
    if entrance is not None:
        return f"{entrance.origin}{entrance.path}?key={token}"
    return f"http://{ADDRESS}:{port}/?token={token}"


def listening(port: int) -> socket.socket:
    """Open a socket that other machines cannot reach; port 0 takes any free one."""
    # With the protocol said, asyncio sends at once what it is given; else each answer waits for 40 ms.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    if os.name == "posix":  # elsewhere another process could then take the port from us
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((ADDRESS, port))
    except OSError as error:
        listener.close()
        if error.errno not in (errno.EADDRINUSE, errno.EACCES):
            raise
        raise UsageError(f"port {port}: {error.strerror}; choose another port, or 0 for any free one") from None
    listener.listen()
    return listener


def server_for(app: ASGIApp, http: type[Timely] = Timely) -> uvicorn.Server:
    config = uvicorn.Config(
        app,
        http=http,  # with h11, the strict reader of HTTP
        ws="none",
        lifespan="off",
        proxy_headers=False,  # nobody may say for whom he asks
        server_header=False,
        access_log=False,
        log_level="warning",
        timeout_graceful_shutdown=SECONDS_TO_FINISH,
    )
    return uvicorn.Server(config)


def run_until_stopped(app: ASGIApp, listener: socket.socket) -> None:
    with suppress(KeyboardInterrupt):  # uvicorn raises it again when all is finished
        asyncio.run(server_for(app).serve(sockets=[listener]))
