"""CSV to spectra: a pixel per row, or a spectrum per row, streamed in blocks of rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from rarespec.formats.column_roles import FLUX, Column, Roles, find
from rarespec.formats.csv_cells import VALUE_OF, all_numbers, kind_of, numbers_in, wider
from rarespec.formats.csv_file import Csv, open_csv
from rarespec.formats.generic_catalogue import IDS
from rarespec.formats.library_faults import faults_of
from rarespec.formats.memory_table import Table, spectra_of_table
from rarespec.formats.reader import ReadOptions
from rarespec.formats.source import Source
from rarespec.formats.stacks import Origin, blocks, stacks_of_rows
from rarespec.formats.wide_columns import HEADERLESS_COLUMNS, Wide
from rarespec.spectrum import Defect, DefectError, Reason, Spectra

PIXEL_ROWS = 1 << 16
"""Rows held as text at a time: text takes ten times the memory of numbers."""


def spectra_of_csv(source: Source, options: ReadOptions) -> Iterator[Spectra | Defect]:
    with faults_of("CSV"):
        names = open_csv(source).names
    if len(set(names)) < len(names):
        repeated = Counter(names).most_common(1)[0][0]
        raise DefectError(Reason.LAYOUT, f"several columns are called {repeated[:80]!r}")
    if find(names, FLUX):
        with faults_of("CSV"):
            table = _pixel_table(open_csv(source))
        yield from spectra_of_table(table, source, options)
    elif all_numbers(names) and len(names) < HEADERLESS_COLUMNS:
        raise DefectError(Reason.MISSING_COLUMN, "the first line has only numbers; name the columns in a header line")
    else:
        yield from _spectra_of_wide_csv(source, options)


def _pixel_table(opened: Csv) -> Table:
    places = {name: opened.names.index(name) for name in Roles.among(opened.names).used}
    parts: dict[str, list[NDArray[np.float64]]] = {name: [np.empty(0)] for name in places}
    while block := list(islice(opened.rows, PIXEL_ROWS)):
        for name, place in places.items():
            parts[name].append(numbers_in([row[place] for row in block], name))
    columns: dict[str, Column] = {name: np.concatenate(arrays) for name, arrays in parts.items()}
    return Table(columns, {}, opened.meta)


def _spectra_of_wide_csv(source: Source, options: ReadOptions) -> Iterator[Spectra | Defect]:
    with faults_of("CSV"):
        opened = open_csv(source)
        wide = Wide.among(opened.names)
        axis = wide.axis(opened.meta, options.air, opened.names)
        n, kinds = _survey_columns(opened, wide)
        rows = open_csv(source).rows
    if n == 0:
        raise DefectError(Reason.EMPTY, "a table without rows")
    origin = Origin(source, options, single=n == 1)
    place = {name: i for i, name in enumerate(opened.names)}
    for first, last in blocks(n, len(axis.wavelength)):
        with faults_of("CSV"):
            block = _wide_block(list(islice(rows, last - first)), wide, kinds, place)
        yield from stacks_of_rows(block, wide.roles, origin, first, axis)


def _wide_block(
    rows: list[list[str]], wide: Wide, kinds: Mapping[str, str], place: Mapping[str, int]
) -> dict[str, Column]:
    block: dict[str, Column] = {}
    for role, names in wide.columns.items():
        places = [place[name] for name in names]
        block[f"<{role}>"] = np.array([numbers_in([row[i] for i in places], role) for row in rows])
    return block | {name: [VALUE_OF[kind](row[place[name]]) for row in rows] for name, kind in kinds.items()}


def _survey_columns(opened: Csv, wide: Wide) -> tuple[int, dict[str, str]]:
    """Number of rows, and the kind of every catalogue column: one kind for the whole file, so one pass in advance."""
    places = {name: i for i, name in enumerate(opened.names) if name not in wide.names}
    kinds = dict.fromkeys(places, "blank")
    n = 0
    for n, row in enumerate(opened.rows, 1):  # noqa: B007
        for name, i in places.items():
            if kinds[name] != "text":
                kinds[name] = wider(kinds[name], kind_of(row[i]))
    identifier = find(places, IDS)
    return n, kinds | ({identifier: "text"} if identifier else {})
