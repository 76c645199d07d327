"""ESO phase 3 spectra (Science Data Products): a binary table of one row with WAVE, FLUX, ERR and QUAL as arrays.

Flux not calibrated to physical units is called FLUX_REDUCED, its error ERR_REDUCED. Wavelengths are in air if their
UCD says so (em.wl;obs.atmos). QUAL is 0 for good pixels.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rarespec.formats.columns import find, generic_catalogue, own_cards, stem_of
from rarespec.formats.fits.blocks import Hdu
from rarespec.formats.reader import Found, Reader, ReadOptions
from rarespec.formats.source import Container, Source
from rarespec.formats.stacks import Arrays, spectrum_of_arrays
from rarespec.formats.wavelength import is_air
from rarespec.spectrum import DefectError, Reason

WAVE = ("wave", "wavelength")
FLUX = ("flux", "flux_reduced", "bgflux_reduced")
ERROR = ("err", "err_reduced", "err_flux", "error")
QUALITY = ("qual", "qual_reduced")


def recognises(source: Source) -> bool:
    return any(_is_product(hdu) and find(hdu.columns, FLUX) for hdu in source.hdus)


def _is_product(hdu: Hdu) -> bool:
    """A single row with WAVE, in a file of the data standard: VOCLASS, or the type of each column."""
    if not hdu.is_table or hdu.n_rows != 1 or not find(hdu.columns, WAVE):
        return False
    return "SPECTRUM" in hdu.header.string("VOCLASS").upper() or "Spectrum" in hdu.header.string("TUTYP1")


def read(source: Source, options: ReadOptions) -> Iterator[Found]:
    hdu = next((hdu for hdu in source.hdus if _is_product(hdu)), None)
    if hdu is None:
        raise DefectError(Reason.LAYOUT, "contains no table of one row with WAVE and VOCLASS 'SPECTRUM V...'")
    wave, flux = find(hdu.columns, WAVE), find(hdu.columns, FLUX)
    if flux is None:
        raise DefectError(Reason.MISSING_COLUMN, f"{hdu.label} has neither FLUX nor FLUX_REDUCED")
    assert wave
    row = hdu.table()[0]
    error, quality = (row[name] if name else None for name in (find(hdu.columns, ERROR), find(hdu.columns, QUALITY)))
    values = [value for value in (row[flux], error, quality) if value is not None]
    if any(np.shape(value) != np.shape(row[wave]) for value in values):
        raise DefectError(Reason.LAYOUT, f"{hdu.label}: the arrays of its row differ in length")
    place = hdu.columns.index(wave) + 1
    air = "obs.atmos" in hdu.header.string(f"TUCD{place}") or is_air(source.hdus[0].header, options)
    arrays = Arrays(row[flux], error, quality, hdu.header.string(f"TUNIT{hdu.columns.index(flux) + 1}"))
    cards = {**own_cards(source.hdus[0].header), **own_cards(hdu.header)}
    catalogue = generic_catalogue({key: [value] for key, value in cards.items()}, source.name, [stem_of(source.path)])
    catalogue |= {"survey": [str(cards.get("instrume") or "ESO")]}
    unit = hdu.header.string(f"TUNIT{place}")
    yield from spectrum_of_arrays(source, row[wave], arrays, catalogue, unit, air, options.wavelength_unit)


READER = Reader("eso-sdp", Container.FITS, recognises, read, "ESO phase 3 spectrum: a row of arrays WAVE, FLUX, ERR")
