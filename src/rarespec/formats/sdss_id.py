"""Names of SDSS spectra, built the same way from files and from catalogues."""

from __future__ import annotations

BOSS_FIRST_MJD = 55100
"""The first spectrographs saw their last night in 2009 July (MJD 55044), the BOSS ones their first in 2009 December."""


def plate_mjd_fiber(plate: int, mjd: int, fiber: int) -> str:
    """SDSS I-IV: 0355-51788-0579, as in the names of its files; later plates have five digits."""
    return f"{plate:04d}-{mjd:05d}-{fiber:04d}"


def field_mjd_catalogid(field: int, mjd: int, catalogid: int | str) -> str:
    """SDSS-V: 015004-59191-4402835442, as in the names of its files."""
    return f"{field:06d}-{mjd:05d}-{str(catalogid).strip()}"


def survey_of(instrument: object, mjd: int) -> str:
    """`BOSS` for the spectrographs in use from 2009 December on, else `SDSS`; `instrument` is whatever a file says."""
    if instrument:
        return "BOSS" if str(instrument).upper() == "BOSS" else "SDSS"
    return "BOSS" if mjd >= BOSS_FIRST_MJD else "SDSS"
