"""Redirects, tokens, proxies, and words for what went wrong."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
import urllib3

from fetching.archive_server import Answer, ArchiveServer, quick_patience, serving
from rarespec.errors import UsageError
from rarespec.fetching.fault import FaultError
from rarespec.fetching.secret import Secret, origin_of, secret_from_environment
from rarespec.fetching.web import Web, page_title

TOKEN = "S3cret/Token+1"
SENT = "S3cret%2FToken%2B1"


@pytest.fixture
def elsewhere() -> Iterator[ArchiveServer]:
    """Another origin: another port counts as another host."""
    with serving() as archive:
        archive.files["/x"] = b"data"
        yield archive


def secret_of(server: ArchiveServer) -> Secret:
    return Secret("token", origin_of(server.base), TOKEN)


def text(server: ArchiveServer, path: str = "/x", secret: Secret | None = None) -> str:
    with Web(quick_patience(), secret) as web:
        return web.text("GET", server.base + path)


def redirect(where: str, status: int = 302) -> Answer:
    return Answer(b"moved", status, {"Location": where})


def test_redirects_are_followed(server: ArchiveServer, elsewhere: ArchiveServer) -> None:
    server.replies |= {"/x": redirect("y", 301), "/y": redirect("/z", 307), "/z": redirect(f"{elsewhere.base}/x", 308)}
    assert text(server) == "data"
    assert server.paths() == ["/x", "/y", "/z"]


def test_redirects_without_end(server: ArchiveServer) -> None:
    server.replies["/x"] = redirect("/x")
    with pytest.raises(FaultError, match="more than 5 redirects"):
        text(server)
    assert len(server.requests) == 6


def test_a_redirect_out_of_the_web(server: ArchiveServer) -> None:
    server.replies["/x"] = redirect("file:///etc/passwd")
    with pytest.raises(FaultError, match="not a web address"):
        text(server)


@pytest.mark.parametrize("where", ["http://a:99999999/x", "http://a:b/x", "http://[/x"])
def test_a_redirect_to_nonsense(server: ArchiveServer, where: str) -> None:
    server.replies["/x"] = redirect(where)
    with pytest.raises(FaultError, match="invalid address"):
        text(server)


def test_a_redirect_to_an_unencrypted_address() -> None:
    with pytest.raises(FaultError, match="unencrypted"):
        Web()._next("https://archive.org/x", "http://archive.org/x")


def test_the_token_goes_to_its_archive(server: ArchiveServer) -> None:
    server.replies |= {"/x": redirect("/y?a=1"), "/y": Answer(b"data")}
    assert text(server, secret=secret_of(server)) == "data"
    assert [request.query for request in server.requests] == [f"token={SENT}", f"a=1&token={SENT}"]


def test_the_token_does_not_travel_to_another_host(server: ArchiveServer, elsewhere: ArchiveServer) -> None:
    server.replies["/x"] = redirect(f"{elsewhere.base}/x")
    assert text(server, secret=secret_of(server)) == "data"
    (there,) = elsewhere.requests
    assert there.query == ""
    assert TOKEN not in str(there.headers)
    assert SENT not in str(there.headers)


def test_a_redirect_that_carries_the_token_away_is_not_followed(
    server: ArchiveServer, elsewhere: ArchiveServer
) -> None:
    server.replies["/x"] = lambda request: redirect(f"{elsewhere.base}/x?{request.query}")
    with pytest.raises(FaultError, match="send your token") as caught:
        text(server, secret=secret_of(server))
    assert elsewhere.requests == []
    assert TOKEN not in caught.value.reason
    assert SENT not in caught.value.reason


def test_the_token_is_in_no_log_and_no_repr(server: ArchiveServer, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    server.files["/x"] = b"data"
    secret = secret_of(server)
    text(server, secret=secret)
    assert "/x" in caplog.text
    for word in (TOKEN, SENT):
        assert word not in caplog.text
        assert word not in repr(secret)
    assert "***" in caplog.text


def test_the_filter_of_the_log_goes_with_the_web(server: ArchiveServer) -> None:
    with Web(secret=secret_of(server)):
        assert logging.getLogger("urllib3.connectionpool").filters
    assert not logging.getLogger("urllib3.connectionpool").filters


def test_the_token_is_read_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    assert secret_from_environment("T", "https://a.org/x") is None
    monkeypatch.setenv("T", f" {TOKEN}\n")
    secret = secret_from_environment("T", "https://a.org/x")
    assert secret is not None
    assert secret.add_to("https://a.org/y") == f"https://a.org/y?token={SENT}"
    assert secret.add_to("https://a.org:444/y") == "https://a.org:444/y"
    assert secret.add_to("http://a.org/y") == "http://a.org/y"
    assert secret.add_to("https://a.org.evil.org/y") == "https://a.org.evil.org/y"


def test_the_token_does_not_travel_unencrypted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("T", TOKEN)
    with pytest.raises(UsageError, match="unencrypted") as caught:
        secret_from_environment("T", "http://a.org/x")
    assert TOKEN not in str(caught.value)


def test_connections_are_kept_open(server: ArchiveServer) -> None:
    server.files["/x"] = b"data"
    with Web(connections=1) as web:
        for path in ("/x", "/missing", "/x"):
            try:
                web.text("GET", server.base + path)
            except FaultError as fault:
                assert fault.absent
        (manager,) = web._managers.values()
        pool = manager.connection_from_url(server.base)
        assert (pool.num_connections, pool.num_requests) == (1, 3)


def test_a_body_left_in_the_middle_is_not_taken_for_the_next_answer(server: ArchiveServer) -> None:
    server.files |= {"/x": b"a" * 1_000_000, "/y": b"b"}
    with Web(connections=1) as web:
        with pytest.raises(KeyError), web.ask("GET", f"{server.base}/x") as response:
            response.read(10)
            raise KeyError
        assert web.text("GET", f"{server.base}/y") == "b"


def test_no_network(tmp_path: Path) -> None:
    with serving() as gone:
        pass
    with Web(quick_patience(2)) as web, pytest.raises(FaultError, match=r"no connection to 127\.0\.0\.1") as caught:
        web.text("GET", f"{gone.base}/x")
    assert caught.value.passing


def test_a_proxy_of_the_environment_is_used(server: ArchiveServer, monkeypatch: pytest.MonkeyPatch) -> None:
    server.replies["/x"] = Answer(b"by proxy")
    monkeypatch.setenv("http_proxy", server.base)
    monkeypatch.setenv("no_proxy", "")
    with Web(quick_patience()) as web:
        assert web.text("GET", "http://archive.invalid/x") == "by proxy"
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with Web() as web:
        assert web.text("GET", f"{server.base}/x") == "by proxy"
        assert not any(isinstance(manager, urllib3.ProxyManager) for manager in web._managers.values())


@pytest.mark.parametrize(
    ("content", "title"),
    [
        (b"SIMPLE  =", None),
        (b"# a, b\n1, 2\n", None),
        (b"<VOTABLE/>", None),
        (b"<html></html>", ""),
        (b"\xef\xbb\xbf <!DOCTYPE HTML><title>\nNot\n  found\x1b</title>", r"Not found\x1b"),
    ],
)
def test_pages_are_told_from_data(content: bytes, title: str | None) -> None:
    assert page_title(content) == title
