"""One request to an archive: connections kept open, redirects followed with care, faults in plain words.

urllib3 keeps the connections, verifies certificates and watches that no body ends early. Redirects are followed here,
because a token must not travel to another host.
"""

from __future__ import annotations

import html
import http.client
import logging
import re
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from threading import Timer
from typing import Any
from urllib.parse import urljoin, urlsplit
from urllib.request import getproxies, proxy_bypass

import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection

from rarespec._version import __version__
from rarespec.fetching.fault import Clock, FaultError, Patience, seconds_asked
from rarespec.fetching.secret import HidingFilter, Secret, origin_of
from rarespec.storage.text import printable

# ---- The body of an answer, up to the length that such an answer may have, and no slower than a usable archive
# sends.
#
# An archive that was broken into, or one that a redirect leads to, may send for ever, a byte at a time.


PIECE = 1 << 18
SLOWEST = 1000
"""Bytes a second, which the oldest of modems had."""
GRACE_SECONDS = 120.0
"""Before the speed counts."""


def body_of(response: urllib3.BaseHTTPResponse, most: int, clock: Clock) -> Iterator[bytes]:
    """Pieces as they come and as they lie on the archive's disk: nothing is unpacked."""
    started, n_bytes = clock.now(), 0
    while piece := response.read1(PIECE, decode_content=False):
        n_bytes += len(piece)
        if n_bytes > most:
            raise too_long(most)
        seconds = clock.now() - started
        if seconds > GRACE_SECONDS + n_bytes / SLOWEST:
            raise FaultError(f"the archive sends too slowly: {n_bytes} bytes in {seconds:.0f} s; try again later")
        yield piece


def too_long(most: int) -> FaultError:
    words = f"{most >> 20} MiB" if most >= 1 << 20 else f"{most} bytes"
    return FaultError(f"it is larger than {words}, too large for this kind of file")


class _OnTime:
    """A connection on which the head of an answer comes in time as a whole. The time-out of a socket is of one silence:
    it never ends when a byte, or one "100 Continue" after the other, comes now and then."""

    sock: socket.socket | None
    timeout: Any

    def getresponse(self) -> Any:
        seconds = GRACE_SECONDS + (self.timeout if isinstance(self.timeout, int | float) else 0.0)
        with _end_after(seconds, self.sock):
            return super().getresponse()  # type: ignore[misc]


@contextmanager
def _end_after(seconds: float, sock: socket.socket | None) -> Iterator[None]:
    timer = Timer(seconds, _end, (sock,))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _end(sock: socket.socket | None) -> None:
    with suppress(OSError, AttributeError):
        sock.shutdown(socket.SHUT_RDWR)  # type: ignore[union-attr]


class OnTimeHTTP(_OnTime, HTTPConnection):
    pass


class OnTimeHTTPS(_OnTime, HTTPSConnection):
    pass


class HTTPPool(urllib3.HTTPConnectionPool):
    ConnectionCls = OnTimeHTTP


class HTTPSPool(urllib3.HTTPSConnectionPool):
    ConnectionCls = OnTimeHTTPS


POOLS = {"http": HTTPPool, "https": HTTPSPool}


CONNECT_SECONDS = 15.0
READ_SECONDS = 60.0
"""Longest silence of an archive that is sending a file."""
QUERY_SECONDS = 600.0
"""Longest silence of an archive that is thinking about a query."""
REDIRECTS = 5
TEXT_BYTES = 256 << 20
"""Answers of more than this are no table of ids."""
MOST_DIGITS = 18
"""Of a length that a file can have."""
SMALL_BYTES = 65_536
"""Up to here, reading the page of an error to its end costs less than a new connection."""
PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})
BUSY = frozenset({429, 503})
ABSENT = frozenset({404, 410})
REFUSED = frozenset({401, 403})
# Bodies are wanted as they lie on the disk of the archive, so that lengths and checksums are those it publishes.
HEADERS = {"User-Agent": f"rarespec/{__version__}", "Accept-Encoding": "identity"}

CUT = (urllib3.exceptions.IncompleteRead, http.client.IncompleteRead, ConnectionError)

Response = urllib3.BaseHTTPResponse


