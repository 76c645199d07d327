"""Header-data units as bytes: cards, tables, checksums.

Written by hand because astropy takes 23 times as long to write an SDSS file with its checksums
(benchmarks/writers.py). In the tests astropy reads the files and checks their sums.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

# ---- FITS header cards, formatted once and patched for every file.


Value = str | bool | int | float
Card = tuple[str, Value, str]
"""Keyword, value, comment. COMMENT cards keep their text in the value; an empty keyword makes a blank card."""


class Header:
    """The cards of one header without END, in order; `replace` gives a copy with other values."""

    def __init__(self, cards: Iterable[Card]) -> None:
        self._cards: dict[str, bytes] = {}
        self._comments: dict[str, str] = {}
        for keyword, value, comment in cards:
            key = f"{keyword}#{len(self._cards)}" if keyword in ("COMMENT", "") else keyword
            self._cards[key] = format_card(keyword, value, comment)
            self._comments[key] = comment

    def replace(self, values: Mapping[str, Value]) -> Header:
        """The same cards with these values; every keyword must be there already."""
        copy = Header(())
        copy._cards = self._cards | {key: format_card(key, value, self._comments[key]) for key, value in values.items()}
        copy._comments = self._comments
        return copy

    def __bytes__(self) -> bytes:
        return b"".join(self._cards.values())


def format_card(keyword: str, value: Value, comment: str = "") -> bytes:
    """Format one 80-byte card in the standard's fixed format; a comment that does not fit is cut.

    Parameters
    ----------
    keyword : str
        At most 8 characters; "COMMENT" and "" make cards without a value indicator.
    value : str, bool, int or float
        The value; of a COMMENT card, its text.
    comment : str
        Follows the value.

    Returns
    -------
    bytes
        The card.

    Raises
    ------
    ValueError
        If text is too long for one card, or a number is not finite.
    """
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


# ---- CHECKSUM and DATASUM of the FITS standard 4.0, section 4.4.2.7 and appendix J.


_PUNCTUATION = frozenset(b":;<=>?@[\\]^_`")


def ones_complement_sum(blocks: bytes | bytearray | memoryview) -> int:
    """The 32-bit ones' complement sum of big-endian words; the length must be a multiple of 4."""
    total = int(np.frombuffer(blocks, dtype=">u4").sum(dtype=np.uint64))
    return _fold(total)


def add(first: int, second: int) -> int:
    """The sum of two ones' complement sums."""
    return _fold(first + second)


def encode(total: int) -> bytes:
    """The complement of a sum as the 16 characters that CHECKSUM holds."""
    complement = total ^ 0xFFFFFFFF
    columns = [_four_characters(byte) for byte in complement.to_bytes(4, "big")]
    text = bytes(columns[i][row] for row in range(4) for i in range(4))
    # The value of a card starts at its byte 11, one before a word boundary.
    return text[-1:] + text[:-1]


def _fold(total: int) -> int:
    while total >> 32:
        total = (total & 0xFFFFFFFF) + (total >> 32)
    return total


@lru_cache(maxsize=256)
def _four_characters(byte: int) -> bytes:
    """Four letters or digits whose offsets from '0' add up to this byte."""
    quotient, remainder = divmod(byte, 4)
    characters = [48 + quotient + remainder, 48 + quotient, 48 + quotient, 48 + quotient]
    while not _PUNCTUATION.isdisjoint(characters):
        for i in (0, 2):
            if not _PUNCTUATION.isdisjoint(characters[i : i + 2]):
                characters[i] += 1
                characters[i + 1] -= 1
    return bytes(characters)


# ---- Header-data units as bytes, with CHECKSUM and DATASUM.


BLOCK = 2880
_BITPIX = {"f4": -32, "f8": -64, "i4": 32, "i2": 16, "u1": 8}
_UNSET = b"0" * 16


def hdu(header: Header, data: bytes = b"") -> bytes:
    """One header-data unit, padded to whole blocks, its two sums last in the header as astropy writes them."""
    padded = data + bytes(-len(data) % BLOCK)
    return _with_sums(header, ones_complement_sum(padded)) + padded


def _with_sums(header: Header, datasum: int) -> bytes:
    """The header with END, padded to whole blocks; always of the same length."""
    cards = bytes(header)
    checksum_at = len(cards) + 11
    cards += format_card("CHECKSUM", _UNSET.decode(), "HDU checksum")
    cards += format_card("DATASUM", str(datasum), "data unit checksum")
    cards += b"END".ljust(80)
    cards += b" " * (-len(cards) % BLOCK)
    checksum = encode(add(ones_complement_sum(cards), datasum))
    return cards[:checksum_at] + checksum + cards[checksum_at + 16 :]


def primary_cards(array: NDArray[np.generic] | None = None) -> list[Card]:
    """The mandatory cards of a primary HDU, empty or with an image."""
    first: Card = ("SIMPLE", True, "conforms to FITS standard")
    return [first, *_size_cards(array), ("EXTEND", True, "")]


def image_cards(array: NDArray[np.generic], name: str) -> list[Card]:
    """The mandatory cards of an image extension and its name."""
    return [
        ("XTENSION", "IMAGE", "Image extension"),
        *_size_cards(array),
        ("PCOUNT", 0, "number of parameters"),
        ("GCOUNT", 1, "number of groups"),
        ("EXTNAME", name, "extension name"),
    ]


