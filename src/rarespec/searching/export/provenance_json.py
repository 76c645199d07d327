"""Provenance as JSON in plain ASCII, which survives in every format."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from rarespec.survey.manifest import WrongUseError

Provenance = dict[str, Any]
NAME = "rarespec"
"""Under which files keep it."""


def plain_provenance(provenance: Mapping[str, Any]) -> Provenance:
    """As it will be read again: names are text, sequences are lists, NumPy's numbers are Python's."""
    try:
        return json.loads(json.dumps(dict(provenance), default=_plain))
    except (TypeError, ValueError) as error:
        raise WrongUseError(f"the provenance cannot be written as JSON: {error}") from None


def to_json(provenance: Provenance) -> str:
    """In one line of printable ASCII."""
    return json.dumps(provenance, ensure_ascii=True)


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError(f"{value!r} is of type {type(value).__name__}; use text, numbers, lists and mappings")
