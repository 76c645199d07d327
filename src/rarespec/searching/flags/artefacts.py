"""The artefacts that flags look for: gaps, spikes, residuals of the night sky, steps between cameras."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import correlate1d, uniform_filter1d

from rarespec.searching.flags.artefact_spectra import ArtefactSpectra, BroadShape, Flux, mean_where
from rarespec.spectrum import WavelengthGrid

Bad = NDArray[np.bool_]

INSIDE, IN_ALL, WEIGHT = 0.05, 0.2, 0.05
"""Shares from which bad pixels are flagged: of the pixels between the first and the last good one; of all pixels of
the grid, which surveys cover by different amounts; and of the template's weights. 1 to 2 % of real spectra lose more
than the first."""
LONGEST = 0.01
"""In log10 wavelength, 140 Angstrom at 6000: a whole molecular band may hide in a longer gap."""


def has_gaps(bad: Bad, grid: WavelengthGrid) -> NDArray[np.bool_]:
    """Find spectra with many bad pixels or a long gap.

    Parameters
    ----------
    bad : (n, p) bool array
        Bad pixels.
    grid : WavelengthGrid
        Of the pixels.

    Returns
    -------
    (n,) bool array
        Which spectra.
    """
    inside = _inside(bad)
    n_inside = np.maximum(inside.sum(axis=1), 1)
    too_many = (bad & inside).sum(axis=1) > INSIDE * n_inside
    too_many |= bad.mean(axis=1) > IN_ALL
    too_many |= longest_gap(bad & inside, grid) > LONGEST
    return too_many


def lacks_pixels(bad: Bad, weights: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Find spectra with bad pixels where templates look.

    Parameters
    ----------
    bad : (n, p) bool array
        Bad pixels.
    weights : (p, t) float64 array
        Sizes of the weights of t templates; 0 for one that looks nowhere.

    Returns
    -------
    (n, t) bool array
        Which spectra lack pixels of which template.
    """
    some = bad.any(axis=1)
    lacks = np.zeros((len(bad), weights.shape[1]), bool)
    lacks[some] = bad[some].astype(np.float64) @ weights > WEIGHT * weights.sum(axis=0)
    return lacks


def longest_gap(bad: Bad, grid: WavelengthGrid) -> NDArray[np.float64]:
    """Measure the longest run of bad pixels in each row, (n,), in log10 wavelength."""
    edges = np.log10(grid.edges)
    padded = np.pad(bad, ((0, 0), (1, 1))).astype(np.int8)
    change = np.diff(padded, axis=1)
    (row, start), (_, stop) = np.nonzero(change == 1), np.nonzero(change == -1)
    longest = np.zeros(len(bad))
    np.maximum.at(longest, row, edges[stop] - edges[start])
    return longest


def _inside(bad: Bad) -> Bad:
    """Find the pixels from the first to the last good one of each row, (n, p)."""
    good = ~bad
    return np.logical_or.accumulate(good, axis=1) & np.logical_or.accumulate(good[:, ::-1], axis=1)[:, ::-1]


# ---- Spikes: one or two pixels that tower over a spectrum, narrower than any line that a spectrograph can show.


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
    """Find spectra with a spike that is significant, tall and narrow, (n,) bool."""
    if np.diff(np.log10(spectra.grid.wavelength)).max() > WIDEST_PIXEL:
        return np.zeros(len(spectra.flux), bool)
    deviation, found = spectra.deviation, np.zeros(len(spectra.flux), bool)
    rows = np.flatnonzero((np.abs(deviation) > SIGNIFICANCE).any(axis=1))
    found[rows] = _has_tall(spectra.flux[rows], spectra.around[rows], deviation[rows])
    return found


def _has_tall(flux: Flux, around: Flux, deviation: Flux) -> NDArray[np.bool_]:
    """Find rows with a significant, tall and narrow pixel; the deviation of bad pixels is 0."""
    low, high = np.percentile(around, RANGE, axis=1)
    height = np.abs(flux - around)
    tall = (height > HEIGHT * (high - low)[:, None]) & (np.abs(deviation) > SIGNIFICANCE)
    return (tall & _narrow(height)).any(axis=1)


def _narrow(height: Flux) -> NDArray[np.bool_]:
    """Find pixels that stand alone or in a pair, (n, p)."""
    padded = np.pad(height, ((0, 0), (2, 2)))
    before2, before, after, after2 = (padded[:, k : k + height.shape[1]] for k in (0, 1, 3, 4))
    alone = np.maximum(before, after) < ALONE * height
    first_of_two = np.maximum(before, after2) < PAIR * height
    last_of_two = np.maximum(before2, after) < PAIR * height
    return alone | first_of_two | last_of_two


# ---- What the night sky left behind: pixels at its lines that scatter more than their errors allow.


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
    """Find spectra with residuals of sky lines, (n,) bool; none without errors, which say how noisy such pixels are."""
    return spectra.has_errors & (sky_excess(spectra) > EXCESS)


def sky_excess(spectra: ArtefactSpectra) -> NDArray[np.float64]:
    """Compare the scatter at sky lines with that between them, in units of the errors, (n,); 0 if not judged."""
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


# ---- Steps in the flux where the two or three cameras of a spectrograph meet.


Values = NDArray[np.float64]
Range = tuple[float, float]

