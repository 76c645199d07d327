"""Generic FITS binary tables: one spectrum per table, a pixel per row, or one spectrum per row, in vector columns.

The wavelengths of rows come from a vector column of the same table, from another HDU (an image or a column called
wavelength, loglam or the like), or from the keywords CRVAL1 or COEFF0 of the table's header or the primary one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarespec.formats.columns import (
    ANY_WAVELENGTH,
    FLUX,
    LOG_WAVELENGTH,
    Column,
    Roles,
    find,
    missing,
    own_cards,
    own_row,
)
from rarespec.formats.fits.blocks import Hdu
from rarespec.formats.fits.header import Header
from rarespec.formats.fits.wcs import has_wavelength_wcs, wcs_axis
from rarespec.formats.further_columns import MOST_NAMES, columns_not_used, further_roles
from rarespec.formats.reader import Found, Reader, ReadOptions, noted
from rarespec.formats.source import Container, Source
from rarespec.formats.stacks import Origin, blocks, stacks_of_rows
from rarespec.formats.wavelength import Axis, is_air
from rarespec.spectrum import DefectError, Reason

CATALOGUE = "CATALOGUE"
"""Name of a table of one row beside a spectrum, as `rarespec export --as specutils` writes it."""


def recognises(source: Source) -> bool:
    return _flux_table(source) is not None


def _flux_table(source: Source) -> Hdu | None:
    """The first table with flux and wavelengths, else the first with flux."""
    with_flux = _tables_with_flux(source)
    return next((hdu for hdu in with_flux if find(hdu.columns, ANY_WAVELENGTH)), None) or next(iter(with_flux), None)


def _tables_with_flux(source: Source) -> list[Hdu]:
    return [hdu for hdu in source.hdus if hdu.is_table and find(hdu.columns, FLUX)]


def _left_out(source: Source, used: Hdu) -> str:
    """A sentence on further tables like the one that was read: orders, exposures or other objects."""
    others = [hdu for hdu in _tables_with_flux(source) if hdu is not used and find(hdu.columns, ANY_WAVELENGTH)]
    if not others:
        return ""
    named = ", ".join(hdu.name[:40] or hdu.label for hdu in others[:MOST_NAMES])
    which = "another table" if len(others) == 1 else f"{len(others)} other tables"
    return f"{which} with flux left out ({named}); give each spectrum a file of its own to read all"


def read(source: Source, options: ReadOptions) -> Iterator[Found]:
    hdu = _flux_table(source)
    if hdu is None:
        names = [name for table in source.hdus for name in table.columns]
        raise missing("flux in any table", FLUX, names)
    if hdu.n_rows == 0:
        raise DefectError(Reason.EMPTY, f"{hdu.label} has no rows")
    yield from noted(source, _left_out(source, hdu))
    roles = Roles.among(hdu.columns)
    if _is_vector(hdu.table(0, 1), roles.flux):
        yield from _one_per_row(source, hdu, roles, options)
    else:
        yield from _one_per_table(source, hdu, roles, options)


def _is_vector(row: NDArray[Any], name: str) -> bool:
    return row.dtype[name].shape != () or row.dtype[name].kind == "O"


def _air(source: Source, hdu: Hdu, options: ReadOptions) -> bool:
    return is_air(hdu.header, options) or is_air(source.hdus[0].header, options)


def _unit(header: Header, columns: tuple[str, ...], name: str) -> str:
    return header.string(f"TUNIT{columns.index(name) + 1}")


def _units(hdu: Hdu) -> dict[str, str]:
    return {name: _unit(hdu.header, hdu.columns, name) for name in hdu.columns}


# --- a pixel per row


def _one_per_table(source: Source, hdu: Hdu, roles: Roles, options: ReadOptions) -> Iterator[Found]:
    roles = further_roles(roles, _numeric(hdu))
    if roles.wavelength is None:
        raise missing(f"wavelength in {hdu.label}", ANY_WAVELENGTH, hdu.columns)
    table = hdu.table()
    columns: dict[str, Column] = {name: table[name][np.newaxis] for name in roles.used}
    if roles.mask and _marks_good_pixels(source, hdu):
        columns[roles.mask] = table[roles.mask][np.newaxis] == 0
    options = replace(options, air=_air(source, hdu, options))
    origin = Origin(source, options, True, _units(hdu), columns_not_used(roles, hdu.columns))
    unit = origin.units[roles.wavelength]
    yield from stacks_of_rows(_of_headers(source, hdu) | columns, roles, origin, 0, unit=unit)


def _numeric(hdu: Hdu) -> list[str]:
    kinds = hdu.table(0, 1).dtype
    return [name for name in kinds.names or () if kinds[name].kind in "biuf"]


def _marks_good_pixels(source: Source, hdu: Hdu) -> bool:
    """PypeIt's spectra, alone among all, have a mask that is 1 where a pixel is good."""
    return "OneSpec" in (hdu.header.string("DMODCLS"), source.hdus[0].header.string("DMODCLS"))


