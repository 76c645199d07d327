"""Text that tells transformers apart: the same kind with the same parameters has the same, anything else another."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

EDITION = 1
"""Raised when the same parameters begin to give other features; part of every fingerprint."""


def fingerprint_of(steps: list[Any]) -> str:
    content = json.dumps([EDITION, [_described(step) for step in steps]], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()[:16]


def _described(step: Any) -> list[Any]:
    """A step may say itself which values decide about its features, when its parameters alone do not."""
    parameters = getattr(step, "deciding_values", lambda: step.get_params(deep=False))()
    kind = type(step)
    return [f"{kind.__module__}.{kind.__qualname__}", {name: _plain(value) for name, value in parameters.items()}]


def _plain(value: Any) -> Any:
    """The value in JSON, without loss; 10 and 10.0 are the same."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, Real):
        return float(value)
    if isinstance(value, BaseEstimator):
        return _described(value)
    if is_dataclass(value) and not isinstance(value, type):
        return [type(value).__qualname__, _plain(asdict(value))]
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, np.ndarray) and value.dtype != object:
        content = np.ascontiguousarray(value).tobytes()
        return [value.dtype.str, list(value.shape), hashlib.sha256(content).hexdigest()]
    raise TypeError(f"cannot make a fingerprint of {value!r}: use numbers, text, arrays or transformers")
