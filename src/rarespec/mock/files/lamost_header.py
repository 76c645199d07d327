"""What LAMOST files of every era share: pixels, numbers, and the cards of the primary header."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarespec.formats.fits.writing import Card, Value
from rarespec.mock.files.sdss_pixels import inverse_variance
from rarespec.mock.files.target import Target
from rarespec.spectrum import Spectra, WavelengthGrid

GRID = WavelengthGrid("log", 3.5682, 1e-4, 3909)
NODATA = 32
"""The sixth bit of LAMOST's pixel mask."""
UNKNOWN = -9999.0
LMJD = 55859


def varying_end(target: Target) -> slice:
    """Choose the pixels of a file: all start at the same wavelength, and end after 3904 to 3909 pixels."""
    return slice(0, GRID.n_pixels - target.scramble % 6)


def pixel_rows(spectra: Spectra, row: int, target: Target) -> dict[str, NDArray[Any]]:
    """Take the pixels of one spectrum as LAMOST stores them.

    Parameters
    ----------
    spectra : Spectra
        Spectra on `GRID`, with inverse variances.
    row : int
        Which of them.
    target : Target
        Decides where the file ends.

    Returns
    -------
    dict
        flux, ivar, wavelength, andmask and ormask, each (p,), p from 3904 to 3909.
    """
    keep = varying_end(target)
    bad = spectra.bad[row, keep]
    mask = np.where(bad, NODATA, 0)
    return {
        "flux": spectra.flux[row, keep],
        "ivar": np.where(bad, 0.0, inverse_variance(spectra)[row, keep]),
        "wavelength": spectra.wavelength[keep],
        "andmask": mask,
        "ormask": mask,
    }


def fibre(target: Target) -> int:
    return target.index % 250 + 1


def spectrograph(target: Target) -> int:
    return target.index // 250 % 16 + 1


def plan(target: Target) -> int:
    return target.index // 4000 + 1


def observation_id(target: Target) -> int:
    """OBSID: plan, spectrograph and fibre in decimal digits."""
    return plan(target) * 100000 + spectrograph(target) * 1000 + fibre(target)


def plan_name(target: Target) -> str:
    return f"F{5900 + plan(target)}"


def file_stem(target: Target) -> str:
    return f"spec-{LMJD}-{plan_name(target)}_sp{spectrograph(target):02d}-{fibre(target):03d}"


def file_path(directory: Path, target: Target, suffix: str) -> Path:
    """Name the file of a target as LAMOST does.

    Parameters
    ----------
    directory : Path
        Where it goes.
    target : Target
        Gives plan, spectrograph and fibre.
    suffix : str
        ".fits" or ".fits.gz".

    Returns
    -------
    Path
        The path of the file.
    """
    return directory / (file_stem(target) + suffix)


def target_values(target: Target) -> dict[str, Value]:
    """The values of `observation_cards` and `result_cards` that differ from file to file."""
    return {
        "FILENAME": f"{file_stem(target)}.fits",
        "PLANID": plan_name(target),
        "RA": round(target.ra, 6),
        "DEC": round(target.dec, 6),
        "DESIG": designation(target.ra, target.dec),
        "FIBERID": fibre(target),
        "OBJNAME": f"{1237645876861272064 + target.index}",
        "OBJTYPE": "Sky" if target.is_sky else "Star",
        "SPID": spectrograph(target),
        "CLASS": "Unknown" if target.is_sky else target.spectral_class,
        "SUBCLASS": target.subclass if target.subclass and not target.is_sky else "Non",
        "Z": round_half(target.z, 8),
    }


def signal_to_noise(target: Target, prefix: str) -> dict[str, Value]:
    """SNRU .. SNRZ (or SN_U .. SN_Z): the catalogue's value in g, r and i, less at the ends."""
    shares = {"U": 0.3, "G": 1.0, "R": 1.0, "I": 1.0, "Z": 0.7}
    return {prefix + band: round_half(target.snr * share, 2) for band, share in shares.items()}


def round_half(value: float, digits: int) -> float:
    return round(value, digits) if math.isfinite(value) else UNKNOWN


def designation(ra: float, dec: float) -> str:
    """LAMOST Jhhmmss.ss+ddmmss.s, cut, not rounded."""
    hundredths = int(ra % 360.0 / 15.0 * 360000)
    tenths = int(abs(dec) * 36000)
    right = f"{hundredths // 360000:02d}{hundredths // 6000 % 60:02d}{hundredths % 6000 / 100:05.2f}"
    up = f"{tenths // 36000:02d}{tenths // 600 % 60:02d}{tenths % 600 / 10:04.1f}"
    return f"LAMOST J{right}{'-' if dec < 0 else '+'}{up}"


