"""FITS headers: found in the raw blocks, parsed card by card when asked."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from rarespec.formats.source import Source
from rarespec.spectrum import DefectError, Reason

if TYPE_CHECKING:
    from astropy.io import fits


BLOCK = 2880
CARD = 80
FIRST_WINDOW = 10 * BLOCK
LARGEST_HEADER = 16 << 20
"""Bytes. The longest headers of real surveys are a hundred times shorter; without END the search stops here."""

_END = b"END" + b" " * 77
_INTEGER = re.compile(r"[+-]?\d+", re.ASCII)
_REAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([EeDd][+-]?\d+)?", re.ASCII)
_STRING = re.compile(r" *'((?:[^']|'')*)' *(/|$)")
_AFTER_STRING = ("", "/")
_PLAIN_CARDS = re.compile(
    r"\n(.{8})= (?:(?:'([^'&\n]+)'| *(?:([+-]?\d+)(\.\d*(?:E[+-]?\d+)?)?|([TF]))) *(?=[/\n]))?", re.ASCII
)
"""Cards on lines of their own: keyword, then text, or whole number and fraction, or T or F; nothing if less plain."""
_ABSENT = object()
_COMMENTARY = ("COMMENT", "HISTORY", "")
_NOT_A_NUMBER = {"NAN", "+NAN", "-NAN", "INF", "+INF", "-INF", "INFINITY", "-INFINITY"}


def pad_length(length: int) -> int:
    """Round a number of bytes up to whole FITS blocks."""
    return -(-length // BLOCK) * BLOCK


def read_header(source: Source, offset: int, label: str) -> tuple[bytes, Header]:
    """Read the header that starts at an offset.

    Parameters
    ----------
    source : Source
        The open file.
    offset : int
        Byte at which the header starts.
    label : str
        What messages call this header.

    Returns
    -------
    raw : bytes
        Its blocks; the padding of the last one may be cut off.
    header : Header
        Its cards.

    Raises
    ------
    DefectError
        If there is no END card, or a byte that a card cannot hold.
    """
    window = FIRST_WINDOW
    while True:
        raw = source.read(offset, min(window, source.length - offset))
        end = _position_of_end(raw)
        if end is not None:
            _check_characters(raw[:end], label)
            return raw[: pad_length(end + CARD)], Header(raw[:end].decode("ascii"), label)
        _check_characters(raw, f"{label}, which has no END card,")
        if len(raw) < window:
            raise DefectError(Reason.TRUNCATED, f"{label} has no END card before the file ends; fetch it again")
        if window > LARGEST_HEADER:
            raise DefectError(Reason.CORRUPT, f"{label} has no END card within {window >> 20} MiB; fetch it again")
        window *= 4


def _position_of_end(raw: bytes) -> int | None:
    position = raw.find(_END)
    while position >= 0 and position % CARD:
        position = raw.find(_END, position + 1)
    return position if position >= 0 else None


def _check_characters(cards: bytes, label: str) -> None:
    codes = np.frombuffer(cards, np.uint8)
    if len(codes) and (codes.min() < 32 or codes.max() > 126):
        at = int(np.flatnonzero((codes < 32) | (codes > 126))[0])
        raise DefectError(
            Reason.CORRUPT,
            f"{label} has the byte 0x{codes[at]:02x} at {at}, which is not allowed in a FITS card; fetch it again",
        )


class Header(Mapping[str, Any]):
    """Keyword -> value (bool, int, float, str, or None when undefined); the first card counts when one is repeated.

    Long strings (CONTINUE), HIERARCH keywords and complex numbers are left to astropy.
    """

    def __init__(self, text: str, label: str = "the header") -> None:
        self.text = text
        self.label = label
        self._values: dict[str, Any] = {}

    @cached_property
    def _positions(self) -> dict[str, int]:
        text = self.text
        positions = {text[at : at + 8]: at for at in range(len(text) // CARD * CARD - CARD, -1, -CARD)}
        for commentary in _COMMENTARY:
            positions.pop(commentary.ljust(8), None)
        return positions

    @cached_property
    def _by_astropy(self) -> fits.Header:
        from astropy.io import fits

        return fits.Header.fromstring(self.text)

    @cached_property
    def _has_hierarch(self) -> bool:
        return "HIERARCH" in self._positions

    def position_of(self, keyword: str) -> int | None:
        """Find where the card with this keyword and a value starts in `text`."""
        at = self._positions.get(keyword.ljust(8))
        return at if at is not None and self.text[at + 8 : at + 10] == "= " else None

    def __contains__(self, keyword: object) -> bool:
        if not isinstance(keyword, str):
            return False
        return self.position_of(keyword) is not None or (self._has_hierarch and keyword in self._by_astropy)

    def __getitem__(self, keyword: str) -> Any:
        value = self.get(keyword, _ABSENT)
        if value is _ABSENT:
            raise KeyError(keyword)
        return value

    def get(self, keyword: str, default: Any = None) -> Any:
        if keyword not in self._values:
            self._values[keyword] = self._parse(keyword)
        value = self._values[keyword]
        return default if value is _ABSENT else value

    def _parse(self, keyword: str) -> Any:
        at = self.position_of(keyword)
        if at is not None:
            return self._value_at(at)
        return self._by_astropy.get(keyword, _ABSENT) if self._has_hierarch else _ABSENT

    def _value_at(self, at: int) -> Any:
        value = value_of(self.text[at : at + CARD], self.label)
        if isinstance(value, str) and value.endswith("&") and self.text.startswith("CONTINUE", at + CARD):
            return self._continued(self.text[at : at + 8].rstrip())
        return value

    def _continued(self, keyword: str) -> str:
        try:
            return str(self._by_astropy[keyword])
        except Exception:  # astropy has several for cards that it cannot read
            detail = f"{self.label}: the text of {keyword} goes on in a card that cannot be read"
            raise DefectError(Reason.CORRUPT, detail) from None

    def cards(self) -> Iterator[tuple[str, Any]]:
        """Yield keywords and values in the order of the file, in one pass; text is stripped, HIERARCH left out."""
        text = self.text
        lines = "\n".join(["", *[text[at : at + CARD] for at in range(0, len(text), CARD)], ""])
        for padded_key, string, whole, fraction, truth in _PLAIN_CARDS.findall(lines):
            key = padded_key.rstrip()
            if string:
                yield key, string.strip()
            elif whole:
                yield key, float(whole + fraction) if fraction else int(whole)
            else:
                yield key, truth == "T" if truth else self._strip(key)

    def _strip(self, keyword: str) -> Any:
        value = self.get(keyword)
        return value.strip() if isinstance(value, str) else value

    def __iter__(self) -> Iterator[str]:
        text = self.text
        # The positions were collected from the last card to the first.
        yield from (key.rstrip() for key, at in reversed(self._positions.items()) if text[at + 8 : at + 10] == "= ")
        if self._has_hierarch:
            yield from (key for key in self._by_astropy if self.position_of(key) is None and " " in key)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def string(self, keyword: str, default: str = "") -> str:
        """Read a value as text without blanks around it; `default` when there is none."""
        value = self.get(keyword)
        return default if value is None else str(value).strip()

    def integer(self, keyword: str, default: int | None = None) -> int:
        """Read a value that must be a whole number; without `default` the card must be there."""
        value = self.get(keyword, default)
        if isinstance(value, bool) or not isinstance(value, int):
            found = "is missing" if value is None else f"= {value!r} is not a whole number"
            raise DefectError(Reason.CORRUPT, f"{self.label}: {keyword} {found}; fetch it again")
        return value

    def number(self, keyword: str) -> float | None:
        """Read a value as a float, or None when there is none; other kinds of value are a defect."""
        value = self.get(keyword)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise DefectError(Reason.CORRUPT, f"{self.label}: {keyword} = {value!r} is not a number")
        return float(value)

    def number_or_none(self, keyword: str) -> float | None:
        """Read a value as a float, or None when there is none or it is of another kind: positions may be text."""
        value = self.get(keyword)
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def value_of(card: str, label: str) -> Any:
    """Read the value of one 80-character card that has a value."""
    if card[10] == "'":
        end = card.find("'", 11)
        if end > 0 and card[end + 1 :].lstrip()[:1] in _AFTER_STRING:
            return card[11:end].rstrip()
    token = card[10:].partition("/")[0].strip()
    if _INTEGER.fullmatch(token):
        return int(token)
    if _REAL.fullmatch(token):
        return float(token.replace("D", "E").replace("d", "e"))
    if token in ("T", "F"):
        return token == "T"
    if not token or token.upper() in _NOT_A_NUMBER:
        return None
    if text := _STRING.match(card[10:]):
        return text[1].replace("''", "'").rstrip()
    if token.startswith(("'", "(")):
        return _value_by_astropy(card, label)
    raise _unreadable(card, label)


def _value_by_astropy(card: str, label: str) -> Any:
    from astropy.io import fits

    try:
        return fits.Card.fromstring(card).value
    except (fits.VerifyError, ValueError):
        raise _unreadable(card, label) from None


def _unreadable(card: str, label: str) -> DefectError:
    return DefectError(Reason.CORRUPT, f"{label}: the card {card[:40].rstrip()!r} cannot be read; fetch it again")
