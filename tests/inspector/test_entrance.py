"""Another way to the page: which host, origin and path it is, and what is refused."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from rarespec.errors import UsageError
from rarespec.inspector.answers import SECURITY_HEADERS, headers_framed_by
from rarespec.inspector.entrance import find_entrance, origins_of
from rarespec.inspector.gate import TICKET_SECONDS, Secrets
from rarespec.inspector.notebook import find_way_from_notebook
from rarespec.inspector.server import address


@pytest.fixture(autouse=True)
def _no_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RARESPEC_ALLOW_HOST", "JUPYTERHUB_SERVICE_PREFIX", "JUPYTERHUB_PUBLIC_URL", "JPY_PARENT_PID"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("given", "origins"),
    [
        ("hub.example.org", {"hub.example.org": "https://hub.example.org"}),
        ("HUB.example.org", {"hub.example.org": "https://hub.example.org"}),
        ("https://hub.example.org:443/", {"hub.example.org": "https://hub.example.org"}),
        ("hub.example.org:8000", {"hub.example.org:8000": "https://hub.example.org:8000"}),
        ("http://hub.example.org", {"hub.example.org": "http://hub.example.org"}),
        ("localhost:8888", {f"{name}:8888": f"http://{name}:8888" for name in ("localhost", "127.0.0.1")}),
    ],
)
def test_a_host_has_one_origin(given: str, origins: dict[str, str]) -> None:
    assert origins_of(given) == origins


WRONG_HOSTS = ("*", "*.example.org", "a b", "a,b", "ada@hub.example.org", "hub.example.org/x", "ftp://a", "a:0", "a:x")


@pytest.mark.parametrize("given", [*WRONG_HOSTS, "-a", "a..b", "a\nb", "http://", "[::1]", "a:123456"])
def test_what_is_no_host_is_refused(given: str) -> None:
    with pytest.raises(UsageError, match="give one host as in the address bar"):
        find_entrance(given, None, 8931)


@pytest.mark.parametrize("given", ["user/ada", "/../", "/a/../b/", "/a b/", "/a;b/", "//evil.example/", "/a?b/", "/é/"])
def test_what_is_no_path_is_refused(given: str) -> None:
    with pytest.raises(UsageError, match="give the path under which the browser sees the page"):
        find_entrance("hub.example.org", given, 8931)


def test_the_path_comes_from_the_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_entrance(None, None, 8931) is None
    with pytest.raises(UsageError, match="give the host too, with --allow-host"):
        find_entrance(None, "/x/", 8931)
    direct = find_entrance("http://localhost:8888", None, 8931)
    assert direct is not None and direct.path == "/proxy/8931/"
    monkeypatch.setenv("JUPYTERHUB_SERVICE_PREFIX", "/user/ada@example.org/")
    assert find_entrance(None, None, 8931) is None  # nobody has said under which host
    monkeypatch.setenv("JUPYTERHUB_PUBLIC_URL", "https://hub.example.org/user/ada@example.org/")
    told = find_entrance(None, None, 8931)
    assert told is not None and not told.is_framed
    assert address(8931, "x", told) == "https://hub.example.org/user/ada@example.org/proxy/8931/?key=x"
    monkeypatch.setenv("RARESPEC_ALLOW_HOST", "other.example.org")
    assert find_entrance(None, "/tools/rarespec", 8931).path == "/tools/rarespec/"  # type: ignore[union-attr]
    assert find_entrance(None, None, 8931).origin == "https://other.example.org"  # type: ignore[union-attr]
    assert find_entrance("third.example.org", None, 1).origin == "https://third.example.org"  # type: ignore[union-attr]


def test_a_notebook_asks_the_server_that_started_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("jupyter_server_proxy", reason="jupyter-server-proxy is not installed")
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setenv("JPY_PARENT_PID", str(os.getpid()))
    told = tmp_path / f"jpserver-{os.getpid()}.json"
    told.write_text(json.dumps({"url": "http://localhost:8888/user/ada/"}))
    assert find_way_from_notebook(None, None, 8931) is None  # this is no notebook
    kernel = SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=object()))
    monkeypatch.setitem(sys.modules, "IPython", kernel)  # type: ignore[arg-type]
    way = find_way_from_notebook(None, None, 8931)
    assert way is not None and way.is_framed and way.path == "/user/ada/proxy/8931/"
    assert list(way.origins) == ["localhost:8888", "127.0.0.1:8888"]
    for content in ("", "[]", "{}", '{"url": ""}'):
        told.write_text(content)
        assert find_way_from_notebook(None, None, 8931) is None


def test_only_the_origins_named_may_frame_an_answer() -> None:
    assert headers_framed_by(()) == SECURITY_HEADERS
    framed = headers_framed_by(["https://hub.example.org"])
    assert "X-Frame-Options" not in framed
    was, now = SECURITY_HEADERS["Content-Security-Policy"], framed["Content-Security-Policy"]
    assert now == was.replace("frame-ancestors 'none'", "frame-ancestors https://hub.example.org") != was
    assert {**framed, "Content-Security-Policy": was, "X-Frame-Options": "DENY"} == SECURITY_HEADERS


def test_a_ticket_is_worth_nothing_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    time = [1000.0]
    monkeypatch.setattr("rarespec.inspector.gate.monotonic", lambda: time[0])
    secrets = Secrets.new()
    early, late = secrets.ticket(), secrets.ticket()
    time[0] += TICKET_SECONDS - 1
    assert secrets.opens(early) and not secrets.opens(early)
    time[0] += 2
    assert not secrets.opens(late) and secrets.opens(secrets.token)
