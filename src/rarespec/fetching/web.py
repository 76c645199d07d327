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
"""Bytes a second: what the oldest modems reached."""
GRACE_SECONDS = 120.0
"""Seconds before the speed counts."""


def body_of(response: urllib3.BaseHTTPResponse, most: int, clock: Clock) -> Iterator[bytes]:
    """Read the body of an answer as it lies on the archive's disk: nothing is unpacked.

    Parameters
    ----------
    response : urllib3.BaseHTTPResponse
        An answer whose body has not been read.
    most : int
        Bytes that such a body may have.
    clock : Clock
        Measures how fast the body comes.

    Yields
    ------
    bytes
        Pieces as they come, of at most 256 KiB.

    Raises
    ------
    FaultError
        If the body is longer than `most`, or after two minutes comes at less than about 1000 bytes a second.
    """
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
"""An answer longer than this cannot be a table of ids."""
MOST_DIGITS = 18
"""Most digits of a length that a file can have."""
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
        """End all waiting, and all answers that are on their way; call it from a thread that does not wait."""
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
        """Send one request, once, in a `with` block; follow redirects.

        Parameters
        ----------
        method : str
            "GET", "HEAD" or "POST".
        url : str
            The address, without the token: that is added here.
        headers : mapping, optional
            Headers besides the usual ones.
        seconds : float, optional
            Longest silence of the archive. By default 60.
        **body : object
            What to send, as urllib3 takes it: `fields` for a form, `json`.

        Yields
        ------
        urllib3.BaseHTTPResponse
            The answer, of status 200 or 206, with a body to be read.

        Raises
        ------
        FaultError
            If the connection fails, or the status is any other.
        """
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
        """Read a whole answer as text; wait and ask again after faults that may pass.

        Parameters
        ----------
        method : str
            "GET" or "POST".
        url : str
            The address, without the token.
        most : int
            Bytes that the answer may have. By default 256 MiB.
        **how : object
            Passed on to `ask`: `headers`, `seconds`, and the body of the request.

        Returns
        -------
        str
            The answer; bytes that are not UTF-8 are replaced.

        Raises
        ------
        FaultError
            The last fault, if no try helped.
        """

        def ask() -> str:
            with self.ask(method, url, **how) as response:
                content = b"".join(self.pieces(response, most))
            return content.decode("utf-8", "replace")

        return self.patience.insist(ask, origin_of(url))

    def pieces(self, response: Response, most: int) -> Iterator[bytes]:
        """Read the body of an answer as it comes; raise a FaultError if it is longer than this, or comes too slowly."""
        return body_of(response, most, self.patience.clock)

    def hide(self, text: str) -> str:
        """Return the text without the token."""
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
            # 303 asks for a GET of the new address; other redirects repeat the request here.
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
    """Find the proxy in the environment (HTTPS_PROXY, NO_PROXY ...) or the system; empty for none."""
    parts = urlsplit(url)
    proxy = getproxies().get(parts.scheme, "")
    return "" if not proxy or proxy_bypass(parts.hostname or "") else proxy


def length_of(response: Response) -> int | None:
    """Read the Content-Length; None if it is missing or makes no sense."""
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
    """Say briefly what failed, without the address: it may contain a token."""
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
    """Return the title of a web page ("" if it has none); None if this is not a web page."""
    text = content[:65536].decode("utf-8", "replace").lstrip("\ufeff \t\r\n")
    if not re.match(r"<(!doctype html|html|head|body|\?xml[^>]*>\s*<!doctype html)", text, re.IGNORECASE):
        return None
    title = TITLE.search(text)
    return printable(" ".join(html.unescape(title[1]).split()))[:100] if title else ""
