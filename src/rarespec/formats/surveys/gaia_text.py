"""Gaia XP sampled spectra as text: CSV and ECSV with arrays in parentheses or brackets, streamed; or GaiaXPy's VOTable.

The archive's own files are ECSV. They are read as CSV, row by row, since the header adds nothing that is needed.
GaiaXPy writes the sampling of a CSV file into a file of its own, which holds no spectrum.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarespec.formats.columns import Column, find
from rarespec.formats.reader import MAX_ROWS, Found, Reader, ReadOptions, faults_of, noted
from rarespec.formats.source import Container, Source
from rarespec.formats.stacks import Origin
from rarespec.formats.surveys.gaia import NAMES, POSITIONS, SAMPLING, axis_of, columns_of, has_columns, spectra_of_rows
from rarespec.formats.tables.csv import VALUE_OF, check_last_line, numbers_in, open_csv, survey_columns, value_of
from rarespec.formats.tables.memory_table import is_vector
from rarespec.formats.tables.text import votable, whole
from rarespec.spectrum import DefectError, Reason
from rarespec.spectrum.defect import Skipped

BRACKETS = ("(", "[", "{")
VOTABLE_HEAD = 1 << 16
"""Bytes in which a VOTable names its fields."""


def recognises(source: Source) -> bool:
    try:
        if _is_votable(source):
            head = source.read(0, min(source.length, VOTABLE_HEAD)).decode("latin-1")
            return has_columns(re.findall(r"<FIELD[^>]*?\bname=[\"']([^\"']*)", head))
        opened = open_csv(source)
        if opened.names == [POSITIONS]:
            return True
        if not has_columns(opened.names):
            return False
        flux = find(opened.names, ("flux",))
        return flux is not None and next(opened.rows)[opened.names.index(flux)].strip().startswith(BRACKETS)
    except Exception:  # of another kind: csv and codecs have exceptions of their own
        return False


def _is_votable(source: Source) -> bool:
    return source.read(0, min(source.length, 256)).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<")


def read(source: Source, options: ReadOptions) -> Iterator[Found]:
    if _is_votable(source):
        yield from _spectra_of_votable(source, options)
        return
    yield from noted(source, check_last_line(source))
    with faults_of("CSV"):
        names = open_csv(source).names
    if names == [POSITIONS]:
        yield Skipped(source.name, "sampling of GaiaXPy's spectra", 1)
        return
    yield from _spectra_of_csv(source, options)


def _spectra_of_csv(source: Source, options: ReadOptions) -> Iterator[Found]:
    with faults_of("CSV"):
        opened = open_csv(source)
        names = columns_of(opened.names)
        on_pixels = [names["flux"], names["flux_error"]]
        n, kinds = survey_columns(opened, on_pixels)
        rows = open_csv(source).rows
    if n == 0:
        raise DefectError(Reason.EMPTY, "a table without rows")
    place = {name: i for i, name in enumerate(opened.names)}
    stated = opened.meta.get(find(opened.meta, (SAMPLING,)) or "")
    origin, axis, first = Origin(source, options, single=n == 1), None, 0
    while first < n:
        with faults_of("CSV"):
            block = list(islice(rows, MAX_ROWS))
            columns: dict[str, Column] = {
                name.lower(): [_vector(row[place[name]], name) for row in block] for name in on_pixels
            }
        columns |= {name: [VALUE_OF[kind](row[place[name]]) for row in block] for name, kind in kinds.items()}
        # By its own kind: as text, an id that was written as 4.3e18 would seem to be whole.
        columns[names["source_id"]] = [value_of(row[place[names["source_id"]]]) for row in block]
        axis = axis or axis_of(source, stated, next((len(row) for row in columns["flux"] if row is not None), 0))
        yield from spectra_of_rows(columns, origin, first, axis)
        first += len(block)


def _vector(cell: str, name: str) -> NDArray[np.float64] | None:
    """Read the numbers in brackets; None for a cell that is no such list, so that only its row is a defect."""
    cell = cell.strip()
    if not cell.startswith(BRACKETS) or len(cell) < 2:
        return None
    inner = cell[1:-1].rstrip(", ")
    try:
        values = np.array(json.loads(f"[{inner}]"), dtype=np.float64)  # far faster than one number after the other
    except (ValueError, TypeError, RecursionError):
        try:
            values = numbers_in(inner.split(","), name)
        except DefectError:
            return None
    return values if values.ndim == 1 else None


def _spectra_of_votable(source: Source, options: ReadOptions) -> Iterator[Found]:
    table = votable(whole(source))
    names = columns_of(table.columns)
    if table.n_rows == 0:
        raise DefectError(Reason.EMPTY, "a table without rows")
    for name in NAMES[1:]:
        if not is_vector(table.columns[names[name]]):
            raise DefectError(Reason.LAYOUT, f"{names[name]} is not a column of vectors")
    stated: Any = table.meta.get(find(table.meta, (SAMPLING,)) or "")
    axis = axis_of(source, stated, len(table.columns[names["flux"]][0]))
    origin = Origin(source, options, single=table.n_rows == 1)
    own = {name: column for name, column in table.columns.items() if not is_vector(column)}
    own |= {name: table.columns[names[name]] for name in NAMES[1:]}
    for first in range(0, table.n_rows, MAX_ROWS):
        columns = {name: column[first : first + MAX_ROWS] for name, column in own.items()}
        yield from spectra_of_rows(columns, origin, first, axis)


READER = Reader(
    "gaia-text", Container.TEXT, recognises, read, "Gaia XP sampled spectra, CSV, ECSV or VOTable with arrays of flux"
)
