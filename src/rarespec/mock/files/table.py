"""Binary tables: columns from their names and formats, rows as NumPy records."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rarespec.mock.files.hdu import hdu
from rarespec.mock.files.header import Card, Header

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
    """All cards of a binary table, EXTNAME last."""
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
    """A binary table extension of these rows."""
    return hdu(Header(table_cards(columns, len(rows), name)), rows.tobytes())


def _field(form: str) -> tuple[str, tuple[int, ...]]:
    """NumPy type and shape of a TFORM such as E, 5J or 21A."""
    match = re.fullmatch(r"(\d*)([A-Z])", form)
    if match is None:
        raise ValueError(f"{form!r} is not a column format that these writers use")
    repeat = int(match[1] or 1)
    if match[2] == "A":
        return f"S{repeat}", ()
    return _CODES[match[2]], () if repeat == 1 else (repeat,)
