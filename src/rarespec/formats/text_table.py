"""Text tables: CSV (also separated by semicolons, tabs or blanks), ECSV and VOTable.

Either one spectrum per file, a pixel per row, with columns wavelength or loglam, flux, and perhaps ivar or error, mask;
or one spectrum per row: a column per wavelength named by it (4000.5 or flux_4000.5), or numbered columns (flux_0001)
with the wavelengths in the table's metadata, or, in ECSV and VOTable, vectors in the columns.
CSV streams through in blocks of rows; the other two are read whole. A text file must end with the end of a line:
otherwise nothing could tell that its last number was cut.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from rarespec.formats.matrix import (
    FLUX,
    IDS,
    LOG_WAVELENGTH,
    WAVELENGTH,
    Axis,
    Column,
    Origin,
    Roles,
    SourceFile,
    blocks,
    faults_of,
    find,
    missing,
    stacks_of_rows,
)
from rarespec.formats.reader import Reader, ReadOptions
from rarespec.formats.source import Container, Source
from rarespec.spectrum import Defect, DefectError, Reason, Spectra

WHOLE_TABLE_BYTES = 1 << 30
"""ECSV and VOTable are read whole; larger ones are refused."""

HEADERLESS_COLUMNS = 10
"""A first line of fewer numbers than this is taken for data without a header, not for wavelengths."""

T = TypeVar("T")


def read(source: Source, options: ReadOptions) -> Iterator[Spectra | Defect]:
    head = source.read(0, min(source.length, 4096)).lstrip(b"\xef\xbb\xbf \t\r\n")
    if not head.startswith(b"<") and source.read(source.length - 1, 1) not in b"\r\n":
        detail = "the last line has no end; fetch it again, or add a newline if it is whole"
        raise DefectError(Reason.TRUNCATED, detail)
    if head.startswith(b"<") or head.startswith(b"# %ECSV"):
        table = _votable(_whole(source)) if head.startswith(b"<") else _ecsv(_whole(source))
        yield from _spectra_of_table(table, source, options)
    else:
        yield from _spectra_of_csv(source, options)


# --- one column per wavelength

NUMBER = r"\d+\.?\d*(?:[eE][+-]?\d+)?"
PIXEL_COLUMN = re.compile(rf"(?:(flux|ivar|flux_err|err|error|sigma|mask)_)?({NUMBER})", re.IGNORECASE)
ROLE_OF_PREFIX = {"flux": "flux", "ivar": "ivar", "mask": "mask"}


@dataclass(frozen=True, slots=True)
class Wide:
    """Names of the columns on pixels, by role; and the wavelengths that the flux columns are named by."""

    columns: dict[str, list[str]]
    wavelength: NDArray[np.float64] | None

    @classmethod
    def among(cls, names: Sequence[str]) -> Wide | None:
        found = {name: match for name in names if (match := PIXEL_COLUMN.fullmatch(name.strip()))}
        bare = [name for name, match in found.items() if match[1] is None]
        columns: dict[str, list[str]] = {"flux": bare} if len(bare) > 1 else {}
        for name, match in found.items():
            role = ROLE_OF_PREFIX.get((match[1] or "").lower(), "error")
            if match[1] and not (role == "flux" and bare):
                columns.setdefault(role, []).append(name)
        flux = columns.get("flux", [])
        if len(flux) < 2 or (len(bare) == len(names) and len(bare) < HEADERLESS_COLUMNS):
            return None
        pixels = [found[name][2] for name in flux]
        if any([found[name][2] for name in group] != pixels for group in columns.values()):
            raise DefectError(Reason.LAYOUT, "the columns of flux, ivar, error and mask are not of the same pixels")
        return cls(columns, None if _are_row_numbers(pixels) else np.array(pixels, dtype=np.float64))

    @property
    def names(self) -> set[str]:
        return {name for group in self.columns.values() for name in group}

    @property
    def roles(self) -> Roles:
        """Names in angle brackets, which no file uses, for the matrices put together from many columns."""
        ivar, error, mask = (f"<{role}>" if role in self.columns else None for role in ("ivar", "error", "mask"))
        return Roles("<flux>", ivar=ivar, error=None if ivar else error, mask=mask)

    def axis(self, meta: Mapping[str, Any], options: ReadOptions, names: Iterable[str]) -> Axis:
        if find(meta, (*WAVELENGTH, *LOG_WAVELENGTH)) or self.wavelength is None:
            return _axis_in_meta(meta, options, names)
        return Axis.of(self.wavelength, unit=meta.get("wavelength_unit"), air=options.air)


def _are_row_numbers(pixels: list[str]) -> bool:
    """0, 1, 2 ... or 1, 2, 3 ...: numbers of pixels, not wavelengths."""
    return [float(pixel) for pixel in pixels] in ([float(i + j) for i in range(len(pixels))] for j in (0, 1))


def _axis_in_meta(meta: Mapping[str, Any], options: ReadOptions, names: Iterable[str]) -> Axis:
    name = find(meta, WAVELENGTH) or find(meta, LOG_WAVELENGTH)
    if name is None:
        looked_for = (*WAVELENGTH, *LOG_WAVELENGTH, "the same in the table's metadata")
        raise missing("wavelength", looked_for, [*names, *(f"metadata {key}" for key in meta)])
    values = meta[name]
    with faults_of(f"metadata {name}"):
        if isinstance(values, str):
            values = re.split(r"[\s,;]+", values.strip("[]() \t"))
        vector = np.array(values, dtype=np.float64)
    return Axis.of(vector, name.lower() in LOG_WAVELENGTH, meta.get("wavelength_unit"), options.air)


# --- ECSV and VOTable


@dataclass(frozen=True, slots=True)
class Table:
    """A table in memory: columns, their units, and what its header says."""

    columns: dict[str, Column]
    units: dict[str, str] = field(default_factory=dict)
    meta: dict[str, Any] = field(default_factory=dict)

    @property
    def n_rows(self) -> int:
        return len(next(iter(self.columns.values()), []))


def _whole(source: Source) -> bytes:
    if source.length > WHOLE_TABLE_BYTES:
        raise DefectError(Reason.TOO_LARGE, f"a text table of {source.length >> 20} MiB; use npz, HDF5 or Parquet")
    return source.read(0, source.length)


def _ecsv(content: bytes) -> Table:
    from astropy.io import ascii

    with faults_of("ECSV"):
        table = ascii.read(content.decode("utf-8-sig"), format="ecsv", guess=False)
        return _table(table, dict(table.meta))


def _votable(content: bytes) -> Table:
    from astropy.io import votable

    if b"VOTABLE" not in content[:4096]:
        raise DefectError(Reason.UNRECOGNISED, "an XML file that is not a VOTable")
    if re.search(rb"<(\w+:)?STREAM[^>]*\shref", content):
        raise DefectError(Reason.LAYOUT, "a VOTable whose data lie elsewhere; save it with its data inside")
    with faults_of("VOTable"):
        document = votable.parse(io.BytesIO(content), verify="ignore")
        element = document.get_first_table()
        return _table(element.to_table(use_names_over_ids=True), _votable_meta(document, element))


def _votable_meta(document: Any, element: Any) -> dict[str, Any]:
    """PARAM and INFO by name; the unit of the wavelengths under `wavelength_unit`."""
    holders = [document, *document.resources, element]
    meta = {info.name: info.value for holder in holders for info in getattr(holder, "infos", ())}
    for param in (param for holder in holders for param in getattr(holder, "params", ())):
        meta[param.name] = _plain(param.value)
        if param.name.lower() in WAVELENGTH and param.unit is not None:
            meta["wavelength_unit"] = str(param.unit)
    return meta


def _plain(value: Any) -> Any:
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


def _is_vector(column: Column) -> bool:
    if isinstance(column, np.ndarray):
        return column.ndim == 2
    return any(isinstance(element, np.ndarray | list) for element in column)


def _spectra_of_table(table: Table, source: Source, options: ReadOptions) -> Iterator[Spectra | Defect]:
    if table.n_rows == 0:
        raise DefectError(Reason.EMPTY, "a table without rows")
    if find(table.columns, FLUX) is None:
        yield from _columns_per_wavelength(table, source, options)
    elif _is_vector(table.columns[Roles.among(table.columns).flux]):
        yield from _vectors_per_row(table, source, options)
    else:
        yield from _one_spectrum(table, source, options)


def _one_spectrum(table: Table, source: Source, options: ReadOptions) -> Iterator[Spectra | Defect]:
    roles = Roles.among(table.columns)
    block: dict[str, Column] = {name: table.columns[name][np.newaxis] for name in roles.used}  # type: ignore[call-overload]
    block |= {key: [value] for key, value in table.meta.items() if isinstance(value, str | int | float)}
    axis = None if roles.wavelength else _axis_in_meta(table.meta, options, table.columns)
    unit = table.units.get(roles.wavelength or "", table.meta.get("wavelength_unit"))
    yield from stacks_of_rows(block, roles, Origin(source, options, single=True), 0, axis, unit)


def _vectors_per_row(table: Table, source: Source, options: ReadOptions) -> Iterator[Spectra | Defect]:
    roles = Roles.among(table.columns)
    for name in roles.used:
        if not _is_vector(table.columns[name]):
            raise DefectError(Reason.LAYOUT, f"{roles.flux} holds vectors, {name} does not")
    axis = None if roles.wavelength else _axis_in_meta(table.meta, options, table.columns)
    unit = table.units.get(roles.wavelength or "")
    columns = {name: _rows_of(column) for name, column in table.columns.items()}
    columns = {name: column for name, column in columns.items() if name in roles.used or not _is_vector(column)}
    yield from _in_blocks(columns, roles, source, options, axis, unit)


def _rows_of(column: Column) -> Column:
    if isinstance(column, np.ndarray) or not _is_vector(column):
        return column
    return [None if row is None else np.ma.asarray(row) if np.ma.is_masked(row) else np.asarray(row) for row in column]


def _columns_per_wavelength(table: Table, source: Source, options: ReadOptions) -> Iterator[Spectra | Defect]:
    wide = _wide_among(list(table.columns))
    axis = wide.axis(table.meta, options, table.columns)
    columns: dict[str, Column] = {
        f"<{role}>": np.ma.stack([np.ma.asarray(table.columns[name]) for name in names], axis=1)
        for role, names in wide.columns.items()
    }
    columns |= {
        name: column for name, column in table.columns.items() if name not in wide.names and not _is_vector(column)
    }
    yield from _in_blocks(columns, wide.roles, source, options, axis)


def _wide_among(names: Sequence[str]) -> Wide:
    wide = Wide.among(names)
    if wide is None:
        raise missing("flux", (*FLUX, "columns named by their wavelength"), names)
    return wide


def _in_blocks(
    columns: Mapping[str, Column],
    roles: Roles,
    source: Source,
    options: ReadOptions,
    axis: Axis | None,
    unit: str | None = None,
) -> Iterator[Spectra | Defect]:
    n = len(columns[roles.flux])
    origin = Origin(source, options, single=n == 1)
    for first, last in blocks(n, len(axis.wavelength) if axis else 1):
        block = {name: column[first:last] for name, column in columns.items()}
        yield from stacks_of_rows(block, roles, origin, first, axis, unit)


# --- CSV

REMARK = re.compile(r"#\s*([A-Za-z_]\w*)\s*[:=]\s*(\S.*)")
BLANKS = ("", "nan", "null", "none", "n/a", "--")
TRUTH = {"true": 1.0, "false": 0.0, "t": 1.0, "f": 0.0, "yes": 1.0, "no": 0.0}


@dataclass(frozen=True, slots=True)
class Csv:
    """An open CSV file: its names, what its remarks say (`# key: value`), and its rows, each of as many cells."""

    names: list[str]
    meta: dict[str, Any]
    rows: Iterator[list[str]]


def _open_csv(source: Source) -> Csv:
    text = io.TextIOWrapper(io.BufferedReader(SourceFile(source), 1 << 20), encoding="utf-8-sig", newline="")
    remarks: list[str] = []
    for line in text:
        if line.strip() and not line.startswith("#"):
            break
        remarks.append(line.strip())
    else:
        raise DefectError(Reason.EMPTY, "no line of data")
    delimiter = next((mark for mark in ",;\t|" if mark in line), None)
    names = next(_cells([line], delimiter))
    above = next(_cells([remarks[-1].lstrip("# ")], delimiter), []) if remarks else []
    lines: Iterator[str] = text
    if _all_numbers(names) and len(above) == len(names) and not _all_numbers(above):
        names, lines = above, _then(line, text)
    return Csv([name.strip() for name in names], _remarks(remarks), _rows(_cells(lines, delimiter), len(names)))


def _then(first: T, rest: Iterable[T]) -> Iterator[T]:
    yield first
    yield from rest


def _cells(lines: Iterable[str], delimiter: str | None) -> Iterator[list[str]]:
    lines = (line for line in lines if not line.startswith("#"))
    if delimiter is None:
        return (line.split() for line in lines)
    return csv.reader(lines, delimiter=delimiter, skipinitialspace=True)


def _rows(cells: Iterator[list[str]], n_columns: int) -> Iterator[list[str]]:
    for number, row in enumerate(cells, 1):
        if not row or row == [""]:
            continue
        if len(row) != n_columns:
            raise DefectError(Reason.CORRUPT, f"row {number} has {len(row)} cells, the header {n_columns}")
        yield row


def _all_numbers(cells: list[str]) -> bool:
    try:
        return bool([float(cell) for cell in cells])
    except ValueError:
        return False


def _remarks(lines: list[str]) -> dict[str, Any]:
    found = (REMARK.fullmatch(line) for line in lines)
    return {match[1]: VALUE_OF[_kind(match[2])](match[2]) for match in found if match}


def _spectra_of_csv(source: Source, options: ReadOptions) -> Iterator[Spectra | Defect]:
    with faults_of("CSV"):
        names = _open_csv(source).names
    if len(set(names)) < len(names):
        repeated = next(name for name in names if names.count(name) > 1)
        raise DefectError(Reason.LAYOUT, f"several columns are called {repeated!r}")
    if find(names, FLUX):
        with faults_of("CSV"):
            table = _pixel_table(_open_csv(source))
        yield from _spectra_of_table(table, source, options)
    elif _all_numbers(names) and len(names) < HEADERLESS_COLUMNS:
        raise DefectError(Reason.MISSING_COLUMN, "the first line holds numbers only; name the columns in a header line")
    else:
        yield from _spectra_of_wide_csv(source, options)


def _pixel_table(opened: Csv) -> Table:
    roles = Roles.among(opened.names)
    cells = list(zip(*opened.rows, strict=True)) or [()] * len(opened.names)
    place = opened.names.index
    columns: dict[str, Column] = {name: _numbers(cells[place(name)], name) for name in roles.used}
    return Table(columns, {}, opened.meta)


def _spectra_of_wide_csv(source: Source, options: ReadOptions) -> Iterator[Spectra | Defect]:
    with faults_of("CSV"):
        opened = _open_csv(source)
        wide = _wide_among(opened.names)
        axis = wide.axis(opened.meta, options, opened.names)
        n, kinds = _survey_columns(opened, wide)
        rows = _open_csv(source).rows
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
        block[f"<{role}>"] = np.array([_numbers([row[i] for i in places], role) for row in rows])
    return block | {name: [VALUE_OF[kind](row[place[name]]) for row in rows] for name, kind in kinds.items()}


def _survey_columns(opened: Csv, wide: Wide) -> tuple[int, dict[str, str]]:
    """Number of rows, and the kind of every catalogue column: one kind for the whole file, so one pass in advance."""
    places = {name: i for i, name in enumerate(opened.names) if name not in wide.names}
    kinds = dict.fromkeys(places, "blank")
    n = 0
    for n, row in enumerate(opened.rows, 1):  # noqa: B007
        for name, i in places.items():
            if kinds[name] != "text":
                kinds[name] = _wider(kinds[name], _kind(row[i]))
    identifier = find(places, IDS)
    return n, kinds | ({identifier: "text"} if identifier else {})


def _kind(cell: str) -> str:
    cell = cell.strip()
    if cell.lower() in BLANKS:
        return "blank"
    if cell in ("True", "False", "true", "false", "TRUE", "FALSE"):
        return "truth"
    if re.fullmatch(r"[+-]?(0|[1-9]\d{0,17})", cell):  # fits 64 bits; 007 is a name
        return "whole"
    return "number" if _all_numbers([cell]) and not re.fullmatch(r"[+-]?\d+|.*_.*", cell) else "text"


def _wider(one: str, other: str) -> str:
    if one == other or other == "blank":
        return one
    if one == "blank":
        return other
    return "number" if {one, other} == {"whole", "number"} else "text"


def _blank_or(convert: Callable[[str], Any]) -> Callable[[str], Any]:
    return lambda cell: None if cell.strip().lower() in BLANKS else convert(cell)


VALUE_OF: dict[str, Callable[[str], Any]] = {
    "blank": lambda cell: None,
    "truth": _blank_or(lambda cell: cell.strip().lower() == "true"),
    "whole": _blank_or(int),
    "number": _blank_or(float),
    "text": lambda cell: cell.strip() or None,
}


def _numbers(cells: Sequence[str], name: str) -> NDArray[np.float64]:
    """Blank cells are NaN, and words for yes and no are 1 and 0 in a mask."""
    try:
        return np.array(cells, dtype=np.float64)
    except ValueError:
        return np.array([_number(cell, name) for cell in cells], dtype=np.float64)


def _number(cell: str, name: str) -> float:
    word = cell.strip().lower()
    if word in BLANKS:
        return np.nan
    if word in TRUTH and name.lower() in ("mask", "bad", "badpix"):
        return TRUTH[word]
    try:
        return float(cell)
    except ValueError:
        raise DefectError(Reason.CORRUPT, f"{cell[:20]!r} among the numbers of {name}") from None


READER = Reader(
    "text-table",
    Container.TEXT,
    lambda source: True,
    read,
    "CSV, ECSV or VOTable, one spectrum per file or one per row",
)
