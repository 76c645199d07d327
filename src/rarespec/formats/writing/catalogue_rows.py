"""Catalogue rows as rows of a FITS table, of which other HDUs of the same file hold the pixels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rarespec.formats.fits.writing import Column
from rarespec.formats.writing.outgoing import ColumnKind, column_names

MOST_COLUMNS = 900
"""Of 999 that FITS allows, with room for pixels."""
FORMS = {"int64": "K", "double": "D", "bool": "L"}


def table_columns(columns: Mapping[str, ColumnKind]) -> dict[str, Column]:
    """Name in the catalogue -> column of a FITS table, for as many as such a table can hold."""
    names = column_names(columns)
    some = list(columns.items())[:MOST_COLUMNS]
    return {name: Column(names[name], _form(kind)) for name, kind in some}


def _form(kind: ColumnKind) -> str:
    if kind.stored == "string":
        return f"{max(kind.width, 1)}A"
    return FORMS[kind.stored]


def fill_rows(rows: np.ndarray[Any, Any], columns: Mapping[str, Column], values: Mapping[str, Sequence[Any]]) -> None:
    """Put catalogue values into rows of a table; NaN and empty text stand for what is missing."""
    for name, column in columns.items():
        rows[column.name] = [_stored(value, column.form[-1]) for value in values[name]]


def _stored(value: Any, form: str) -> Any:
    if form == "A":
        return b"" if value is None else ascii_text(str(value)).encode()
    if form == "L":
        return b"T" if value else b"F"
    return np.nan if value is None else value


def ascii_text(text: str) -> str:
    """Text as FITS can hold it: all but printable ASCII is written out, as in \\u00e9."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c.isascii() and c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def one_row(columns: Mapping[str, ColumnKind], row: Mapping[str, Any]) -> tuple[tuple[Column, ...], Any]:
    """The columns and the row of a table about a single spectrum; what is not known of it is left out."""
    from rarespec.formats.fits.writing import row_dtype

    known = {name: _own_kind(kind, row[name]) for name, kind in columns.items() if row.get(name) is not None}
    chosen = table_columns(known)
    table = np.zeros(1, row_dtype(chosen.values()))
    fill_rows(table, chosen, {name: [row[name]] for name in chosen})
    return tuple(chosen.values()), table


def _own_kind(kind: ColumnKind, value: Any) -> ColumnKind:
    width = len(ascii_text(str(value))) if kind.kind == "string" else 0
    return ColumnKind(kind.kind, width)
