"""FITS: a binary table, and its provenance as JSON in a second table of one row."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rarespec._version import __version__
from rarespec.searching.export.values import (
    NOT_PRINTABLE_ASCII,
    PlainColumn,
    Provenance,
    escape_columns,
    pattern_of,
    to_json,
    unit_text,
)
from rarespec.storage.whole_file import write_whole

if TYPE_CHECKING:
    from astropy.io import fits

TABLE, PROVENANCE = "CANDIDATES", "PROVENANCE"
FORBIDDEN = pattern_of(NOT_PRINTABLE_ASCII, r" \Z")  # FITS drops spaces at the end
FORMATS = {"int64": "K", "float64": "D", "float32": "E", "bool": "L"}


def write(columns: Sequence[PlainColumn], path: Path, provenance: Provenance) -> None:
    content = _document(escape_columns(columns, FORBIDDEN, path), provenance)
    write_whole(path, gzip.compress(content, mtime=0) if path.suffix.lower() == ".gz" else content)


def _document(columns: Sequence[PlainColumn], provenance: Provenance) -> bytes:
    from astropy.io import fits

    # Not by Table.write: it makes missing booleans false and leaves out UCDs, descriptions and the provenance's table.
    text = to_json(provenance).encode()
    json_column = fits.Column("json", f"{len(text)}A", array=np.array([text]))
    primary = fits.PrimaryHDU()
    primary.header["CREATOR"] = f"rarespec {__version__}"
    hdus = [primary, _table(columns), fits.BinTableHDU.from_columns([json_column], name=PROVENANCE)]
    for hdu in hdus:
        hdu.add_checksum(when="sum of this unit")  # instead of the time, so that equal tables are equal files
    content = io.BytesIO()
    fits.HDUList(hdus).writeto(content)
    return content.getvalue()


def _table(columns: Sequence[PlainColumn]) -> fits.BinTableHDU:
    """Descriptions and UCDs as TCOMMn and TUCDn, where TOPCAT looks for them."""
    from astropy.io import fits

    hdu = fits.BinTableHDU.from_columns([_column(column) for column in columns], name=TABLE)
    for number, column in enumerate(columns, 1):
        for keyword, text in (("TUCD", column.ucd), ("TCOMM", column.description)):
            if text:
                hdu.header.set(f"{keyword}{number}", text, after=f"TFORM{number}")
    return hdu


def _column(column: PlainColumn) -> fits.Column:
    from astropy.io import fits

    unit = unit_text(column.unit, "fits") or None
    if column.is_text:
        array = np.array([text.encode("ascii") for text in column.values], dtype=bytes)
        return fits.Column(column.name, f"{array.dtype.itemsize}A", array=array, unit=unit)
    if column.missing.any():
        whole = column.values.astype(np.int64)  # readers take a missing FITS boolean for a false one: 0 and 1 instead
        null = find_unused_integer(whole)
        return fits.Column(column.name, "K", array=np.where(column.missing, null, whole), null=null, unit=unit)
    return fits.Column(column.name, FORMATS[column.values.dtype.name], array=column.values, unit=unit)


def find_unused_integer(values: NDArray[np.int64]) -> int:
    """The lowest number that no row has, to stand for a missing one."""
    taken = set(values[values < np.iinfo(np.int64).min + len(values)].tolist())
    return next(i for i in range(np.iinfo(np.int64).min, 0) if i not in taken)


def provenance_in(path: Path) -> Provenance | None:
    from astropy.io import fits

    with fits.open(path) as hdus:
        if PROVENANCE not in hdus:
            return None
        return json.loads(hdus[PROVENANCE].data["json"][0])
