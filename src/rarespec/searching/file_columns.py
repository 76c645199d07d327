"""The tables inside a file of any kind: names of their columns at once, values when asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rarespec.formats import Container, Source
from rarespec.formats.csv_cells import BLANKS
from rarespec.formats.fits import Hdu
from rarespec.spectrum import DefectError, Reason


@dataclass(frozen=True)
class FileColumns:
    """One table of a file.

    names   : as in the file
    vectors : those columns that hold several values per row
    read    : these columns, by name
    units   : where the file tells them
    """

    names: list[str]
    vectors: frozenset[str]
    read: Callable[[list[str]], dict[str, Any]]
    units: Mapping[str, str] = field(default_factory=dict)


def tables_in(source: Source) -> list[FileColumns]:
    """All tables of a FITS, Parquet, VOTable, ECSV or other text file."""
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

    from rarespec.formats.parquet_matrix import is_vector, open_parquet, row_batches

    parquet = open_parquet(source)
    schema = parquet.schema_arrow
    vectors = frozenset(column.name for column in schema if is_vector(column.type))

    def read(wanted: list[str]) -> dict[str, Any]:
        batches = [batch for _, batch in row_batches(parquet, wanted, 100_000)]
        table = pa.Table.from_batches(batches, pa.schema([schema.field(name) for name in wanted]))
        return {name: table[name].to_pylist() for name in wanted}

    return FileColumns(list(schema.names), vectors, read)


def _of_text(source: Source) -> FileColumns:
    from rarespec.formats.astropy_tables import ecsv, votable, whole
    from rarespec.formats.memory_table import is_vector

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
    from rarespec.formats.csv_file import open_csv

    def read(wanted: list[str]) -> dict[str, Any]:
        opened = open_csv(source)
        cells = list(zip(*opened.rows, strict=True)) or [()] * len(opened.names)
        return {name: [_value(cell) for cell in cells[opened.names.index(name)]] for name in wanted}

    return FileColumns(open_csv(source).names, frozenset(), read)


def _value(cell: str) -> str | None:
    return None if cell.strip().lower() in BLANKS else cell.strip()