JOINS: dict[str, tuple[Range, ...]] = {
    "sdss": ((5850.0, 6150.0),),
    "boss": ((5850.0, 6150.0),),
    "sdss-v": ((5850.0, 6150.0),),
    "lamost": ((5700.0, 6000.0),),
    "desi": ((5740.0, 5820.0), (7500.0, 7640.0)),
    "mock": ((5850.0, 6150.0),),
}
"""Where cameras overlap, vacuum Angstrom, by the catalogue's `survey` in lower case; others are not judged."""
HALF_WINDOW = 0.02
"""In log10 wavelength, 280 Angstrom at 6000: the flux on either side from which a step is measured."""
HALF_GAP = 0.0015
"""In log10 wavelength, 20 Angstrom at 6000: cameras are blended over some pixels, which are left out."""
DIMMEST = 0.25
"""Of the mean flux: where there is less, steps are shares of this. Dwarfs of class L have almost no flux at 6000."""
COMPARED: Range = (4400.0, 8000.0)
"""Angstrom: the steps elsewhere in the same spectrum with which that at the join is compared."""
FARTHEST = 0.05
"""Redshift above which nothing is judged: breaks of galaxies and broad lines of quasars may lie at any wavelength."""
SMALLEST, JOIN_SIGNIFICANCE, RATIO = 0.05, 6.0, 2.4
"""A step is flagged that is larger than this share of the flux, than this many errors, and than this many times the
steps that only one in ten places of the same spectrum exceed. The last is what clears stars with molecular bands: with
2.4, fewer than 1 % of mock and template spectra are flagged, among them 1 % of the M dwarfs and no carbon star."""


def has_camera_step(coarse: BroadShape, surveys: Sequence[str | None], redshifts: Values) -> NDArray[np.bool_]:
    """Find spectra whose flux steps where two cameras meet.

    Parameters
    ----------
    coarse : BroadShape
        Broad shape of n spectra.
    surveys : sequence of str or None
        Survey of each spectrum; those that are not in `JOINS` are not judged.
    redshifts : (n,) float64 array
        Redshift of each spectrum, NaN where unknown. Only those known to be far away are not judged.

    Returns
    -------
    (n,) bool array
        True where there is a step.
    """
    found = np.zeros(len(coarse.level), bool)
    names = np.array([(name or "").strip().lower() for name in surveys], object)
    names[redshifts > FARTHEST] = ""  # False for NaN: a spectrum of unknown redshift is judged
    step, error = _steps(coarse)
    for name in set(names.tolist()) & set(JOINS):
        rows = np.flatnonzero(names == name)
        for join in JOINS[name]:
            found[rows] |= _stands_out(step[rows], error[rows], _of_rows(coarse.wavelength, rows), join)
    return found


def _of_rows(wavelength: Values, rows: NDArray[np.intp]) -> Values:
    return wavelength if len(wavelength) == 1 else wavelength[rows]


def _stands_out(step: Values, error: Values, wavelength: Values, join: Range) -> NDArray[np.bool_]:
    """Whether the largest step inside the join is large by itself, by its error, and by those elsewhere."""
    measured = np.isfinite(step)
    inside = measured & (wavelength > join[0]) & (wavelength < join[1])
    # a step at the join is felt as far as the window reaches; half of that is where it is still strong
    near, far = join[0] * 10 ** (-HALF_WINDOW / 2), join[1] * 10 ** (HALF_WINDOW / 2)
    in_range = (wavelength > COMPARED[0]) & (wavelength < COMPARED[1])
    elsewhere = measured & in_range & ((wavelength < near) | (wavelength > far))
    place = np.argmax(np.where(inside, step, -1), axis=1)[:, None]
    largest, its_error = (np.take_along_axis(values, place, axis=1)[:, 0] for values in (step, error))
    usual = _upper_tenth(step, elsewhere)
    large: NDArray[np.bool_] = inside.any(axis=1) & (largest > np.maximum(SMALLEST, RATIO * usual))
    return large & (largest > JOIN_SIGNIFICANCE * its_error)


def _upper_tenth(values: Values, counted: NDArray[np.bool_]) -> Values:
    """Of the values that count in each row, the one that a tenth of them exceed, (n,); infinite where none counts."""
    ascending = np.sort(np.where(counted, values, np.inf), axis=1)
    place = (0.9 * np.maximum(counted.sum(axis=1) - 1, 0)).astype(np.intp)[:, None]
    return np.take_along_axis(ascending, place, axis=1)[:, 0]


def _steps(coarse: BroadShape) -> tuple[Values, Values]:
    """Size of the step at each bin as a share of the flux around it, and its error, (n, b); NaN near the ends."""
    half, gap = (round(width / coarse.bin_width) for width in (HALF_WINDOW, HALF_GAP))
    step = np.full(coarse.level.shape, np.nan)
    error = step.copy()
    if gap + 3 > half or coarse.level.shape[1] < 2 * half + 1:
        return step, error
    kernel, inner = _step_kernel(half, gap), slice(half, coarse.level.shape[1] - half)
    around = uniform_filter1d(np.abs(coarse.level), 2 * half + 1, axis=1)
    around = np.maximum(around, DIMMEST * around.mean(axis=1, keepdims=True))
    around = np.where(around > 0, around, np.nan)
    step[:, inner] = (np.abs(correlate1d(coarse.level, kernel, axis=1)) / around)[:, inner]
    error[:, inner] = (np.sqrt(correlate1d(coarse.error**2, kernel**2, axis=1)) / around)[:, inner]
    return step, error


@lru_cache(maxsize=8)
def _step_kernel(half: int, gap: int) -> Values:
    """Weights (2 half + 1,) that give the step in a least-squares fit of a parabola with a step in the middle."""
    x = np.arange(-half, half + 1) / half
    used = np.abs(np.arange(-half, half + 1)) > gap
    model = np.column_stack([np.ones_like(x), x, x**2, np.sign(x) / 2])
    kernel = np.zeros(2 * half + 1)
    kernel[used] = np.linalg.pinv(model[used])[-1]
    return kernel
