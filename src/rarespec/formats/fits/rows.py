"""FITS images whose rows are wavelength, flux, and perhaps error and flag: Spextool, SpeX libraries, and many others.

The image may stand on its side, with wavelength, flux and error as its columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarespec.formats.columns import ANY_WAVELENGTH, generic_catalogue, own_cards, stem_of
from rarespec.formats.fits.blocks import Hdu
from rarespec.formats.reader import Found, Reader, ReadOptions, noted
from rarespec.formats.source import Container, Source
from rarespec.formats.stacks import MOST_PIXELS, Arrays, spectrum_of_arrays
from rarespec.formats.unnamed_columns import left_out, roles_of_unnamed
from rarespec.formats.wavelength import is_air, unit_in_header
from rarespec.spectrum import DefectError, Reason

FEWEST_ROWS, MOST_ROWS = 2, 4
FEWEST_PIXELS = 8
"""Fewer than these may rise by chance."""


def recognises(source: Source) -> bool:
    return any(_is_of_rows(hdu) for hdu in source.hdus)


def _is_of_rows(hdu: Hdu) -> bool:
    """Whether the first row rises or falls from end to end, as wavelengths do and flux does not."""
    shape = _shape(hdu)
    if (
        shape is None
        or hdu.name.lower() in ANY_WAVELENGTH
        or hdu.header.string("CTYPE1").upper().startswith(("WAVE", "AWAV"))
    ):
        return False
    wavelength = _rows(hdu, shape)[0].astype(np.float64)
    steps = np.diff(wavelength[np.isfinite(wavelength) & (wavelength > 0)])
    return len(steps) + 1 >= FEWEST_PIXELS and bool((steps > 0).all() or (steps < 0).all())


def _shape(hdu: Hdu) -> tuple[int, int] | None:
    """(rows, pixels), of an image of either orientation, without axes of length 1; None if it cannot be of rows."""
    if not hdu.is_image:
        return None
    shape = tuple(length for length in hdu.image_shape if length > 1)
    if len(shape) != 2:
        return None
    n, p = min(shape), max(shape)
    return (n, p) if FEWEST_ROWS <= n <= MOST_ROWS and FEWEST_PIXELS <= p <= MOST_PIXELS else None


def _rows(hdu: Hdu, shape: tuple[int, int]) -> NDArray[Any]:
    image = hdu.image()
    image = image.reshape([length for length in image.shape if length > 1])
    return image if image.shape == shape else image.T


def read(source: Source, options: ReadOptions) -> Iterator[Found]:
    hdu = next((hdu for hdu in source.hdus if _is_of_rows(hdu)), None)
    if hdu is None:
        raise DefectError(Reason.LAYOUT, "contains no image of 2 to 4 rows: wavelength, flux, error, flag")
    shape = _shape(hdu)
    assert shape
    primary = source.hdus[0].header
    rows = _rows(hdu, shape)
    roles = roles_of_unnamed([row.astype(np.float64) for row in rows])
    yield from noted(source, left_out(roles, "row"))
    named = dict(zip(roles, rows, strict=True))
    unit = unit_in_header(hdu.header) or unit_in_header(primary)
    air = is_air(hdu.header, options) or is_air(primary, options)
    flux_unit = hdu.header.string("YUNITS") or hdu.header.string("BUNIT")
    cards = {**own_cards(primary), **own_cards(hdu.header)}
    catalogue = generic_catalogue({key: [value] for key, value in cards.items()}, source.name, [stem_of(source.path)])
    arrays = Arrays(named["flux"], named.get("error"), named.get("mask"), flux_unit)
    yield from spectrum_of_arrays(source, named["wavelength"], arrays, catalogue, unit, air, options.wavelength_unit)


READER = Reader("fits-rows", Container.FITS, recognises, read, "FITS image of rows: wavelength, flux, error, flag")
