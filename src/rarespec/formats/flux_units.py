"""Units of flux: flux per frequency becomes flux per wavelength, as all other spectra of a survey are."""

from __future__ import annotations

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


def per_wavelength(values: Any, wavelength: NDArray[np.float64], janskys: float) -> NDArray[np.float64]:
    """Convert flux, or its error, to erg/s/cm2/A.

    Parameters
    ----------
    values : (n, p) or (p,) array
        Flux per frequency.
    wavelength : (p,) array
        Angstrom, in the order of the values.
    janskys : float
        Jansky per unit of the values.

    Returns
    -------
    float64 array
        In the shape of the values.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        return numbers(values, "flux").astype(np.float64) * (janskys * PER_ANGSTROM / np.square(wavelength))
