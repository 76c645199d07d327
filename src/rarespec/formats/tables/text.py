"""Text tables: CSV (also separated by semicolons, tabs or blanks), ECSV and VOTable.

Either one spectrum per file, a pixel per row, with columns wavelength or loglam, flux, and perhaps ivar or error, mask;
or one spectrum per row: a column per wavelength named by it (4000.5 or flux_4000.5), or numbered columns (flux_0001)
with the wavelengths in the table's metadata, or, in ECSV and VOTable, vectors in the columns.
CSV streams through in blocks of rows; the other two are read whole.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import numpy as np

from rarespec.formats.columns import WAVELENGTH, Column
from rarespec.formats.reader import Found, Reader, ReadOptions, faults_of, noted
from rarespec.formats.source import Container, Source
from rarespec.formats.tables.checks import check_ecsv, check_votable
from rarespec.formats.tables.csv import check_last_line, spectra_of_csv
from rarespec.formats.tables.memory_table import Table, spectra_of_table
from rarespec.spectrum import DefectError, Reason

# ---- Text tables read whole by astropy: ECSV, VOTable, and the CSV of catalogues.


WHOLE_TABLE_BYTES = 1 << 30
"""ECSV and VOTable are read whole; larger ones are refused."""


def whole(source: Source) -> bytes:
    if source.length > WHOLE_TABLE_BYTES:
        raise DefectError(Reason.TOO_LARGE, f"a text table of {source.length >> 20} MiB; use npz, HDF5 or Parquet")
    return source.read(0, source.length)


def ecsv(content: bytes) -> Table:
    from astropy.io import ascii

    with faults_of("ECSV"):
        text = content.decode("utf-8-sig") + "\n"  # without an end of line it would be taken for a name or an address
        check_ecsv(text)
        table = ascii.read(text, format="ecsv", guess=False)
        return _table(table, dict(table.meta))


def read_delimited(content: bytes) -> Table:
    """Read CSV with any of the usual separators."""
    from astropy.io import ascii

    with faults_of("CSV"):
        text = content.decode("utf-8-sig") + "\n"  # as above
        delimiter = max(",|\t;", key=text.split("\n", 1)[0].count)
        # As CSV, astropy would take several tabs for one and shift the values behind an empty cell.
        how = {"format": "tab"} if delimiter == "\t" else {"format": "csv", "delimiter": delimiter}
        return _table(ascii.read(text, guess=False, **how), {})


def votable(content: bytes) -> Table:
    from astropy.io.votable import parse

    if b"VOTABLE" not in content[:4096]:
        raise DefectError(Reason.UNRECOGNISED, "an XML file that is not a VOTable")
    check_votable(content)
    with faults_of("VOTable"):
        # A function that reads, not a file: of a file astropy would look whether it is compressed.
        document = parse(io.BytesIO(content).read, verify="ignore")
        element = document.get_first_table()
        return _table(element.to_table(use_names_over_ids=True), _votable_meta(document, element))


def _votable_meta(document: Any, element: Any) -> dict[str, Any]:
    """PARAM and INFO by name; the unit of the wavelengths under `wavelength_unit`."""
    holders = [document, *document.resources, element]
    meta = {info.name: info.value for holder in holders for info in getattr(holder, "infos", ())}
    for param in (param for holder in holders for param in getattr(holder, "params", ())):
        meta[param.name] = _to_python(param.value)
        if param.name.lower() in WAVELENGTH and param.unit is not None:
            meta["wavelength_unit"] = str(param.unit)
    return meta


def _to_python(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def _table(table: Any, meta: dict[str, Any]) -> Table:
    columns = {name: _column(table[name]) for name in table.colnames if hasattr(table[name], "dtype")}
    units = {name: str(table[name].unit) for name in columns if getattr(table[name], "unit", None) is not None}
    return Table(columns, units, meta)


def _column(column: Any) -> Column:
    if column.dtype.kind == "O":
        return [None if element is np.ma.masked else element for element in column]
    if isinstance(column, np.ma.MaskedArray):
        return np.ma.MaskedArray(np.asarray(column.data), np.ma.getmaskarray(column))
    return np.asarray(getattr(column, "value", column))


def read(source: Source, options: ReadOptions) -> Iterator[Found]:
    head = source.read(0, min(source.length, 4096)).lstrip(b"\xef\xbb\xbf \t\r\n")
    if not head.startswith(b"<"):
        yield from noted(source, check_last_line(source))
    if head.startswith(b"<") or head.startswith(b"# %ECSV"):
        table = votable(whole(source)) if head.startswith(b"<") else ecsv(whole(source))
        yield from spectra_of_table(table, source, options)
    else:
        yield from spectra_of_csv(source, options)


READER = Reader(
    "text-table",
    Container.TEXT,
    lambda source: True,
    read,
    "CSV, ECSV or VOTable, one spectrum per file or one per row",
)
