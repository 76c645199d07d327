"""JWST x1d files: a table EXTRACT1D for each source or order, a pixel per row, or one spectrum per row.

The layout is that of the pipeline's documentation: WAVELENGTH in micron, FLUX and FLUX_ERROR in Jy, DQ. Bit 0 of DQ
(DO_NOT_USE) makes a pixel bad; the other bits say what happened to pixels that are still of use.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarespec.formats.columns import find, generic_catalogue, number_ids, own_cards, stem_of
from rarespec.formats.fits.blocks import Hdu
from rarespec.formats.pixels import has_bits
from rarespec.formats.reader import Found, Reader, ReadOptions
from rarespec.formats.source import Container, Source
from rarespec.formats.stacks import Arrays, blocks, spectrum_of_arrays
from rarespec.spectrum import Defect, DefectError, Reason

DO_NOT_USE = 1
ERRORS = ("flux_error", "error")
"""What the pipeline calls the error of the flux; the first is that of builds since 2021."""


def recognises(source: Source) -> bool:
    return any(_is_extract(hdu) and hdu.has_column("FLUX") for hdu in source.hdus)


def _is_extract(hdu: Hdu) -> bool:
    return hdu.is_table and hdu.name == "EXTRACT1D" and hdu.has_column("WAVELENGTH")


def read(source: Source, options: ReadOptions) -> Iterator[Found]:
    tables = [hdu for hdu in source.hdus if _is_extract(hdu)]
    if not tables:
        raise DefectError(Reason.LAYOUT, "contains no table EXTRACT1D with a column WAVELENGTH")
    n_all = sum(1 if _is_of_pixels(hdu) else hdu.n_rows for hdu in tables)
    number = 0
    for hdu in tables:
        for values in _spectra(hdu):
            (id,) = number_ids(stem_of(source.path), number, 1, single=n_all == 1)
            number += 1
            try:
                yield from _spectrum(source, hdu, values, id, options)
            except DefectError as error:
                yield Defect(source.name, error.reason, error.detail, id)


def _is_of_pixels(hdu: Hdu) -> bool:
    return hdu.table(0, 1).dtype[hdu.column_named("WAVELENGTH")].shape == ()


def _spectra(hdu: Hdu) -> Iterator[NDArray[Any]]:
    """Structured, one value per pixel: the table itself, or each of its rows."""
    if _is_of_pixels(hdu):
        yield hdu.table()
        return
    n_pixels = hdu.table(0, 1).dtype[hdu.column_named("WAVELENGTH")].shape[0]
    for first, last in blocks(hdu.n_rows, n_pixels):
        yield from hdu.table(first, last)


def _spectrum(source: Source, hdu: Hdu, values: NDArray[Any], id: str, options: ReadOptions) -> Iterator[Found]:
    flux, wavelength = hdu.column_named("FLUX"), hdu.column_named("WAVELENGTH")
    error, quality = find(hdu.columns, ERRORS), find(hdu.columns, ("dq",))
    arrays = Arrays(
        values[flux],
        values[error] if error else None,
        has_bits(np.asarray(values[quality]), DO_NOT_USE) if quality else None,
        _unit(hdu, flux) or "Jy",
    )
    cards = {**own_cards(source.hdus[0].header), **own_cards(hdu.header)}
    catalogue = generic_catalogue({key: [value] for key, value in cards.items()}, source.name, [id])
    catalogue = catalogue | {"survey": ["JWST"], "id": [id]}
    unit = _unit(hdu, wavelength) or "um"
    yield from spectrum_of_arrays(source, values[wavelength], arrays, catalogue, unit, options.air)


def _unit(hdu: Hdu, column: str) -> str:
    return hdu.header.string(f"TUNIT{hdu.columns.index(column) + 1}")


READER = Reader("jwst-x1d", Container.FITS, recognises, read, "JWST x1d: tables EXTRACT1D")
