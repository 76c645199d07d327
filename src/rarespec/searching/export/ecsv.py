"""ECSV: CSV with units, UCDs (as `meta`), descriptions and provenance in a header, astropy's own text format."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rarespec.searching.export.values import (
    CONTROLS,
    EDGE_SPACE,
    LONE_SURROGATES,
    NAME,
    PlainColumn,
    Provenance,
    escape_columns,
    pattern_of,
    rows_of_cells,
    to_json,
)
from rarespec.storage.whole_file import write_whole

if TYPE_CHECKING:
    from astropy.table import Column

FORBIDDEN = pattern_of(CONTROLS, LONE_SURROGATES, EDGE_SPACE, "^#")  # a line that begins with # is a comment


def write(columns: Sequence[PlainColumn], path: Path, provenance: Provenance) -> None:
    columns = escape_columns(columns, FORBIDDEN, path)
    # Not by Table.write, which is as fast but holds text in columns of fixed width: one comment of 200 000 characters
    # would take 80 GB in a table of 100 000 rows.
    rows = io.StringIO()
    csv.writer(rows, lineterminator="\n").writerows(rows_of_cells(columns, nan="nan"))
    write_whole(path, (_header(columns, provenance) + rows.getvalue()).encode())


def _header(columns: Sequence[PlainColumn], provenance: Provenance) -> str:
    """By astropy, of a table without rows."""
    from astropy.table import Table

    # As a mapping the provenance would lose empty lines: astropy skips them when it reads the YAML.
    table = Table([_empty_column(column) for column in columns], meta={NAME: to_json(provenance)})
    text = io.StringIO()
    table.write(text, format="ascii.ecsv", delimiter=",")
    return text.getvalue()


def _empty_column(column: PlainColumn) -> Column:
    from astropy.table import Column
    from astropy.units import Unit

    return Column(
        np.empty(0, "U1" if column.is_text else column.values.dtype),
        name=column.name,
        unit=Unit(column.unit, parse_strict="silent") if column.unit else None,
        description=column.description or None,
        meta={"ucd": column.ucd} if column.ucd else None,
    )


def provenance_in(path: Path) -> Provenance | None:
    from astropy.io import ascii

    head = _head(path) + "\n"  # a text without an end of line is taken for the name of a file, or for an address
    kept = ascii.read(head, format="ecsv", guess=False).meta.get(NAME)
    return None if kept is None else json.loads(kept)


def _head(path: Path) -> str:
    """The comments and the names of the columns: a table without rows."""
    lines = []
    with open(path, encoding="utf-8") as file:
        for line in file:
            lines.append(line)
            if not line.startswith("#"):
                break
    return "".join(lines)
