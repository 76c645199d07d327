"""A file that lists the known examples of several kinds: a column says which kind each row is of."""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np

from rarespec.errors import UsageError
from rarespec.formats import Source
from rarespec.formats.columns import find, ids_of, python_values
from rarespec.formats.contained import USUAL_LIMITS, end_readers, read_contained
from rarespec.formats.reader import ReadOptions, faults_of
from rarespec.searching.known.example_file import tables_in
from rarespec.searching.known.example_table import WANTED, ExampleTable, find_used_columns, names_objects
from rarespec.spectrum import Defect, DefectError
from rarespec.storage.text import printable

KIND = ("kind",)


def read_kinds(path: str | os.PathLike[str]) -> dict[str, ExampleTable]:
    """Read the known examples of each kind from a table with a column `kind`, and one of ids or those of positions.

    Parameters
    ----------
    path : path or str
        CSV, ECSV, VOTable, FITS or Parquet.

    Returns
    -------
    dict of str to ExampleTable
        Kind -> its examples, in the order of the file.

    Raises
    ------
    UsageError
        If the file is no such table, or a row has no kind.
    """
    name = printable(os.fspath(path))
    if not os.path.isfile(path):
        raise UsageError(f"{name}: no such file; give a table with the columns kind and id")
    try:
        found = next(iter(read_contained(_kinds_here, ReadOptions(), path, USUAL_LIMITS)))
    finally:
        end_readers()
    if isinstance(found, Defect):
        raise UsageError(f"{name}: {found.reason}: {found.detail}")
    if isinstance(found, str):
        raise UsageError(f"{name}: {found}")
    kinds, table = found
    return _split(name, kinds, table)


def _split(name: str, kinds: list[str], table: ExampleTable) -> dict[str, ExampleTable]:
    without = [number for number, kind in enumerate(kinds, 1) if not kind]
    if without:
        raise UsageError(f"{name}: {len(without)} rows have no kind, the first of them row {without[0]}; fill them in")
    if not kinds:
        raise UsageError(f"{name}: contains no examples")
    return {kind: table.take(np.flatnonzero([one == kind for one in kinds])) for kind in dict.fromkeys(kinds)}


def _kinds_here(options: ReadOptions, path: str) -> Iterator[tuple[list[str], ExampleTable] | str]:
    try:
        with Source(path) as source, faults_of("table"):
            yield _kinds_in(source)
    except DefectError as error:
        yield f"{error.reason}: {error.detail}"


def _kinds_in(source: Source) -> tuple[list[str], ExampleTable] | str:
    """The kind of each row, and all rows; or why there are none."""
    tables = tables_in(source)
    table = next((one for one in tables if find(one.names, KIND)), None)
    if table is None:
        there = [name for one in tables for name in one.names][:12]
        return f"no column kind; name the columns in a header line, such as kind,id; there is {', '.join(there)}"
    kind = find(table.names, KIND)
    if kind is None or not names_objects(table.names):
        return WANTED
    used = find_used_columns(table.names)
    columns = table.read([kind, *used])
    kinds = [word.strip() for word in ids_of(python_values(columns[kind]), [""] * len(columns[kind]))]
    return kinds, ExampleTable.of_columns({name: columns[name] for name in used}, source.name, table.units)
