"""One Zarr group: flux, ivar and mask (n, pixels), wavelength, and an array for each catalogue column."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import zarr

from rarespec.formats.writing.outgoing import ColumnKind, Outgoing, Writer, column_names

ROWS = 1024
"""Spectra in each chunk."""
TYPES: dict[str, Any] = {"string": str, "int64": np.int64, "double": np.float64, "bool": np.bool_}
MISSING: dict[str, Any] = {"string": "", "double": np.nan}


def write(outgoing: Outgoing, folder: Path) -> None:
    group = zarr.open_group(str(folder), mode="w-")
    names = column_names(outgoing.columns)
    wavelength = group.create_array("wavelength", data=outgoing.wavelength)
    wavelength.attrs["units"] = "Angstrom"
    pixels = _pixel_arrays(group, outgoing)
    columns = {
        name: group.create_array(names[name], shape=(outgoing.n,), chunks=(ROWS,), dtype=TYPES[column.stored])
        for name, column in outgoing.columns.items()
    }
    start = 0
    for stack in outgoing.stacks:
        rows = slice(start, start + len(stack))
        for name, values in (("flux", stack.flux), ("ivar", stack.ivar), ("mask", stack.bad)):
            if name in pixels:
                pixels[name][rows] = values
        for name, array in columns.items():
            array[rows] = _values(stack.catalogue[name], outgoing.columns[name])
        start = rows.stop


def _pixel_arrays(group: Any, outgoing: Outgoing) -> dict[str, Any]:
    kinds = {"flux": np.float32, "mask": np.bool_} | ({"ivar": np.float32} if outgoing.has_errors else {})
    shape, chunks = (outgoing.n, len(outgoing.wavelength)), (ROWS, len(outgoing.wavelength))
    # every chunk is written, also one of zeros: a chunk that is not there is taken for a lost one
    made = {
        name: group.create_array(name, shape=shape, chunks=chunks, dtype=kind, config={"write_empty_chunks": True})
        for name, kind in kinds.items()
    }
    if outgoing.unit:
        made["flux"].attrs["units"] = outgoing.unit
    return made


def _values(values: list[Any], column: ColumnKind) -> Any:
    if column.stored == "string":
        return np.array(["" if value is None else str(value) for value in values], np.dtypes.StringDType())
    missing = MISSING.get(column.stored, False)
    return np.array([missing if value is None else value for value in values], TYPES[column.stored])


WRITER = Writer("zarr", ".zarr", write, "one Zarr group, a row per spectrum", ascii_ids=False)
