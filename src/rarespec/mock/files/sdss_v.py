"""SDSS-V `spec-FIELD-MJD-CATALOGID.fits`: COADD with upper-case columns and WRESL, SPALL, ZALL, ZLINE."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarespec.formats.fits.writing import Column, Header, hdu, parse_columns, primary_cards, row_dtype, table_cards
from rarespec.mock.files.sdss import LINES, ZWARNING_SKY
from rarespec.mock.files.sdss_pixels import pixel_columns, varying_ends
from rarespec.mock.files.target import Layout, Target, publish
from rarespec.spectrum import Spectra, WavelengthGrid

# ---- Columns of the SDSS-V tables, from the public data model.


_COADD = """
FLUX E 10^-17 ergs/s/cm2/Angs
LOGLAM E log10(Angs)
IVAR E (10^-17 ergs/s/cm2/Angs)^-2
AND_MASK J
OR_MASK J
WDISP E pixel=dloglam
SKY E 10^-17 ergs/s/cm2/Angs
WRESL E Angs
MODEL E 10^-17 ergs/s/cm2/Angs
"""

_SPALL = """
FIELD J, MJD J, OBS 3A, MJD_FINAL D, MJD_LIST 29A, TAI_LIST 54A, RUN2D 6A, RUN1D 6A, DESIGNS 4A, CONFIGS 29A
NEXP I, EXPTIME E, TARGET_INDEX J, FIBERID_LIST 19A, SPEC_FILE 42A, PROGRAMNAME 14A, SURVEY 13A, CADENCE 19A
FIRSTCARTON 48A, CARTON_TO_TARGET_PK 16A, OBJTYPE 16A, CATALOGID K, CATALOGID_V0 K, CATALOGID_V0P5 K, SDSS_ID K
SPECOBJID 30A, CALIBFLUX 5E, CALIBFLUX_IVAR 5E, OPTICAL_PROV 26A, MAG 5E, PSFMAG 5E, FIBER2MAG 5E, CATDB_MAG 5E
GAIA_G_MAG E, GRI_GAIA_TRANSFORM J, BP_MAG E, RP_MAG E, GAIA_ID K, WISE_MAG 4E, TWOMASS_MAG 3E, GUVCAT_MAG 2E
EBV E, EBV_TYPE 14A, FIBER_RA D, FIBER_DEC D, PLUG_RA D, PLUG_DEC D, RACAT D, DECCAT D, COORD_EPOCH E, PMRA E
PMDEC E, PARALLAX E, RA_LIST 44A, DEC_LIST 49A, DELTA_RA_LIST 19A, DELTA_DEC_LIST 19A, FIBER_OFFSET J
XFOCAL 39A, YFOCAL 34A, ZOFFSET E, LAMBDA_EFF E, BLUEFIBER J, HEALPIX J, HEALPIXGRP I, HEALPIX_PATH 70A
FIELDQUALITY 4A, EXP_DISP_MED D, FIELDSN2 E, FIELDSNR2G_LIST 24A, FIELDSNR2R_LIST 25A, FIELDSNR2I_LIST 24A
SPEC1_G E, SPEC1_R E, SPEC1_I E, SPEC2_G E, SPEC2_R E, SPEC2_I E, SN_MEDIAN 5E, SN_MEDIAN_ALL E, AIRMASS E
SEEING20 E, SEEING50 E, SEEING80 E, MOON_DIST 29A, MOON_PHASE 24A, ASSIGNED 9A, ON_TARGET 9A, VALID 9A
DECOLLIDED 9A, ANYANDMASK J, ANYORMASK J, SPECPRIMARY B, SPECBOSS B, BOSS_SPECOBJ_ID J, NSPECOBS I
SPECTROFLUX 5E, SPECTROFLUX_IVAR 5E, SPECTROSYNFLUX 5E, SPECTROSYNFLUX_IVAR 5E, SPECTROSKYFLUX 5E, WAVEMIN E
WAVEMAX E, WCOVERAGE E, CLASS 6A, SUBCLASS 21A, Z E, Z_ERR E, ZWARNING J, RCHI2 E, DOF J, RCHI2DIFF E, TFILE 24A
TCOLUMN 10J, NPOLY J, THETA 10E, VDISP E, VDISP_ERR E, VDISPZ E, VDISPZ_ERR E, VDISPCHI2 E, VDISPNPIX E
VDISPDOF J, CHI68P E, FRACNSIGMA 10E, FRACNSIGHI 10E, FRACNSIGLO 10E, Z_NOQSO E, Z_ERR_NOQSO E, ZNUM_NOQSO J
ZWARNING_NOQSO J, CLASS_NOQSO 6A, SUBCLASS_NOQSO 21A, RCHI2DIFF_NOQSO E, XCSAO_RV E, XCSAO_ERV E, XCSAO_RXC E
XCSAO_TEFF E, XCSAO_ETEFF E, XCSAO_LOGG E, XCSAO_ELOGG E, XCSAO_FEH E, XCSAO_EFEH E
"""

_ZALL = """
FIELD J, MJD J, CATALOGID K, TARGET_INDEX J, CLASS 6A, SUBCLASS 21A, Z E, Z_ERR E, RCHI2 E, DOF J, RCHI2DIFF E
TFILE 24A, TCOLUMN 10J, NPOLY J, THETA 10E, VDISP E, VDISP_ERR E, ZWARNING J
"""

_ZLINE = """
TARGET_INDEX J, LINENAME 13A, LINEWAVE D, LINEZ E, LINEZ_ERR E, LINESIGMA E, LINESIGMA_ERR E, LINEAREA E
LINEAREA_ERR E, LINEEW E, LINEEW_ERR E, LINECONTLEVEL E, LINECONTLEVEL_ERR E, LINENPIXLEFT J, LINENPIXRIGHT J
LINEDOF E, LINECHI2 E
"""


@cache
def coadd_columns() -> tuple[Column, ...]:
    return parse_columns(_COADD)


@cache
def spall_columns() -> tuple[Column, ...]:
    return parse_columns(_SPALL)


@cache
def zall_columns() -> tuple[Column, ...]:
    return parse_columns(_ZALL)


@cache
def zline_columns() -> tuple[Column, ...]:
    return parse_columns(_ZLINE)


# ---- sdss v


GRID = WavelengthGrid("log", 3.5523, 1e-4, 4648)
FIRST_CATALOGID = 27021597764222977
"""Above 2^54: neighbouring numbers become the same once they pass through a float."""
N_ZALL = 5


def write(spectra: Spectra, targets: Sequence[Target], directory: Path) -> list[Path]:
    """Write one file per spectrum.

    Parameters
    ----------
    spectra : Spectra
        Spectra on `GRID`, with inverse variances.
    targets : sequence of Target
        One for each row.
    directory : Path
        An existing directory.

    Returns
    -------
    list of Path
        The files, in the order of the rows.
    """
    return [_write_one(spectra, row, target, directory) for row, target in enumerate(targets)]


def field_number(target: Target) -> int:
    return 100000 + target.index // 500


def field_mjd(target: Target) -> int:
    return 59700 + field_number(target) % 500


def catalogue_id(target: Target) -> int:
    return FIRST_CATALOGID + target.index


def _write_one(spectra: Spectra, row: int, target: Target, directory: Path) -> Path:
    pixels = pixel_columns(spectra, row, target, varying_ends(GRID.n_pixels, target))
    name = f"spec-{field_number(target):06d}-{field_mjd(target)}-{catalogue_id(target)}.fits"
    content = _primary(target) + _coadd(pixels) + _spall(target, pixels, name) + _zall(target) + _zline(target)
    return publish(directory / name, content)


def _primary(target: Target) -> bytes:
    return hdu(
        _primary_header().replace(
            {
                "MJD": field_mjd(target),
                # The boresight of the telescope, not the object.
                "RA": round((target.ra + 0.7) % 360.0, 6),
                "DEC": round(max(target.dec - 0.7, -90.0), 6),
                "FIELDID": f"{field_number(target):06d}",
                "PLUG_RA": round(target.ra, 6),
                "PLUG_DEC": round(target.dec, 6),
            }
        )
    )


def _coadd(pixels: dict[str, NDArray[Any]]) -> bytes:
    rows = np.zeros(len(pixels["flux"]), row_dtype(coadd_columns()))
    for name, values in pixels.items():
        rows[name.upper()] = values
    rows["WRESL"] = rows["WDISP"] * 1e-4 * np.log(10.0) * 10.0 ** pixels["loglam"]
    return hdu(_coadd_header().replace({"NAXIS2": len(rows)}), rows.tobytes())


def _spall(target: Target, pixels: dict[str, NDArray[Any]], name: str) -> bytes:
    rows = _spall_row().copy()
    values: dict[str, Any] = {
        "FIELD": field_number(target), "MJD": field_mjd(target), "MJD_FINAL": field_mjd(target) + 0.25,
        "MJD_LIST": str(field_mjd(target)), "TARGET_INDEX": target.index % 500 + 1,
        "FIBERID_LIST": str(target.index % 500 + 1), "SPEC_FILE": name, "CATALOGID": catalogue_id(target),
        "SDSS_ID": 54000000 + target.index, "SPECOBJID": f"{target.index + 1:030d}",
        "OBJTYPE": "SKY" if target.is_sky else "science", "FIBER_RA": target.ra, "FIBER_DEC": target.dec,
        "PLUG_RA": target.ra, "PLUG_DEC": target.dec, "RACAT": target.ra, "DECCAT": target.dec,
        "SN_MEDIAN": target.snr, "SN_MEDIAN_ALL": target.snr,
        "ANYANDMASK": np.bitwise_or.reduce(pixels["and_mask"]), "ANYORMASK": np.bitwise_or.reduce(pixels["or_mask"]),
        "CLASS": target.spectral_class, "SUBCLASS": target.subclass, "Z": target.z,
        "ZWARNING": ZWARNING_SKY if target.is_sky else 0, "DOF": len(pixels["flux"]),
        "WAVEMIN": 10.0 ** pixels["loglam"][0], "WAVEMAX": 10.0 ** pixels["loglam"][-1],
    }  # fmt: skip
    for column, value in values.items():
        rows[column] = value
    return hdu(_table_header("SPALL"), rows.tobytes())


def _zall(target: Target) -> bytes:
    """The best fits in order of chi2; the first is the one SPALL repeats."""
    rows = np.zeros(N_ZALL, row_dtype(zall_columns()))
    rows["FIELD"], rows["MJD"], rows["CATALOGID"] = field_number(target), field_mjd(target), catalogue_id(target)
    rows["CLASS"], rows["Z"], rows["RCHI2"] = "GALAXY", 0.1 * np.arange(N_ZALL), 1.0 + 0.1 * np.arange(N_ZALL)
    rows[0]["CLASS"], rows[0]["SUBCLASS"], rows[0]["Z"] = target.spectral_class, target.subclass, target.z
    return hdu(_table_header("ZALL"), rows.tobytes())


def _zline(target: Target) -> bytes:
    rows = _zline_rows().copy()
    rows["TARGET_INDEX"] = target.index % 500 + 1
    return hdu(_table_header("ZLINE"), rows.tobytes())


@cache
def _coadd_header() -> Header:
    return Header(table_cards(coadd_columns(), 0, "COADD"))


@cache
def _table_header(name: str) -> Header:
    columns, n_rows = {
        "SPALL": (spall_columns(), 1),
        "ZALL": (zall_columns(), N_ZALL),
        "ZLINE": (zline_columns(), len(LINES)),
    }[name]
    return Header(table_cards(columns, n_rows, name))


@cache
def _spall_row() -> NDArray[np.void]:
    rows = np.zeros(1, row_dtype(spall_columns()))
    values: dict[str, Any] = {
        "OBS": "APO", "RUN2D": "v6_1_3", "RUN1D": "v6_1_3", "NEXP": 4, "EXPTIME": 3600.0, "PROGRAMNAME": "mwm_wd",
        "SURVEY": "MWM", "CADENCE": "dark_1x4", "FIRSTCARTON": "mwm_wd_core", "WISE_MAG": np.nan,
        "TWOMASS_MAG": np.nan, "GUVCAT_MAG": np.nan, "EBV_TYPE": "SFD", "COORD_EPOCH": 2016.0, "LAMBDA_EFF": 5400.0,
        "FIELDQUALITY": "good", "AIRMASS": 1.1, "SPECPRIMARY": 1, "SPECBOSS": 1, "NSPECOBS": 1, "Z_ERR": 1e-5,
        "RCHI2": 1.0, "TFILE": "spEigenStar-55734.fits", "TCOLUMN": -1, "NPOLY": 4,
    }  # fmt: skip
    for name, value in values.items():
        rows[name] = value
    return rows


@cache
def _zline_rows() -> NDArray[np.void]:
    rows = np.zeros(len(LINES), row_dtype(zline_columns()))
    rows["LINENAME"], rows["LINEWAVE"] = list(LINES), list(LINES.values())
    for name in rows.dtype.names or ():
        if name.endswith("_ERR") or name == "LINECHI2":
            rows[name] = -1.0
    return rows


@cache
def _primary_header() -> Header:
    return Header(
        [
            *primary_cards(),
            ("TELESCOP", "SDSS 2.5-M", "Sloan Digital Sky Survey"),
            ("FLAVOR", "science", "exposure type, SDSS spectro style"),
            ("MJD", 0, "APO fMJD day at start of exposure"),
            ("CARTID", "FPS-N", "Cartridge used in this plugging"),
            ("OBJSYS", "ICRS", "The TCC objSys"),
            ("RA", 0.0, "RA of telescope boresight (deg)"),
            ("DEC", 0.0, "Dec of telescope boresight (deg)"),
            ("EQUINOX", 2000.0, ""),
            ("RADECSYS", "FK5", ""),
            ("NEXP", 4, "Number of Coadded Exposures"),
            ("EXPTIME", 3600.0, "Total Exposure time in seconds of integration"),
            ("VERS2D", "v6_1_3", "Version of idlspec2d for 2D reduction"),
            ("RUN2D", "v6_1_3", "Spectro-2D reduction name"),
            ("VACUUM", True, "Wavelengths are in vacuum"),
            ("FIELDID", "", ""),
            ("NWORDER", 2, "Linear-log10 coefficients"),
            ("WFITTYPE", "LOG-LINEAR", "Linear-log10 dispersion"),
            ("COEFF0", GRID.start, "Central wavelength (log10) of first pixel"),
            ("COEFF1", GRID.step, "Log10 dispersion per pixel"),
            ("DC-FLAG", 1, "Log-linear flag"),
            ("BUNIT", "1E-17 erg/cm^2/s/Ang", ""),
            ("PLUG_RA", 0.0, "RA of Target"),
            ("PLUG_DEC", 0.0, "DEC of Target"),
        ]
    )


LAYOUT = Layout(GRID, write, "SDSS-V spec-FIELD-MJD-CATALOGID.fits")
