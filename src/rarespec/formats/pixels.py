"""Values on the pixels of spectra: as numbers of this machine, and which must not be used."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarespec.spectrum import DefectError, Reason


def native(values: NDArray[Any]) -> NDArray[np.floating]:
    """Bring floats to this machine's byte order, as a contiguous array; whole numbers become float64."""
    kind = values.dtype.newbyteorder("=") if values.dtype.kind == "f" else np.dtype(np.float64)
    return np.ascontiguousarray(values, dtype=kind)


def bad_pixels(
    flux: NDArray[Any], ivar: NDArray[Any] | None, masked: NDArray[np.bool_] | None = None
) -> NDArray[np.bool_]:
    """Find the pixels that must not be used.

    Parameters
    ----------
    flux : array
        Flux of any shape; a pixel without a finite value is bad.
    ivar : array or None
        Inverse variance of the same shape; a pixel is bad unless it is positive and finite.
    masked : bool array, optional
        True where the file says that a pixel is bad.

    Returns
    -------
    bool array
        True where a pixel is bad, in the shape of the flux.
    """
    bad = ~np.isfinite(flux)
    if ivar is not None:
        bad |= ~((ivar > 0) & np.isfinite(ivar))
    if masked is not None:
        bad |= masked
    return bad


def has_bits(mask: NDArray[Any], bits: int) -> NDArray[np.bool_]:
    """Find where the mask has one of these bits. Masks stored as floats count too; NaN counts as all bits set."""
    if mask.dtype.kind == "f":
        # Larger floats do not fit into int64, and would wrap around to any bits.
        lost = ~np.isfinite(mask) | (np.abs(mask) >= 2.0**62)
        return lost | ((np.where(lost, 0, mask).astype(np.int64) & bits) != 0)
    return (mask.astype(np.int64) & bits) != 0


def float_of(text: str) -> float:
    """Read a number, also with the D of Fortran in its exponent; raise ValueError if it is none."""
    try:
        return float(text)
    except ValueError:
        if not _FORTRAN.fullmatch(text):
            raise
        return float(text.lower().replace("d", "e"))


_FORTRAN = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)[dD][+-]?\d{1,3}\s*", re.ASCII)


def numbers(values: Any, name: str) -> NDArray[np.floating]:
    """Bring values to float32 or float64 in native byte order, contiguous; masked elements become NaN."""
    array = values if isinstance(values, np.ma.MaskedArray) else np.asarray(values)
    if array.dtype.kind not in "fiu":
        raise DefectError(Reason.LAYOUT, f"{name} is {array.dtype}, not numbers")
    single = array.dtype.kind == "f" and array.dtype.itemsize <= 4
    dtype: type[np.floating] = np.float32 if single else np.float64
    if isinstance(array, np.ma.MaskedArray):
        array = np.ma.filled(array.astype(dtype), np.nan)
    return np.ascontiguousarray(array, dtype=dtype)


def filled_pixels(wavelength: NDArray[np.floating]) -> NDArray[np.bool_]:
    """Find the pixels that have a wavelength; those that were never filled have none, or one number that is none.

    Parameters
    ----------
    wavelength : (p,) array
        As the file has them.

    Returns
    -------
    (p,) bool array
        All of them if numbers of several kinds are 0 or negative: then these are no wavelengths.
    """
    filled = np.isfinite(wavelength) & (wavelength > 0)
    others = wavelength[np.isfinite(wavelength) & ~filled]
    return filled if len(np.unique(others)) < 2 else np.ones(len(wavelength), bool)


def flags(values: Any) -> NDArray[np.bool_]:
    """Find where the mask is set, not finite, or itself masked."""
    array = np.asarray(np.ma.getdata(values))
    if array.dtype.kind not in "fiub":
        raise DefectError(Reason.LAYOUT, f"mask is {array.dtype}, not flags")
    return (array != 0) | np.ma.getmaskarray(values)


def ivar_of_error(error: NDArray[np.floating]) -> NDArray[np.float64]:
    """Compute 1 / error^2; 0 where the error is not finite and positive."""
    error = error.astype(np.float64)
    usable = np.isfinite(error) & (error > 0)
    with np.errstate(over="ignore", under="ignore"):
        ivar = np.square(1.0 / np.where(usable, error, np.inf))
    return np.where(np.isfinite(ivar), ivar, 0.0)


def ivar_of_variance(variance: NDArray[np.floating]) -> NDArray[np.float64]:
    """Compute 1 / variance; 0 where the variance is not finite and positive."""
    variance = variance.astype(np.float64)
    usable = np.isfinite(variance) & (variance > 0)
    with np.errstate(over="ignore"):
        ivar = 1.0 / np.where(usable, variance, np.inf)
    return np.where(np.isfinite(ivar), ivar, 0.0)