class Web:
    """Requests to archives, by any number of threads at once."""

    def __init__(self, patience: Patience | None = None, secret: Secret | None = None, connections: int = 4) -> None:
        self.patience = patience or Patience()
        self._secret = secret
        self._sizes: dict[str, Any] = {"maxsize": connections, "num_pools": 8}
        self._managers: dict[str, urllib3.PoolManager] = {}
        self._answers: set[Response] = set()
        self._filter = HidingFilter(secret) if secret else None

    def __enter__(self) -> Web:
        if self._filter:
            logging.getLogger("urllib3.connectionpool").addFilter(self._filter)
        return self

    def __exit__(self, *_: object) -> None:
        for manager in self._managers.values():
            manager.clear()
        if self._filter:
            logging.getLogger("urllib3.connectionpool").removeFilter(self._filter)

    def stop(self) -> None:
        """End all waiting and all answers that are on their way; for another thread than those that wait."""
        self.patience.clock.stop()
        for response in tuple(self._answers):
            with suppress(OSError, RuntimeError, ValueError):  # it came to its end meanwhile
                response.shutdown()

    @contextmanager
    def ask(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str] | None = None,
        seconds: float | None = None,
        **body: Any,
    ) -> Iterator[Response]:
        """The answer to one request, once: status 200 or 206 and a body to be read; anything else is a FaultError."""
        try:
            response = self._after_redirects(method, url, {**HEADERS, **(headers or {})}, seconds or READ_SECONDS, body)
            self._answers.add(response)
            try:
                self._raise_for(response)
                yield response
            except BaseException:
                response.close()  # what is left of the body would be taken for the next answer
                raise
            finally:
                self._answers.discard(response)
            self._keep_connection(response)
        except urllib3.exceptions.HTTPError as error:
            words = fault_in_words(error, urlsplit(url).hostname or "")
            raise FaultError(words, passing=_may_pass(error)) from None

    def text(self, method: str, url: str, most: int = TEXT_BYTES, **how: Any) -> str:
        """The whole answer, of at most so many bytes, as text; passing faults are waited out."""

        def ask() -> str:
            with self.ask(method, url, **how) as response:
                content = b"".join(self.pieces(response, most))
            return content.decode("utf-8", "replace")

        return self.patience.insist(ask, origin_of(url))

    def pieces(self, response: Response, most: int) -> Iterator[bytes]:
        """The body of an answer as it comes; a FaultError when it has more bytes than this, or comes too slowly."""
        return body_of(response, most, self.patience.clock)

    def hide(self, text: str) -> str:
        """The text without the token."""
        return self._secret.hide_in(text) if self._secret else text

    def _after_redirects(
        self, method: str, url: str, headers: Mapping[str, str], seconds: float, body: Mapping[str, Any]
    ) -> Response:
        for _ in range(REDIRECTS + 1):
            response = self._request(method, url, headers, seconds, body)
            there = response.headers.get("Location")
            if not 300 <= response.status < 400 or response.status == 304 or not there:
                return response
            self._keep_connection(response)
            url = self._next(url, there)
            if response.status == 303 and method == "POST":
                method, body = "GET", {}
        raise FaultError(f"more than {REDIRECTS} redirects")

    def _next(self, url: str, location: str) -> str:
        """Where a redirect leads, unless it must not be followed."""
        try:
            there = urljoin(url, location)
            origin, host = origin_of(there), printable(urlsplit(there).hostname or "")
        except ValueError:  # such as a port that is no number
            raise FaultError("a redirect to an invalid address") from None
        if urlsplit(there).scheme not in ("http", "https"):
            raise FaultError(f"a redirect to something that is not a web address: {printable(self.hide(there))[:100]}")
        if urlsplit(url).scheme == "https" and urlsplit(there).scheme == "http":
            raise FaultError(f"a redirect from an encrypted address to an unencrypted one of {host}")
        if self._secret and origin != self._secret.origin and self._secret.is_in(there):
            raise FaultError(f"a redirect that would send your token to {host}")
        return there

    def _request(
        self, method: str, url: str, headers: Mapping[str, str], seconds: float, body: Mapping[str, Any]
    ) -> Response:
        whole = self._secret.add_to(url) if self._secret else url
        timeout = urllib3.Timeout(connect=CONNECT_SECONDS, read=seconds)
        return self._manager(url).request(
            method, whole, headers=headers, timeout=timeout, redirect=False, retries=False, preload_content=False,
            decode_content=False, **body
        )  # fmt: skip

    def _manager(self, url: str) -> urllib3.PoolManager:
        proxy = _proxy_for(url)
        manager = self._managers.get(proxy)
        if manager is None:
            made = urllib3.ProxyManager(proxy, **self._sizes) if proxy else urllib3.PoolManager(**self._sizes)
            made.pool_classes_by_scheme = POOLS
            manager = self._managers.setdefault(proxy, made)
        return manager

    def _keep_connection(self, response: Response) -> None:
        """Read what is left of the answer, so that the connection can serve the next request; but not without end."""
        try:
            for _ in self.pieces(response, SMALL_BYTES):
                pass
            response.release_conn()
        except FaultError:
            response.close()

    def _raise_for(self, response: Response) -> None:
        """Turn every status but success into a fault that says what it means."""
        status = response.status
        if status in (200, 206):
            return
        if (length_of(response) or SMALL_BYTES) < SMALL_BYTES:
            self._keep_connection(response)
        wait = seconds_asked(response.headers.get("Retry-After")) if status in BUSY else None
        raise FaultError(
            _status_in_words(status, wait), passing=status in PASSING, absent=status in ABSENT, busy=status in BUSY,
            wait=wait, status=status
        )  # fmt: skip


