"""Gaia XP sampled spectra in Parquet: flux and flux_error as lists; a sampling may stand in the file's metadata."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from rarespec.formats.columns import ANY_WAVELENGTH, Column, find
from rarespec.formats.matrices.parquet import is_vector, metadata_of, open_parquet, row_batches, scalar_columns, vectors
from rarespec.formats.reader import Found, Reader, ReadOptions
from rarespec.formats.source import Container, Source
from rarespec.formats.stacks import Origin
from rarespec.formats.surveys.gaia import SAMPLING, axis_of, columns_of, has_columns, spectra_of_rows
from rarespec.spectrum import DefectError, Reason


def recognises(source: Source) -> bool:
    try:
        schema = open_parquet(source).schema_arrow
        return has_columns(schema.names) and find(metadata_of(schema), ANY_WAVELENGTH) is None
    except (DefectError, ArithmeticError, LookupError, MemoryError, OSError, RuntimeError, TypeError, ValueError):
        return False


def read(source: Source, options: ReadOptions) -> Iterator[Found]:
    parquet = open_parquet(source)
    schema = parquet.schema_arrow
    names = columns_of(schema.names)
    on_pixels = [names["flux"], names["flux_error"]]
    for name in on_pixels:
        if not is_vector(schema.field(name).type):
            raise DefectError(Reason.LAYOUT, f"{name} is {schema.field(name).type}, not a list of numbers")
    if parquet.metadata.num_rows == 0:
        raise DefectError(Reason.EMPTY, "a table without rows")
    scalars = [name for name in scalar_columns(schema) if name not in on_pixels]
    stated = metadata_of(schema).get(SAMPLING)
    origin, axis = Origin(source, options, parquet.metadata.num_rows == 1), None
    for first, batch in row_batches(parquet, [*on_pixels, *scalars]):
        axis = axis or axis_of(source, stated, _n_pixels(batch, names["flux"]))
        columns: dict[str, Column] = {name.lower(): vectors(batch[name]) for name in on_pixels}
        columns |= {name: batch[name].to_pylist() for name in scalars}
        yield from spectra_of_rows(columns, origin, first, axis)


def _n_pixels(batch: pa.RecordBatch, name: str) -> int:
    first = next((row for row in batch[name] if row.is_valid), None)
    return 0 if first is None else len(first.values)


READER = Reader(
    "gaia-parquet", Container.PARQUET, recognises, read, "Gaia XP sampled spectra, Parquet with lists of flux"
)
