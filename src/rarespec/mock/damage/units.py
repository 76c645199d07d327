"""A FITS file taken apart into header cards and data, and put together again with right checksums."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from rarespec.mock.files.checksum import add, encode, ones_complement_sum
from rarespec.mock.files.hdu import BLOCK
from rarespec.mock.files.header import Value, format_card

_VALUE = re.compile(r"\s*(?:'((?:[^']|'')*)'|([^/]*))")


@dataclass(slots=True)
class Unit:
    """One HDU: its cards without END, its data without padding, and where both lay in the file."""

    cards: list[bytes]
    data: bytearray
    header_at: int
    data_at: int
    positions: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._index()

    def _index(self) -> None:
        self.positions = {card[:8].decode("ascii").rstrip(): i for i, card in enumerate(self.cards)}

    def text(self, keyword: str, otherwise: str = "") -> str:
        """The value of a card as text, without quotes."""
        if keyword not in self.positions:
            return otherwise
        match = _VALUE.match(self.cards[self.positions[keyword]][10:].decode("ascii"))
        assert match is not None
        return (match[1] if match[1] is not None else match[2]).strip()

    def number(self, keyword: str, otherwise: int = 0) -> int:
        return int(self.text(keyword, str(otherwise)))

    def set(self, keyword: str, value: Value) -> None:
        """Change the value of a card that is there."""
        self.cards[self.positions[keyword]] = format_card(keyword, value)

    def remove(self, keywords: Iterable[str]) -> None:
        gone = {self.positions[keyword] for keyword in keywords if keyword in self.positions}
        self.cards = [card for i, card in enumerate(self.cards) if i not in gone]
        self._index()

    @property
    def name(self) -> str:
        return self.text("EXTNAME")

    @property
    def is_table(self) -> bool:
        return self.text("XTENSION") == "BINTABLE"

    @property
    def shape(self) -> tuple[int, ...]:
        """Slowest axis first, as NumPy has it."""
        return tuple(self.number(f"NAXIS{i}") for i in range(self.number("NAXIS"), 0, -1))


def take_apart(content: bytes) -> list[Unit]:
    """The HDUs of an intact FITS file."""
    units, at = [], 0
    while at < len(content):
        cards, data_at = _cards_from(content, at)
        unit = Unit(cards, bytearray(), at, data_at)
        unit.data += content[data_at : data_at + _data_length(unit)]
        units.append(unit)
        at = data_at + len(unit.data) + -len(unit.data) % BLOCK
    return units


def put_together(units: Iterable[Unit]) -> bytes:
    """The bytes of a file of these HDUs; where there are sums in a header, they are computed anew."""
    return b"".join(_stamped(unit) for unit in units)


def _cards_from(content: bytes, at: int) -> tuple[list[bytes], int]:
    cards: list[bytes] = []
    while True:
        card = content[at : at + 80]
        if len(card) < 80:
            raise ValueError("a FITS header without END: start from an intact file")
        at += 80
        if card.rstrip() == b"END":
            return cards, at + -at % BLOCK
        cards.append(card)


def _data_length(unit: Unit) -> int:
    if not unit.shape:
        return 0
    elements = math.prod(unit.shape) + unit.number("PCOUNT")
    return abs(unit.number("BITPIX")) // 8 * unit.number("GCOUNT", 1) * elements


def _stamped(unit: Unit) -> bytes:
    data = bytes(unit.data) + bytes(-len(unit.data) % BLOCK)
    datasum = ones_complement_sum(data)
    if "DATASUM" in unit.positions:
        unit.set("DATASUM", str(datasum))
    if "CHECKSUM" in unit.positions:
        unit.set("CHECKSUM", "0" * 16)
        total = add(ones_complement_sum(_header_bytes(unit)), datasum)
        unit.set("CHECKSUM", encode(total).decode())
    return _header_bytes(unit) + data


def _header_bytes(unit: Unit) -> bytes:
    header = b"".join(unit.cards) + b"END".ljust(80)
    return header + b" " * (-len(header) % BLOCK)