def image_hdu(array: NDArray[np.generic], name: str, extra: Sequence[Card] = ()) -> bytes:
    """Make an image extension, stored big-endian.

    Parameters
    ----------
    array : array
        The image; float32, float64, int32, int16 or uint8.
    name : str
        EXTNAME.
    extra : sequence of (keyword, value, comment)
        Cards that follow the mandatory ones.

    Returns
    -------
    bytes
        The HDU, with its checksums.
    """
    return hdu(Header([*image_cards(array, name), *extra]), big_endian(array))


def big_endian(array: NDArray[np.generic]) -> bytes:
    return array.astype(array.dtype.newbyteorder(">"), copy=False).tobytes()


def _size_cards(array: NDArray[np.generic] | None) -> list[Card]:
    if array is None:
        return [("BITPIX", 8, "array data type"), ("NAXIS", 0, "number of array dimensions")]
    axes: list[Card] = [(f"NAXIS{i + 1}", int(length), "") for i, length in enumerate(reversed(array.shape))]
    return [
        ("BITPIX", _BITPIX[array.dtype.str[1:]], "array data type"),
        ("NAXIS", array.ndim, "number of array dimensions"),
        *axes,
    ]


# ---- Binary tables: columns from their names and formats, rows as NumPy records.


Rows = NDArray[np.void]
_CODES = {"L": "S1", "B": "u1", "I": ">i2", "J": ">i4", "K": ">i8", "E": ">f4", "D": ">f8"}


@dataclass(frozen=True, slots=True)
class Column:
    """One column: TTYPE, TFORM and, where there is one, TUNIT."""

    name: str
    form: str
    unit: str = ""


def parse_columns(text: str) -> tuple[Column, ...]:
    """Columns written as `NAME FORM` or `NAME FORM UNIT`, separated by commas or line ends."""
    entries = (entry.split(maxsplit=2) for entry in re.split(r"[,\n]", text))
    return tuple(Column(*entry) for entry in entries if entry)


def row_dtype(columns: Iterable[Column]) -> np.dtype[np.void]:
    """The big-endian record that one row is."""
    return np.dtype([(column.name, *_field(column.form)) for column in columns])


def table_cards(columns: tuple[Column, ...], n_rows: int, name: str) -> list[Card]:
    """List all cards of a binary table, EXTNAME last.

    Parameters
    ----------
    columns : tuple of Column
        The columns.
    n_rows : int
        Rows of the table (NAXIS2).
    name : str
        EXTNAME.

    Returns
    -------
    list of (keyword, value, comment)
        The cards.
    """
    cards: list[Card] = [
        ("XTENSION", "BINTABLE", "binary table extension"),
        ("BITPIX", 8, "array data type"),
        ("NAXIS", 2, "number of array dimensions"),
        ("NAXIS1", row_dtype(columns).itemsize, "length of dimension 1"),
        ("NAXIS2", n_rows, "length of dimension 2"),
        ("PCOUNT", 0, "number of group parameters"),
        ("GCOUNT", 1, "number of groups"),
        ("TFIELDS", len(columns), "number of table fields"),
    ]
    for i, column in enumerate(columns, start=1):
        cards += [(f"TTYPE{i}", column.name, ""), (f"TFORM{i}", column.form, "")]
        if column.unit:
            cards.append((f"TUNIT{i}", column.unit, ""))
    return [*cards, ("EXTNAME", name, "")]


def table_hdu(columns: tuple[Column, ...], rows: NDArray[np.void], name: str) -> bytes:
    """Make a binary table extension.

    Parameters
    ----------
    columns : tuple of Column
        The columns.
    rows : (n,) structured array
        The rows, of the type that `row_dtype(columns)` gives.
    name : str
        EXTNAME.

    Returns
    -------
    bytes
        The HDU, with its checksums.
    """
    return hdu(Header(table_cards(columns, len(rows), name)), rows.tobytes())


def write_rows(file: BinaryIO, columns: tuple[Column, ...], n_rows: int, name: str, chunks: Iterable[Rows]) -> None:
    """Write a binary table whose rows come in chunks, so that memory holds one chunk at a time.

    Parameters
    ----------
    file : binary file
        Open to write, at the end of the HDU before.
    columns : tuple of Column
        The columns.
    n_rows : int
        Rows of all chunks together.
    name : str
        EXTNAME.
    chunks : iterable of (n,) structured arrays
        The rows, of the type that `row_dtype(columns)` gives.
    """
    header, start = Header(table_cards(columns, n_rows, name)), file.tell()
    file.write(_with_sums(header, 0))
    datasum, rest = 0, b""
    for chunk in chunks:
        content = rest + chunk.tobytes()
        whole = len(content) - len(content) % 4
        datasum, rest = add(datasum, ones_complement_sum(content[:whole])), content[whole:]
        file.write(content[:whole])
    size = n_rows * row_dtype(columns).itemsize
    last = rest + bytes(-size % BLOCK)
    datasum = add(datasum, ones_complement_sum(last))
    file.write(last)
    file.seek(start)
    file.write(_with_sums(header, datasum))
    file.seek(0, 2)


def _field(form: str) -> tuple[str, tuple[int, ...]]:
    """NumPy type and shape of a TFORM such as E, 5J or 21A."""
    match = re.fullmatch(r"(\d*)([A-Z])", form)
    if match is None:
        raise ValueError(f"{form!r} is not a column format that these writers use")
    repeat = int(match[1] or 1)
    if match[2] == "A":
        return f"S{repeat}", ()
    return _CODES[match[2]], () if repeat == 1 else (repeat,)
