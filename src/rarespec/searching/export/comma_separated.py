"""CSV for spreadsheets and for whatever reads CSV; its provenance is kept in a file beside it."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Sequence
from pathlib import Path

from rarespec.searching.export.values import (
    LONE_SURROGATES,
    PlainColumn,
    Provenance,
    escape_columns,
    pattern_of,
    rows_of_cells,
    to_json,
)
from rarespec.storage.whole_file import write_whole

FORBIDDEN = pattern_of(LONE_SURROGATES, "\x00")
_STARTS = r"(?=[^\S\t\r\n]*[=+\-@＝＋－＠])"
# A spreadsheet runs a cell that begins so. One that separates by semicolons or tabs begins a cell after each of them.
FORMULA = re.compile(rf"^(?=[\t\r\n])|^{_STARTS}|(?<=[;\t\r\n]){_STARTS}")


def provenance_file(path: Path) -> Path:
    return path.with_name(f"{path.name}.provenance.json")


def write(columns: Sequence[PlainColumn], path: Path, provenance: Provenance) -> None:
    content = document(escape_columns(columns, FORBIDDEN, path))
    provenance_file(path).unlink(missing_ok=True)  # an interruption leaves a table without provenance, not a wrong one
    write_whole(path, content)
    write_whole(provenance_file(path), to_json(provenance).encode())


def document(columns: Sequence[PlainColumn]) -> bytes:
    text = io.StringIO()
    # Not by Table.write, which puts no quotes around a lone carriage return: readers would begin a row there.
    writer = csv.writer(text)
    writer.writerow([without_formula(column.name) for column in columns])
    is_text = [column.is_text for column in columns]
    for row in rows_of_cells(columns, nan=""):
        writer.writerow([without_formula(cell) if word else cell for cell, word in zip(row, is_text, strict=True)])
    return text.getvalue().encode()


def without_formula(text: str) -> str:
    """The text with an apostrophe before what a spreadsheet would run."""
    return FORMULA.sub("'", text)


def provenance_in(path: Path) -> Provenance | None:
    beside = provenance_file(path)
    return json.loads(beside.read_bytes()) if beside.is_file() else None
