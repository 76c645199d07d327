r"""Characters that a format cannot hold, written as \uXXXX (\UXXXXXXXX above U+FFFF) so that nothing is lost."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from rarespec.searching.export.plain_columns import PlainColumn

LONE_SURROGATES = "[\ud800-\udfff]"
"""No encoding has them; they stand for bytes that were not text."""
CONTROLS = "[\x00-\x1f\x7f-\x9f\u2028\u2029\ufffe\uffff]"
"""Of no use in a table, and line ends or forbidden to some readers."""
EDGE_SPACE = r"^\s|\s\Z"
NOT_PRINTABLE_ASCII = "[^ -~]"
WORDS = ("name", "unit", "ucd", "description")

_TAKEN_FOR_ESCAPED = r"\\(?=u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})"
_ESCAPED = re.compile(r"\\u([0-9a-fA-F]{4})|\\U([0-9a-fA-F]{8})")


def pattern_of(*forbidden: str) -> re.Pattern[str]:
    """Matches each character that must be escaped where these are forbidden."""
    return re.compile("|".join((*forbidden, _TAKEN_FOR_ESCAPED)))


def escaped(text: str, forbidden: re.Pattern[str]) -> str:
    return forbidden.sub(lambda found: _escape(ord(found[0])), text)


def unescaped(text: str) -> str:
    """What `escaped` was given."""
    return _ESCAPED.sub(lambda found: chr(int(found[1] or found[2], 16)), text)


def _escape(code: int) -> str:
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def escaped_columns(columns: Sequence[PlainColumn], forbidden: re.Pattern[str], path: Path) -> list[PlainColumn]:
    """The columns with all their texts escaped; a warning counts them."""
    result = [_escaped_column(column, forbidden) for column in columns]
    counts = {old.name: _n_changed(old, new) for old, new in zip(columns, result, strict=True)}
    if any(counts.values()):
        where = ", ".join(name for name, count in counts.items() if count)
        warnings.warn(
            f"{path}: {sum(counts.values())} texts ({where}) have characters that this format cannot store; "
            r"they are written as \uXXXX, see rarespec.searching.export.unescaped",
            stacklevel=4,
        )
    return result


def with_legal_words(column: PlainColumn, forbidden: re.Pattern[str]) -> PlainColumn:
    """The column with name, unit, UCD and description escaped."""
    words: dict[str, Any] = {word: escaped(getattr(column, word), forbidden) for word in WORDS}
    return replace(column, **words)


def _escaped_column(column: PlainColumn, forbidden: re.Pattern[str]) -> PlainColumn:
    column = with_legal_words(column, forbidden)
    if not column.is_text:
        return column
    values = np.empty_like(column.values)
    values[:] = [escaped(text, forbidden) for text in column.values]
    return replace(column, values=values)


def _n_changed(old: PlainColumn, new: PlainColumn) -> int:
    words = sum(getattr(old, word) != getattr(new, word) for word in WORDS)
    return words + (int(np.sum(old.values != new.values)) if old.is_text else 0)
