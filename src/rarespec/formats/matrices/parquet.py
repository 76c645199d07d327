"""Parquet with one spectrum per row: flux as a list column, wavelengths as a list column or in the file's metadata.

In the metadata the wavelengths are a JSON list under `wavelength` (unit under `wavelength_unit`) or `loglam`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from rarespec.formats.columns import ANY_WAVELENGTH, Column, Roles, missing
from rarespec.formats.further_columns import columns_not_used, further_roles
from rarespec.formats.matrices.matrix import read_matrix
from rarespec.formats.reader import MAX_ROWS, Found, Reader, ReadOptions, faults_of
from rarespec.formats.source import Container, Source, SourceFile
from rarespec.formats.stacks import MOST_PIXELS, Origin, stacks_of_rows
from rarespec.formats.wavelength import Axis
from rarespec.spectrum import DefectError, Reason

MOST_PIECES = 1_000_000
"""Row groups times columns; each has a description of its own.

More of these descriptions is not looked at here: on damaged ones (`RowGroupMetaData.column`) pyarrow ends the process.
"""


def open_parquet(source: Source) -> pq.ParquetFile:
    """Open the file, with page checksums verified where it has them."""
    with faults_of("Parquet"):
        file = pa.PythonFile(SourceFile(source), mode="r")
        parquet = pq.ParquetFile(file, pre_buffer=False, buffer_size=1 << 20, page_checksum_verification=True)
        pieces = parquet.metadata.num_row_groups * parquet.metadata.num_columns
    if pieces > MOST_PIECES:
        raise DefectError(Reason.LAYOUT, f"{pieces} pieces of columns; at most {MOST_PIECES} are read")
    return parquet


def row_batches(
    parquet: pq.ParquetFile, columns: list[str], n_rows: int = MAX_ROWS
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Read a table in batches of rows.

    Parameters
    ----------
    parquet : pyarrow.parquet.ParquetFile
        The open file.
    columns : list of str
        Columns to read.
    n_rows : int
        Most rows of a batch.

    Yields
    ------
    first : int
        Number of the batch's first row in the table.
    batch : pyarrow.RecordBatch
        The rows, validated.

    Raises
    ------
    DefectError
        If a batch is damaged, or there are not as many rows as the file declares.
    """
    with faults_of("Parquet"):
        batches = parquet.iter_batches(n_rows, columns=columns, use_threads=False)
    first = 0
    while True:
        with faults_of("Parquet"):
            batch = next(batches, None)
            if batch is not None:
                batch.validate(full=True)
        if batch is None:
            break
        yield first, batch
        first += len(batch)
    if first != parquet.metadata.num_rows:
        raise DefectError(Reason.CORRUPT, f"{first} rows instead of the {parquet.metadata.num_rows} declared")


def is_vector(kind: pa.DataType) -> bool:
    return pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)


def vectors(column: pa.Array) -> Column:
    """Read lists as (n, p) if all have one length, else as a list of vectors, None where the list is null."""
    lengths = set(pc.list_value_length(column).to_pylist())
    if len(lengths) == 1 and None not in lengths:
        return _values(column.flatten()).reshape(len(column), lengths.pop())
    return [_values(row.values) if row.is_valid else None for row in column]


def _values(column: pa.Array, null: bool = True) -> NDArray[Any]:
    """Read elements as numbers; a null is NaN, and True in a mask."""
    if pa.types.is_boolean(column.type):
        column = pc.fill_null(column, null)
    if pa.types.is_floating(column.type):
        column = pc.fill_null(column, np.nan) if column.null_count else column
    return column.to_numpy(zero_copy_only=False)


def scalar_columns(schema: pa.Schema) -> list[str]:
    return [field.name for field in schema if not pa.types.is_nested(field.type)]


def read(source: Source, options: ReadOptions) -> Iterator[Found]:
    parquet = open_parquet(source)
    schema = parquet.schema_arrow
    roles = Roles.among(schema.names)
    if parquet.metadata.num_rows == 0:
        raise DefectError(Reason.EMPTY, "a table without rows")
    if is_vector(schema.field(roles.flux).type):
        yield from _spectrum_per_row(parquet, roles, Origin(source, options, parquet.metadata.num_rows == 1))
    else:
        yield from _spectrum_per_file(parquet, roles, source, options)


def _is_number(kind: pa.DataType) -> bool:
    return pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind)


def _spectrum_per_row(parquet: pq.ParquetFile, roles: Roles, origin: Origin) -> Iterator[Found]:
    schema = parquet.schema_arrow
    lists = [field.name for field in schema if is_vector(field.type)]
    roles = further_roles(roles, lists)
    origin = replace(origin, not_used=columns_not_used(roles, lists))
    axis = None if roles.wavelength else Axis.in_metadata(metadata_of(schema), origin.options, schema.names)
    scalars = [name for name in scalar_columns(schema) if name not in roles.used]
    for name in roles.used:
        if not is_vector(schema.field(name).type):
            raise DefectError(Reason.LAYOUT, f"{name} is {schema.field(name).type}, {roles.flux} a list")
    unit = _unit(schema, roles)
    for first, batch in row_batches(parquet, [*roles.used, *scalars]):
        block: dict[str, Column] = {name: vectors(batch[name]) for name in roles.used}
        block |= {name: batch[name].to_pylist() for name in scalars}
        yield from stacks_of_rows(block, roles, origin, first, axis, unit)


def _spectrum_per_file(parquet: pq.ParquetFile, roles: Roles, source: Source, options: ReadOptions) -> Iterator[Found]:
    """One pixel per row, flux and wavelength plain columns."""
    schema = parquet.schema_arrow
    roles = further_roles(roles, [field.name for field in schema if _is_number(field.type)])
    if roles.wavelength is None:
        raise missing("wavelength", ANY_WAVELENGTH, parquet.schema_arrow.names)
    if parquet.metadata.num_rows > MOST_PIXELS:
        raise DefectError(Reason.TOO_LARGE, f"{parquet.metadata.num_rows} pixels; at most {MOST_PIXELS} are read")
    batches = [batch for _, batch in row_batches(parquet, roles.used)]
    arrays = {
        name: np.concatenate([_values(batch[name], null=name != roles.good) for batch in batches])
        for name in roles.used
    }
    not_read = [name for name in schema.names if name not in roles.used]
    yield from read_matrix(arrays, source, options, _unit(schema, roles), not_read)


def metadata_of(schema: pa.Schema) -> dict[str, str]:
    items = (schema.metadata or {}).items()
    return {key.decode(errors="replace"): value.decode(errors="replace") for key, value in items}


def _unit(schema: pa.Schema, roles: Roles) -> str | None:
    if roles.wavelength is None:
        return None
    field = schema.field(roles.wavelength).metadata or {}
    unit = field.get(b"unit", field.get(b"units"))
    return unit.decode() if unit else metadata_of(schema).get("wavelength_unit")


READER = Reader(
    "parquet", Container.PARQUET, lambda source: True, read, "Parquet with a list column flux and wavelength or loglam"
)
