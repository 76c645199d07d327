"""Rows of a CSV or ECSV file as text by column name."""

from __future__ import annotations

import csv
import io
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rarespec.labels.exchange.apostrophes import without_added
from rarespec.survey.manifest import WrongUseError

BLANKS = ("", "--")


@dataclass(frozen=True)
class TextRows:
    """names : as in the file; rows : a text of each column, empty where nothing is said."""

    names: list[str]
    rows: list[dict[str, str]]


def rows_in(path: Path) -> TextRows:
    return _ecsv(path) if path.suffix.lower() == ".ecsv" else csv_rows(path, decoded(path))


def decoded(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise WrongUseError(f"{path}: not UTF-8 text; save it again as CSV in UTF-8") from None


def csv_rows(path: Path, text: str) -> TextRows:
    return rows_of_cells(path, _cells(path, text))


def rows_of_cells(path: Path, cells: list[list[str]]) -> TextRows:
    """The first row are the names."""
    names, *rows = cells or [[]]
    _check_apart(path, names)
    for number, row in enumerate(rows, 1):
        if len(row) != len(names):
            raise WrongUseError(
                f"{path}: row {number} has {len(row)} cells but the header has {len(names)}; correct the file"
            )
    return TextRows(names, [dict(zip(names, map(_value, row), strict=True)) for row in rows])


def _check_apart(path: Path, names: list[str]) -> None:
    twice = [name for name, count in Counter(name.lower() for name in names if name).items() if count > 1]
    if twice:
        raise WrongUseError(f"{path}: two columns are called {twice[0]}; rename one")


def _cells(path: Path, text: str) -> list[list[str]]:
    """Separated by commas, semicolons or tabs, whichever the header uses. Lines without anything are no rows."""
    header = text.split("\n", 1)[0]
    separator = max(",;\t", key=header.count)
    try:
        cells = list(csv.reader(io.StringIO(text, newline=""), delimiter=separator))
    except csv.Error as error:
        raise WrongUseError(f"{path}: not a CSV file ({error})") from None
    first, *rest = cells or [[]]
    return [[name.strip() for name in first], *(row for row in rest if any(cell.strip() for cell in row))]


def _value(cell: str) -> str:
    return "" if cell in BLANKS else without_added(cell)


def _ecsv(path: Path) -> TextRows:
    from astropy.table import Table

    from rarespec.formats.ecsv_check import check_ecsv

    try:
        text = path.read_text(encoding="utf-8-sig") + "\n"  # a text of one line would be taken for an address
        check_ecsv(text)
        table = Table.read(text, format="ascii.ecsv")
    except Exception as error:  # astropy has several kinds for a damaged file
        raise WrongUseError(f"{path}: cannot be read as ECSV ({error})") from None
    _check_apart(path, table.colnames)
    columns = [[_text(value) for value in table[name].tolist()] for name in table.colnames]
    return TextRows(table.colnames, [dict(zip(table.colnames, row, strict=True)) for row in zip(*columns, strict=True)])


def _text(value: Any) -> str:
    return "" if value is None else str(value)
