"""Hostile requests: each is answered, refused, and changes nothing."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain, combinations, product
from pathlib import Path

import pytest

from inspector.running_inspector import PATIENCE, Call, Running, campaign_of, exchanged, label_of, running
from rarespec.inspector.answers import SECURITY_HEADERS
from rarespec.inspector.entrance import Entrance, origins_of
from rarespec.survey import Survey

Fault = Callable[[Running, Call], Call]

ASKED = {
    "/static/{name}": "/static/api.js",
    "/api/candidates": "/api/candidates?start=0&n=5",
    "/api/spectrum": "/api/spectrum?id=s012",
    "/api/thumbnails": "/api/thumbnails?id=s012",
    "/api/find": "/api/find?id=s012",
    "/api/cutout": "/api/cutout?id=s012",
    "/api/overlay": "/api/overlay?id=s012",
    "/api/same-object": "/api/same-object?id=s012",
}
"""Addresses that need more than their name, as the page asks for them."""
HUB = Entrance(origins_of("hub.example.org"), "/user/ada/proxy/8931/")


def read_targets(server: Running) -> list[str]:
    """All that the application lets anybody read, whoever has added it."""
    return [ASKED.get(path, path) for path in server.paths("GET")]


@pytest.fixture(scope="module")
def server(survey: Survey, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(campaign_of(survey), tmp_path_factory.mktemp("gate") / "labels.sqlite", entrance=HUB) as server:
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

WRONG_HOSTS_OF_A_HUB = (
    ("hub.example.org:443",),
    ("hub.example.org:{port}",),
    ("HUB.example.org",),
    ("hub.example.org.",),
    ("evil.hub.example.org",),
    ("hub.example.org.evil.example",),
    ("example.org",),
    ("https://hub.example.org",),
    ("hub.example.org/user/ada/proxy/8931/",),
    ("hub.example.org", "hub.example.org"),
    ("127.0.0.1:{port}",),  # which is another cookie
    ("evil.example",),
)
WRONG_ORIGINS_OF_A_HUB = (
    ("null",),
    ("http://hub.example.org",),
    ("https://hub.example.org:8931",),
    ("https://hub.example.org/",),
    ("https://evil.hub.example.org",),
    ("https://hub.example.org.evil.example",),
    ("http://127.0.0.1:{port}",),
    ("https://hub.example.org", "https://hub.example.org"),
)
WRONG_COOKIES_OF_A_HUB = (
    (),
    ("rarespec-{port}={token}",),
    ("rarespec-proxied-{port}={xsrf}",),
    ("rarespec-proxied-{port}={token}x",),
    ("rarespec-proxied-{port}={token}; rarespec-proxied-{port}={token}",),
)

PLACE = [having("Host", *values) for values in WRONG_HOSTS]
ORIGIN = [having("Origin", *values) for values in WRONG_ORIGINS]
COOKIE = [having("Cookie", *values) for values in WRONG_COOKIES]
SITE = [having("Sec-Fetch-Site", *values) for values in FROM_ELSEWHERE]
XSRF = [having("X-Rarespec-Xsrf", *values) for values in WRONG_XSRF]
KIND = [having("Content-Type", *values) for values in WRONG_TYPES]
OF_A_CHANGE = (PLACE, [*ORIGIN, having("Origin")], COOKIE, SITE, XSRF, KIND)
OF_A_HUB = tuple(
    [having(name, *values) for values in several]
    for name, several in (
        ("Host", WRONG_HOSTS_OF_A_HUB),
        ("Origin", WRONG_ORIGINS_OF_A_HUB),
        ("Cookie", WRONG_COOKIES_OF_A_HUB),
    )
)
FAULTS_IN_READING = {False: (PLACE, ORIGIN, COOKIE, SITE), True: (*OF_A_HUB, SITE)}
FAULTS_IN_A_CHANGE = {False: OF_A_CHANGE, True: (*OF_A_HUB, [having("Origin")], SITE, XSRF, KIND)}
WAYS = pytest.mark.parametrize("proxied", [False, True], ids=["direct", "proxied"])


def body_for(server: Running, target: str) -> object:
    """What the server would accept there; nothing, where this file does not know it."""
    order = {"likely": "informative", "informative": "likely"}[server.inspection.listing.order]
    label = label_of("s013")
    return {
        "/api/labels": label,
        "/api/undo": {"event_id": label["event_id"], "undoes": None},
        "/api/relearn": {},
        "/api/order": {"order": order},
        "/api/place": {"id": "s013"},
        "/api/redshift": {"id": "s013", "z": 0.1},
    }.get(target, {})


def refused(server: Running, call: Call | bytes, at_the_gate: bool = True) -> None:
    """Answered with a refusal that gives nothing away."""
    n_before = len(server.arrived)
    answer = server.send(call)
    assert 400 <= answer.status < 500, (answer, call)
    assert not (at_the_gate and server.arrived[n_before:]), (server.arrived[n_before:], call)
    assert server.secrets.xsrf.encode() not in answer.body and server.secrets.token.encode() not in answer.body
    assert "set-cookie" not in answer.headers and len(answer.body) < 1000


@WAYS
def test_what_is_right_comes_through_the_gate(server: Running, proxied: bool) -> None:
    """Or the other tests would show nothing."""
    for target in read_targets(server):
        answer = server.send(server.get_call(target, proxied))
        assert answer.status in (200, 400) and server.arrived[-1] == f"GET {target.partition('?')[0]}", answer
    for target in server.paths("POST"):
        answer = server.send(server.post_call(target, b"[]", proxied))
        assert answer.status == 400 and server.arrived[-1] == f"POST {target}", answer
    assert {route.path for route in server.routes} == {*server.paths("GET"), *server.paths("POST")}
    assert len(server.routes) >= 14


@WAYS
def test_one_thing_wrong_with_a_change_is_enough(server: Running, proxied: bool) -> None:
    before, n = server.state(), 0
    for target in server.paths("POST"):
        for fault in chain(*FAULTS_IN_A_CHANGE[proxied]):
            refused(server, fault(server, server.post_call(target, body_for(server, target), proxied)))
            n += 1
    assert n >= (150 if proxied else 300) and server.state() == before


def test_two_things_wrong_with_a_label(server: Running) -> None:
    before, n = server.state(), 0
    label = body_for(server, "/api/labels")
    for one, other in combinations(OF_A_CHANGE, 2):
        for i, (first, second) in enumerate(product(one, other)):
            if i % 4 == 0:
                refused(server, second(server, first(server, server.post_call("/api/labels", label))))
                n += 1
    assert n >= 500 and server.state() == before


@WAYS
def test_one_thing_wrong_with_reading_is_enough(server: Running, proxied: bool) -> None:
    before, n = server.state(), 0
    for target in read_targets(server):
        for faults in FAULTS_IN_READING[proxied]:
            for fault in faults if target != "/" or faults is not SITE else ():
                refused(server, fault(server, server.get_call(target, proxied)))
                n += 1
    assert n >= (200 if proxied else 500) and server.state() == before


METHODS = ("PUT", "DELETE", "PATCH", "OPTIONS", "HEAD", "TRACE", "CONNECT", "PROPFIND", "post", "get", "FOO")


@pytest.mark.parametrize("method", METHODS)
def test_other_methods_are_refused(server: Running, method: str) -> None:
    before, n_before = server.state(), len(server.arrived)
    for target in {*read_targets(server), *server.paths("POST")}:
        for call in (server.post_call(target, body_for(server, target)), server.get_call(target)):
            assert server.send(replace(call, method=method)).status == 405
    assert server.state() == before and len(server.arrived) == n_before


def test_nothing_changes_on_get_and_nothing_is_read_by_post(server: Running) -> None:
    before = server.state()
    for target in server.paths("POST"):
        assert server.get(target).status == 405
        assert server.get(f"{target}?event_id=1&id=s013&label=yes&order=informative").status == 405
    for target in read_targets(server):
        assert server.get(target).status in (200, 400)
        assert server.post(target, {}).status == 405
    assert server.state() == before


def test_a_get_with_a_body_is_refused(server: Running) -> None:
    for target in read_targets(server):
        for proxied in (False, True):
            call = replace(server.get_call(target, proxied).having("Content-Length", "2"), body=b"{}")
            refused(server, call)


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
def test_bodies_of_unclear_length_are_refused(server: Running, fault: str) -> None:
    before = server.state()
    for target in server.paths("POST"):
        call = server.post_call(target, body_for(server, target))
        words = {"n": len(call.body), "host": server.host}
        for name, values in FRAMING[fault]:
            call = call.having(name, *(value.format(**words) for value in values))
        if fault in ("chunked", "chunked and a length"):
            call = replace(call, body=b"%x\r\n%s\r\n0\r\n\r\n" % (len(call.body), call.body))
        refused(server, call, at_the_gate=False)
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
    calls = [server.get_call(target) for target in (*read_targets(server), "/nothing")]
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
    assert answer.status == 303 and answer.headers["location"] == "./"
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
    assert b'content="0;url=./"' in answer.body and server.secrets.token.encode() not in answer.body


def test_the_key_opens_the_page_behind_the_proxy(server: Running) -> None:
    ticket = server.secrets.ticket()
    call = server.get_call(f"/?key={ticket}", proxied=True).having("Cookie")
    answer = server.send(call)
    assert answer.status == 303 and answer.headers["location"] == "./"
    cookie, *attributes = answer.headers["set-cookie"].split("; ")
    assert cookie == f"rarespec-proxied-{server.port}={server.secrets.token}"
    assert {one.lower() for one in attributes} == {"httponly", f"path={HUB.path}", "samesite=strict", "secure"}
    assert server.send(call).status == 401
    assert server.send(call.having("Cookie", cookie)).status == 303  # who is inside already comes in again
    assert server.send(call.having("Cookie", cookie.replace("-proxied", ""))).status == 401


def test_a_proxy_may_leave_its_path(server: Running) -> None:
    call = server.get_call(f"{HUB.path}api/session", proxied=True)
    assert server.send(call).json["person"] == "Ada"
    assert server.send(server.get_call(HUB.path, proxied=True)).status == 200
    for target in (f"{HUB.path}/api/session", f"{HUB.path}x", HUB.path[:-1], f"/x{HUB.path}api/session"):
        assert server.send(replace(call, target=target)).status == 404
    assert server.get(f"{HUB.path}api/session").status == 404  # not without the proxy


def test_no_page_may_frame_it_unless_it_was_asked_for(server: Running) -> None:
    for proxied in (False, True):
        answer = server.send(server.get_call("/", proxied))
        assert answer.headers["x-frame-options"] == "DENY"
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]


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
