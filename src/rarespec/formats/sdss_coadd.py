"""The COADD table of SDSS spec files, I to V: one row per pixel."""

from __future__ import annotations

from typing import Any

import numpy as np

from rarespec.formats.fits import Hdu
from rarespec.formats.own_columns import one_row
from rarespec.formats.pixels import bad_pixels, has_bits, native
from rarespec.formats.reader import ReadOptions
from rarespec.formats.source import Source
from rarespec.formats.wavelength import is_air, vacuum
from rarespec.spectrum import DefectError, Reason, Spectra

COLUMNS = {"flux", "loglam", "ivar", "and_mask", "or_mask", "wdisp", "sky", "model", "wresl"}
ENOUGH_COLUMNS = 5
"""So many of them tell an SDSS table even when one was renamed or lost."""


def has_coadd(source: Source) -> bool:
    """Whether the first extension is an SDSS coadd; it is not always named."""
    hdus = source.hdus
    if len(hdus) < 2 or not hdus[1].is_table:
        return False
    return len({name.lower() for name in hdus[1].columns} & COLUMNS) >= ENOUGH_COLUMNS


def object_table(source: Source) -> Hdu:
    """HDU 2, which holds one row about the object."""
    hdus = source.hdus
    if len(hdus) < 3 or not hdus[2].is_table:
        raise DefectError(Reason.TRUNCATED, "HDU 2, the table with class and redshift, is missing; fetch it again")
    if hdus[2].n_rows != 1:
        raise DefectError(Reason.LAYOUT, f"{hdus[2].label} has {hdus[2].n_rows} rows instead of one")
    return hdus[2]


def coadded_spectrum(source: Source, catalogue: dict[str, Any], options: ReadOptions) -> Spectra:
    """The single spectrum of this file as a stack."""
    hdu = source.hdus[1]
    flux_name, loglam, ivar_name, mask = (hdu.column_named(n) for n in ("flux", "loglam", "ivar", "and_mask"))
    table = hdu.table()
    flux, ivar = native(table[flux_name])[None], native(table[ivar_name])[None]
    wavelength = 10.0 ** table[loglam].astype(np.float64)
    bad = bad_pixels(flux, ivar, has_bits(table[mask], options.sdss_bad_bits)[None])
    air = is_air(source.hdus[0].header, options)
    return Spectra(vacuum(wavelength, air, hdu.label), flux, ivar, bad, one_row(catalogue))
