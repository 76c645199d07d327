"""SDSS spectra: I-IV and V spec files, with the names and tables that they share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from rarespec.formats.columns import catalogue_of, one_row, own_row
from rarespec.formats.fits.blocks import Hdu
from rarespec.formats.pixels import bad_pixels, has_bits, native
from rarespec.formats.reader import Reader, ReadOptions
from rarespec.formats.source import Container, Source
from rarespec.formats.wavelength import is_air, vacuum
from rarespec.spectrum import DefectError, Reason, Spectra

# ---- The COADD table of SDSS spec files, I to V: one row per pixel.


COLUMNS = {"flux", "loglam", "ivar", "and_mask", "or_mask", "wdisp", "sky", "model", "wresl"}
ENOUGH_COLUMNS = 5
"""So many of them tell an SDSS table even when one was renamed or lost."""


def has_coadd(source: Source) -> bool:
    """Say whether the first extension is an SDSS coadd; it is not always named."""
    hdus = source.hdus
    if len(hdus) < 2 or not hdus[1].is_table:
        return False
    return len({name.lower() for name in hdus[1].columns} & COLUMNS) >= ENOUGH_COLUMNS


def object_table(source: Source) -> Hdu:
    """Find HDU 2, which holds one row about the object."""
    hdus = source.hdus
    if len(hdus) < 3 or not hdus[2].is_table:
        raise DefectError(Reason.TRUNCATED, "HDU 2, the table with class and redshift, is missing; fetch it again")
    if hdus[2].n_rows != 1:
        raise DefectError(Reason.LAYOUT, f"{hdus[2].label} has {hdus[2].n_rows} rows instead of one")
    return hdus[2]


def read_coadd(source: Source, catalogue: dict[str, Any], options: ReadOptions) -> Spectra:
    """Read the single spectrum of an SDSS spec file from its COADD table.

    Parameters
    ----------
    source : Source
        The open file.
    catalogue : dict
        Column -> value of this spectrum.
    options : ReadOptions
        Which and_mask bits make a pixel bad, and whether wavelengths are in air.

    Returns
    -------
    Spectra
        A stack of one.

    Raises
    ------
    DefectError
        If a column is missing, or the wavelengths do not increase.
    """
    hdu = source.hdus[1]
    flux_name, loglam, ivar_name, mask = (hdu.column_named(n) for n in ("flux", "loglam", "ivar", "and_mask"))
    table = hdu.table()
    flux, ivar = native(table[flux_name])[None], native(table[ivar_name])[None]
    wavelength = 10.0 ** table[loglam].astype(np.float64)
    bad = bad_pixels(flux, ivar, has_bits(table[mask], options.sdss_bad_bits)[None])
    air = is_air(source.hdus[0].header, options)
    return Spectra(vacuum(wavelength, air, hdu.label), flux, ivar, bad, one_row(catalogue))


# ---- Names of SDSS spectra, built the same way from files and from catalogues.


BOSS_FIRST_MJD = 55100
"""The first spectrographs saw their last night in 2009 July (MJD 55044), the BOSS ones their first in 2009 December."""


def plate_mjd_fiber(plate: int, mjd: int, fiber: int) -> str:
    """Build the id of an SDSS I-IV spectrum, as in the name of its file: 0355-51788-0579.

    Parameters
    ----------
    plate : int
        Plate; later ones have five digits.
    mjd : int
        Modified Julian date of the observation.
    fiber : int
        Fibre, from 1.

    Returns
    -------
    str
        The id.

    Examples
    --------
    >>> from rarespec.formats.surveys.sdss import plate_mjd_fiber
    >>> plate_mjd_fiber(355, 51788, 579)
    '0355-51788-0579'
    """
    return f"{plate:04d}-{mjd:05d}-{fiber:04d}"


def field_mjd_catalogid(field: int, mjd: int, catalogid: int | str) -> str:
    """Build the id of an SDSS-V spectrum, as in the name of its file: 015004-59191-4402835442.

    Parameters
    ----------
    field : int
        Field.
    mjd : int
        Modified Julian date of the observation.
    catalogid : int or str
        CATALOGID of the object; never a float, which would round it.

    Returns
    -------
    str
        The id.

    Examples
    --------
    >>> from rarespec.formats.surveys.sdss import field_mjd_catalogid
    >>> field_mjd_catalogid(15004, 59191, 4402835442)
    '015004-59191-4402835442'
    """
    return f"{field:06d}-{mjd:05d}-{str(catalogid).strip()}"


def survey_of(instrument: object, mjd: int) -> str:
    """`BOSS` for the spectrographs in use from 2009 December on, else `SDSS`; `instrument` is whatever a file says."""
    if instrument:
        return "BOSS" if str(instrument).upper() == "BOSS" else "SDSS"
    return "BOSS" if mjd >= BOSS_FIRST_MJD else "SDSS"


# ---- SDSS I-IV spec-PLATE-MJD-FIBER.fits, lite and full, of the SDSS and the BOSS spectrographs.


_TAKEN = ("z", "class", "subclass")
OWN_ID, OWN_SURVEY = "rarespec_id", "rarespec_survey"
"""Columns of files that `rarespec export` wrote in this layout, whatever survey the spectra are of."""


def recognises(source: Source) -> bool:
    return has_coadd(source) and not is_sdss_v(source)


def is_sdss_v(source: Source) -> bool:
    """SDSS-V names its objects by CATALOGID, and has a resolution column in place of the model."""
    hdus = source.hdus
    if len(hdus) > 2 and hdus[2].has_column(OWN_ID):
        return False
    return hdus[1].has_column("WRESL") or (len(hdus) > 2 and hdus[2].has_column("CATALOGID"))


def read(source: Source, options: ReadOptions) -> Iterator[Spectra]:
    yield read_coadd(source, _catalogue(source), options)


def _catalogue(source: Source) -> dict[str, Any]:
    own = own_row(object_table(source).table())
    if OWN_ID in own:
        return _exported(source, own)
    mjd = _integer(source, own, "mjd", "MJD")
    common = {
        "id": plate_mjd_fiber(
            _integer(source, own, "plate", "PLATEID"), mjd, _integer(source, own, "fiberid", "FIBERID")
        ),
        "ra": _position(source, own, "plug_ra"),
        "dec": _position(source, own, "plug_dec"),
        "z": own.get("z"),
        "class": own.get("class"),
        "subclass": own.get("subclass"),
        "snr": own.get("sn_median_all"),
        "survey": survey_of(own.get("instrument"), mjd),
        "source": source.name,
    }
    return catalogue_of(common, own, _TAKEN)


def _exported(source: Source, own: dict[str, Any]) -> dict[str, Any]:
    """The catalogue of a file that rarespec wrote in SDSS's layout: it says its id and its survey itself."""
    common = {
        "id": str(own.pop(OWN_ID)),
        "survey": own.pop(OWN_SURVEY, None) or "unknown",
        "ra": own.pop("plug_ra", None),
        "dec": own.pop("plug_dec", None),
        "z": own.get("z"),
        "class": own.get("class"),
        "subclass": own.get("subclass"),
        "snr": own.pop("sn_median_all", None),
        "source": source.name,
    }
    return catalogue_of(common, own, _TAKEN)


def _integer(source: Source, own: dict[str, Any], column: str, card: str) -> int:
    value = own.get(column, source.hdus[0].header.get(card))
    if isinstance(value, bool) or not isinstance(value, int):
        raise DefectError(
            Reason.MISSING_COLUMN,
            f"{source.hdus[2].label} has no column {column.upper()} with a whole number, nor has the primary header "
            f"a card {card}, so it has no id",
        )
    return value


def _position(source: Source, own: dict[str, Any], column: str) -> float | None:
    """Read the position of the object. RA and DEC of the primary header are where the telescope pointed."""
    value = own.get(column)
    return value if value is not None else source.hdus[0].header.number(column.upper())


READER = Reader("sdss-spec", Container.FITS, recognises, read, "SDSS I-IV spec-PLATE-MJD-FIBER.fits, lite and full")
