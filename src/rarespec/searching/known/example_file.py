"""A file that a person gave: a table of examples, or spectra, told by its structure and never by its name."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from rarespec.formats import Container, Source, read_here, reader_for
from rarespec.formats.catalogue import is_catalogue
from rarespec.formats.columns import ANY_WAVELENGTH, FLUX, find
from rarespec.formats.contained import USUAL_LIMITS, read_contained
from rarespec.formats.fits.blocks import Hdu
from rarespec.formats.reader import Found, ReadOptions, faults_of
from rarespec.formats.readers import FALLBACK
from rarespec.formats.tables.csv import BLANKS
from rarespec.formats.tables.memory_table import HEADERLESS_COLUMNS, Wide
from rarespec.searching.known.example_table import WANTED, ExampleTable, find_used_columns, names_objects
from rarespec.spectrum import Defect, DefectError, Noted, Reason, Skipped, Spectra
from rarespec.storage.text import printable

# ---- The tables inside a file of any kind: names of their columns at once, values when asked for.


@dataclass(frozen=True)
class FileColumns:
    """One table of a file.

    Parameters
    ----------
    names : list of str
        Names of the columns, as in the file.
    vectors : frozenset of str
        Columns that hold several values per row.
    read : callable
        Names of columns -> their values, by name.
    units : mapping
        Column -> unit, where the file has one.
    """

    names: list[str]
    vectors: frozenset[str]
    read: Callable[[list[str]], dict[str, Any]]
    units: Mapping[str, str] = field(default_factory=dict)


def tables_in(source: Source) -> list[FileColumns]:
    """Read all tables of a FITS, Parquet, VOTable, ECSV or other text file."""
    if source.container == Container.FITS:
        return [_of_fits(hdu) for hdu in source.hdus if hdu.is_table]
    if source.container == Container.PARQUET:
        return [_of_parquet(source)]
    if source.container == Container.TEXT:
        return [_of_text(source)]
    raise DefectError(
        Reason.UNRECOGNISED, f"{source.container} is not a table; use FITS, VOTable, ECSV, CSV or Parquet"
    )


def _of_fits(hdu: Hdu) -> FileColumns:
    dtype = hdu.table(0, 1).dtype
    names = list(dtype.names or ())
    vectors = frozenset(name for name in names if dtype[name].shape != () or dtype[name].kind == "O")
    units = {name: hdu.header.string(f"TUNIT{n}") for n, name in enumerate(hdu.columns, 1)}

    def read(wanted: list[str]) -> dict[str, Any]:
        table = hdu.table()
        return {name: table[name] for name in wanted}

    return FileColumns(names, vectors, read, units)


def _of_parquet(source: Source) -> FileColumns:
    import pyarrow as pa

    from rarespec.formats.matrices.parquet import is_vector, open_parquet, row_batches

    parquet = open_parquet(source)
    schema = parquet.schema_arrow
    vectors = frozenset(column.name for column in schema if is_vector(column.type))

    def read(wanted: list[str]) -> dict[str, Any]:
        batches = [batch for _, batch in row_batches(parquet, wanted, 100_000)]
        table = pa.Table.from_batches(batches, pa.schema([schema.field(name) for name in wanted]))
        return {name: table[name].to_pylist() for name in wanted}

    return FileColumns(list(schema.names), vectors, read)


def _of_text(source: Source) -> FileColumns:
    from rarespec.formats.tables.memory_table import is_vector
    from rarespec.formats.tables.text import ecsv, votable, whole

    head = source.read(0, min(source.length, 64)).lstrip(b"\xef\xbb\xbf \t\r\n")
    if not head.startswith((b"<", b"# %ECSV")):
        return _of_csv(source)
    table = (votable if head.startswith(b"<") else ecsv)(whole(source))
    vectors = frozenset(name for name, column in table.columns.items() if is_vector(column))
    return FileColumns(
        list(table.columns), vectors, lambda wanted: {name: table.columns[name] for name in wanted}, table.units
    )


def _of_csv(source: Source) -> FileColumns:
    """Cells stay text: an id keeps its leading zeros and all its digits."""
    from rarespec.formats.tables.csv import open_csv

    def read(wanted: list[str]) -> dict[str, Any]:
        opened = open_csv(source)
        cells = list(zip(*opened.rows, strict=True)) or [()] * len(opened.names)
        return {name: [_value(cell) for cell in cells[opened.names.index(name)]] for name in wanted}

    return FileColumns(open_csv(source).names, frozenset(), read)


def _value(cell: str) -> str | None:
    return None if cell.strip().lower() in BLANKS else cell.strip()


# ---- example file


@dataclass(frozen=True, slots=True)
class Unusable:
    """Something given that cannot be used: a line that says so, and how many examples it would have been."""

    problem: str
    count: int = 1


ExampleInput = ExampleTable | Spectra | Noted | Unusable


def examples_in(path: str | os.PathLike[str], options: ReadOptions) -> Iterator[ExampleInput]:
    """Read what one file holds, in its order, in a process of its own; a bad file yields its reason, no error."""
    for found in read_contained(_examples_here, options, path, USUAL_LIMITS):
        yield unusable(found) if isinstance(found, Defect) else found


def _examples_here(options: ReadOptions, path: str) -> Iterator[ExampleInput]:
    try:
        with Source(path) as source, faults_of("table"):
            table = None if _holds_spectra(source) else _table_in(source)
    except DefectError as error:
        yield Unusable(f"{printable(os.fspath(path))}: {error.reason}: {error.detail}")
        return
    if table is None:
        yield from map(_as_input, read_here(path, options=options))
    else:
        yield table


def _as_input(found: Found) -> ExampleInput:
    if isinstance(found, Spectra | Noted):
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
    if source.container == Container.PARQUET and reader_for(source).name in ("nested-parquet", "mmu-parquet"):
        return True
    is_table = source.container in (Container.TEXT, Container.PARQUET)
    return not is_table or _is_headerless_spectrum(source) or any(map(_is_of_spectra, tables_in(source)))


def _fits_holds_spectra(source: Source) -> bool:
    try:
        reader = reader_for(source)
    except DefectError:
        return False
    if reader.name == FALLBACK:
        return not any(names_objects(table.names) for table in tables_in(source))
    # The generic reader takes any table with a column called flux, which may be a measurement and no spectrum.
    return reader.name != "fits-table" or any(map(_is_of_spectra, tables_in(source)))


def _is_of_spectra(table: FileColumns) -> bool:
    flux = find(table.names, FLUX)
    if flux is None:
        return _is_wide(table.names)
    return flux in table.vectors or find(table.names, ANY_WAVELENGTH) is not None


def _is_headerless_spectrum(source: Source) -> bool:
    """Whether there are columns of numbers that no line names: wavelength and flux. A single column lists ids."""
    from rarespec.formats.tables.csv import open_csv

    if source.container != Container.TEXT:
        return False
    opened = open_csv(source)
    return 1 < opened.n_numbers < HEADERLESS_COLUMNS and not names_objects(opened.names)


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
        return ExampleTable.of_columns(table.read(find_used_columns(table.names)), source.name, table.units)
    if source.container == Container.TEXT and len(tables[0].names) == 1:
        (first,) = tables[0].names
        return ExampleTable.of_ids([first, *(id or "" for id in tables[0].read([first])[first])], source.name)
    there = [name for table in tables for name in table.names][:12]
    raise DefectError(Reason.MISSING_COLUMN, f"{WANTED}; there is {', '.join(there) or 'no table'}")
