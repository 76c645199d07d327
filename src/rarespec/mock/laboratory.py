"""Laboratory wavelengths are tabulated in air; everything inside the project is vacuum."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def vacuum(air: float | Sequence[float] | NDArray[np.float64]) -> NDArray[np.float64]:
    """Vacuum wavelengths of lines given in air, Angstrom (Morton 1991); below 2000 A tables are vacuum already."""
    wavelength = np.asarray(air, dtype=np.float64)
    sigma2 = (1e4 / wavelength) ** 2
    index = 1 + 6.4328e-5 + 2.94981e-2 / (146 - sigma2) + 2.5540e-4 / (41 - sigma2)
    return np.where(wavelength < 2000, wavelength, wavelength * index)
