"""What every answer of the server has: its headers, plain JSON, and refusals in one sentence."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from starlette.datastructures import MutableHeaders
from starlette.responses import Response
from starlette.types import Message, Send

from rarespec.storage.text import as_json

CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)

SECURITY_HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Embedder-Policy": "require-corp",
    "Cross-Origin-Resource-Policy": "same-origin",
}


def headers_framed_by(origins: Collection[str]) -> dict[str, str]:
    """The headers of an answer that pages of these origins may show inside themselves; no page, if there are none."""
    if not origins:
        return SECURITY_HEADERS
    policy = CONTENT_SECURITY_POLICY.replace("frame-ancestors 'none'", f"frame-ancestors {' '.join(origins)}")
    others = {name: value for name, value in SECURITY_HEADERS.items() if name != "X-Frame-Options"}
    return others | {"Content-Security-Policy": policy}


def with_security_headers(send: Send, headers: Mapping[str, str]) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message).update(headers)
        await send(message)

    return send_with_headers


# ---- Answers of the page as JSON.


class PlainJSON(Response):
    """An answer as JSON, of anything that `as_json` takes."""

    media_type = "application/json"

    def __init__(self, content: Any, status: int = 200) -> None:
        super().__init__(as_json(content), status)


# ---- A request that is refused: a status and one plain sentence, as JSON.


class RefusedError(Exception):
    """A request that is refused, with the HTTP status that says why."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status

    def response(self) -> Response:
        return error_response(self.status, str(self))


def error_response(status: int, why: str) -> Response:
    return PlainJSON({"error": why}, status)