@cache
def observation_cards() -> tuple[Card, ...]:
    return (
        ("COMMENT", "--------TELESCOPE PARAMETERS", ""),
        ("TELESCOP", "LAMOST", "GuoShouJing Telescope"),
        ("LONGITUD", 117.58, "[deg] Longitude of site"),
        ("LATITUDE", 40.39, "[deg] Latitude of site"),
        ("FOCUS", 19964, "[mm] Telescope focus"),
        ("CAMPRO", "NEWCAM", "Camera program name"),
        ("CAMVER", "v2.0", "Camera program version"),
        ("COMMENT", "--------OBSERVATION PARAMETERS", ""),
        ("DATE-OBS", "2011-10-24T12:30:00", "The observation median UTC"),
        ("DATE-BEG", "2011-10-24T19:30:00.0", "The observation start local time"),
        ("DATE-END", "2011-10-24T21:30:00.0", "The observation end local time"),
        ("LMJD", LMJD, "Local Modified Julian Day"),
        ("MJD", LMJD - 1, "Modified Julian Day"),
        ("PLANID", "", "Plan ID in use"),
        ("RA", 0.0, "[deg] Right ascension of object"),
        ("DEC", 0.0, "[deg] Declination of object"),
        ("DESIG", "", "Designation of LAMOST target"),
        ("FIBERID", 0, "Fiber ID of Object"),
        ("OBJNAME", "", "Name of object"),
        ("OBJTYPE", "", "Object type from input catalog"),
        ("OBS_TYPE", "OBJ", "The type of target (OBJ, FLAT, ARC or BIAS)"),
        ("OBSCOMM", "Science", "Science or Test"),
        ("RADECSYS", "FK5", "Equatorial coordinate system"),
        ("EQUINOX", 2000.0, "Equinox in years"),
        ("NEXP", 3, "Number of valid exposures"),
        ("EXPTIME", 5400.0, "[s] Minimum of exposure time for all cameras"),
        ("COMMENT", "--------SPECTROGRAPH PARAMETERS", ""),
        ("SPID", 0, "Spectrograph ID"),
        ("SLIT_MOD", "x2/3", "Slit mode, x1, x2/3 or x1/2"),
        ("COMMENT", "--------WEATHER CONDITION", ""),
        ("SEEING", 3.4, "[arcsec] Seeing during exposure"),
        ("DUST", "", "Reservation"),
    )


@cache
def result_cards() -> tuple[Card, ...]:
    return (
        ("COMMENT", "--------DATA REDUCTION PARAMETERS", ""),
        ("EXTRACT", "aperture", "Extraction method"),
        ("HELIO", True, "Heliocentric correction"),
        ("HELIO_RV", 25.11536, "[km/s] Heliocentric correction"),
        ("VACUUM", True, "Wavelengths are in vacuum"),
        ("NWORDER", 2, "Number of linear-log10 coefficients"),
        ("WFITTYPE", "LOG-LINEAR", "Linear-log10 dispersion"),
        ("COEFF0", GRID.start, "Central wavelength (log10) of first pixel"),
        ("COEFF1", GRID.step, "Log10 dispersion per pixel"),
        ("WAT0_001", "system=linear", ""),
        ("WAT1_001", "wtype=linear label=Wavelength units=Angstroms", ""),
        ("CRVAL1", GRID.start, "Central wavelength (log10) of first pixel"),
        ("CD1_1", GRID.step, "Log10 dispersion per pixel"),
        ("CRPIX1", 1, "Starting pixel (1-indexed)"),
        ("CTYPE1", "LINEAR", ""),
        ("DC-FLAG", 1, "Log-linear flag"),
        ("COMMENT", "--------SPECTRA ANALYSIS RESULTS", ""),
        ("VERSPIPE", "v2.9.8", "Version of Pipeline"),
        ("CLASS", "", "Class of object"),
        ("SUBCLASS", "", "Subclass of object"),
        ("Z", 0.0, "Redshift of object"),
        ("Z_ERR", 0.00002408, "Redshift error of object"),
    )


def signal_to_noise_cards(prefix: str) -> list[Card]:
    return [(f"{prefix}{band}", 0.0, f"SNR of {band.lower()} filter") for band in "UGRIZ"]
