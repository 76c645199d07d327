"""Units of flux: flux per frequency becomes flux per wavelength, as all other spectra of a survey are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarespec.formats.pixels import numbers

JANSKYS = {
    "Jy": 1.0, "Jansky": 1.0, "JY": 1.0,
    "mJy": 1e-3, "uJy": 1e-6, "µJy": 1e-6, "microJy": 1e-6, "nJy": 1e-9, "MJy": 1e6,
}  # fmt: skip
"""Jansky per unit; in these names, case counts."""

PER_ANGSTROM = 2.99792458e-5
"""erg/s/cm2/A of one Jansky, times the square of the wavelength in Angstrom: 1e-23 times the speed of light."""

NOTE = "flux per frequency (such as Jy) converted to flux per wavelength"


def janskys_per(unit: str) -> float | None:
    """Convert a unit of flux per frequency to Jansky; None for any other unit, which is left as it is."""
    text = unit.strip()
    if text in JANSKYS:
        return JANSKYS[text]
    if "hz" not in text.lower():
        return None
    return 1e23 if "erg" in text.lower() else 1e26 if text.startswith("W") else None


POWERS = {"flux": 1, "error": 1, "variance": 2, "ivar": -2}
"""How each grows with the unit of the flux; a mask does not."""


def per_wavelength(arrays: Mapping[str, Any], wavelength: NDArray[np.float64], janskys: float) -> dict[str, Any]:
    """Convert flux per frequency, and its errors, to erg/s/cm2/A.

    Parameters
    ----------
    arrays : mapping of str to array
        flux, error, variance, ivar or mask -> (n, p).
    wavelength : (p,) array
        Angstrom, in the order of the arrays.
    janskys : float
        Jansky per unit of the flux.

    Returns
    -------
    dict
        The same names, float64 arrays of the same shapes; other arrays as they are.
    """
    with np.errstate(all="ignore"):
        factor = janskys * PER_ANGSTROM / np.square(wavelength)
        if any(np.shape(arrays[name])[-1:] != factor.shape for name in arrays):
            return dict(arrays)  # refused for its shape by whoever makes spectra of them
        return {
            name: numbers(values, name).astype(np.float64) * factor ** POWERS[name] if name in POWERS else values
            for name, values in arrays.items()
        }
