"""Tables without spectra: classes, redshifts and positions to be joined to spectra by id."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rarespec.formats.columns import (
    FLUX_DENSITY,
    LOG_WAVELENGTH,
    find,
    plain_list,
    python_values,
    scalar_columns,
    with_own,
)
from rarespec.formats.fits.blocks import Hdu
from rarespec.formats.positions import IN_HOURS, degrees_of
from rarespec.formats.reader import faults_of
from rarespec.formats.source import Container, Source
from rarespec.formats.surveys.lamost_header import UNKNOWN
from rarespec.formats.surveys.sdss import field_mjd_catalogid, plate_mjd_fiber
from rarespec.spectrum import DefectError, Reason
from rarespec.storage.text import as_json, printable

if TYPE_CHECKING:
    import pyarrow as pa

    from rarespec.formats.tables.memory_table import Table

Columns = dict[str, Any]
"""Name in lower case -> one value per row: a list, or an array of whole numbers."""

BATCH_ROWS = 100_000
"""Rows turned into Arrow columns at a time, so that Python objects of a large catalogue never exist all at once."""

UNITS = "units"
"""Under which the schema of a catalogue keeps units, as JSON."""
LONGEST_UNIT = 40
"""Characters; what is longer is no unit, and every survey keeps it."""

KEYS: tuple[tuple[tuple[str, ...], Callable[..., str]], ...] = (
    (("field", "mjd", "catalogid"), field_mjd_catalogid),
    (("plate", "mjd", "fiberid"), plate_mjd_fiber),
    (("plate", "mjd", "fiber"), plate_mjd_fiber),
    (("obsid",), str),
    (("targetid",), str),
    (("id",), str),
)
"""Columns that name an object, and how; the first group that is there counts. The readers build the same ids.

`id` comes last: in SDSS catalogues it is a number within a field of the imaging survey.
"""

EXTRA_KEYS = (("object_id",), ("objid",), ("source_id",), ("specobjid",))
"""Keys of tables that no survey reader knows; they only count when a person gives the table to `--join`."""

BESIDE_SPECTRA = ("FIBERMAP", "EXP_FIBERMAP", "SCORES", "PLUGMAP", "SPZLINE")
"""Tables that name objects too but come with spectra; alone, they are what is left of a file that was cut."""

COMMON = {
    "ra": ("plug_ra", "racat", "target_ra", "ra", "ra_obs", "raj2000", "_raj2000", *IN_HOURS),
    "dec": ("plug_dec", "deccat", "target_dec", "dec", "dec_obs", "dej2000", "_dej2000"),
    "z": ("z", "redshift"),
    "class": ("class", "spectype"),
    "subclass": ("subclass", "subtype"),
}
"""Common name -> what catalogues call it, the best first."""


def is_catalogue(source: Source) -> bool:
    """Say whether this FITS file has a table of named objects (redrock, spZbest, specObj, zcatalog) and no spectra."""
    if source.container != Container.FITS:
        return False
    hdus = source.hdus
    holds_spectra = hdus[0].is_image or any(_holds_spectra(hdu) for hdu in hdus)
    return not holds_spectra and _key_table(hdus) is not None


def _holds_spectra(hdu: Hdu) -> bool:
    is_of_spectra = hdu.is_image and hdu.name.rpartition("_")[2] in ("FLUX", "IVAR", "WAVELENGTH")
    return is_of_spectra or any(hdu.has_column(name) for name in (*FLUX_DENSITY, *LOG_WAVELENGTH))


def _key_table(hdus: list[Hdu]) -> Hdu | None:
    tables = (hdu for hdu in hdus if hdu.is_table and hdu.name not in BESIDE_SPECTRA)
    return next((hdu for hdu in tables if _key_of({name.lower() for name in hdu.columns})), None)


def _key_of(names: set[str]) -> tuple[tuple[str, ...], Callable[..., str]] | None:
    return next(((columns, build) for columns, build in KEYS if names.issuperset(columns)), None)


def read_catalogue(path: str | os.PathLike[str]) -> pa.Table:
    """All rows of a FITS, CSV, ECSV, VOTable or Parquet catalogue: `id`, common names, the table's own scalars.

    Own columns are in lower case; `ra`, `dec`, `z`, `class` and `subclass` are always there, null where unknown.
    What cannot be read is a DefectError, and nothing else. `units_of` tells the units of its columns.
    """
    import pyarrow as pa

    with _only_defects():
        batches: list[pa.Table] = []
        units: dict[str, str] = {}
        for own, first, units in _batches(Path(path)):
            batches.append(_arrow(_with_common_names(own, first, units)))
        if not sum(map(len, batches)):
            raise DefectError(Reason.EMPTY, "a catalogue without rows")
        return _with_units(pa.concat_tables(batches, promote_options="permissive"), units)


def _with_units(table: pa.Table, units: Mapping[str, str]) -> pa.Table:
    """Keep the units of the table's own columns; the common ones have theirs by now, whatever the file had."""
    own = {name: printable(units.get(name.removeprefix("file_"), ""))[:LONGEST_UNIT] for name in table.column_names}
    kept = {name: unit for name, unit in own.items() if unit.strip() and name not in COMMON}
    return table.replace_schema_metadata({UNITS: as_json(kept)})


