"""Hundreds of connections that say little or nothing: a good client is served meanwhile, and the others are closed."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from inspector.running_inspector import PATIENCE, Running, campaign_of, exchanged, label_of, running
from rarespec.inspector.server import timely
from rarespec.survey import Survey

N_SLOW = 300
SOON, NEVER = 0.5, 3600.0


@pytest.fixture
def slow_ones() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def begun(server: Running, stack: ExitStack) -> list[socket.socket]:
    """Connections of which a third said nothing, a third a part of the head, a third a part of the body."""
    body = server.post_call("/api/labels", label_of("s012")).to_bytes()
    said = (b"", b"GET / HTTP/1.1\r\nHost: ", body[:-5])
    connections = []
    for number in range(N_SLOW):
        connection = stack.enter_context(socket.create_connection(("127.0.0.1", server.port), PATIENCE))
        with suppress(OSError):  # it may be closed already
            connection.sendall(said[number % len(said)])
        connections.append(connection)
    return connections


def is_closed(connection: socket.socket) -> bool:
    """Wait until it is, as long as tests wait."""
    try:
        while connection.recv(65536):
            pass
    except ConnectionError:
        pass
    except TimeoutError:
        return False
    return True


def test_slow_requests_are_closed_and_others_served(survey: Survey, tmp_path: Path, slow_ones: ExitStack) -> None:
    with running(campaign_of(survey), tmp_path / "a.sqlite", http=timely(SOON, 10_000)) as server:
        connections = begun(server, slow_ones)
        assert server.get("/").status == 200
        assert all(map(is_closed, connections))
        assert server.get("/").status == 200 and server.log.events() == []


def test_a_byte_now_and_then_does_not_help(survey: Survey, tmp_path: Path, slow_ones: ExitStack) -> None:
    with running(campaign_of(survey), tmp_path / "a.sqlite", http=timely(SOON, 10_000)) as server:
        connection = slow_ones.enter_context(socket.create_connection(("127.0.0.1", server.port), 0.05))
        assert exchanged(connection, server.get_call("/")).status == 200  # kept open, and then
        connection.sendall(b"GET / HTTP/1.1\r\nX: ")
        with pytest.raises(ConnectionError):
            while True:
                connection.sendall(b"y")
                with suppress(TimeoutError):
                    if not connection.recv(1):
                        raise ConnectionResetError


def test_when_there_are_too_many_a_new_one_is_served(survey: Survey, tmp_path: Path, slow_ones: ExitStack) -> None:
    with running(campaign_of(survey), tmp_path / "a.sqlite", http=timely(NEVER, 20)) as server:
        connections = begun(server, slow_ones)
        assert server.get("/").status == 200
        assert all(map(is_closed, connections[: N_SLOW - 20]))
        assert server.post("/api/labels", label_of("s012")).status == 200
        assert len(server.log.events()) == 1
