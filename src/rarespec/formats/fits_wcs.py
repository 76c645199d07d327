"""Wavelengths from the keywords of a header: CRVAL1, CD1_1 or CDELT1, CRPIX1; or COEFF0 and COEFF1."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rarespec.formats.fits_header import Header
from rarespec.formats.wavelength import angstroms_per
from rarespec.formats.wavelength_axis import Axis
from rarespec.spectrum import DefectError, Reason

SPECTRAL_TYPES = (
    "",
    "LINEAR",
    "WAVE",
    "AWAV",
    "WAVELENGTH",
    "LAMBDA",
    "LOGLAM",
    "LOG-LINEAR",
    "WAVE-LOG",
    "AWAV-LOG",
    "PIXEL",
)
"""Values of CTYPE1 that may stand for wavelengths; RA---TAN, FREQ, VELO and the like do not."""

LARGEST_LOGARITHM = 10.0
"""CRVAL1 below this, with a logarithmic axis and no unit, is a log10 of Angstrom and no wavelength."""


def has_wavelength_wcs(header: Header) -> bool:
    """Whether the first axis of this header is, or may be, a wavelength."""
    if "COEFF0" in header and "COEFF1" in header:
        return True
    has_axis = "CRVAL1" in header and ("CD1_1" in header or "CDELT1" in header)
    return has_axis and header.string("CTYPE1").upper() in SPECTRAL_TYPES


def wcs_axis(header: Header, n_pixels: int, air: bool) -> Axis:
    """The wavelengths of `n_pixels` pixels."""
    start, step = header.number("CRVAL1"), header.number("CD1_1") or header.number("CDELT1")
    if start is None or step is None:
        start, step = header.number("COEFF0"), header.number("COEFF1")
        if start is None or step is None:
            raise DefectError(Reason.LAYOUT, f"{header.label} has neither CRVAL1 and CDELT1 nor COEFF0 and COEFF1")
        return Axis.of(start + step * np.arange(n_pixels), log=True, air=air)
    reference = header.number("CRPIX1")
    offset = np.arange(1, n_pixels + 1, dtype=np.float64) - (1.0 if reference is None else reference)
    unit = header.string("CUNIT1")
    if _is_log10(header, start, unit):
        return Axis.of(start + step * offset, log=True, unit=unit, air=air)
    if header.string("CTYPE1").upper().endswith("-LOG"):
        return Axis.of(_logarithmic(start, step, offset), unit=unit, air=air)
    return Axis.of(start + step * offset, unit=unit, air=air)


def _is_log10(header: Header, start: float, unit: str) -> bool:
    """The convention of IRAF and SDSS. WAVE-LOG with a wavelength as CRVAL1 is that of the FITS standard instead."""
    if header.get("DC-FLAG") == 1 or header.string("CTYPE1").upper() in ("LOGLAM", "LOG-LINEAR"):
        return True
    is_length = bool(unit) and "log" not in unit.lower() and angstroms_per(unit) > 0
    return header.string("CTYPE1").upper().endswith("-LOG") and not is_length and start < LARGEST_LOGARITHM


def _logarithmic(start: float, step: float, offset: NDArray[np.floating]) -> NDArray[np.floating]:
    """Equation 5 of Greisen et al. (2006, A&A 446, 747): the step is the one at the reference pixel."""
    if start <= 0:
        raise DefectError(Reason.LAYOUT, f"a logarithmic axis that starts at the wavelength {start}")
    with np.errstate(over="ignore"):
        return start * np.exp(step * offset / start)
