"""Columns of the DESI tables, from the public data model."""

from __future__ import annotations

from functools import cache

from rarespec.mock.files.table import Column, parse_columns

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
