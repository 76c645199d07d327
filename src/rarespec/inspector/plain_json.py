"""Answers as JSON, which has no NaN: what is not known is null."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from enum import Enum
from typing import Any

import numpy as np
from starlette.responses import Response


class PlainJSON(Response):
    """Of dictionaries, sequences, arrays, numbers, text, truth values and None."""

    media_type = "application/json"

    def __init__(self, content: Any, status: int = 200) -> None:
        super().__init__(as_json(content), status)


def as_json(content: Any) -> bytes:
    # In ASCII, with all else escaped: file names may hold halves of letters, which no encoding can write.
    return json.dumps(plain(content), allow_nan=False, separators=(",", ":")).encode("ascii")


def plain(value: Any) -> Any:
    """The same in types that JSON has; numbers that are not finite are None."""
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
