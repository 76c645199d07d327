"""A FITS file taken apart into header cards and data, and put together again with right checksums."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarespec.formats.fits.writing import BLOCK, Column, Value, add, encode, format_card, ones_complement_sum, row_dtype

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


def assemble_file(units: Iterable[Unit]) -> bytes:
    """The bytes of a file of these HDUs; where there are sums in a header, they are computed anew."""
    return b"".join(_stamp(unit) for unit in units)


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


def _stamp(unit: Unit) -> bytes:
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


# ---- Where flux, inverse variance and wavelength lie in the survey layouts that can be damaged.


_IMAGE_TYPES = {8: "u1", 16: ">i2", 32: ">i4", 64: ">i8", -32: ">f4", -64: ">f8"}
_NEVER_READ = ("SPZLINE", "ZALL", "ZLINE", "EXP_FIBERMAP", "SCORES", "WAVEDISP", "ORMASK", "SKY", "RESOLUTION")
"""HDUs that hold nothing a survey of spectra keeps: a reader may skip them without looking."""


def is_read(unit: Unit) -> bool:
    """Whether a reader has a reason to open this HDU."""
    return not unit.name.endswith(_NEVER_READ)


def spectral_arrays(unit: Unit) -> dict[str, NDArray[Any]]:
    """Writable views of this HDU's data: flux, ivar, sigma, loglam, wavelength, as far as they are here."""
    if unit.is_table:
        return _table_arrays(unit)
    if not unit.data:
        return {}
    image = np.frombuffer(unit.data, _IMAGE_TYPES[unit.number("BITPIX")]).reshape(unit.shape)
    if "XTENSION" in unit.positions:
        role = unit.name.rpartition("_")[2].lower()
        return {role: image} if role in ("flux", "ivar", "wavelength") else {}
    return _primary_arrays(unit, image)


def table_columns(unit: Unit) -> list[Column]:
    numbers = range(1, unit.number("TFIELDS") + 1)
    return [Column(unit.text(f"TTYPE{i}"), unit.text(f"TFORM{i}")) for i in numbers]


def table_rows(unit: Unit) -> NDArray[np.void]:
    """The rows of a binary table, a writable view."""
    return np.frombuffer(unit.data, row_dtype(table_columns(unit)))


def _table_arrays(unit: Unit) -> dict[str, NDArray[Any]]:
    wanted = {column.name for column in table_columns(unit)}
    wanted = {name for name in wanted if name.lower() in ("flux", "ivar", "loglam", "wavelength")}
    if not wanted:
        return {}
    rows = table_rows(unit)
    return {name.lower(): rows[name] for name in wanted}


def _primary_arrays(unit: Unit, image: NDArray[Any]) -> dict[str, NDArray[Any]]:
    if "SPEC_CLN" in unit.positions:
        return {"flux": image[0], "sigma": image[2]}
    if "EXTEN0" not in unit.positions:
        return {"flux": image}
    arrays = {"flux": image[0], "ivar": image[1]}
    return arrays | {"wavelength": image[2]} if "Wavelength" in unit.text("EXTEN0") else arrays
