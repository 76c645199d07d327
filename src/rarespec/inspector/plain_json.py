"""Answers of the page as JSON."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from rarespec.strict_json import as_json


class PlainJSON(Response):
    """Of all that `as_json` takes."""

    media_type = "application/json"

    def __init__(self, content: Any, status: int = 200) -> None:
        super().__init__(as_json(content), status)
