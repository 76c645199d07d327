"""A file that a person gave: a table of examples, or spectra, told by its structure and never by its name."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

from rarespec.formats import Container, Source, read_here, reader_for
from rarespec.formats.catalogue import is_catalogue
from rarespec.formats.column_roles import ANY_WAVELENGTH, FLUX, find
from rarespec.formats.contained import USUAL_LIMITS, contained
from rarespec.formats.library_faults import faults_of
from rarespec.formats.wide_columns import HEADERLESS_COLUMNS, Wide
from rarespec.searching.example_table import WANTED, ExampleTable, names_objects, used_columns
from rarespec.searching.file_columns import FileColumns, tables_in
from rarespec.spectrum import Defect, DefectError, Reason, Skipped, Spectra
from rarespec.spectrum.printable import printable


@dataclass(frozen=True, slots=True)
class Unusable:
    """Something given that cannot be used: a line that says so, and how many examples it would have been."""

    problem: str
    count: int = 1


ExampleInput = ExampleTable | Spectra | Unusable


def examples_in(path: str | os.PathLike[str]) -> Iterator[ExampleInput]:
    """What one file holds, in its order, read in a process of its own; a bad one yields its reason, never raises."""
    for found in contained(_examples_here, None, path, USUAL_LIMITS):
        yield unusable(found) if isinstance(found, Defect) else found


def _examples_here(_: None, path: str) -> Iterator[ExampleInput]:
    try:
        with Source(path) as source, faults_of("table"):
            table = None if _holds_spectra(source) else _table_in(source)
    except DefectError as error:
        yield Unusable(f"{printable(os.fspath(path))}: {error.reason}: {error.detail}")
        return
    if table is None:
        yield from map(_as_input, read_here(path))
    else:
        yield table


def _as_input(found: Spectra | Defect | Skipped) -> ExampleInput:
    if isinstance(found, Spectra):
        return found
    if isinstance(found, Skipped):
        return Unusable(f"{found.source}: {found.count} skipped ({found.reason})", 0)
    return unusable(found)


def unusable(defect: Defect) -> Unusable:
    named = ", ".join(name for name in (defect.source, defect.id) if name)
    return Unusable(f"{named}: {defect.reason}: {defect.detail}")


def _holds_spectra(source: Source) -> bool:
    if source.container == Container.FITS:
        return not is_catalogue(source) and _fits_holds_spectra(source)
    if source.container == Container.PARQUET and reader_for(source).name == "mmu-parquet":
        return True
    is_table = source.container in (Container.TEXT, Container.PARQUET)
    return not is_table or any(map(_is_of_spectra, tables_in(source)))


def _fits_holds_spectra(source: Source) -> bool:
    try:
        reader = reader_for(source)
    except DefectError:
        return False
    # The generic reader takes any table with a column called flux, which may be a measurement and no spectrum.
    return reader.name != "fits-table" or any(map(_is_of_spectra, tables_in(source)))


def _is_of_spectra(table: FileColumns) -> bool:
    flux = find(table.names, FLUX)
    if flux is None:
        return _is_wide(table.names)
    return flux in table.vectors or find(table.names, ANY_WAVELENGTH) is not None


def _is_wide(names: list[str]) -> bool:
    """Whether there is a column for each wavelength."""
    try:
        return len(Wide.among(names).columns["flux"]) >= HEADERLESS_COLUMNS
    except DefectError:
        return False


def _table_in(source: Source) -> ExampleTable:
    tables = tables_in(source)
    table = next((table for table in tables if names_objects(table.names)), None)
    if table is not None:
        return ExampleTable.of_columns(table.read(used_columns(table.names)), source.name, table.units)
    if source.container == Container.TEXT and len(tables[0].names) == 1:
        (first,) = tables[0].names
        return ExampleTable.of_ids([first, *(id or "" for id in tables[0].read([first])[first])], source.name)
    there = [name for table in tables for name in table.names][:12]
    raise DefectError(Reason.MISSING_COLUMN, f"{WANTED}; there is {', '.join(there) or 'no table'}")