def _proxy_for(url: str) -> str:
    """The proxy of the environment (HTTPS_PROXY, NO_PROXY ...) or of the system; empty for none."""
    parts = urlsplit(url)
    proxy = getproxies().get(parts.scheme, "")
    return "" if not proxy or proxy_bypass(parts.hostname or "") else proxy


def length_of(response: Response) -> int | None:
    """The Content-Length; None when there is none, or nonsense."""
    length = response.headers.get("Content-Length", "")
    return int(length) if length.isascii() and length.isdigit() and len(length) <= MOST_DIGITS else None


def _status_in_words(status: int, wait: float | None) -> str:
    if status in ABSENT:
        return f"not in the archive (HTTP {status})"
    if status in REFUSED:
        return f"the archive refused access (HTTP {status}); the release may not be public, or may need a token"
    asked = "" if wait is None else f", asking to wait {wait:.0f} s"
    return f"HTTP status {status} from the archive{asked}"


def fault_in_words(error: urllib3.exceptions.HTTPError, host: str) -> str:
    """Short, and without the address, in which a token may be."""
    kinds = urllib3.exceptions
    if isinstance(error, kinds.NameResolutionError):
        return f"cannot find the host {host}; check your network connection"
    if isinstance(error, kinds.NewConnectionError):  # counts as a timeout too
        return f"no connection to {host}"
    if isinstance(error, kinds.TimeoutError):
        return "no answer in time"
    if any(isinstance(cause, CUT) for cause in (error, *error.args)):
        return "the connection ended early"
    if isinstance(error, kinds.SSLError):
        return "the certificate of the archive cannot be verified"
    if isinstance(error, kinds.ProxyError):
        return "no connection to the proxy"
    return f"the connection failed ({type(error).__name__})"


def _may_pass(error: urllib3.exceptions.HTTPError) -> bool:
    return not isinstance(error, urllib3.exceptions.SSLError | urllib3.exceptions.LocationValueError)


TITLE = re.compile(r"<title[^>]*>(.*?)</title", re.IGNORECASE | re.DOTALL)


def page_title(content: bytes) -> str | None:
    """The title of a web page ("" when it has none); None when this is no web page."""
    text = content[:65536].decode("utf-8", "replace").lstrip("\ufeff \t\r\n")
    if not re.match(r"<(!doctype html|html|head|body|\?xml[^>]*>\s*<!doctype html)", text, re.IGNORECASE):
        return None
    title = TITLE.search(text)
    return printable(" ".join(html.unescape(title[1]).split()))[:100] if title else ""
