"""Rows of a CSV or ECSV file as text by column name."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import astuple, dataclass, replace
from pathlib import Path
from typing import Any
from uuid import UUID, uuid5

from rarespec.errors import UsageError
from rarespec.formats.columns import python_values
from rarespec.labels.event import LabelEvent, check_event

# ---- The apostrophes that keep a spreadsheet from running a cell of CSV, undone exactly.
#
# CSV is written with an apostrophe before what a spreadsheet would run. To take away just those when a file is
# read, a text that has apostrophes of its own in such a place gets one more.


_RUN = r"[^\S\t\r\n]*[=+\-@＝＋－＠]"
_OWN = re.compile(rf"^(?='+[\t\r\n])|^(?='+{_RUN})|(?<=[;\t\r\n])(?='+{_RUN})")
_ADDED = re.compile(rf"^'(?='*[\t\r\n])|^'(?='*{_RUN})|(?<=[;\t\r\n])'(?='*{_RUN})")


def with_one_more(text: str) -> str:
    """To be written as CSV by `rarespec.searching.export`."""
    return _OWN.sub("'", text)


def without_added(text: str) -> str:
    """Return a cell of CSV as it was before it was written."""
    return _ADDED.sub("", text)


# ---- text rows


BLANKS = ("", "--")


@dataclass(frozen=True)
class TextRows:
    """The rows of a table as text.

    Parameters
    ----------
    names : list of str
        Names of the columns, as in the file.
    rows : list of dict
        Column -> text, empty where nothing is said.
    """

    names: list[str]
    rows: list[dict[str, str]]


def rows_in(path: Path) -> TextRows:
    if path.suffix.lower() == ".csv":
        return csv_rows(path, decode_file(path))
    return _ecsv(path) if path.suffix.lower() == ".ecsv" else _binary(path)


def decode_file(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError(f"{path}: not UTF-8 text; save it again as CSV in UTF-8") from None


def csv_rows(path: Path, text: str) -> TextRows:
    return rows_of_cells(path, _cells(path, text))


def rows_of_cells(path: Path, cells: list[list[str]]) -> TextRows:
    """The first row are the names."""
    names, *rows = cells or [[]]
    _check_apart(path, names)
    for number, row in enumerate(rows, 1):
        if len(row) != len(names):
            raise UsageError(
                f"{path}: row {number} has {len(row)} cells but the header has {len(names)}; correct the file"
            )
    return TextRows(names, [dict(zip(names, map(_value, row), strict=True)) for row in rows])


def _check_apart(path: Path, names: list[str]) -> None:
    twice = [name for name, count in Counter(name.lower() for name in names if name).items() if count > 1]
    if twice:
        raise UsageError(f"{path}: two columns are called {twice[0]}; rename one")


def _cells(path: Path, text: str) -> list[list[str]]:
    """Separated by commas, semicolons or tabs, whichever the header uses. Lines without anything are no rows."""
    header = text.split("\n", 1)[0]
    separator = max(",;\t", key=header.count)
    try:
        cells = list(csv.reader(io.StringIO(text, newline=""), delimiter=separator))
    except csv.Error as error:
        raise UsageError(f"{path}: not a CSV file ({error})") from None
    first, *rest = cells or [[]]
    return [[name.strip() for name in first], *(row for row in rest if any(cell.strip() for cell in row))]


def _value(cell: str) -> str:
    return "" if cell in BLANKS else without_added(cell)


def _ecsv(path: Path) -> TextRows:
    from astropy.table import Table

    from rarespec.formats.tables.checks import check_ecsv

    try:
        text = path.read_text(encoding="utf-8-sig") + "\n"  # a text of one line would be taken for an address
        check_ecsv(text)
        table = Table.read(text, format="ascii.ecsv")
    except Exception as error:  # astropy has several kinds for a damaged file
        raise UsageError(f"{path}: cannot be read as ECSV ({error})") from None
    _check_apart(path, table.colnames)
    columns = [[_text(value) for value in table[name].tolist()] for name in table.colnames]
    return TextRows(table.colnames, [dict(zip(table.colnames, row, strict=True)) for row in zip(*columns, strict=True)])


def _binary(path: Path) -> TextRows:
    """VOTable or FITS, with the readers of the tables of known examples, which take nothing on trust."""
    from rarespec.formats import Source
    from rarespec.searching.known.example_file import tables_in
    from rarespec.spectrum import DefectError

    try:
        with Source(path) as source:
            first = next(table for table in tables_in(source) if "id" in map(str.lower, table.names))
            columns = {name: python_values(values) for name, values in first.read(first.names).items()}
    except (DefectError, OSError, StopIteration) as error:
        why = str(error) or "no table with a column id"
        raise UsageError(f"{path}: cannot be read as a table of labels ({why})") from None
    names = list(columns)
    _check_apart(path, names)
    cells = zip(*(map(_text, values) for values in columns.values()), strict=True)
    return TextRows(names, [dict(zip(names, row, strict=True)) for row in cells])


MISSING_BELOW = -(2**62)
"""Our FITS tables have the lowest whole number for one that is missing."""


def _text(value: Any) -> str:
    is_missing = value is None or (isinstance(value, int) and value < MISSING_BELOW)
    return "" if is_missing else str(value)


# ---- Labels read from a table, and what of the table was left out.


ROWS = UUID("6f0d3d0e-5a0b-4c57-9a53-0f6f6a1d1c5b")
"""Under which rows without an id of their own get one."""
TOLD = 5


@dataclass(frozen=True)
class LabelTable:
    """The labels in a table that was read.

    Parameters
    ----------
    events : list of LabelEvent
        In the order of the rows.
    left_out : list of str
        One line for each kind of thing that was not taken over.

    Examples
    --------
    >>> from rarespec.labels.exchange import LabelTable
    >>> LabelTable([], ["2 rows without a label"]).left_out
    ['2 rows without a label']
    """

    events: list[LabelEvent]
    left_out: list[str]


Row = dict[str, str]


def labels_of(
    path: Path, rows: Iterable[Row], event_of: Callable[[Row], LabelEvent | None], left_out: list[str]
) -> LabelTable:
    """Turn rows into labels.

    Parameters
    ----------
    path : Path
        The file, for messages.
    rows : iterable of dict
        Column -> text.
    event_of : callable
        Row -> LabelEvent, or None for a row without a label; a UsageError if the row is wrong.
    left_out : list of str
        What was not taken over before.

    Returns
    -------
    LabelTable
        The labels.

    Raises
    ------
    UsageError
        If a row is wrong; the message names the rows, and nothing is read.
    """
    events, problems, n_empty = [], [], 0
    for number, row in enumerate(rows, 1):
        try:
            event = event_of(row)
            if event is not None:
                events.append(with_id(event))
            n_empty += event is None
        except UsageError as error:
            problems.append(f"row {number}: {error}")
    if problems:
        more = f"; and {len(problems) - TOLD} more rows" if len(problems) > TOLD else ""
        raise UsageError(f"{path}: nothing was read. {'; '.join(problems[:TOLD])}{more}")
    return LabelTable(events, [*left_out, *([f"{path}: {n_empty} rows have no label"] if n_empty else [])])


def with_id(event: LabelEvent) -> LabelEvent:
    """Give an event without an id one that is made from its content, so that a table read twice counts once."""
    said = astuple(event)[1:]
    # Without tags and chance as before there were any: a table that an earlier version read is still the same.
    content = json.dumps(said if event.tags or event.chance is not None else said[:-2], ensure_ascii=True)
    return check_event(event if event.event_id else replace(event, event_id=str(uuid5(ROWS, content))))
