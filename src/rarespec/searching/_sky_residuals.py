"""What the night sky left behind: pixels at its lines that scatter more than their errors allow."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rarespec.searching._artefact_spectra import ArtefactSpectra, mean_where

SKY_LINES = (
    5578.9, 6302.0, 6365.5, 7278.4, 7318.3, 7342.9, 7371.4, 7752.8, 7796.3, 7823.7, 7855.5, 7915.9, 7966.8, 7995.5,
    8027.9, 8300.8, 8346.9, 8401.5, 8432.5, 8467.7, 8507.4, 8763.4, 8770.3, 8780.7, 8829.5, 8888.3, 8922.1, 8960.5,
    9315.6, 9340.4, 9378.5, 9422.3, 9442.2, 9479.4, 9505.4, 9521.6, 9570.2, 9874.9, 9917.5,
)  # fmt: skip
"""Strong lines of oxygen and hydroxyl in the night sky, vacuum Angstrom; without sodium, which stars show too."""
LINE_HALF_WIDTH = 4e-4
"""Of the wavelength: the core of an unresolved line at R = 2000, where most of a residual is."""
WINGS = 1.5e-3
"""Of the wavelength: pixels nearer to a line are not compared with."""
COMPARED_FROM = 6300.0
"""Angstrom. Sky lines lie in the red: they are compared with other red pixels."""
LARGEST = 10.0
"""Deviations count up to this many sigma, so that one wild pixel does not decide."""
FEWEST_PIXELS = 15
"""A spectrum with fewer good pixels at sky lines, or between them, is not judged."""
EXCESS = 2.1
"""Scatter at the lines relative to elsewhere. Real spectra have 1.0 to 1.3, the worst 1 or 2 % more than this."""


def has_sky_residuals(spectra: ArtefactSpectra) -> NDArray[np.bool_]:
    """(n,) bool. Never True without errors: pixels at sky lines are noisy, and only errors tell by how much."""
    return spectra.has_errors & (sky_excess(spectra) > EXCESS)


def sky_excess(spectra: ArtefactSpectra) -> NDArray[np.float64]:
    """Scatter at sky lines relative to the scatter between them, each in units of the errors, (n,); 0 if not judged."""
    good, power = ~spectra.bad, np.minimum(np.abs(spectra.deviation), LARGEST) ** 2
    at_lines = good & _near_lines(spectra.wavelength, LINE_HALF_WIDTH)
    between = good & ~_near_lines(spectra.wavelength, WINGS) & (spectra.wavelength > COMPARED_FROM)
    enough = (at_lines.sum(axis=1) >= FEWEST_PIXELS) & (between.sum(axis=1) >= FEWEST_PIXELS)
    line_power, other_power = (mean_where(power, pixels) for pixels in (at_lines, between))
    judged = enough & (other_power > 0)
    return np.sqrt(np.divide(line_power, other_power, out=np.zeros(len(judged)), where=judged))


def _near_lines(wavelength: NDArray[np.float64], half_width: float) -> NDArray[np.bool_]:
    lines = np.array(SKY_LINES)
    nearest = np.searchsorted((lines[1:] + lines[:-1]) / 2, wavelength)
    return np.abs(wavelength / lines[nearest] - 1) < half_width