def units_of(table: pa.Table) -> dict[str, str]:
    """Column -> unit, for those columns of a table of `read_catalogue` to which the file gives one."""
    return dict(json.loads((table.schema.metadata or {}).get(UNITS.encode(), b"{}")))


@contextmanager
def _only_defects() -> Iterator[None]:
    """The edge of the room, as in `table.py`: whatever a library raises on a damaged file is a DefectError."""
    try:
        with faults_of("catalogue"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except MemoryError:
        raise DefectError(Reason.TOO_LARGE, "does not fit into memory") from None


def _arrow(columns: Columns) -> pa.Table:
    import pyarrow as pa

    kinds = {"id": pa.string(), "class": pa.string(), "subclass": pa.string()}
    kinds |= dict.fromkeys(("ra", "dec", "z"), pa.float64())
    return pa.table({name: pa.array(values, kinds.get(name)) for name, values in columns.items()})


Batch = tuple[Columns, int, dict[str, str]]
"""Own columns, number of the first row, and the units that columns have."""


def _batches(path: Path) -> Iterator[Batch]:
    with Source(path) as source:
        if source.container == Container.PARQUET:
            yield from _batches_of_parquet(source)
        elif source.container == Container.FITS:
            yield from _batches_of_fits(source)
        elif source.container == Container.TEXT:
            yield from _batches_of_text(source)
        else:
            raise DefectError(Reason.UNRECOGNISED, f"{source.container} is not a catalogue; use FITS, CSV or Parquet")


def _batches_of_fits(source: Source) -> Iterator[Batch]:
    tables = [hdu for hdu in source.hdus if hdu.is_table]
    hdu = _key_table(source.hdus) or next(iter(tables), None)
    if hdu is None:
        raise DefectError(Reason.LAYOUT, "contains no table")
    beside = _positions_beside(source, hdu)
    units = {name.lower(): hdu.header.string(f"TUNIT{n}") for n, name in enumerate(hdu.columns, 1)}
    for first in range(0, hdu.n_rows, BATCH_ROWS):
        own = _exact_columns(hdu.table(first, first + BATCH_ROWS))
        own |= {name: column[first : first + BATCH_ROWS] for name, column in beside.items()}
        yield own, first, units


def _exact_columns(table: NDArray[Any]) -> Columns:
    """The table's scalars. Whole numbers stay arrays, so that batches agree on 64 bits with or without a sign."""
    return {
        name: column.astype(column.dtype.newbyteorder("=")) if column.dtype.kind in "iu" else plain_list(column)
        for name, column in scalar_columns(table).items()
    }


def _positions_beside(source: Source, hdu: Hdu) -> Columns:
    """TARGET_RA and TARGET_DEC from the FIBERMAP of a redrock file, which has the same targets in the same order."""
    fibermap = next((other for other in source.hdus if other.name == "FIBERMAP" and other is not hdu), None)
    wanted = [name for name in ("TARGET_RA", "TARGET_DEC") if not hdu.has_column(name)]
    if fibermap is None or fibermap.n_rows != hdu.n_rows or not hdu.has_column("TARGETID"):
        return {}
    if not all(fibermap.has_column(name) for name in (*wanted, "TARGETID")):
        return {}
    theirs, ours = fibermap.table(), hdu.table()
    if not np.array_equal(theirs[fibermap.column_named("TARGETID")], ours[hdu.column_named("TARGETID")]):
        return {}
    return {name.lower(): theirs[fibermap.column_named(name)].tolist() for name in wanted}


def _batches_of_parquet(source: Source) -> Iterator[Batch]:
    from rarespec.formats.matrices.parquet import open_parquet, row_batches, scalar_columns

    parquet = open_parquet(source)
    for first, batch in row_batches(parquet, scalar_columns(parquet.schema_arrow), BATCH_ROWS):
        yield {name.lower(): _exact_values(batch[name]) for name in batch.schema.names}, first, {}


def _exact_values(column: pa.Array) -> Any:
    """Whole numbers stay arrays, as those of FITS do: ids of SDSS need all 64 bits, and no sign."""
    import pyarrow as pa

    return column.to_numpy() if pa.types.is_integer(column.type) and not column.null_count else column.to_pylist()


def _batches_of_text(source: Source) -> Iterator[Batch]:
    from rarespec.formats.tables.memory_table import is_vector

    table = _text_table(source)
    own = {name.lower(): python_values(column) for name, column in table.columns.items() if not is_vector(column)}
    yield own, 0, {name.lower(): unit for name, unit in table.units.items()}


def _text_table(source: Source) -> Table:
    from rarespec.formats.tables.text import ecsv, read_delimited, votable, whole

    content = whole(source)
    start = content[:64].lstrip(b"\xef\xbb\xbf \t\r\n")
    if start.startswith(b"<"):
        return votable(content)
    return ecsv(content) if start.startswith(b"# %ECSV") else read_delimited(content)


def _with_common_names(own: Columns, first: int, units: Mapping[str, str]) -> Columns:
    """`id` and the common names in front."""
    result: Columns = {"id": _ids(own, first)}
    n = len(result["id"])
    taken = {"id"} if _key(own)[0] == ("id",) else set()
    for common, names in COMMON.items():
        name = find(own, names)
        result[common] = [None] * n if name is None else _of_kind(common, own[name], _unit_of(name, units))
        taken |= {common} if name in (None, common) else set()
    result["z"] = [None if z is None or z < UNKNOWN else z for z in result["z"]]
    return with_own(result, own, taken)


def _unit_of(name: str, units: Mapping[str, str]) -> str | None:
    return "hourangle" if name in IN_HOURS else units.get(name)


def _of_kind(common: str, values: Any, unit: str | None) -> list[Any]:
    """Degrees for positions, numbers for redshifts, text for classes, whatever the catalogue holds them as."""
    if common in ("ra", "dec") and (unit or any(isinstance(value, str) for value in values)):
        values = _degrees(values, unit, common)
    kind = str if common in ("class", "subclass") else float
    try:
        return [None if value is None or value == "" else kind(value) for value in values]
    except ValueError as error:
        raise DefectError(Reason.LAYOUT, f"the column for {common} has values that are not numbers: {error}") from None


def _degrees(values: Any, unit: str | None, common: str) -> list[Any]:
    """Text that is no position stays, and is refused as such; a unit that is no angle counts for nothing."""
    try:
        degrees = degrees_of(values, unit, in_hours=common == "ra").tolist()
    except DefectError:
        degrees = degrees_of(values, in_hours=common == "ra").tolist()
    return [
        (value if isinstance(value, str) else None) if number != number else number
        for value, number in zip(values, degrees, strict=True)
    ]


def _key(own: Columns) -> tuple[tuple[str, ...], Callable[..., str]]:
    extra = next(((names, str) for names in EXTRA_KEYS if names[0] in own), None)
    key = _key_of(set(own)) or extra
    if key is None:
        wanted = "; ".join("+".join(names).upper() for names, _ in KEYS)
        raise DefectError(Reason.MISSING_COLUMN, f"no column of object ids: it needs one of {wanted}")
    return key


def _ids(own: Columns, first: int) -> list[str]:
    names, build = _key(own)
    rows = zip(*(own[name] for name in names), strict=True)
    return [_id(values, names, build, row) for row, values in enumerate(rows, first)]


def _id(values: tuple[Any, ...], columns: tuple[str, ...], build: Callable[..., str], row: int) -> str:
    if any(value is None or value == "" or isinstance(value, float) for value in values):
        names = ", ".join(columns).upper()
        raise DefectError(Reason.LAYOUT, f"row {row + 1}: {names} must be whole numbers or text, not {values}")
    return build(*values).strip()
