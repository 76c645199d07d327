"""Unusual HDUs, read by astropy from the same bytes: compressed images, heaps, scaled or complex columns."""

from __future__ import annotations

import io
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarespec.formats.fits.columns import TableLayout
from rarespec.formats.fits.header import BLOCK, Header
from rarespec.formats.inflating import check_deflated, largest_inflated
from rarespec.formats.reader import faults_of
from rarespec.spectrum import DefectError, Reason

_EMPTY_PRIMARY = "".join(
    card.ljust(80)
    for card in (
        "SIMPLE  =                    T",
        "BITPIX  =                    8",
        "NAXIS   =                    0",
        "EXTEND  =                    T",
        "END",
    )
).ljust(BLOCK)


def _hdu_data(raw: bytes) -> Any:
    """`data` of the HDU that these bytes (header and data) are, as astropy gives it."""
    from astropy.io import fits

    is_primary = raw.startswith(b"SIMPLE")
    content = raw if is_primary else _EMPTY_PRIMARY.encode() + raw
    with faults_of("FITS"), fits.open(io.BytesIO(content), memmap=False, lazy_load_hdus=False) as hdus:
        return hdus[0 if is_primary else 1].data


def image_by_astropy(raw: bytes, header: Header) -> NDArray[Any]:
    """Read a scaled image, in physical values."""
    return _image(raw, header)


def compressed_image_by_astropy(
    raw: bytes, heap: bytes, rows: NDArray[Any], layout: TableLayout, header: Header
) -> NDArray[Any]:
    """Read a tile-compressed image, in physical values.

    Parameters
    ----------
    raw : bytes
        The HDU's bytes as stored.
    heap : bytes
        The bytes of the tiles.
    rows : ndarray
        The table of the tiles as stored, in the layout's `raw` dtype.
    layout : TableLayout
        Where the columns of that table are.
    header : Header
        The HDU's header, parsed.

    Returns
    -------
    ndarray
        The image.
    """
    _check_declared_size(header, len(raw))
    for name in layout.var_length:
        for count, offset in rows[name].astype(np.int64).tolist():
            _check_tile(heap[max(offset, 0) : max(offset, 0) + max(count, 0)], len(raw), header)
    return _image(raw, header)


def _image(raw: bytes, header: Header) -> NDArray[Any]:
    image = _hdu_data(raw)
    if not isinstance(image, np.ndarray):
        raise DefectError(Reason.LAYOUT, f"{header.label} has no image")
    return image


def _check_declared_size(header: Header, stored: int) -> None:
    """Check the size of the image, and of a tile, which may be larger than the image."""
    axes = range(1, header.integer("ZNAXIS") + 1)
    lengths = [header.integer(f"ZNAXIS{n}") for n in axes]
    tile = [header.integer(f"ZTILE{n}", lengths[0] if n == 1 else 1) for n in axes]
    for shape in (lengths, tile):
        size = math.prod(shape, start=max(abs(header.integer("ZBITPIX")) // 8, 1))
        if min(shape, default=0) < 0 or size > largest_inflated(stored):
            raise DefectError(Reason.TOO_LARGE, f"{header.label}: {stored} compressed bytes unfold to {size}")


def _check_tile(packed: bytes, stored: int, header: Header) -> None:
    """Check how far a gzipped tile unfolds: astropy unfolds it to its end, whatever the header declares."""
    if packed.startswith(b"\x1f\x8b"):
        try:
            check_deflated(packed, largest_inflated(stored), gzip=True)
        except DefectError as error:
            raise DefectError(error.reason, f"{header.label}: a tile of {error.detail}") from None


def table_by_astropy(raw: bytes, rows: NDArray[Any], layout: TableLayout, header: Header) -> NDArray[Any]:
    """Read a table with unusual columns; arrays of variable length become objects unless all are equally long.

    Parameters
    ----------
    raw : bytes
        The HDU's bytes as stored.
    rows : ndarray
        The table as stored, in the layout's `raw` dtype.
    layout : TableLayout
        Where the columns are.
    header : Header
        The HDU's header, parsed.

    Returns
    -------
    ndarray
        A structured array.
    """
    _check_heap(rows, layout, len(raw), header)
    return _structure(_hdu_data(raw))


def ascii_table_by_astropy(raw: bytes) -> NDArray[Any]:
    return _structure(_hdu_data(raw))


def _check_heap(rows: NDArray[Any], layout: TableLayout, stored: int, header: Header) -> None:
    # As floating point: the counts are any numbers, and their sum must not start again at zero.
    elements = sum(float(np.abs(rows[name][:, 0].astype(np.float64)).sum()) for name in layout.var_length)
    if elements * 16 > largest_inflated(stored):
        raise DefectError(Reason.TOO_LARGE, f"{header.label}: arrays of variable length with {elements:.0f} elements")


def _structure(table: Any) -> NDArray[Any]:
    with faults_of("FITS"):  # astropy converts a column when it is asked for
        columns = {name: _plain_column(table[name]) for name in table.dtype.names}
    dtype = np.dtype([(name, column.dtype, column.shape[1:]) for name, column in columns.items()])
    result = np.empty(len(table), dtype)
    for name, column in columns.items():
        result[name] = column
    return result


def _plain_column(column: Any) -> NDArray[Any]:
    values = np.asarray(column)
    if values.dtype.kind == "U":
        return np.char.encode(values, "latin-1")
    if values.dtype.kind == "O" and len(values) and len({np.shape(value) for value in values}) == 1:
        return np.stack([np.asarray(value) for value in values])
    return values
