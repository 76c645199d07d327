"""FITS header cards, formatted once and patched for every file."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

Value = str | bool | int | float
Card = tuple[str, Value, str]
"""Keyword, value, comment. COMMENT cards keep their text in the value; an empty keyword makes a blank card."""


class Header:
    """The cards of one header without END, in order; `replaced` gives a copy with other values."""

    def __init__(self, cards: Iterable[Card]) -> None:
        self._cards: dict[str, bytes] = {}
        self._comments: dict[str, str] = {}
        for keyword, value, comment in cards:
            key = f"{keyword}#{len(self._cards)}" if keyword in ("COMMENT", "") else keyword
            self._cards[key] = format_card(keyword, value, comment)
            self._comments[key] = comment

    def replaced(self, values: Mapping[str, Value]) -> Header:
        """The same cards with these values; every keyword must be there already."""
        copy = Header(())
        copy._cards = self._cards | {key: format_card(key, value, self._comments[key]) for key, value in values.items()}
        copy._comments = self._comments
        return copy

    def __bytes__(self) -> bytes:
        return b"".join(self._cards.values())


def format_card(keyword: str, value: Value, comment: str = "") -> bytes:
    """One 80-byte card in the standard's fixed format; a comment that does not fit is cut."""
    if keyword in ("COMMENT", ""):
        return f"{keyword:8}{value}".ljust(80).encode("ascii")
    text = f"{keyword:8}= {_format_value(value)}"
    if comment:
        text += f" / {comment}"
    if len(text) > 80 and isinstance(value, str) and len(value) > 66:
        raise ValueError(f"{value!r} is too long for one card")
    return text[:80].ljust(80).encode("ascii")


def _format_value(value: Value) -> str:
    if isinstance(value, str):
        quoted = "'" + value.replace("'", "''").ljust(8) + "'"
        return quoted.ljust(20)
    if isinstance(value, bool):
        return ("T" if value else "F").rjust(20)
    if isinstance(value, int):
        return str(value).rjust(20)
    if not math.isfinite(value):
        raise ValueError(f"a FITS header cannot store {value}")
    return repr(float(value)).upper().rjust(20)
