"""The gate: what a request must show before any of it is looked at.

A web page from elsewhere can make a browser send requests to this machine, and its name can be made to point here; it
cannot read our cookie or our answers, and cannot choose the Host and Origin that the browser writes. Starlette's own
TrustedHostMiddleware looks at the Host alone, and would let in a right Host with a wrong Origin, cookie or token.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from hmac import compare_digest
from secrets import token_urlsafe
from time import monotonic

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from rarespec.inspector.answers import RefusedError, headers_framed_by, with_security_headers
from rarespec.inspector.entrance import ALLOW_HOST, LOOPBACK, Entrance

# ---- Secrets of one run of the inspector: who does not know them is not let in.


N_BYTES = 32
"""256 bits each."""
TICKET_SECONDS = 600.0
"""After which a ticket that nobody has used opens nothing."""


@dataclass(frozen=True)
class Secrets:
    """Secrets of one run of the inspector.

    Parameters
    ----------
    token : str
        Opens the page, and is then the cookie.
    xsrf : str
        Has to come with every request that changes something.
    """

    token: str
    xsrf: str
    _tickets: dict[str, float] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def new(cls) -> Secrets:
        return cls(token_urlsafe(N_BYTES), token_urlsafe(N_BYTES))

    def ticket(self) -> str:
        """Make a word that opens the page once and soon: others can read the command line that starts a browser, and
        a notebook is saved with what it shows.
        """
        ticket = token_urlsafe(N_BYTES)
        self._tickets[ticket] = monotonic() + TICKET_SECONDS
        return ticket

    def opens(self, word: str) -> bool:
        """Say whether this is the token, or a ticket that has not been used yet and is not too old."""
        if same(word, self.token):
            return True
        found = next((ticket for ticket in list(self._tickets) if same(word, ticket)), "")
        return self._tickets.pop(found, 0.0) > monotonic()


def same(word: str, secret: str) -> bool:
    """Compare in constant time, so that the time does not tell how much of a guess was right."""
    return compare_digest(word.encode(errors="surrogatepass"), secret.encode())


MOST_BYTES = 64 * 1024
"""Of a request's body."""
XSRF_HEADER = "X-Rarespec-Xsrf"
JSON_TYPES = ("application/json", "application/json;charset=utf-8")

OPENERS = ("token", "key")
"""Names of the parameter that opens the page. Jupyter takes `token` for its own, so a proxied address has `key`."""

NOT_OPENED = "access denied: use the address that `rarespec inspect` printed, with its token"
STEP_INSIDE = '<!DOCTYPE html><html lang="en"><title>rarespec</title><meta http-equiv="refresh" content="0;url=./">'
"""Where another page's link led here, a browser keeps the new cookie back until a page of our own leads on."""


