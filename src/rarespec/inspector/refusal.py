"""A request that is refused: a status and one plain sentence, as JSON."""

from __future__ import annotations

from starlette.responses import Response

from rarespec.inspector.plain_json import PlainJSON


class RefusedError(Exception):
    """With the status of HTTP that says why."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status

    def response(self) -> Response:
        return error_response(self.status, str(self))


def error_response(status: int, why: str) -> Response:
    return PlainJSON({"error": why}, status)
