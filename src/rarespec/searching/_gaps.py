"""Gaps: stretches of bad pixels, which the features bridge by a straight line."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rarespec.searching.template import Template
from rarespec.spectrum import WavelengthGrid

Bad = NDArray[np.bool_]

INSIDE, IN_ALL, WEIGHT = 0.05, 0.2, 0.05
"""Shares from which bad pixels are flagged: of the pixels between the first and the last good one; of all pixels of
the grid, which surveys cover by different amounts; and of the template's weights. 1 to 2 % of real spectra lose more
than the first."""
LONGEST = 0.01
"""In log10 wavelength, 140 Angstrom at 6000: a whole molecular band may hide in a longer gap."""


def has_gaps(bad: Bad, grid: WavelengthGrid, template: Template | None) -> NDArray[np.bool_]:
    """(n,) bool, for bad pixels (n, p); with a template, also where it looks and there is nothing to see."""
    inside = _inside(bad)
    n_inside = np.maximum(inside.sum(axis=1), 1)
    too_many = (bad & inside).sum(axis=1) > INSIDE * n_inside
    too_many |= bad.mean(axis=1) > IN_ALL
    too_many |= longest_gap(bad & inside, grid) > LONGEST
    if template is not None:
        weights = np.abs(template.weights)
        too_many |= bad @ weights > WEIGHT * weights.sum()
    return too_many


def longest_gap(bad: Bad, grid: WavelengthGrid) -> NDArray[np.float64]:
    """Length in log10 wavelength of the longest run of bad pixels in each row, (n,)."""
    edges = np.log10(grid.edges)
    padded = np.pad(bad, ((0, 0), (1, 1))).astype(np.int8)
    change = np.diff(padded, axis=1)
    (row, start), (_, stop) = np.nonzero(change == 1), np.nonzero(change == -1)
    longest = np.zeros(len(bad))
    np.maximum.at(longest, row, edges[stop] - edges[start])
    return longest


def _inside(bad: Bad) -> Bad:
    """Pixels from the first to the last good one of each row, (n, p)."""
    good = ~bad
    return np.logical_or.accumulate(good, axis=1) & np.logical_or.accumulate(good[:, ::-1], axis=1)[:, ::-1]
