"""An inspector that really runs, on a free port, and those who talk to it byte by byte."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Thread
from typing import Any
from uuid import uuid4

from starlette.middleware import Middleware
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from rarespec.features import PaperFeatures
from rarespec.inspector.app import app_for
from rarespec.inspector.entrance import Entrance
from rarespec.inspector.gate import Secrets
from rarespec.inspector.inspection import Inspection
from rarespec.inspector.page_options import PageOptions
from rarespec.inspector.server import Timely, listening, server_for
from rarespec.labels.campaign import Campaign
from rarespec.labels.event import LabelEvent
from rarespec.labels.log import LabelLog
from rarespec.survey import Survey

PATIENCE = 60.0
"""Seconds after which a test that waits for an answer fails instead."""


def campaign_of(survey: Survey, n_known: int = 4, top: int = 40) -> Campaign:
    recipe = PaperFeatures(n_components=10)  # few, to be quick
    known = survey.ids[:n_known].tolist()
    return Campaign.start(survey, known, "matched_filter", top, params={"method": "lda"}, recipe=recipe)


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body, parse_constant=_no_constant)


def _no_constant(word: str) -> None:
    raise AssertionError(f"{word} is no JSON")


@dataclass(frozen=True)
class Call:
    """A request as it goes over the wire."""

    method: str
    target: str
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    version: str = "HTTP/1.1"

    def having(self, name: str, *values: str) -> Call:
        """With this header once for each value, and not at all without any."""
        others = tuple(pair for pair in self.headers if pair[0] != name)
        return replace(self, headers=(*others, *((name, value) for value in values)))

    def to_bytes(self) -> bytes:
        lines = [f"{self.method} {self.target} {self.version}", *(f"{name}: {value}" for name, value in self.headers)]
        return "\r\n".join([*lines, "", ""]).encode("latin-1") + self.body


@dataclass
class Running:
    """A server that runs, as who has opened the page talks to it."""

    port: int
    secrets: Secrets
    inspection: Inspection
    log: LabelLog
    person: str = "Ada"
    entrance: Entrance | None = None
    routes: tuple[Route, ...] = ()
    arrived: list[str] = field(default_factory=list)
    """What has come through the gate so far."""

    def paths(self, method: str) -> list[str]:
        """Addresses that know this method, as the application itself lists them."""
        return [route.path for route in self.routes if method in (route.methods or ())]

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    def get_call(self, target: str, proxied: bool = False) -> Call:
        """As a browser asks that has opened the page, here or behind the proxy."""
        host, name = (self._proxied_host, f"rarespec-proxied-{self.port}") if proxied else (self.host, self.cookie)
        return Call("GET", target, (("Host", host), ("Cookie", f"{name}={self.secrets.token}")))

    @property
    def cookie(self) -> str:
        return f"rarespec-{self.port}"

    @property
    def _proxied_host(self) -> str:
        assert self.entrance is not None
        return next(iter(self.entrance.origins))

    def post_call(self, target: str, body: Any, proxied: bool = False) -> Call:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        asked = self.get_call(target, proxied)
        more = (
            ("Origin", self.entrance.origin if proxied and self.entrance else f"http://{self.host}"),
            ("X-Rarespec-Xsrf", self.secrets.xsrf),
            ("Content-Type", "application/json"),
            ("Content-Length", str(len(content))),
        )
        return replace(asked, method="POST", headers=asked.headers + more, body=content)

    def get(self, target: str) -> Answer:
        return self.send(self.get_call(target))

    def post(self, target: str, body: Any) -> Answer:
        return self.send(self.post_call(target, body))

    def send(self, call: Call | bytes) -> Answer:
        """Over a connection of its own."""
        with socket.create_connection(("127.0.0.1", self.port), PATIENCE) as connection:
            return exchanged(connection, call)

    def survey_id_off_the_list(self) -> str:
        listed = {*self.inspection.listing.ids, *self.inspection.campaign.known_ids}
        return next(id for id in self.inspection.survey.ids.tolist() if id not in listed)

    def state(self) -> tuple[Any, ...]:
        """Whatever a request may change."""
        listing = self.inspection.listing
        here = self.inspection.whereabouts and self.inspection.whereabouts.here
        redshifts, revision = self.inspection.redshifts.current(), self.inspection.campaign.revision
        return self.log.events(), redshifts, listing.revision, listing.order, revision, here


class Noting:
    """Notes what the gate has let through."""

    def __init__(self, app: ASGIApp, arrived: list[str]) -> None:
        self._app, self._arrived = app, arrived

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._arrived.append(f"{scope['method']} {scope['path']}")
        await self._app(scope, receive, send)


def exchanged(connection: socket.socket, call: Call | bytes) -> Answer:
    """What is answered on this connection."""
    connection.sendall(call if isinstance(call, bytes) else call.to_bytes())
    with connection.makefile("rb") as stream:
        status = int(stream.readline().split()[1])
        headers: dict[str, str] = {}
        while line := stream.readline().strip():
            name, _, value = line.decode("latin-1").partition(":")
            headers[name.lower()] = value.strip()
        length = "0" if isinstance(call, Call) and call.method == "HEAD" else headers.get("content-length")
        return Answer(status, headers, stream.read() if length is None else stream.read(int(length)))


@contextmanager
def running(
    campaign: Campaign, log_path: Path, person: str = "Ada", http: type[Timely] = Timely, port: int = 0, **options: Any
) -> Iterator[Running]:
    """A server in a thread; when this ends it has stopped."""
    secrets = Secrets.new()
    arrived: list[str] = []
    with listening(port) as listener, LabelLog(log_path) as log:
        port = listener.getsockname()[1]
        app = app_for(campaign, log, person, secrets, port, PageOptions(**options))
        app.user_middleware.append(Middleware(Noting, arrived=arrived))  # the last one is the innermost
        server = server_for(app, http)
        thread = Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            routes = tuple(route for route in app.routes if isinstance(route, Route))
            yield Running(port, secrets, app.state.inspection, log, person, options.get("entrance"), routes, arrived)
        finally:
            server.should_exit = True
            thread.join()
            app.state.inspection.close()


def label_of(id: str, label: str = "yes", **more: Any) -> dict[str, Any]:
    asked = {"event_id": str(uuid4()), "id": id, "label": label, "comment": "", "rank": 1, "score": 0.5, "revision": 0}
    return asked | more


def labels_in(log: LabelLog) -> list[LabelEvent]:
    return [event for _, event in log.events()]
