"""One Parquet file: a spectrum per row, its pixels as lists, the catalogue beside them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rarespec.formats.writing.outgoing import Outgoing, Writer, column_names
from rarespec.spectrum import Spectra

if TYPE_CHECKING:
    import pyarrow as pa


def write(outgoing: Outgoing, path: Path) -> None:
    import pyarrow.parquet as pq

    names = column_names(outgoing.columns)
    schema = _schema(outgoing, names)
    # the wavelengths repeat row by row: as a dictionary they take next to no room
    options: dict[str, Any] = {"compression": "zstd", "use_dictionary": ["wavelength.list.element"]}
    with pq.ParquetWriter(path, schema, write_page_checksum=True, **options) as file:
        for stack in outgoing.stacks:
            file.write_table(_table(stack, outgoing, names, schema))


def _schema(outgoing: Outgoing, names: dict[str, str]) -> pa.Schema:
    import pyarrow as pa

    kinds = {"string": pa.string(), "int64": pa.int64(), "double": pa.float64(), "bool": pa.bool_()}
    catalogue = [pa.field(names[name], kinds[column.kind]) for name, column in outgoing.columns.items()]
    errors = [pa.field("ivar", pa.list_(pa.float32()))] if outgoing.has_errors else []
    return pa.schema(
        [
            *catalogue,
            pa.field("wavelength", pa.list_(pa.float64()), metadata={"unit": "Angstrom"}),
            pa.field("flux", pa.list_(pa.float32()), metadata={"unit": outgoing.unit} if outgoing.unit else None),
            *errors,
            pa.field("mask", pa.list_(pa.bool_())),
        ]
    )


def _table(stack: Spectra, outgoing: Outgoing, names: dict[str, str], schema: pa.Schema) -> pa.Table:
    import pyarrow as pa

    columns = {names[name]: pa.array(stack.catalogue[name], schema.field(names[name]).type) for name in names}
    columns["wavelength"] = _lists(np.broadcast_to(outgoing.wavelength, stack.flux.shape))
    columns |= {"flux": _lists(stack.flux), "mask": _lists(stack.bad)}
    if outgoing.has_errors:
        columns["ivar"] = _lists(stack.ivar)
    return pa.table([columns[field.name] for field in schema], schema=schema)


def _lists(values: Any) -> pa.ListArray:
    import pyarrow as pa

    n, p = values.shape
    offsets = pa.array(np.arange(0, n * p + 1, p), pa.int32())
    return pa.ListArray.from_arrays(offsets, pa.array(np.ascontiguousarray(values).ravel()))


WRITER = Writer("parquet", ".parquet", write, "one Parquet file, a spectrum per row", ascii_ids=False)
