"""The tables of DESI coadd and redrock files: FIBERMAP, EXP_FIBERMAP, SCORES, REDSHIFTS, TSNR2."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from rarespec.formats.fits.writing import Column, parse_columns, row_dtype, table_hdu
from rarespec.mock.files.target import Target

# ---- Columns of the DESI tables, from the public data model.


_FIBERMAP = """
TARGETID K, PETAL_LOC I, DEVICE_LOC J, LOCATION K, FIBER J, COADD_FIBERSTATUS J, TARGET_RA D deg, TARGET_DEC D deg
DESINAME 22A, PMRA E mas yr-1, PMDEC E mas yr-1, REF_EPOCH E yr, FA_TARGET K, FA_TYPE B, OBJTYPE 3A, SUBPRIORITY D
OBSCONDITIONS J, RELEASE I, BRICKNAME 8A, BRICKID J, BRICK_OBJID J, MORPHTYPE 4A, EBV E mag, FLUX_G E nanomaggy
FLUX_R E nanomaggy, FLUX_Z E nanomaggy, FLUX_W1 E nanomaggy, FLUX_W2 E nanomaggy, FLUX_IVAR_G E nanomaggy^-2
FLUX_IVAR_R E nanomaggy^-2, FLUX_IVAR_Z E nanomaggy^-2, FLUX_IVAR_W1 E nanomaggy^-2, FLUX_IVAR_W2 E nanomaggy^-2
FIBERFLUX_G E nanomaggy, FIBERFLUX_R E nanomaggy, FIBERFLUX_Z E nanomaggy, FIBERTOTFLUX_G E nanomaggy
FIBERTOTFLUX_R E nanomaggy, FIBERTOTFLUX_Z E nanomaggy, MASKBITS I, SERSIC E, SHAPE_R E arcsec, SHAPE_E1 E
SHAPE_E2 E, REF_ID K, REF_CAT 2A, GAIA_PHOT_G_MEAN_MAG E mag, GAIA_PHOT_BP_MEAN_MAG E mag
GAIA_PHOT_RP_MEAN_MAG E mag, PARALLAX E mas, PHOTSYS 1A, PRIORITY_INIT K, NUMOBS_INIT K, DESI_TARGET K
BGS_TARGET K, MWS_TARGET K, SCND_TARGET K, PLATE_RA D deg, PLATE_DEC D deg, TILEID J, COADD_NUMEXP I
COADD_EXPTIME E s, COADD_NUMNIGHT I, COADD_NUMTILE I, MEAN_DELTA_X E mm, RMS_DELTA_X E mm, MEAN_DELTA_Y E mm
RMS_DELTA_Y E mm, MEAN_PSF_TO_FIBER_SPECFLUX E, MEAN_FIBER_RA D deg, STD_FIBER_RA E deg, MEAN_FIBER_DEC D deg
STD_FIBER_DEC E deg, MIN_MJD D d, MAX_MJD D d, MEAN_MJD D d
"""

_EXP_FIBERMAP = """
TARGETID K, PRIORITY J, SUBPRIORITY D, NIGHT J, EXPID J, MJD D d, TILEID J, EXPTIME D s, PETAL_LOC I
DEVICE_LOC J, LOCATION K, FIBER J, FIBERSTATUS J, FIBERASSIGN_X E mm, FIBERASSIGN_Y E mm, LAMBDA_REF E Angstrom
PLATE_RA D deg, PLATE_DEC D deg, NUM_ITER K, FIBER_X D mm, FIBER_Y D mm, DELTA_X D mm, DELTA_Y D mm
FIBER_RA D deg, FIBER_DEC D deg, PSF_TO_FIBER_SPECFLUX D, IN_COADD_B L, IN_COADD_R L, IN_COADD_Z L
"""

_REDSHIFTS = """
TARGETID K, Z D, ZERR D, ZWARN K, CHI2 D, COEFF 10D, FITMETHOD 4A, NPIXELS K, SPECTYPE 6A, SUBTYPE 20A, NCOEFF K
DELTACHI2 D
"""

_TSNR2_KINDS = ("BGS", "ELG", "GPBBACKUP", "GPBBRIGHT", "GPBDARK", "LRG", "LYA", "QSO")


@cache
def fibermap_columns() -> tuple[Column, ...]:
    return parse_columns(_FIBERMAP)


@cache
def exp_fibermap_columns() -> tuple[Column, ...]:
    return parse_columns(_EXP_FIBERMAP)


@cache
def redshift_columns() -> tuple[Column, ...]:
    return parse_columns(_REDSHIFTS)


@cache
def tsnr2_columns() -> tuple[Column, ...]:
    names = [f"TSNR2_{kind}{camera}" for camera in ("_B", "_R", "_Z", "") for kind in _TSNR2_KINDS]
    return (Column("TARGETID", "K"), *(Column(name, "E") for name in names))


@cache
def score_columns() -> tuple[Column, ...]:
    measures = ("INTEG_COADD_FLUX", "MEDIAN_COADD_FLUX", "MEDIAN_COADD_SNR")
    coadd = [Column(f"{measure}_{camera}", "E") for camera in "BRZ" for measure in measures]
    return (Column("TARGETID", "K"), *coadd, *tsnr2_columns()[1:])


# ---- desi tables


RELEASE = 9010
N_EXPOSURES = 2
NIGHT = 20210419
BROKEN_FIBRE = 1 << 9 | 1 << 0
ZWARN_NODATA = 1 << 9
FIRST_EXPID = 85000


@dataclass(frozen=True, slots=True)
class Fibre:
    """One row of a coadd file: a target, a sky fibre (no target), or a broken one."""

    targetid: int
    target: Target | None
    objtype: str
    status: int


def target_id(target: Target) -> int:
    """TARGETID: imaging release, brick and object packed into 64 bits, above 2^53."""
    return RELEASE << 42 | (330000 + (target.index >> 20)) << 22 | target.index & 0xFFFFF


def fibermap(fibres: Sequence[Fibre], petal: int, tile: int) -> NDArray[np.void]:
    """Fill the FIBERMAP table of a coadd file.

    Parameters
    ----------
    fibres : sequence of Fibre
        The rows; at least one has a target.
    petal : int
        Number of the petal, 0 to 9.
    tile : int
        TILEID.

    Returns
    -------
    (n,) structured array
        One row per fibre, with the columns of `fibermap_columns`.
    """
    rows = np.zeros(len(fibres), row_dtype(fibermap_columns()))
    rows["TARGETID"] = [fibre.targetid for fibre in fibres]
    rows["OBJTYPE"] = [fibre.objtype for fibre in fibres]
    rows["COADD_FIBERSTATUS"] = [fibre.status for fibre in fibres]
    rows["PETAL_LOC"], rows["TILEID"] = petal, tile
    rows["DEVICE_LOC"] = rows["FIBER"] = np.arange(len(fibres))
    rows["LOCATION"] = petal * 1000 + rows["DEVICE_LOC"]
    _fill_positions(rows, fibres)
    _fill_constants(rows)
    return rows


def _fill_positions(rows: NDArray[np.void], fibres: Sequence[Fibre]) -> None:
    known = [fibre.target for fibre in fibres if fibre.target is not None]
    ra = np.array([np.nan if fibre.target is None else fibre.target.ra for fibre in fibres])
    dec = np.array([np.nan if fibre.target is None else fibre.target.dec for fibre in fibres])
    # Fibres without a target look at the sky near the first one.
    ra, dec = np.where(np.isnan(ra), known[0].ra, ra), np.where(np.isnan(dec), known[0].dec, dec)
    for name in ("TARGET_RA", "PLATE_RA", "MEAN_FIBER_RA"):
        rows[name] = ra
    for name in ("TARGET_DEC", "PLATE_DEC", "MEAN_FIBER_DEC"):
        rows[name] = dec
    rows["DESINAME"] = [f"DESI J{a:08.4f}{d:+08.4f}" for a, d in zip(ra, dec, strict=True)]


def _fill_constants(rows: NDArray[np.void]) -> None:
    rows["REF_EPOCH"], rows["FA_TYPE"], rows["RELEASE"], rows["MORPHTYPE"] = 2015.5, 1, RELEASE, "PSF"
    rows["COADD_NUMEXP"], rows["COADD_EXPTIME"] = N_EXPOSURES, 1800.0
    rows["COADD_NUMNIGHT"], rows["COADD_NUMTILE"] = 1, 1
    rows["MIN_MJD"], rows["MEAN_MJD"], rows["MAX_MJD"] = 59323.2, 59323.21, 59323.22


def exp_fibermap(per_target: NDArray[np.void]) -> NDArray[np.void]:
    """One row per target and exposure."""
    source = np.repeat(per_target, N_EXPOSURES)
    rows = np.zeros(len(source), row_dtype(exp_fibermap_columns()))
    for name in ("TARGETID", "PETAL_LOC", "DEVICE_LOC", "LOCATION", "FIBER", "TILEID", "PLATE_RA", "PLATE_DEC"):
        rows[name] = source[name]
    rows["FIBERSTATUS"] = source["COADD_FIBERSTATUS"]
    exposure = np.tile(np.arange(N_EXPOSURES), len(per_target))
    rows["NIGHT"], rows["EXPID"], rows["MJD"] = NIGHT, FIRST_EXPID + exposure, 59323.2 + 0.02 * exposure
    rows["EXPTIME"], rows["LAMBDA_REF"], rows["NUM_ITER"] = 900.0, 5400.0, 2
    for camera in "BRZ":
        rows[f"IN_COADD_{camera}"] = np.where(rows["FIBERSTATUS"] == 0, b"T", b"F")
    return rows


def scores_hdu(fibres: Sequence[Fibre]) -> bytes:
    rows = np.zeros(len(fibres), row_dtype(score_columns()))
    rows["TARGETID"] = [fibre.targetid for fibre in fibres]
    for camera in "BRZ":
        rows[f"MEDIAN_COADD_SNR_{camera}"] = [0.0 if fibre.target is None else fibre.target.snr for fibre in fibres]
    return table_hdu(score_columns(), rows, "SCORES")


def redshifts(fibres: Sequence[Fibre]) -> NDArray[np.void]:
    """One row per fibre, sorted by TARGETID: not the order of the coadd file."""
    rows = np.zeros(len(fibres), row_dtype(redshift_columns()))
    rows["TARGETID"] = [fibre.targetid for fibre in fibres]
    rows["Z"] = [0.0 if fibre.target is None else fibre.target.z for fibre in fibres]
    rows["SPECTYPE"] = ["GALAXY" if fibre.target is None else fibre.target.spectral_class for fibre in fibres]
    rows["SUBTYPE"] = ["" if fibre.target is None else fibre.target.subclass for fibre in fibres]
    rows["ZWARN"] = [ZWARN_NODATA if fibre.status else 0 for fibre in fibres]
    rows["ZERR"], rows["CHI2"], rows["FITMETHOD"], rows["NPIXELS"] = 1e-5, 8000.0, "PCA", 7928
    rows["NCOEFF"], rows["DELTACHI2"] = 5, 700.0
    return rows[np.argsort(rows["TARGETID"])]


def tsnr2_hdu(targetids: NDArray[np.int64]) -> bytes:
    rows = np.zeros(len(targetids), row_dtype(tsnr2_columns()))
    rows["TARGETID"] = targetids
    return table_hdu(tsnr2_columns(), rows, "TSNR2")
