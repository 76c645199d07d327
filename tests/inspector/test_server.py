"""Serving: on this machine alone, on the port asked for, until it is stopped."""

from __future__ import annotations

import socket
from contextlib import closing

import pytest

from rarespec.errors import UsageError
from rarespec.inspector.server import ADDRESS, Timely, address, listening, server_for


def test_only_this_machine_is_listened_to() -> None:
    with listening(0) as listener:
        assert listener.getsockname()[0] == ADDRESS == "127.0.0.1"
        assert listener.proto == socket.IPPROTO_TCP  # or else every answer waits for 40 ms


def test_a_port_that_is_taken_is_told() -> None:
    with listening(0) as listener:
        port = listener.getsockname()[1]
        with pytest.raises(UsageError, match=f"port {port}: .*choose another"):
            listening(port)
    with closing(listening(port)) as again:
        assert again.getsockname()[1] == port


def test_nobody_may_say_for_whom_he_asks() -> None:
    config = server_for(lambda scope, receive, send: None).config  # type: ignore[arg-type, return-value]
    assert config.proxy_headers is False and config.ws == "none" and config.http is Timely


def test_the_address_has_the_token() -> None:
    assert address(8000, "abc") == "http://127.0.0.1:8000/?token=abc"
