"""SDSS I-IV `spec-PLATE-MJD-FIBER.fits`, lite: primary header, COADD, SPECOBJ, SPZLINE."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarespec.formats.fits.writing import (
    Card,
    Column,
    Header,
    hdu,
    parse_columns,
    primary_cards,
    row_dtype,
    table_cards,
)
from rarespec.mock.files.sdss_pixels import pixel_columns, varying_ends
from rarespec.mock.files.target import Layout, Target, publish
from rarespec.spectrum import Spectra, WavelengthGrid

# ---- Columns of the SDSS I-IV tables, from the public data model.


_COADD = "flux E, loglam E, ivar E, and_mask J, or_mask J, wdisp E, sky E, model E"

_SPECOBJ = """
SURVEY 6A, INSTRUMENT 4A, CHUNK 16A, PROGRAMNAME 23A, PLATERUN 16A, PLATEQUALITY 8A, PLATESN2 E, DEREDSN2 E
LAMBDA_EFF E, BLUEFIBER J, ZOFFSET E, SNTURNOFF E, NTURNOFF J, SPECPRIMARY B, SPECLEGACY B, SPECSEGUE B
SPECSEGUE1 B, SPECSEGUE2 B, SPECBOSS B, BOSS_SPECOBJ_ID J, SPECOBJID 22A, FLUXOBJID 19A, BESTOBJID 19A
TARGETOBJID 22A, PLATEID 19A, NSPECOBS I, FIRSTRELEASE 3A, RUN2D 3A, RUN1D 1A, DESIGNID J, CX D, CY D, CZ D
XFOCAL E, YFOCAL E, SOURCETYPE 19A, TARGETTYPE 8A, PRIMTARGET J, SECTARGET J, LEGACY_TARGET1 J, LEGACY_TARGET2 J
SPECIAL_TARGET1 K, SPECIAL_TARGET2 K, SEGUE1_TARGET1 J, SEGUE1_TARGET2 J, SEGUE2_TARGET1 J, SEGUE2_TARGET2 J
MARVELS_TARGET1 J, MARVELS_TARGET2 J, BOSS_TARGET1 K, BOSS_TARGET2 K, ANCILLARY_TARGET1 K, ANCILLARY_TARGET2 K
SPECTROGRAPHID I, PLATE J, TILE J, MJD J, FIBERID J, OBJID 5J, PLUG_RA D, PLUG_DEC D, CLASS 6A, SUBCLASS 21A
Z E, Z_ERR E, RCHI2 E, DOF J, RCHI2DIFF E, TFILE 24A, TCOLUMN 10J, NPOLY J, THETA 10E, VDISP E, VDISP_ERR E
VDISPZ E, VDISPZ_ERR E, VDISPCHI2 E, VDISPNPIX E, VDISPDOF J, WAVEMIN E, WAVEMAX E, WCOVERAGE E, ZWARNING J
SN_MEDIAN_ALL E, SN_MEDIAN 5E, CHI68P E, FRACNSIGMA 10E, FRACNSIGHI 10E, FRACNSIGLO 10E, SPECTROFLUX 5E
SPECTROFLUX_IVAR 5E, SPECTROSYNFLUX 5E, SPECTROSYNFLUX_IVAR 5E, SPECTROSKYFLUX 5E, ANYANDMASK J, ANYORMASK J
SPEC1_G E, SPEC1_R E, SPEC1_I E, SPEC2_G E, SPEC2_R E, SPEC2_I E, ELODIE_FILENAME 25A, ELODIE_OBJECT 21A
ELODIE_SPTYPE 10A, ELODIE_BV E, ELODIE_TEFF E, ELODIE_LOGG E, ELODIE_FEH E, ELODIE_Z E, ELODIE_Z_ERR E
ELODIE_Z_MODELERR E, ELODIE_RCHI2 E, ELODIE_DOF J, Z_NOQSO E, Z_ERR_NOQSO E, ZWARNING_NOQSO J, CLASS_NOQSO 1A
SUBCLASS_NOQSO 1A, RCHI2DIFF_NOQSO E, Z_PERSON E, CLASS_PERSON J, Z_CONF_PERSON J, COMMENTS_PERSON 1A
CALIBFLUX 5E, CALIBFLUX_IVAR 5E
"""

_SPZLINE = """
PLATE J, MJD J, FIBERID J, LINENAME 13A, LINEWAVE D, LINEZ E, LINEZ_ERR E, LINESIGMA E, LINESIGMA_ERR E
LINEAREA E, LINEAREA_ERR E, LINEEW E, LINEEW_ERR E, LINECONTLEVEL E, LINECONTLEVEL_ERR E, LINENPIXLEFT J
LINENPIXRIGHT J, LINEDOF E, LINECHI2 E
"""

_PLUGMAP = """
OBJID 5J, HOLETYPE 16A, RA D, DEC D, MAG 5E, STARL E, EXPL E, DEVAUCL E, OBJTYPE 16A, XFOCAL D, YFOCAL D
SPECTROGRAPHID J, FIBERID J, THROUGHPUT J, PRIMTARGET J, SECTARGET J
"""

_ZBEST = """
PLATE J, TILE J, MJD J, FIBERID J, OBJID 5J, OBJTYPE 16A, PLUG_RA D, PLUG_DEC D, CLASS 6A, SUBCLASS 21A, Z E
Z_ERR E, RCHI2 E, DOF J, RCHI2DIFF E, ZWARNING J, SN_MEDIAN E
"""

LINES = {
    "Ly_alpha": 1215.67, "N_V 1240": 1240.81, "C_IV 1549": 1549.48, "He_II 1640": 1640.42, "C_III] 1908": 1908.73,
    "Mg_II 2799": 2800.32, "[O_II] 3725": 3727.09, "[O_II] 3727": 3729.88, "[Ne_III] 3868": 3869.86,
    "H_epsilon": 3890.15, "[Ne_III] 3970": 3971.12, "H_delta": 4102.89, "H_gamma": 4341.68, "[O_III] 4363": 4364.44,
    "He_II 4685": 4686.99, "H_beta": 4862.68, "[O_III] 4959": 4960.29, "[O_III] 5007": 5008.24,
    "He_II 5411": 5413.02, "[O_I] 5577": 5578.89, "[O_I] 6300": 6302.05, "[S_III] 6312": 6313.81,
    "[O_I] 6363": 6365.54, "[N_II] 6548": 6549.86, "H_alpha": 6564.61, "[N_II] 6583": 6585.27,
    "[S_II] 6716": 6718.29, "[S_II] 6730": 6732.68, "[Ar_III] 7135": 7137.76,
}  # fmt: skip
"""Emission lines that the pipeline measures: name -> vacuum Angstrom."""


@cache
def coadd_columns() -> tuple[Column, ...]:
    return parse_columns(_COADD)


@cache
def specobj_columns() -> tuple[Column, ...]:
    return parse_columns(_SPECOBJ)


@cache
def spzline_columns() -> tuple[Column, ...]:
    return parse_columns(_SPZLINE)


@cache
def plugmap_columns() -> tuple[Column, ...]:
    return parse_columns(_PLUGMAP)


@cache
def zbest_columns() -> tuple[Column, ...]:
    return parse_columns(_ZBEST)


GRID = WavelengthGrid("log", 3.5797, 1e-4, 3850)
RUN2D = 26
ZWARNING_SKY = 1
FIRST_OBJID = 1237645876861272064


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


def _write_one(spectra: Spectra, row: int, target: Target, directory: Path) -> Path:
    pixels = pixel_columns(spectra, row, target, varying_ends(GRID.n_pixels, target))
    content = _primary(target) + coadd_hdu(pixels) + _specobj(target, pixels) + _spzline(target)
    return publish(directory / f"spec-{target.plate:04d}-{target.mjd}-{target.fiberid:04d}.fits", content)


def spec_object_id(target: Target) -> int:
    """SPECOBJID of DR8 and later: plate, fibre, MJD and reduction packed into 64 bits."""
    return target.plate << 50 | target.fiberid << 38 | (target.mjd - 50000) << 24 | RUN2D << 10


def coadd_hdu(pixels: dict[str, NDArray[Any]]) -> bytes:
    """The COADD table: one row per pixel."""
    rows = np.empty(len(pixels["flux"]), row_dtype(coadd_columns()))
    for column in coadd_columns():
        rows[column.name] = pixels[column.name]
    return hdu(_coadd_header().replace({"NAXIS2": len(rows)}), rows.tobytes())


def _primary(target: Target) -> bytes:
    return hdu(
        _primary_header().replace(
            {
                # The boresight of the telescope, up to 1.5 degrees away from the object.
                "RA": round((target.ra + 0.7) % 360.0, 6),
                "DEC": round(max(target.dec - 0.7, -90.0), 6),
                "MJD": target.mjd,
                "MJDLIST": str(target.mjd),
                "PLATEID": target.plate,
                "NAME": f"{target.plate:04d}-{target.mjd}-01",
                "PLUGFILE": f"plPlugMapM-{target.plate:04d}-{target.mjd}-01.par",
                "PLUG_RA": round(target.ra, 6),
                "PLUG_DEC": round(target.dec, 6),
                "SPEC_ID": f"{spec_object_id(target):22d}",
                "FIBERID": target.fiberid,
            }
        )
    )


def _specobj(target: Target, pixels: dict[str, NDArray[Any]]) -> bytes:
    rows = _specobj_row().copy()
    object_id = f"{spec_object_id(target):22d}"
    ra, dec = np.radians(target.ra), np.radians(target.dec)
    values: dict[str, Any] = {
        "SPECOBJID": object_id, "PLATEID": f"{target.plate << 50:19d}", "BESTOBJID": str(FIRST_OBJID + target.index),
        "CX": np.cos(dec) * np.cos(ra), "CY": np.cos(dec) * np.sin(ra), "CZ": np.sin(dec),
        "PLATE": target.plate, "MJD": target.mjd, "FIBERID": target.fiberid,
        "SPECTROGRAPHID": 1 if target.fiberid <= 320 else 2, "PLUG_RA": target.ra, "PLUG_DEC": target.dec,
        "CLASS": target.spectral_class, "SUBCLASS": target.subclass, "Z": target.z,
        "ZWARNING": ZWARNING_SKY if target.is_sky else 0, "DOF": len(pixels["flux"]),
        "TARGETTYPE": "SKY" if target.is_sky else "SCIENCE", "SOURCETYPE": "SKY" if target.is_sky else "NONLEGACY",
        "WAVEMIN": 10.0 ** pixels["loglam"][0], "WAVEMAX": 10.0 ** pixels["loglam"][-1],
        "SN_MEDIAN_ALL": target.snr, "SN_MEDIAN": target.snr,
        "ANYANDMASK": np.bitwise_or.reduce(pixels["and_mask"]), "ANYORMASK": np.bitwise_or.reduce(pixels["or_mask"]),
    }  # fmt: skip
    for name, value in values.items():
        rows[name] = value
    return hdu(_specobj_header(), rows.tobytes())


def _spzline(target: Target) -> bytes:
    rows = _spzline_rows().copy()
    rows["PLATE"], rows["MJD"], rows["FIBERID"] = target.plate, target.mjd, target.fiberid
    return hdu(_spzline_header(), rows.tobytes())


@cache
def _coadd_header() -> Header:
    return Header([*table_cards(coadd_columns(), 0, "COADD"), ("COMMENT", "Coadded spectrum", "")])


@cache
def _specobj_header() -> Header:
    return Header([*table_cards(specobj_columns(), 1, "SPECOBJ"), ("COMMENT", "Metadata from specObj row", "")])


@cache
def _spzline_header() -> Header:
    return Header([*table_cards(spzline_columns(), len(LINES), "SPZLINE"), ("COMMENT", "Line fits from spZline", "")])


@cache
def _specobj_row() -> NDArray[np.void]:
    """The row with everything that does not change from file to file; what was not measured is 0 or blank."""
    rows = np.zeros(1, row_dtype(specobj_columns()))
    values: dict[str, Any] = {
        "SURVEY": "segue1", "INSTRUMENT": "SDSS", "CHUNK": "chunk182", "PROGRAMNAME": "seguefaint",
        "PLATERUN": "dr2008.01.5", "PLATEQUALITY": "good", "LAMBDA_EFF": 5000.0, "SPECPRIMARY": 1, "SPECSEGUE": 1,
        "SPECSEGUE1": 1, "NSPECOBS": 1, "FIRSTRELEASE": "dr7", "RUN2D": str(RUN2D), "DESIGNID": -1, "Z_ERR": 1e-5,
        "RCHI2": 1.0, "TFILE": "spEigenStar-54474.fits", "TCOLUMN": -1, "NPOLY": 4, "WCOVERAGE": 0.37,
    }  # fmt: skip
    for name, value in values.items():
        rows[name] = value
    return rows


@cache
def _spzline_rows() -> NDArray[np.void]:
    """Lines that were not measured: 0 with an error of -1, as the pipeline writes them."""
    rows = np.zeros(len(LINES), row_dtype(spzline_columns()))
    rows["LINENAME"], rows["LINEWAVE"] = list(LINES), list(LINES.values())
    for name in rows.dtype.names or ():
        if name.endswith("_ERR") or name == "LINECHI2":
            rows[name] = -1.0
    return rows


def plate_cards() -> list[Card]:
    """The cards of the plate that spec files and spPlate files share."""
    return [
        ("TAI", 4710135681.83, "1st row Number of seconds since Nov 17 1858"),
        ("RA", 0.0, "1st row RA of telescope boresight (deg)"),
        ("DEC", 0.0, "1st row Dec of telescope boresight (degrees)"),
        ("EQUINOX", 2000.0, ""),
        ("RADECSYS", "FK5", ""),
        ("TAIHMS", "02:19:45.52", "1st row TAI time HH:MM:SS.SS"),
        ("TIMESYS", "tai", "TAI, not UTC"),
        ("MJD", 0, "MJD of observation"),
        ("MJDLIST", "", ""),
        ("VERSION", "v4_38_0", "version of IOP"),
        ("TELESCOP", "SDSS 2.5-M", "Sloan Digital Sky Survey"),
        ("NEXP_B1", 3, "b1 camera number of exposures"),
        ("NEXP_R1", 3, "r1 camera number of exposures"),
        ("EXPTIME", 2700.0, "Minimum of exposure times for all cameras"),
        ("FLAVOR", "science", "Flavor of this sequence"),
        ("QUALITY", "excellent", "night/image quality"),
        ("PLATEID", 0, "Plate Id"),
        ("TILEID", 8456, "Tile Id"),
        ("CARTID", 9, "Cartridge used in this plugging"),
        ("NAME", "", "Name of target; PlateId-MJD-Mapper Re"),
        ("VERS2D", "v5_3_12", "Version of idlspec2d for 2D reduction"),
        ("VERSCOMB", "v5_3_12", "Version of idlspec2d for combining multiple spe"),
        ("PLUGFILE", "", ""),
        ("HELIO_RV", 26.2473786144, "Heliocentric correction (added to velocities)"),
        ("VACUUM", True, "Wavelengths are in vacuum"),
        ("SFLATTEN", True, "Superflat has been applied"),
        ("SKYCHI2", 1.2, "Mean chi^2 of sky-subtraction"),
        ("NSTD", 14, "Number of (good) std stars"),
        ("NWORDER", 2, "Linear-log10 coefficients"),
        ("WFITTYPE", "LOG-LINEAR", "Linear-log10 dispersion"),
        ("COEFF0", GRID.start, "Central wavelength (log10) of first pixel"),
        ("COEFF1", GRID.step, "Log10 dispersion per pixel"),
        ("WAT0_001", "system=linear", ""),
        ("WAT1_001", "wtype=linear label=Wavelength units=Angstroms", ""),
        ("DC-FLAG", 1, "Log-linear flag"),
        ("BUNIT", "1E-17 erg/cm^2/s/Ang", ""),
    ]


@cache
def _primary_header() -> Header:
    exposures: list[Card] = [
        (f"EXPID{i + 1:02d}", f"{camera}1-{7345 + i % 3:08d}-00007348-00007349", "")
        for i, camera in enumerate("bbbrrr")
    ]
    return Header(
        [
            *primary_cards(),
            # COEFF0 is the plate's first pixel, not this file's: only loglam tells where a spectrum starts.
            *plate_cards(),
            ("PLUG_RA", 0.0, "RA of object [deg]"),
            ("PLUG_DEC", 0.0, "dec of object [deg]"),
            ("SPEC_ID", "", "Unique object identifier"),
            ("FIBERID", 0, "Fiber number (1-640)"),
            ("NEXP", 6, "Number of individual exposures"),
            *exposures,
        ]
    )


LAYOUT = Layout(GRID, write, "SDSS I-IV spec-PLATE-MJD-FIBER.fits, lite")
