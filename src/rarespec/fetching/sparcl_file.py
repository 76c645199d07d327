"""A record of SPARCL as a file: Parquet in the layout of the Multimodal Universe, which `ingest` reads."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarespec.fetching.fault import FaultError
from rarespec.formats.reader import SDSS_BAD_BITS
from rarespec.spectrum.printable import printable

SCALARS = ("sparcl_id", "specid", "targetid", "data_release", "ra", "dec", "redshift", "redshift_warning", "spectype")
VECTORS = ("wavelength", "flux", "ivar", "mask")
FIELDS = (*SCALARS, *VECTORS)
"""What is asked for: fields that spectra of every data set have."""


def parquet_of(record: dict[str, Any]) -> bytes:
    """The file; a FaultError when the record lacks a vector, or its vectors differ in length.

    The mask becomes true where a pixel is bad: of SDSS and BOSS spectra only the bits of single pixels count.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    vectors = _vectors(record)
    release = str(record.get("data_release") or "")
    bits = SDSS_BAD_BITS if release.upper().startswith(("SDSS", "BOSS")) else -1
    spectrum = pa.StructArray.from_arrays(
        [
            _one_row(vectors["flux"].astype(np.float32)),
            _one_row(vectors["ivar"].astype(np.float32)),
            _one_row(vectors["wavelength"]),
            _one_row(vectors["mask"].astype(np.int64) & bits != 0),
        ],
        ["flux", "ivar", "lambda", "mask"],
    )
    out = io.BytesIO()
    try:
        table = pa.table({"spectrum": spectrum, **{name: [value] for name, value in _scalars(record).items()}})
        pq.write_table(table, out, write_page_checksum=True)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise FaultError(f"cannot store a record in a table: {printable(str(error))[:200]}") from None
    return out.getvalue()


def _one_row(values: NDArray[Any]) -> Any:
    import pyarrow as pa

    return pa.ListArray.from_arrays([0, len(values)], pa.array(values))


def _vectors(record: dict[str, Any]) -> dict[str, NDArray[np.float64]]:
    try:
        vectors = {name: np.asarray(record[name], float) for name in VECTORS}
    except (KeyError, TypeError, ValueError, OverflowError):
        there = printable(", ".join(record))[:200]
        raise FaultError(f"a record without {', '.join(VECTORS)}; there is {there}") from None
    lengths = {vector.shape for vector in vectors.values()}
    shape = lengths.pop()
    if lengths or len(shape) != 1 or shape == (0,):
        raise FaultError("a record whose vectors differ in length, or are empty")
    return vectors


def _scalars(record: dict[str, Any]) -> dict[str, Any]:
    """Under the names that the readers know. Ids are text: they are larger than a float can hold."""
    ids = {name: str(record[name]) for name in ("specid", "targetid") if record.get(name) is not None}
    plain = {name: record.get(name) for name in ("ra", "dec", "redshift_warning")}
    return {"object_id": record["sparcl_id"], **ids, **plain, "z": record.get("redshift"),
            "class": record.get("spectype"), "survey": record.get("data_release")}  # fmt: skip