class Gate:
    """Lets through what comes from our own page in the browser of the person who has the token."""

    def __init__(self, app: ASGIApp, secrets: Secrets, port: int, entrance: Entrance | None = None) -> None:
        self.app = app
        self.secrets = secrets
        self.port = port
        self.entrance = entrance or Entrance({}, "/")
        self.origins = {f"{name}:{port}": f"http://{name}:{port}" for name in LOOPBACK} | dict(self.entrance.origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        elif scope["type"] != "http":
            await self.app(scope, receive, send)
        else:
            scope = self._below_the_entrance(scope)
            answer = self._answer_at_the_gate(Request(scope)) or self.app
            await answer(scope, receive, with_security_headers(send, self._headers(Request(scope))))

    def _answer_at_the_gate(self, request: Request) -> Response | None:
        try:
            self._check_place(request)
            opens = any(name in request.query_params for name in OPENERS)
            if request.method == "GET" and request.scope["path"] == "/" and opens:
                return self._open(request)
            self._check_cookie(request)
            if request.method == "POST":
                self._check_change(request)
            else:
                _check_no_body(request)
        except RefusedError as refused:
            return refused.response()
        return None

    def _check_place(self, request: Request) -> None:
        """Check that the browser meant us, and that no other page sent it."""
        if request.method not in ("GET", "POST"):
            raise RefusedError(405, "only GET and POST are allowed")
        expected = self.origins.get(_only(request, "Host") or "")
        if expected is None:
            allowed = " or ".join(self.origins)
            raise RefusedError(403, f"use this server only as {allowed}; {ALLOW_HOST} allows another host")
        origin = _only(request, "Origin")
        if origin != expected and (request.method == "POST" or origin is not None):
            raise RefusedError(403, "the request comes from another page")
        site = _only(request, "Sec-Fetch-Site")
        if site not in (None, "same-origin", "none") and request.scope["path"] != "/":
            raise RefusedError(403, "the request comes from another page")

    def _open(self, request: Request) -> Response:
        query = request.query_params.multi_items()
        if len(query) != 1 or not self.secrets.opens(query[0][1]):
            self._check_cookie(request)  # a used ticket in the address of who is inside already does no harm
        from_elsewhere = request.headers.get("Sec-Fetch-Site") in ("cross-site", "same-site")
        response = HTMLResponse(STEP_INSIDE) if from_elsewhere else RedirectResponse("./", 303)
        is_proxied = self._is_proxied(request)
        response.set_cookie(
            self._cookie(request),
            self.secrets.token,
            httponly=True,
            samesite="strict",
            path=self.entrance.path if is_proxied else "/",
            secure=is_proxied and self.entrance.origin.startswith("https:"),
        )
        return response

    def _check_cookie(self, request: Request) -> None:
        pairs = [pair.strip().partition("=") for pair in (_only(request, "Cookie") or "").split(";")]
        values = [value for name, _, value in pairs if name == self._cookie(request)]
        if len(values) != 1 or not same(values[0], self.secrets.token):
            raise RefusedError(401, NOT_OPENED)

    def _cookie(self, request: Request) -> str:
        """Two names, as a browser that comes both ways sends both cookies: it does not tell ports apart."""
        return f"rarespec-proxied-{self.port}" if self._is_proxied(request) else f"rarespec-{self.port}"

    def _is_proxied(self, request: Request) -> bool:
        return request.headers.get("Host") in self.entrance.origins

    def _below_the_entrance(self, scope: Scope) -> Scope:
        """Some proxies take the path of the entrance away, some leave it."""
        path, prefix = scope["path"], self.entrance.path
        is_whole = path.startswith(prefix) and self._is_proxied(Request(scope))
        return {**scope, "path": path[len(prefix) - 1 :]} if is_whole else scope

    def _headers(self, request: Request) -> dict[str, str]:
        is_framed = self.entrance.is_framed and self._is_proxied(request)
        return headers_framed_by(self.entrance.origins.values() if is_framed else ())

    def _check_change(self, request: Request) -> None:
        if not same(_only(request, XSRF_HEADER) or "", self.secrets.xsrf):
            raise RefusedError(403, f"{XSRF_HEADER} is missing or wrong; load the page again")
        kind = _only(request, "Content-Type") or ""
        if kind.replace(" ", "").lower() not in JSON_TYPES:
            raise RefusedError(415, "the body must be application/json")
        if _only(request, "Content-Encoding") is not None:
            raise RefusedError(415, "the body must be plain, not compressed")
        check_length(_only(request, "Content-Length"), "Transfer-Encoding" in request.headers)


def check_length(length: str | None, chunked: bool) -> None:
    """Check that a body says how long it is, once, and that it is not too long."""
    if chunked or length is None or not (length.isascii() and length.isdigit()):
        raise RefusedError(400, "the body must come in one piece, with one Content-Length")
    if len(length) > len(str(MOST_BYTES)) or int(length) > MOST_BYTES:
        raise RefusedError(413, f"the body is longer than {MOST_BYTES} bytes")


def _check_no_body(request: Request) -> None:
    if "Transfer-Encoding" in request.headers or _only(request, "Content-Length") not in (None, "0"):
        raise RefusedError(400, "a GET request must have no body")


def _only(request: Request, name: str) -> str | None:
    """Read a header that may be given once; None when it is not given."""
    values = request.headers.getlist(name)
    if len(values) > 1:
        raise RefusedError(400, f"{name} is given {len(values)} times")
    return values[0] if values else None
