"""Spikes: one or two pixels that tower over a spectrum, narrower than any line that a spectrograph can show."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rarespec.searching._artefact_spectra import ArtefactSpectra, Flux

SIGNIFICANCE = 10.0
"""Sigma. Of 3601 pixels of pure noise none comes near."""
HEIGHT = 4.0
"""In units of the range of the running median. Smaller spikes are common, are removed by the median filter, and hide
nothing from the eye; 1 % of real spectra have a larger one."""
RANGE = (2.0, 98.0)
"""Percentiles of the running median."""
ALONE, PAIR = 0.4, 0.2
"""Neighbours of a spike relative to it: of one pixel, and of two. An unresolved line has 0.6 and 0.4."""
WIDEST_PIXEL = 1.5e-4
"""In log10 wavelength. On coarser grids a true line may be one pixel wide, and nothing is judged."""


def has_spike(spectra: ArtefactSpectra) -> NDArray[np.bool_]:
    """(n,) bool."""
    if np.diff(np.log10(spectra.grid.wavelength)).max() > WIDEST_PIXEL:
        return np.zeros(len(spectra.flux), bool)
    deviation, found = spectra.deviation, np.zeros(len(spectra.flux), bool)
    rows = np.flatnonzero((np.abs(deviation) > SIGNIFICANCE).any(axis=1))
    found[rows] = _has_tall(spectra.flux[rows], spectra.around[rows], deviation[rows])
    return found


def _has_tall(flux: Flux, around: Flux, deviation: Flux) -> NDArray[np.bool_]:
    """Which rows have a significant, tall and narrow pixel; the deviation of bad ones is 0."""
    low, high = np.percentile(around, RANGE, axis=1)
    height = np.abs(flux - around)
    tall = (height > HEIGHT * (high - low)[:, None]) & (np.abs(deviation) > SIGNIFICANCE)
    return (tall & _narrow(height)).any(axis=1)


def _narrow(height: Flux) -> NDArray[np.bool_]:
    """Pixels that stand alone or in a pair, (n, p)."""
    padded = np.pad(height, ((0, 0), (2, 2)))
    before2, before, after, after2 = (padded[:, k : k + height.shape[1]] for k in (0, 1, 3, 4))
    alone = np.maximum(before, after) < ALONE * height
    first_of_two = np.maximum(before, after2) < PAIR * height
    last_of_two = np.maximum(before2, after) < PAIR * height
    return alone | first_of_two | last_of_two
