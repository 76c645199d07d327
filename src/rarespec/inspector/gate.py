"""The gate: what a request must show before any of it is looked at.

A web page from elsewhere can make a browser send requests to this machine, and its name can be made to point here; it
cannot read our cookie or our answers, and cannot choose the Host and Origin that the browser writes. Starlette's own
TrustedHostMiddleware looks at the Host alone, and would let in a right Host with a wrong Origin, cookie or token.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from hmac import compare_digest
from secrets import token_urlsafe

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from rarespec.inspector.answers import RefusedError, with_security_headers

# ---- Secrets of one run of the inspector: who does not know them is not let in.


N_BYTES = 32
"""256 bits each."""


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
    _tickets: set[str] = field(default_factory=set, repr=False, compare=False)

    @classmethod
    def new(cls) -> Secrets:
        return cls(token_urlsafe(N_BYTES), token_urlsafe(N_BYTES))

    def ticket(self) -> str:
        """Make a word that opens the page once, since others can read the command line that starts a browser."""
        ticket = token_urlsafe(N_BYTES)
        self._tickets.add(ticket)
        return ticket

    def opens(self, word: str) -> bool:
        """Say whether this is the token, or a ticket that has not been used yet."""
        if same(word, self.token):
            return True
        found = next((ticket for ticket in self._tickets if same(word, ticket)), None)
        self._tickets.discard(found or "")
        return found is not None


def same(word: str, secret: str) -> bool:
    """Compare in constant time, so that the time does not tell how much of a guess was right."""
    return compare_digest(word.encode(errors="surrogatepass"), secret.encode())


MOST_BYTES = 64 * 1024
"""Of a request's body."""
XSRF_HEADER = "X-Rarespec-Xsrf"
JSON_TYPES = ("application/json", "application/json;charset=utf-8")

NOT_OPENED = "access denied: use the address that `rarespec inspect` printed, with its token"
STEP_INSIDE = '<!DOCTYPE html><html lang="en"><title>rarespec</title><meta http-equiv="refresh" content="0;url=/">'
"""Where another page's link led here, a browser keeps the new cookie back until a page of our own leads on."""


class Gate:
    """Lets through what comes from our own page in the browser of the person who has the token."""

    def __init__(self, app: ASGIApp, secrets: Secrets, port: int) -> None:
        self.app = app
        self.secrets = secrets
        self.cookie = f"rarespec-{port}"
        self.hosts = (f"127.0.0.1:{port}", f"localhost:{port}")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        elif scope["type"] != "http":
            await self.app(scope, receive, send)
        else:
            answer = self._answer_at_the_gate(Request(scope)) or self.app
            await answer(scope, receive, with_security_headers(send))

    def _answer_at_the_gate(self, request: Request) -> Response | None:
        try:
            self._check_place(request)
            if request.method == "GET" and request.scope["path"] == "/" and "token" in request.query_params:
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
        host = _only(request, "Host")
        if host not in self.hosts:
            raise RefusedError(403, f"use this server only as {' or '.join(self.hosts)}")
        origin = _only(request, "Origin")
        if origin != f"http://{host}" and (request.method == "POST" or origin is not None):
            raise RefusedError(403, "the request comes from another page")
        site = _only(request, "Sec-Fetch-Site")
        if site not in (None, "same-origin", "none") and request.scope["path"] != "/":
            raise RefusedError(403, "the request comes from another page")

    def _open(self, request: Request) -> Response:
        query = request.query_params.multi_items()
        if len(query) != 1 or query[0][0] != "token" or not self.secrets.opens(query[0][1]):
            raise RefusedError(401, NOT_OPENED)
        from_elsewhere = request.headers.get("Sec-Fetch-Site") in ("cross-site", "same-site")
        response = HTMLResponse(STEP_INSIDE) if from_elsewhere else RedirectResponse("/", 303)
        response.set_cookie(self.cookie, self.secrets.token, httponly=True, samesite="strict", path="/")
        return response

    def _check_cookie(self, request: Request) -> None:
        pairs = [pair.strip().partition("=") for pair in (_only(request, "Cookie") or "").split(";")]
        values = [value for name, _, value in pairs if name == self.cookie]
        if len(values) != 1 or not same(values[0], self.secrets.token):
            raise RefusedError(401, NOT_OPENED)

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
