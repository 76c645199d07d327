"""The layout of a FITS binary table: from TTYPE and TFORM cards to a NumPy dtype."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarespec.formats.fits.header import CARD, Header
from rarespec.spectrum import DefectError, Reason

LARGEST_TABLE = 999
"""Columns, the limit of the FITS standard."""

_FORMAT = re.compile(r"(\d{0,15})([LXBIJKAEDCMPQ])(.*)", re.ASCII)
_PLAIN = {"B": "u1", "I": ">i2", "J": ">i4", "K": ">i8", "E": ">f4", "D": ">f8", "L": "S1"}
_UNUSUAL = {"X": "u1", "C": ">c8", "M": ">c16", "P": "(2,)>i4", "Q": "(2,)>i8"}
_UNSIGNED = {("B", -128): "i1", ("I", 1 << 15): ">u2", ("J", 1 << 31): ">u4", ("K", 1 << 63): ">u8"}
_DIMENSIONS = re.compile(r"\(\d{1,12}(,\d{1,12}){0,9}\)", re.ASCII)
_MODIFIERS = re.compile(r"(?:TSCAL|TZERO|TDIM)\d+ *= ")


@dataclass(frozen=True)
class TableLayout:
    """Where the columns of a table are.

    Attributes
    ----------
    names : tuple of str
        As in the file.
    raw : dtype
        Of one row as stored.
    final : dtype
        Of one row as handed out; differs for logical and unsigned columns.
    plain : bool
        False when a column needs astropy (variable length, bits, complex, scaled, multi-dimensional).
    var_length : tuple of str
        Columns that only hold a descriptor of an array on the heap.
    """

    names: tuple[str, ...]
    raw: np.dtype[Any]
    final: np.dtype[Any]
    plain: bool
    var_length: tuple[str, ...]

    @cached_property
    def names_by_lower_case(self) -> dict[str, str]:
        return {name.lower(): name for name in reversed(self.names)}

    @cached_property
    def _is_final(self) -> bool:
        return self.raw == self.final

    def convert(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Turn rows in the `raw` dtype into rows in the `final` one."""
        if self._is_final:
            return rows
        result = np.empty(rows.shape, self.final)
        for name in self.names:
            result[name] = _convert_column(rows[name], self.final[name].base)
        return result


def _convert_column(column: NDArray[Any], final: np.dtype[Any]) -> NDArray[Any]:
    if column.dtype == final:
        return column
    if final.kind == "b":
        return column == b"T"
    # Adding 2**(bits - 1) turns signed into unsigned: that flips the highest bit and nothing else.
    highest_bit = 1 << (8 * final.itemsize - 1)
    unsigned = np.ascontiguousarray(column).view(final.str.replace("i", "u"))
    return (unsigned ^ unsigned.dtype.type(highest_bit)).astype(unsigned.dtype).view(final)


def table_layout(header: Header) -> TableLayout:
    """Read the layout that a header describes, checked against NAXIS1; cached, since the files of a survey share it."""
    n_columns = header.integer("TFIELDS")
    if not 0 <= n_columns <= LARGEST_TABLE:
        raise DefectError(Reason.CORRUPT, f"{header.label}: TFIELDS = {n_columns} is impossible; fetch it again")
    cards = _cards_of_columns(header, n_columns)
    try:
        return _layout(cards, n_columns, header.integer("NAXIS1"))
    except _LayoutError as error:
        raise DefectError(Reason.CORRUPT, f"{header.label}: {error}") from None


class _LayoutError(Exception):
    """What is wrong with the columns; the label of the HDU is added by `table_layout`, outside the cache."""


def _cards_of_columns(header: Header, n_columns: int) -> str:
    """The stretch of the header with all TTYPE and TFORM cards, and the cards outside it that change their meaning."""
    ends = [header.position_of(f"{key}{n}") for key in ("TTYPE", "TFORM") for n in (1, n_columns)]
    found = [at for at in ends if at is not None]
    if len(found) < 4:
        return header.text
    first, last = min(found), max(found) + CARD
    text = header.text
    if not any(key in text for key in ("TSCAL", "TZERO", "TDIM")):
        return text[first:last]
    outside = (text[at : at + CARD] for at in chain(range(0, first, CARD), range(last, len(text), CARD)))
    return text[first:last] + "".join(card for card in outside if _MODIFIERS.match(card))


