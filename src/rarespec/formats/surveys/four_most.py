"""4MOST L1: a table with one row of vectors WAVE, FLUX, ERR_FLUX (or ERR_IVAR), QUAL; FLUX_NOSS still has the sky.

The layout is that of ESO phase 3, under column names of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from rarespec.formats.columns import catalogue_of, one_row, own_cards, stem_of
from rarespec.formats.fits.blocks import Hdu
from rarespec.formats.pixels import ivar_of_error, numbers
from rarespec.formats.reader import Found, Reader, ReadOptions, noted
from rarespec.formats.source import Container, Source
from rarespec.formats.stacks import stack_of
from rarespec.formats.wavelength import Axis, is_air
from rarespec.spectrum import DefectError, Reason

COLUMNS = ("WAVE", "FLUX", "QUAL", "FLUX_NOSS")
ERRORS = ("ERR_FLUX", "ERR_IVAR")
"""Of joined spectra, and of those of a single arm."""
ENOUGH_COLUMNS = 4
"""So many of them tell a table of 4MOST even when one was renamed."""
IDS = ("SPECUID", "SPEC_UID")


def recognises(source: Source) -> bool:
    return _table(source) is not None


def _table(source: Source) -> Hdu | None:
    own = (*COLUMNS, *ERRORS)
    tables = (hdu for hdu in source.hdus if hdu.is_table and hdu.has_column("FLUX_NOSS"))
    return next((hdu for hdu in tables if sum(map(hdu.has_column, own)) >= ENOUGH_COLUMNS), None)


def read(source: Source, options: ReadOptions) -> Iterator[Found]:
    hdu = _table(source) or next((hdu for hdu in source.hdus if hdu.is_table), None)
    if hdu is None:
        raise DefectError(Reason.TRUNCATED, "the table of the spectrum is missing; fetch it again")
    error = next(filter(hdu.has_column, ERRORS), ERRORS[0])
    names = [hdu.column_named(name) for name in ("WAVE", "FLUX", error, "QUAL")]
    if hdu.n_rows != 1:
        raise DefectError(Reason.LAYOUT, f"{hdu.label} has {hdu.n_rows} rows instead of one")
    row = hdu.table()[0]
    wave, flux, errors, flags = (np.atleast_1d(row[name]) for name in names)
    if not wave.shape == flux.shape == errors.shape == flags.shape:
        raise DefectError(Reason.LAYOUT, f"{hdu.label}: {', '.join(names)} differ in length")
    ivar = numbers(errors, error)
    ivar = ivar_of_error(ivar) if error == "ERR_FLUX" else ivar
    axis = Axis.of(wave, unit=_card(hdu, "TUNIT", names[0]), air=_in_air(source, hdu, names[0], options))
    yield from noted(source, axis.note)
    yield stack_of(axis, flux[None], one_row(_catalogue(source, hdu)), ivar=ivar[None], mask=flags[None])


def _card(hdu: Hdu, keyword: str, column: str) -> str:
    return hdu.header.string(f"{keyword}{hdu.columns.index(column) + 1}")


def _in_air(source: Source, hdu: Hdu, column: str, options: ReadOptions) -> bool:
    """The standard of ESO phase 3: em.wl;obs.atmos is a wavelength in air, em.wl one in vacuum."""
    says_air = "obs.atmos" in _card(hdu, "TUCD", column).lower()
    return says_air or is_air(hdu.header, options) or is_air(source.hdus[0].header, options)


def _catalogue(source: Source, hdu: Hdu) -> dict[str, Any]:
    primary = source.hdus[0].header
    own = {**own_cards(hdu.header), **own_cards(primary)}
    name = next((header.string(key) for key in IDS for header in (primary, hdu.header) if header.string(key)), "")
    common = {
        "id": name or stem_of(source.path),
        "ra": primary.number_or_none("RA"),
        "dec": primary.number_or_none("DEC"),
        "snr": primary.number_or_none("SNR"),
        "survey": "4MOST",
        "source": source.name,
    }
    return catalogue_of(common, own, ("ra", "dec", "snr"))


READER = Reader("4most-l1", Container.FITS, recognises, read, "4MOST L1, one spectrum of ESO phase 3")
