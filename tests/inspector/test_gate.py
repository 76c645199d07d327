"""Hostile requests: each is answered, refused, and changes nothing."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import combinations, product
from pathlib import Path

import pytest

from inspector.running_inspector import PATIENCE, Call, Running, campaign_of, exchanged, label_of, running
from rarespec.inspector.answers import SECURITY_HEADERS
from rarespec.survey import Survey

Fault = Callable[[Running, Call], Call]

READ = ("/", "/api/session", "/api/candidates?start=0&n=5", "/api/spectrum?id=s012", "/api/thumbnails?id=s012")
READ += ("/api/wavelength", "/api/yield", "/api/progress", "/api/disagreements", "/api/export", "/static/api.js")
CHANGE = ("/api/labels", "/api/undo", "/api/relearn", "/api/order")


@pytest.fixture(scope="module")
def server(survey: Survey, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(campaign_of(survey), tmp_path_factory.mktemp("gate") / "labels.sqlite") as server:
        assert server.post("/api/labels", label_of("s012")).status == 200  # there is something to undo
        server.inspection.read_ahead.result()
        yield server


def having(name: str, *values: str) -> Fault:
    """Values may hold {port}, {next} (another port), {token}, {xsrf}."""

    def fault(server: Running, call: Call) -> Call:
        words = {"port": server.port, "next": server.port + 1, "token": server.secrets.token}
        return call.having(name, *(value.format(**words, xsrf=server.secrets.xsrf) for value in values))

    return fault


RIGHT_HOST, RIGHT_ORIGIN, RIGHT_COOKIE = "127.0.0.1:{port}", "http://127.0.0.1:{port}", "rarespec-{port}={token}"

WRONG_HOSTS = (
    (),
    ("",),
    ("127.0.0.1",),
    ("localhost",),
    ("127.0.0.1:{next}",),
    ("LOCALHOST:{port}",),
    ("evil.example",),
    ("evil.example:{port}",),
    ("127.0.0.1.evil.example:{port}",),
    ("127.0.0.1:{port}.evil.example",),
    ("evil.example@127.0.0.1:{port}",),
    ("127.0.0.1:{port}@evil.example",),
    ("127.0.0.1.:{port}",),
    ("127.1:{port}",),
    ("2130706433:{port}",),
    ("0.0.0.0:{port}",),
    ("[::1]:{port}",),
    ("[::ffff:127.0.0.1]:{port}",),
    ("localhost.:{port}",),
    ("127.0.0.1:0{port}",),
    ("http://127.0.0.1:{port}",),
    ("127.0.0.1:{port}/",),
    ("127.0.0.1:{port}, evil.example",),
    (RIGHT_HOST, RIGHT_HOST),
    (RIGHT_HOST, "evil.example"),
    ("evil.example", RIGHT_HOST),
)
WRONG_ORIGINS = (
    ("null",),
    ("",),
    ("http://evil.example",),
    ("http://evil.example:{port}",),
    ("https://127.0.0.1:{port}",),
    ("http://127.0.0.1",),
    ("http://127.0.0.1:{next}",),
    ("http://localhost:{port}",),
    ("http://127.0.0.1:{port}/",),
    ("HTTP://127.0.0.1:{port}",),
    ("http://127.0.0.1:{port}.evil.example",),
    ("http://evil.example@127.0.0.1:{port}",),
    ("127.0.0.1:{port}",),
    ("file://",),
    (RIGHT_ORIGIN, RIGHT_ORIGIN),
    (RIGHT_ORIGIN, "null"),
)
WRONG_COOKIES = (
    (),
    ("",),
    ("rarespec-{port}=",),
    ("rarespec-{port}=x{token}",),
    ("rarespec-{port}={token}x",),
    ("rarespec-{port}={xsrf}",),
    ('rarespec-{port}="{token}"',),
    ("rarespec-{next}={token}",),
    ("RARESPEC-{port}={token}",),
    ("token={token}",),
    ("{token}",),
    ("rarespec-{port}={token}; rarespec-{port}={token}",),
    ("rarespec-{port}=x; rarespec-{port}={token}",),
    ("rarespec-{port}=\xe9\xff",),
    (RIGHT_COOKIE, RIGHT_COOKIE),
)
WRONG_XSRF = ((), ("",), ("x",), ("{token}",), ("{xsrf}x",), ("\xff",), ("{xsrf}", "{xsrf}"), ("{xsrf}, {xsrf}",))
WRONG_TYPES = (
    (),
    ("",),
    ("text/plain",),
    ("application/x-www-form-urlencoded",),
    ("multipart/form-data; boundary=x",),
    ("application/json; charset=utf-16",),
    ("application/jsonp",),
    ("text/plain; application/json",),
    ("application/json, text/plain",),
    ("application/json", "application/json"),
)
FROM_ELSEWHERE = (("cross-site",), ("same-site",), ("same-origin, cross-site",), ("same-origin", "same-origin"))

PLACE = [having("Host", *values) for values in WRONG_HOSTS]
ORIGIN = [having("Origin", *values) for values in WRONG_ORIGINS]
COOKIE = [having("Cookie", *values) for values in WRONG_COOKIES]
SITE = [having("Sec-Fetch-Site", *values) for values in FROM_ELSEWHERE]
XSRF = [having("X-Rarespec-Xsrf", *values) for values in WRONG_XSRF]
KIND = [having("Content-Type", *values) for values in WRONG_TYPES]
OF_A_CHANGE = (PLACE, [*ORIGIN, having("Origin")], COOKIE, SITE, XSRF, KIND)


def body_for(server: Running, target: str) -> object:
    """What the server would accept there."""
    order = {"likely": "informative", "informative": "likely"}[server.inspection.listing.order]
    label = label_of("s013")
    return {
        "/api/labels": label,
        "/api/undo": {"event_id": label["event_id"], "undoes": None},
        "/api/relearn": {},
        "/api/order": {"order": order},
    }[target]


def refused(server: Running, call: Call | bytes) -> None:
    """Answered with a refusal that gives nothing away."""
    answer = server.send(call)
    assert 400 <= answer.status < 500, (answer, call)
    assert server.secrets.xsrf.encode() not in answer.body and server.secrets.token.encode() not in answer.body
    assert "set-cookie" not in answer.headers and len(answer.body) < 1000


def test_one_thing_wrong_with_a_change_is_enough(server: Running) -> None:
    before = server.state()
    calls = [
        fault(server, server.post_call(target, body_for(server, target)))
        for target in CHANGE
        for faults in OF_A_CHANGE
        for fault in faults
    ]
    assert len(calls) >= 300
    for call in calls:
        refused(server, call)
    assert server.state() == before


def test_two_things_wrong_with_a_label(server: Running) -> None:
    before, n = server.state(), 0
    label = body_for(server, "/api/labels")
    for one, other in combinations(OF_A_CHANGE, 2):
        for i, (first, second) in enumerate(product(one, other)):
            if i % 4 == 0:
                refused(server, second(server, first(server, server.post_call("/api/labels", label))))
                n += 1
    assert n >= 500 and server.state() == before


def test_one_thing_wrong_with_reading_is_enough(server: Running) -> None:
    before, n = server.state(), 0
    for target in READ:
        for fault in (*PLACE, *ORIGIN, *COOKIE, *(SITE if target != "/" else ())):
            refused(server, fault(server, server.get_call(target)))
            n += 1
    assert n >= 500 and server.state() == before


METHODS = ("PUT", "DELETE", "PATCH", "OPTIONS", "HEAD", "TRACE", "CONNECT", "PROPFIND", "post", "get", "FOO")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("target", ["/", "/api/session", *CHANGE])
def test_other_methods_are_refused(server: Running, method: str, target: str) -> None:
    before = server.state()
    body = body_for(server, target) if target in CHANGE else {}
    for call in (server.post_call(target, body), server.get_call(target)):
        assert server.send(replace(call, method=method)).status == 405
    assert server.state() == before


def test_nothing_changes_on_get_and_nothing_is_read_by_post(server: Running) -> None:
    before = server.state()
    for target in CHANGE:
        assert server.get(target).status == 405
        assert server.get(f"{target}?event_id=1&id=s013&label=yes&order=informative").status == 405
    for target in READ:
        assert server.post(target, {}).status == 405
    assert server.state() == before


FRAMING: dict[str, tuple[tuple[str, tuple[str, ...]], ...]] = {
    "no length": (("Content-Length", ()),),
    "chunked": (("Content-Length", ()), ("Transfer-Encoding", ("chunked",))),
    "chunked and a length": (("Transfer-Encoding", ("chunked",)),),
    "two encodings": (("Transfer-Encoding", ("chunked", "chunked")),),
    "gzip, chunked": (("Transfer-Encoding", ("gzip, chunked",)),),
    "identity": (("Transfer-Encoding", ("identity",)),),
    "two lengths": (("Content-Length", ("10", "11")),),
    "negative": (("Content-Length", ("-1",)),),
    "signed": (("Content-Length", ("+{n}",)),),
    "hexadecimal": (("Content-Length", ("0x10",)),),
    "no number": (("Content-Length", ("many",)),),
    "too long": (("Content-Length", ("65537",)),),
    "far too long": (("Content-Length", ("1000000000000",)),),
    "absurdly long": (("Content-Length", ("9" * 19,)),),
    "compressed": (("Content-Encoding", ("gzip",)),),
    "blank before the colon": (("X-Rarespec-Xsrf ", ("x",)),),
    "a line that goes on": (("X-Folded", ("a\r\n\tb: c\r\n",)),),
    "a second request in a header": (("X-Split", ("a\r\n\r\nPOST /api/relearn HTTP/1.1\r\nHost: {host}",)),),
}


@pytest.mark.parametrize("fault", FRAMING)
@pytest.mark.parametrize("target", CHANGE)
def test_bodies_of_unclear_length_are_refused(server: Running, fault: str, target: str) -> None:
    before = server.state()
    call = server.post_call(target, body_for(server, target))
    words = {"n": len(call.body), "host": server.host}
    for name, values in FRAMING[fault]:
        call = call.having(name, *(value.format(**words) for value in values))
    if fault in ("chunked", "chunked and a length"):
        call = replace(call, body=b"%x\r\n%s\r\n0\r\n\r\n" % (len(call.body), call.body))
    refused(server, call)
    assert server.state() == before


def test_what_follows_a_refused_body_is_no_request(server: Running) -> None:
    """The label that a smuggler hides in the body of another request is not seen as one."""
    before = server.state()
    hidden = server.post_call("/api/labels", label_of("s013")).to_bytes()
    outer = server.post_call("/api/relearn", hidden).having("Origin", "null")
    with socket.create_connection(("127.0.0.1", server.port), PATIENCE) as connection:
        assert exchanged(connection, outer).status == 403
        assert exchanged(connection, server.get_call("/api/yield")).status == 200
    assert server.state() == before


def test_a_request_that_breaks_off_changes_nothing(server: Running) -> None:
    before = server.state()
    whole = server.post_call("/api/labels", label_of("s013")).to_bytes()
    for length in (1, 40, len(whole) // 2, len(whole) - 1):
        with socket.create_connection(("127.0.0.1", server.port), PATIENCE) as connection:
            connection.sendall(whole[:length])
    assert server.get("/api/yield").status == 200
    assert server.state() == before


def test_large_bodies_get_an_answer(server: Running) -> None:
    before = server.state()
    for size in (64 * 1024 + 1, 1 << 20):
        assert server.post("/api/labels", b" " * size).status == 413
    assert server.state() == before


NO_HTTP = (
    b"\r\n\r\n",
    b"GET\r\n\r\n",
    b"GET / HTTP/9.9\r\n\r\n",
    b"GET / HTTP/1.1\r\n\r\n",
    b"GET / HTTP/1.0\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost 127.0.0.1\r\n\r\n",
    b"GET / HTTP/1.1\r\n: x\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: \x00\r\n\r\n",
    b"GET \xff HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n",
    b"CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n",
    b"OPTIONS * HTTP/1.1\r\nHost: evil.example\r\n\r\n",
)


@pytest.mark.parametrize("data", NO_HTTP)
def test_what_is_no_http_gets_an_answer(server: Running, data: bytes) -> None:
    before = server.state()
    refused(server, data)
    assert server.state() == before


ELSEWHERE = (
    "/static/../app.py",
    "/static/..%2fapp.py",
    "/static/%2e%2e/app.py",
    "/static/%2e%2e%2fapp.py",
    "/static/..%5capp.py",
    "/static/%252e%252e%252fapp.py",
    "/static/%c0%ae%c0%ae/app.py",
    "/static/....//app.py",
    "/static//etc/passwd",
    "/static/%2fetc%2fpasswd",
    "/static/C:%5cwindows",
    "/static/file:///etc/passwd",
    "/static/index.html/",
    "/static/index.html/..",
    "/static/index.html%00",
    "/static/index.html%00.js",
    "/static/index.html.",
    "/static/INDEX.HTML",
    "/static/.",
    "/static/..",
    "/static/",
    "/static",
    "/static/~root",
    "/static/__init__.py",
    "/static/%F0%9F%92%A9",
    "//static/index.html",
    "/./static/index.html",
    "/api/../static/index.html",
    "/%2e/api/session",
    "/api/session/",
    "/api//session",
    "/API/session",
    "/api/",
    "/index.html",
    "/favicon.ico",
    "/.git/config",
    "/api/session;x=1",
    "/api/session%00",
    "http://evil.example/api/session",
    "http://127.0.0.1/api/session",
)


@pytest.mark.parametrize("target", ELSEWHERE)
def test_there_is_nothing_elsewhere(server: Running, target: str) -> None:
    answer = server.get(target)
    assert answer.status == 404 and set(answer.json) == {"error"}
    assert server.send(server.get_call(target).having("Cookie")).status == 401  # who is not in is not told


def test_each_refusal_has_its_status(server: Running) -> None:
    get, post = server.get_call("/api/session"), server.post_call("/api/labels", label_of("s013"))
    for status, call in [
        (403, get.having("Host", "evil.example")),
        (401, get.having("Cookie")),
        (405, replace(get, method="PUT")),
        (404, server.get_call("/api/nothing")),
        (400, server.get_call("/api/candidates?start=x")),
        (403, post.having("Origin")),
        (403, post.having("X-Rarespec-Xsrf")),
        (415, post.having("Content-Type", "text/plain")),
        (413, post.having("Content-Length", "65537")),
    ]:
        answer = server.send(call)
        assert answer.status == status and set(answer.json) == {"error"}
        assert answer.headers["content-type"] == "application/json"


def test_every_answer_has_the_headers(server: Running) -> None:
    calls = [server.get_call(target) for target in (*READ, "/nothing")]
    calls += [calls[0].having("Host", "evil.example"), calls[0].having("Cookie")]
    calls += [server.get_call(f"/?token={server.secrets.token}"), server.get_call("/?token=x")]
    for call in calls:
        answer = server.send(call)
        for name, value in SECURITY_HEADERS.items():
            assert answer.headers[name.lower()] == value
        assert "server" not in answer.headers and "access-control-allow-origin" not in answer.headers


def test_localhost_is_as_good(server: Running) -> None:
    host = f"localhost:{server.port}"
    assert server.send(server.get_call("/api/session").having("Host", host)).status == 200
    call = server.post_call("/api/order", {"order": "likely"}).having("Host", host)
    assert server.send(call).status == 403  # the Origin is still the other's
    assert server.send(call.having("Origin", f"http://{host}")).status == 200


def test_the_token_opens_the_page(server: Running) -> None:
    call = server.get_call(f"/?token={server.secrets.token}").having("Cookie")
    answer = server.send(call)
    assert answer.status == 303 and answer.headers["location"] == "/"
    cookie, *attributes = answer.headers["set-cookie"].split("; ")
    assert cookie == f"rarespec-{server.port}={server.secrets.token}"
    assert {one.lower() for one in attributes} == {"httponly", "path=/", "samesite=strict"}
    assert server.send(server.get_call("/").having("Cookie", cookie)).status == 200
    assert server.send(server.get_call("/").having("Cookie", f"other=1; {cookie}; _xsrf=2")).status == 200


def test_a_link_from_another_page_steps_inside_first(server: Running) -> None:
    """A browser would not send the strict cookie after a redirect that began elsewhere."""
    call = server.get_call(f"/?token={server.secrets.token}").having("Cookie").having("Sec-Fetch-Site", "cross-site")
    answer = server.send(call)
    assert answer.status == 200 and "set-cookie" in answer.headers
    assert b'content="0;url=/"' in answer.body and server.secrets.token.encode() not in answer.body


WRONG_TOKENS = ("", "x", "{token}x", "{xsrf}", "{token}&token={token}", "{token}&x=1", "{token}%00", "%ff", "{lower}")
WRONG_QUERIES = (*(f"token={token}" for token in WRONG_TOKENS), "Token={token}", "x={token}", "{token}")


@pytest.mark.parametrize("query", WRONG_QUERIES)
def test_other_tokens_do_not(server: Running, query: str) -> None:
    token = server.secrets.token
    words = {"token": token, "xsrf": server.secrets.xsrf, "lower": token.swapcase()}
    call = server.get_call(f"/?{query.format(**words)}").having("Cookie")
    answer = server.send(call)
    assert answer.status == 401 and "set-cookie" not in answer.headers
    assert server.send(replace(call, target=f"/?token={token}").having("Host", "evil.example")).status == 403
    assert server.send(replace(call, target=f"/api/session?token={token}")).status == 401


def test_a_ticket_opens_the_page_once(server: Running) -> None:
    call = server.get_call(f"/?token={server.secrets.ticket()}").having("Cookie")
    assert [server.send(call).status for _ in range(3)] == [303, 401, 401]


def test_secrets_have_256_bits_and_are_new_every_time(tmp_path: Path) -> None:
    from rarespec.inspector.gate import Secrets

    some = [Secrets.new() for _ in range(20)]
    words = {word for one in some for word in (one.token, one.xsrf, one.ticket())}
    assert len(words) == 60 and all(len(word) == 43 for word in words)  # 43 letters of 6 bits
