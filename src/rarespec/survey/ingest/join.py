"""Classes, redshifts and other columns that live in a catalogue of their own, joined to spectra by id."""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rarespec.errors import SurveyError
from rarespec.formats.catalogue import units_of
from rarespec.formats.contained import ReadLimits, read_catalogue_contained
from rarespec.spectrum import DefectError, Spectra

if TYPE_CHECKING:
    import pyarrow as pa

FILLED_HERE = ("source", "coverage", "outside", "has_ivar")
"""Columns that say how a spectrum came to be stored; a catalogue's own of the same name is kept as `file_NAME`."""


class Joined(NamedTuple):
    """The Arrow file with all catalogues in it, and the units that they give to their columns."""

    file: str
    units: dict[str, str]


def prepare(catalogues: Sequence[str | os.PathLike[str]], into: Path, limits: ReadLimits) -> Joined:
    """Write catalogues as one uncompressed Arrow file, which all workers map into memory instead of loading it each.

    Parameters
    ----------
    catalogues : sequence of path or str
        FITS, CSV, ECSV, VOTable or Parquet.
    into : Path
        The Arrow file.
    limits : ReadLimits
        A catalogue that takes more time or memory than this is refused.

    Returns
    -------
    Joined
        The Arrow file, and units.

    Raises
    ------
    SurveyError
        If a catalogue cannot be read.
    """
    import pyarrow as pa

    loaded = [_load(catalogue, limits) for catalogue in catalogues]
    tables = _of_one_schema([_beside_ours(table) for table in loaded])
    table = _one_row_per_id(pa.concat_tables(tables, promote_options="permissive"))
    with pa.OSFile(str(into), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table.combine_chunks())
    return Joined(str(into), _common_units(loaded))


def _common_units(tables: list[pa.Table]) -> dict[str, str]:
    """Units of columns; none for a column to which two catalogues give different ones."""
    found: dict[str, set[str]] = {}
    for table in tables:
        units = units_of(table)
        for name in table.column_names:
            found.setdefault(name, set()).add(units.get(name, ""))
    return {name: unit for name, (unit, *others) in found.items() if unit and not others and name not in FILLED_HERE}


def _beside_ours(table: pa.Table) -> pa.Table:
    """Rename columns that rarespec fills itself to `file_NAME`: by `source` it knows which files it holds already."""
    names = table.column_names
    return table.rename_columns([f"file_{name}" if name in FILLED_HERE else name for name in names]).select(
        [i for i, name in enumerate(names) if not (name in FILLED_HERE and f"file_{name}" in names)]
    )


def _of_one_schema(tables: list[pa.Table]) -> list[pa.Table]:
    """Bring catalogues to one schema: columns that are numbers in one and text in another become text."""
    import pyarrow as pa

    kinds: dict[str, set[bool]] = {}
    for table in tables:
        for field in table.schema:
            if not pa.types.is_null(field.type):
                kinds.setdefault(field.name, set()).add(pa.types.is_string(field.type))
    mixed = {name for name, text in kinds.items() if len(text) > 1}
    return [_with_text(table, mixed & set(table.column_names)) for table in tables]


def _with_text(table: pa.Table, names: set[str]) -> pa.Table:
    import pyarrow as pa

    for name in names:
        table = table.set_column(table.column_names.index(name), name, table[name].cast(pa.string()))
    return table


def _one_row_per_id(table: pa.Table) -> pa.Table:
    """Sort by id, one row each; of several rows for an id, the first known value counts, column by column."""
    others = [name for name in table.column_names if name != "id"]
    grouped = table.group_by("id", use_threads=False).aggregate([(name, "first") for name in others])
    return grouped.select(["id", *(f"{name}_first" for name in others)]).rename_columns(["id", *others]).sort_by("id")


def _load(catalogue: str | os.PathLike[str], limits: ReadLimits) -> pa.Table:
    try:
        return read_catalogue_contained(catalogue, limits)
    except (DefectError, OSError, ValueError, TypeError) as error:
        raise SurveyError(f"{os.fspath(catalogue)}: cannot be used as a catalogue: {error}") from None


def join_catalogue(spectra: Spectra, join_file: str) -> tuple[Spectra, int]:
    """Give spectra the catalogue's values for their ids, and count the ids that it knows."""
    table = _table(join_file)
    sorted_ids = table["id"].combine_chunks()
    rows = [_row_of(id, sorted_ids) for id in spectra.ids]
    found = [row for row in rows if row is not None]
    if not found:
        return spectra, 0
    values = table.take(found).to_pylist()
    matched = iter(values)
    per_spectrum: list[dict[str, Any]] = [{} if row is None else next(matched) for row in rows]
    columns = dict(spectra.catalogue)
    for name in values[0]:
        if name != "id":
            old = columns.get(name, [None] * len(spectra))
            columns[name] = [_first_known(new.get(name), kept) for new, kept in zip(per_spectrum, old, strict=True)]
    return Spectra(spectra.wavelength, spectra.flux, spectra.ivar, spectra.bad, columns), len(found)


def _first_known(new: Any, kept: Any) -> Any:
    return kept if new is None else new


def _row_of(id: str, sorted_ids: pa.Array) -> int | None:
    at = bisect_left(sorted_ids, id, key=lambda value: value.as_py())
    return at if at < len(sorted_ids) and sorted_ids[at].as_py() == id else None


@lru_cache(maxsize=1)
def _table(join_file: str) -> pa.Table:
    import pyarrow as pa

    return pa.ipc.open_file(pa.memory_map(join_file)).read_all().combine_chunks()
