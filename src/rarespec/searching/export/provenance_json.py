"""Provenance as JSON in plain ASCII, which survives in every format."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from rarespec.strict_json import as_json
from rarespec.survey.manifest import WrongUseError

Provenance = dict[str, Any]
NAME = "rarespec"
"""Under which files keep it."""


def plain_provenance(provenance: Mapping[str, Any]) -> Provenance:
    """As it will be read again: names are text, sequences are lists, NumPy's numbers are Python's."""
    try:
        return json.loads(to_json(dict(provenance)))
    except (TypeError, ValueError) as error:
        raise WrongUseError(f"the provenance cannot be written as JSON: {error}") from None


def to_json(provenance: Provenance) -> str:
    """In one line of printable ASCII; a number that is not finite is null."""
    return as_json(provenance, default=_refuse)


def _refuse(value: Any) -> Any:
    raise TypeError(f"{value!r} is a {type(value).__name__}; use only text, numbers, lists and dictionaries")