@lru_cache(maxsize=256)
def _layout(cards: str, n_columns: int, row_bytes: int) -> TableLayout:
    header = Header(cards)
    columns = [_Column.parse(header, n) for n in range(1, n_columns + 1)]
    names = tuple(column.name for column in columns)
    if len(set(names)) < len(names):
        twice = Counter(names).most_common(1)[0][0]
        raise _LayoutError(f"two columns are called {twice!r}")
    total = sum(column.width for column in columns)
    if total != row_bytes:
        raise _LayoutError(f"its columns add up to {total} bytes a row but NAXIS1 = {row_bytes}")
    raw = np.dtype([(column.name, column.raw) for column in columns])
    final = np.dtype([(column.name, column.final) for column in columns])
    var_length = tuple(column.name for column in columns if column.code in "PQ")
    return TableLayout(names, raw, final, all(column.plain for column in columns), var_length)


@dataclass(frozen=True)
class _Column:
    name: str
    code: str
    repeat: int
    rest: str
    scale: float
    zero: float
    dimensions: str

    @classmethod
    def parse(cls, header: Header, n: int) -> _Column:
        text = header.string(f"TFORM{n}")
        match = _FORMAT.fullmatch(text.upper())
        if match is None:
            raise _LayoutError(f"TFORM{n} = {text!r} is not a column format")
        repeat, code, rest = match.groups()
        return cls(
            header.string(f"TTYPE{n}") or f"col{n}",
            code,
            int(repeat) if repeat else 1,
            rest.strip(),
            header.get(f"TSCAL{n}", 1),
            header.get(f"TZERO{n}", 0),
            header.string(f"TDIM{n}").replace(" ", ""),
        )

    @property
    def width(self) -> int:
        """Bytes in a row, before any dtype is made of it."""
        if self.code == "A":
            return self.repeat
        if self.code == "X":
            return -(-self.repeat // 8)
        if self.code in "PQ":
            return (8 if self.code == "P" else 16) * min(self.repeat, 1)
        return self.repeat * np.dtype(_PLAIN.get(self.code) or _UNUSUAL[self.code]).itemsize

    @property
    def plain(self) -> bool:
        if self.code in _UNUSUAL or self.shape is None:
            return False
        if self.code == "A":
            return not self.rest and self.dimensions in ("", f"({self.repeat})")
        return self.scale == 1 and (self.zero == 0 or (self.code, self.zero) in _UNSIGNED)

    @property
    def shape(self) -> tuple[int, ...] | None:
        """Of the array in a row, in NumPy order; None when TDIM contradicts TFORM."""
        if not self.dimensions:
            return () if self.repeat == 1 else (self.repeat,)
        if not _DIMENSIONS.fullmatch(self.dimensions):
            return None
        shape = tuple(int(length) for length in self.dimensions[1:-1].split(","))[::-1]
        return shape if math.prod(shape) == self.repeat else None

    @property
    def raw(self) -> np.dtype[Any]:
        if self.code == "A":
            return np.dtype(f"S{self.repeat}")
        if self.code in "PQ":
            return np.dtype(_UNUSUAL[self.code]) if self.repeat else np.dtype("S0")
        if self.code == "X":
            return np.dtype(("u1", (self.width,)))
        return self._repeat(_PLAIN.get(self.code) or _UNUSUAL[self.code])

    @property
    def final(self) -> np.dtype[Any]:
        if self.plain and self.code == "L":
            return self._repeat("?")
        if self.plain and self.zero:
            return self._repeat(_UNSIGNED[self.code, int(self.zero)])
        return self.raw

    def _repeat(self, base: str) -> np.dtype[Any]:
        shape = (self.repeat,) if self.shape is None else self.shape
        return np.dtype((base, shape)) if shape else np.dtype(base)
