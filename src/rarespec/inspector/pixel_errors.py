"""How much each pixel of a spectrum is worth, and how uncertain it is."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rarespec.spectrum import Spectrum


def good_pixels(spectrum: Spectrum) -> NDArray[np.bool_]:
    """(p,) that may be used."""
    return ~spectrum.bad & np.isfinite(spectrum.flux)


def weights_of(spectrum: Spectrum) -> NDArray[np.float32]:
    """(p,) inverse variance, 0 where a pixel is bad; of a spectrum that came without errors, 1 where it is good."""
    good, ivar = good_pixels(spectrum), spectrum.ivar
    if ivar is None or not has_errors(spectrum):
        return good.astype(np.float32)
    return np.where(good & np.isfinite(ivar) & (ivar > 0), ivar, 0).astype(np.float32)


def sigma_of(spectrum: Spectrum) -> NDArray[np.float32]:
    """(p,) error of the flux; NaN where a pixel is bad, and everywhere when the spectrum came without errors."""
    weights = weights_of(spectrum)
    known = (weights > 0) & has_errors(spectrum)
    return np.where(known, np.where(known, weights, 1) ** -0.5, np.nan).astype(np.float32)


def has_errors(spectrum: Spectrum) -> bool:
    """A survey stores an inverse variance of 0 throughout where a file had none."""
    return spectrum.ivar is not None and bool((spectrum.ivar > 0).any())
