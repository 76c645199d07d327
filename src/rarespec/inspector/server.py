"""Serving the inspector to this machine alone, until it is stopped."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import webbrowser
from collections.abc import Callable, Sequence
from contextlib import suppress
from threading import Thread
from typing import TYPE_CHECKING

import uvicorn

from rarespec.inspector.app import app_for
from rarespec.inspector.inspection import RELEARN_EVERY
from rarespec.inspector.secrets import Secrets
from rarespec.inspector.timely import Timely
from rarespec.survey.manifest import WrongUseError

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from rarespec.labels.campaign import Campaign
    from rarespec.labels.log import LabelLog
    from rarespec.searching.spectral_features import SpectralFeature

__all__ = ["app_for", "serve"]

ADDRESS = "127.0.0.1"
SECONDS_TO_FINISH = 10
"""For requests that are being answered when the server is stopped."""


def serve(
    campaign: Campaign,
    log: LabelLog,
    person: str,
    listener: socket.socket,
    open_browser: bool = True,
    lines: Sequence[SpectralFeature] | None = None,
    relearn_every: int = RELEARN_EVERY,
    say: Callable[[str, int], None] | None = None,
    blind: bool = False,
) -> None:
    """Serve the page until Ctrl-C; then finish what was begun and return.

    listener : of `listening`; it is taken before the search, so that nobody waits for one to hear that a port is in use
    say : called with the address of the page, which has the token in it, and with the port
    """
    secrets, port = Secrets.new(), listener.getsockname()[1]
    app = app_for(campaign, log, person, secrets, port, lines or (), relearn_every, blind)
    if say is not None:
        say(address(port, secrets.token), port)
    if open_browser:
        # Some browsers return only when they are closed.
        Thread(target=webbrowser.open, args=(address(port, secrets.ticket()),), daemon=True).start()
    try:
        run_until_stopped(app, listener)
    finally:
        app.state.inspection.close()


def address(port: int, token: str) -> str:
    return f"http://{ADDRESS}:{port}/?token={token}"


def listening(port: int) -> socket.socket:
    """A socket that other machines cannot reach; port 0 is any that is free."""
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
        raise WrongUseError(f"port {port}: {error.strerror}; choose another port, or 0 for any free one") from None
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