def _of_headers(source: Source, hdu: Hdu) -> dict[str, Column]:
    """Cards of the table's header, then of the primary one, as columns of a single row; or a table of one row."""
    beside = next((other for other in source.hdus if other.name == CATALOGUE and other.is_table), None)
    if beside is not None and beside.n_rows == 1:
        known = own_row(beside.table())
    else:
        known = {**own_cards(source.hdus[0].header), **own_cards(hdu.header)}
    return {name: [value] for name, value in known.items()}


# --- a spectrum per row


def _one_per_row(source: Source, hdu: Hdu, roles: Roles, options: ReadOptions) -> Iterator[Found]:
    first_row = hdu.table(0, 1)
    vectors = [name for name in first_row.dtype.names or () if _is_vector(first_row, name)]
    roles = further_roles(roles, vectors)
    n_pixels = len(np.atleast_1d(first_row[roles.flux][0]))
    own_axis = roles.wavelength is not None and _is_vector(first_row, roles.wavelength)
    axis = None if own_axis else _find_shared_axis(source, hdu, n_pixels, options)
    unit = _unit(hdu.header, hdu.columns, roles.wavelength) if own_axis and roles.wavelength else None
    options = replace(options, air=_air(source, hdu, options))
    origin = Origin(source, options, hdu.n_rows == 1, _units(hdu), columns_not_used(roles, vectors))
    for first, last in blocks(hdu.n_rows, n_pixels):
        block = _columns(hdu.table(first, last), roles, own_axis)
        yield from stacks_of_rows(block, roles, origin, first, axis, unit)


def _columns(table: NDArray[Any], roles: Roles, own_axis: bool) -> dict[str, Column]:
    """Vectors on pixels, and scalar columns; other vectors are left out. Rows of unlike lengths come as lists."""
    on_pixels = {*roles.on_pixels, *([roles.wavelength] if own_axis and roles.wavelength else [])}
    columns: dict[str, Column] = {}
    for name in table.dtype.names or ():
        values = table[name]
        if name in on_pixels:
            columns[name] = list(values) if values.dtype.kind == "O" else values
        elif values.ndim == 1 and values.dtype.kind in "biufSU":
            columns[name] = values
    return columns


def _find_shared_axis(source: Source, hdu: Hdu, n_pixels: int, options: ReadOptions) -> Axis:
    """The wavelengths of all rows: from another HDU, or from keywords."""
    for other in source.hdus:
        if other is not hdu and (found := _vector_in(other, n_pixels)) is not None:
            values, log, unit = found
            return Axis.of(values, log, unit, _air(source, other, options), options.wavelength_unit)
    for header in (hdu.header, source.hdus[0].header):
        if has_wavelength_wcs(header):
            return wcs_axis(header, n_pixels, _air(source, hdu, options), options.wavelength_unit)
    raise missing(f"wavelength for {hdu.label}", (*ANY_WAVELENGTH, "CRVAL1", "COEFF0"), hdu.columns)


def _vector_in(hdu: Hdu, n_pixels: int) -> tuple[NDArray[Any], bool, str] | None:
    """Values, whether they are log10, and unit of the wavelengths in this HDU, if it has as many as pixels."""
    name = hdu.name if hdu.is_image else find(hdu.columns, ANY_WAVELENGTH)
    if name is None or name.lower() not in ANY_WAVELENGTH:
        return None
    size = math.prod(hdu.image_shape) if hdu.is_image else hdu.n_rows
    if size not in (1, n_pixels):
        return None
    values = (hdu.image() if hdu.is_image else hdu.table()[name]).reshape(-1)
    unit = hdu.header.string("BUNIT") if hdu.is_image else _unit(hdu.header, hdu.columns, name)
    return (values, name.lower() in LOG_WAVELENGTH, unit) if len(values) == n_pixels else None


READER = Reader(
    "fits-table", Container.FITS, recognises, read, "FITS table, a pixel per row or a spectrum per row (vectors)"
)
