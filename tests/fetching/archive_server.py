"""An archive on this machine, with the faults of real ones; and time that passes at once."""

from __future__ import annotations

import threading
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

from rarespec.fetching.fault import Clock, Patience

Headers = dict[str, str]


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    query: str
    headers: Message
    body: bytes


@dataclass(frozen=True)
class Answer:
    """What the server sends.

    length : of the Content-Length header; that of the body when None, no such header when -1
    cut    : close the connection after so many bytes of the body
    piece  : bytes sent at a time
    """

    body: bytes = b""
    status: int = 200
    headers: Headers = field(default_factory=dict)
    length: int | None = None
    cut: int | None = None
    piece: int = 1 << 20
    stall: threading.Event | None = None


Reply = Answer | Callable[[Request], Answer]


@dataclass
class ArchiveServer:
    """Files by their path; `faults` are answers that come first, one for each request of that path."""

    files: dict[str, bytes] = field(default_factory=dict)
    replies: dict[str, Reply] = field(default_factory=dict)
    faults: dict[str, deque[Reply]] = field(default_factory=lambda: defaultdict(deque))
    ranges: bool = True
    tag: str = '"1"'
    requests: list[Request] = field(default_factory=list)
    base: str = ""

    def paths(self, method: str = "GET") -> list[str]:
        return [request.path for request in self.requests if request.method == method]

    def answer(self, request: Request) -> Answer:
        self.requests.append(request)
        if self.faults[request.path]:
            return _made(self.faults[request.path].popleft(), request)
        if request.path in self.replies:
            return _made(self.replies[request.path], request)
        if request.path in self.files:
            return self._file(request)
        return self._listing(request.path) or Answer(b"<html><title>404</title></html>", 404)

    def _file(self, request: Request) -> Answer:
        content = self.files[request.path]
        headers = {"ETag": self.tag, "Accept-Ranges": "bytes"} if self.tag else {}
        start = request.headers.get("Range", "").removeprefix("bytes=").removesuffix("-")
        if not start or not self.ranges or request.headers.get("If-Range") != self.tag:
            return Answer(content, headers=headers)
        if int(start) >= len(content):
            return Answer(b"", 416, {"Content-Range": f"bytes */{len(content)}"})
        there = {"Content-Range": f"bytes {start}-{len(content) - 1}/{len(content)}"}
        return Answer(content[int(start) :], 206, headers | there)

    def _listing(self, path: str) -> Answer | None:
        names = [name.removeprefix(path) for name in self.files if name.startswith(path)]
        if not path.endswith("/") or not names:
            return None
        links = "".join(f'<a href="{name}">{name}</a>' for name in names if "/" not in name)
        return Answer(f"<html><title>Index</title>{links}</html>".encode(), headers={"Content-Type": "text/html"})


def _made(reply: Reply, request: Request) -> Answer:
    return reply if isinstance(reply, Answer) else reply(request)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # it would hold back every answer for 40 ms
    archive: ArchiveServer

    def do_GET(self) -> None:
        n_bytes = int(self.headers.get("Content-Length") or 0)
        parts = urlsplit(self.path)
        request = Request(self.command, parts.path, parts.query, self.headers, self.rfile.read(n_bytes))
        self._send(self.archive.answer(request))

    do_HEAD = do_POST = do_GET

    def _send(self, answer: Answer) -> None:
        self.send_response(answer.status)
        length = len(answer.body) if answer.length is None else answer.length
        for name, value in answer.headers.items():
            self.send_header(name, value)
        if length >= 0:
            self.send_header("Content-Length", str(length))
        if length < 0 or answer.cut is not None or length != len(answer.body):
            self.send_header("Connection", "close")
            self.close_connection = True
        self.end_headers()
        if self.command == "HEAD":
            return
        body = answer.body[: answer.cut]
        for start in range(0, len(body), answer.piece):
            self.wfile.write(body[start : start + answer.piece])
            self.wfile.flush()
        if answer.stall:
            answer.stall.wait()

    def log_message(self, *_: object) -> None:
        pass


class QuietServer(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """Clients that close a connection are what these tests are about."""


@contextmanager
def serving(archive: ArchiveServer | None = None, host: str = "127.0.0.1") -> Iterator[ArchiveServer]:
    archive = archive or ArchiveServer()
    handler = type("ThisHandler", (Handler,), {"archive": archive})
    server = QuietServer((host, 0), handler)
    archive.base = f"http://{host}:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield archive
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class QuickClock(Clock):
    """Waiting takes no time, but the clock goes on."""

    def __init__(self) -> None:
        super().__init__()
        self.waits: list[float] = []
        self._now = 1000.0
        self._lock = threading.Lock()

    def now(self) -> float:
        return self._now

    def wait(self, seconds: float) -> None:
        with self._lock:
            self.waits.append(seconds)
            self._now += seconds


def quick_patience(tries: int = 4) -> Patience:
    return Patience(tries=tries, clock=QuickClock(), chance=lambda: 0.0)
