"""SDSS DR1-7 `spSpec-MJD-PLATE-FIBER.fit`: one image with rows flux, flux - continuum, sigma, mask, best fit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rarespec.formats.fits.writing import Card, Header, big_endian, hdu, primary_cards
from rarespec.mock.files.sdss import GRID
from rarespec.mock.files.sdss_pixels import pixel_columns, varying_ends
from rarespec.mock.files.target import Layout, Target, publish
from rarespec.spectrum import Spectra

SPEC_CLN = {"STAR": 1, "GALAXY": 2, "QSO": 3}
SPEC_CLN_SKY = 5
SPEC_CLN_LATE_STAR = 6
UNKNOWN = -9999.0


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
    keep = varying_ends(GRID.n_pixels, target)
    image = _image(spectra, row, target, keep)
    start = round(GRID.start + GRID.step * keep.start, 4)
    content = hdu(Header([*primary_cards(image), *_cards(target, start)]), big_endian(image))
    return publish(directory / f"spSpec-{target.mjd}-{target.plate:04d}-{target.fiberid:03d}.fit", content)


def _image(spectra: Spectra, row: int, target: Target, keep: slice) -> NDArray[np.float32]:
    """(5, p): sigma is 0 where the inverse variance is."""
    pixels = pixel_columns(spectra, row, target, keep)
    ivar = pixels["ivar"]
    sigma = np.divide(1.0, np.sqrt(ivar), out=np.zeros_like(ivar), where=ivar > 0)
    rows = [pixels["flux"], pixels["flux"] - pixels["model"], sigma, pixels["and_mask"], pixels["model"]]
    return np.stack([values.astype(np.float32) for values in rows])


def _cards(target: Target, start: float) -> list[Card]:
    return [
        ("TELESCOP", "SDSS 2.5-M", "Sloan Digital Sky Survey"),
        ("RA", round((target.ra + 0.7) % 360.0, 6), "RA of telescope boresight (deg)"),
        ("DEC", round(max(target.dec - 0.7, -90.0), 6), "Dec of telescope boresight (deg)"),
        ("MJD", target.mjd, "MJD of observation"),
        ("PLATEID", target.plate, "Plate ID"),
        ("FIBERID", target.fiberid, "Fiber ID"),
        ("RAOBJ", round(target.ra, 6), "RA of object (deg)"),
        ("DECOBJ", round(target.dec, 6), "Dec of object (deg)"),
        ("OBJTYPE", "SKY" if target.is_sky else "STAR_BHB", "Target type"),
        ("VACUUM", True, "Wavelengths are in vacuum"),
        ("NWORDER", 2, "Linear-log10 coefficients"),
        ("WFITTYPE", "LOG-LINEAR", "Linear-log10 dispersion"),
        ("COEFF0", start, "Central wavelength (log10) of first pixel"),
        ("COEFF1", GRID.step, "Log10 dispersion per pixel"),
        ("CRVAL1", start, "Iraf zero point"),
        ("CD1_1", GRID.step, "Iraf dispersion"),
        ("CRPIX1", 1, "Iraf starting pixel"),
        ("CTYPE1", "LINEAR", ""),
        ("DC-FLAG", 1, "Log-linear flag"),
        ("BUNIT", "1.0E-17 erg/cm/s/Ang", "units"),
        ("Z", _zero_unknown(target.z), "Final redshift"),
        ("Z_ERR", 1e-5, "Redshift error"),
        ("Z_CONF", 0.99, "Redshift confidence"),
        ("Z_STATUS", 4, "Redshift status"),
        ("SPEC_CLN", _class_number(target), "Spectral classification"),
        ("SN_G", _zero_unknown(target.snr), "Signal to noise, g"),
        ("SN_R", _zero_unknown(target.snr), "Signal to noise, r"),
        ("SN_I", _zero_unknown(target.snr), "Signal to noise, i"),
        ("VERSION", "v3_140_0", "Version of the 1d pipeline"),
    ]


def _class_number(target: Target) -> int:
    if target.is_sky:
        return SPEC_CLN_SKY
    if target.subclass[:1] in ("M", "L", "T"):
        return SPEC_CLN_LATE_STAR
    return SPEC_CLN[target.spectral_class]


def _zero_unknown(value: float) -> float:
    return value if math.isfinite(value) else UNKNOWN


LAYOUT = Layout(GRID, write, "SDSS DR1-7 spSpec-MJD-PLATE-FIBER.fit")
