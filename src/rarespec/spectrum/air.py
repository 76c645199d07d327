"""Wavelengths measured in air, turned into vacuum wavelengths."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

SHORTEST_AIR_WAVELENGTH = 2000.0
"""Angstrom. Below it the air absorbs, and by convention wavelengths are given in vacuum."""

_ITERATIONS = 4
"""The refractive index is a function of the vacuum wavelength; each round gains three digits and more."""


def refractive_index(vacuum_wavelength: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of dry air at 15 degrees Celsius and 101325 Pa with 450 ppm CO2, after Ciddor (1996, Applied Optics 35, 1566)."""
    wavenumber_squared = (1e4 / vacuum_wavelength) ** 2  # per square micrometre
    return 1.0 + 0.05792105 / (238.0185 - wavenumber_squared) + 0.00167917 / (57.362 - wavenumber_squared)


def air_to_vacuum(wavelength: NDArray[Any]) -> NDArray[np.float64]:
    """Vacuum wavelengths, float64 Angstrom, of these air wavelengths in Angstrom; those below 2000 A are kept."""
    air = np.asarray(wavelength, dtype=np.float64)
    visible = np.maximum(air, SHORTEST_AIR_WAVELENGTH)
    vacuum = visible
    for _ in range(_ITERATIONS):
        vacuum = visible * refractive_index(vacuum)
    return np.where(air >= SHORTEST_AIR_WAVELENGTH, vacuum, air)
