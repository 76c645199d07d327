"""Which pixels an index looks at, and the numbers behind it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from array_api_compat import device

from rarespec.features.indices.definitions import IndexDefinition, Window
from rarespec.spectrum import WavelengthGrid

# ---- Which pixels an index looks at, and how much of each lies in each window.
#
# Windows are given in the rest frame. With one redshift per row they move over the grid row by row, and every array
# here has a row per spectrum; without, one row serves all spectra.


Array = Any
"""An array of any library that follows the array API standard."""

NEIGHBOURS = 3.0
"""Windows closer than this many pixels may share one, and are looked at together."""


@dataclass(frozen=True, slots=True)
class Strip:
    """The pixels of one index, in one or more runs of neighbouring pixels.

    Attributes
    ----------
    pixels : (rows, k) int
        Places in the grid; those off the grid are clipped to it.
    middle : (rows, k) float
        Rest-frame wavelength of the middle of each pixel, Angstrom.
    places : tuple of slice
        For each window, which columns of the strip it can touch.
    overlap : tuple of (rows, columns) float
        For each window, Angstrom in the rest frame that it shares with each pixel; 0 off the grid.
    """

    pixels: Array
    middle: Array
    places: tuple[slice, ...]
    overlap: tuple[Array, ...]

    def values_of(self, flux: Array, xp: Any) -> Array:
        """Take these pixels of the (n, p) spectra, (n, k) float64."""
        n, p = flux.shape
        if self.pixels.shape[0] == 1:
            taken = xp.take(flux, self.pixels[0, :], axis=1)
        else:
            row_start = xp.arange(n, dtype=xp.int64, device=device(flux))[:, None] * p
            flat = xp.reshape(row_start + self.pixels, (-1,))
            taken = xp.reshape(xp.take(xp.reshape(flux, (-1,)), flat), self.pixels.shape)
        return xp.astype(taken, xp.float64)


@dataclass(frozen=True, slots=True)
class _Run:
    """Neighbouring pixels: their places in the grid (rows, length), their rest-frame edges (rows, length + 1)."""

    pixels: Array
    edges: Array

    def columns_of(self, window: Window, xp: Any) -> slice:
        """The columns in which any row can overlap with the window."""
        touched = xp.any((self.edges[:, 1:] > window[0]) & (self.edges[:, :-1] < window[1]), axis=0)
        number = xp.arange(touched.shape[0], dtype=xp.int64, device=device(touched))
        first = int(xp.min(xp.where(touched, number, xp.full_like(number, touched.shape[0] - 1))))
        last = int(xp.max(xp.where(touched, number, xp.full_like(number, first))))
        return slice(first, last + 1)


def strip_of(windows: tuple[Window, ...], grid: WavelengthGrid, stretch: Array, xp: Any) -> Strip:
    """Find the pixels that the windows of one index touch, and how much of each lies in each window.

    Parameters
    ----------
    windows : tuple of (float, float)
        Lower and upper wavelength of each window, rest-frame vacuum Angstrom.
    grid : WavelengthGrid
        Observed wavelengths of the pixels.
    stretch : (rows, 1) float64
        1 + z, one for each spectrum, or one row for all of them.
    xp : module
        Array library of stretch, on whose device the result is.

    Returns
    -------
    Strip
        The pixels, with the windows in the order given.
    """
    edges = xp.asarray(grid.edges, dtype=xp.float64, device=device(stretch))
    groups = neighbours(windows, grid)
    runs = [_run([windows[i] for i in group], grid, edges, stretch, xp) for group in groups]
    places, overlap, start = {}, {}, 0
    for group, run in zip(groups, runs, strict=True):
        for i in group:
            columns = run.columns_of(windows[i], xp)
            places[i] = slice(start + columns.start, start + columns.stop)
            overlap[i] = _overlap(windows[i], run.edges[:, columns.start : columns.stop + 1], xp)
        start += run.pixels.shape[1]
    in_order = range(len(windows))
    return Strip(
        xp.concat([run.pixels for run in runs], axis=1),
        xp.concat([(run.edges[:, 1:] + run.edges[:, :-1]) / 2 for run in runs], axis=1),
        tuple(places[i] for i in in_order),
        tuple(overlap[i] for i in in_order),
    )


def neighbours(windows: tuple[Window, ...], grid: WavelengthGrid) -> list[list[int]]:
    """Group the numbers of the windows so that no two groups can share a pixel."""
    gap = NEIGHBOURS * float(np.diff(grid.edges).max())
    order = sorted(range(len(windows)), key=lambda i: windows[i])
    groups, reached = [[order[0]]], windows[order[0]][1]
    for i in order[1:]:
        if windows[i][0] - reached < gap:
            groups[-1].append(i)
        else:
            groups.append([i])
        reached = max(reached, windows[i][1])
    return groups


def _run(group: list[Window], grid: WavelengthGrid, edges: Array, stretch: Array, xp: Any) -> _Run:
    """The pixels that these windows reach. Off the grid a pixel has no width, so nothing overlaps with it."""
    first = _pixel_holding(min(low for low, _ in group), grid, stretch, xp)
    last = _pixel_holding(max(high for _, high in group), grid, stretch, xp)
    length = int(xp.max(last - first)) + 1
    numbers = first + xp.arange(length + 1, dtype=xp.int64, device=device(first))[None, :]
    at_edge = xp.clip(numbers, 0, grid.n_pixels)
    rest_frame = xp.reshape(xp.take(edges, xp.reshape(at_edge, (-1,))), at_edge.shape) / stretch
    return _Run(xp.clip(numbers[:, :-1], 0, grid.n_pixels - 1), rest_frame)


def _pixel_holding(wavelength: float, grid: WavelengthGrid, stretch: Array, xp: Any) -> Array:
    """(rows, 1) number of the pixel around this rest-frame wavelength; just off the grid when it lies beyond."""
    observed = wavelength * stretch
    position = xp.log10(observed) if grid.spacing == "log" else observed
    pixel = xp.floor((position - grid.start) / grid.step + 0.5)
    return xp.astype(xp.clip(pixel, -1.0, float(grid.n_pixels)), xp.int64)


def _overlap(window: Window, edges: Array, xp: Any) -> Array:
    inside = xp.clip(edges, window[0], window[1])
    return inside[:, 1:] - inside[:, :-1]


# ---- The numbers behind an index: flux relative to the continuum, its variance, and what each kind makes of them.
#
# Notation, per spectrum
# ----------------------
# F_i, v_i  flux of pixel i and its variance
# u_i       weight of pixel i in a window: good Angstrom of the pixel in the window, over all of them; sum u_i = 1
# B, R      mean flux of the blue and the red continuum window, at their mean wavelengths
# C_i       the line through B and R at the middle of pixel i: C_i = (1 - t_i) B + t_i R
# q         mean of F / C over the feature's window; for a ratio, mean flux of the feature over that of the continuum
# g_i       dq / dF_i; the variance of q is sum g_i^2 v_i, which counts pixels that lie in two windows correctly
#
# A spectrum linear in wavelength has q = 1 exactly, whatever pixels are missing: B, R and C refer to the pixels
# used.


MIN_COVERED = 0.8
"""Share of each window that good pixels must cover."""


@dataclass(frozen=True, slots=True)
class Light:
    """Spectra in the pixels of one strip.

    Attributes
    ----------
    flux : (n, k) float64
        0 where bad.
    good : (n, k) float64
        1 where the flux is a number.
    variance : (n, k) float64 or None
        NaN where there is none.
    """

    flux: Array
    good: Array
    variance: Array | None


@dataclass(frozen=True, slots=True)
class Mean:
    """Mean over one window.

    Attributes
    ----------
    columns : slice
        Of the strip in which the window lies.
    weights : (n, columns) float
        u.
    usable : (n, 1) bool
        True where enough of the window is covered.
    """

    columns: slice
    weights: Array
    usable: Array

    def of(self, values: Array, xp: Any) -> Array:
        """Take the mean of (n, k) or (1, k) values over the window, (n, 1)."""
        return xp.sum(self.weights * values[:, self.columns], axis=1, keepdims=True)


Gradient = list[tuple[Mean, Array]]
"""dq / dF as a sum: what to add, (n, columns), in the columns of each window."""


def light_in(strip: Strip, flux: Array, ivar: Array | None, xp: Any) -> Light:
    """Read the flux of spectra, and its variance, in the pixels of a strip.

    Parameters
    ----------
    strip : Strip
        The pixels.
    flux : (n, p) array
        Spectra; pixels that are not finite are bad.
    ivar : (n, p) array or None
        Inverse variance; None when there is none.
    xp : module
        Array library of flux.

    Returns
    -------
    Light
        In float64. The variance is NaN where ivar is not a positive number.
    """
    values = strip.values_of(flux, xp)
    good = xp.isfinite(values)
    variance = None
    if ivar is not None:
        weight = strip.values_of(ivar, xp)
        known = xp.isfinite(weight) & (weight > 0)
        variance = xp.where(known, 1.0 / xp.where(known, weight, xp.ones_like(weight)), xp.full_like(weight, xp.nan))
    return Light(xp.where(good, values, xp.zeros_like(values)), xp.astype(good, xp.float64), variance)


def value_and_error(definition: IndexDefinition, strip: Strip, light: Light, xp: Any) -> tuple[Array, Array]:
    """Measure an index of each spectrum, and its standard error.

    Parameters
    ----------
    definition : IndexDefinition
        The index.
    strip : Strip
        Its pixels, as `strip_of` finds them for its windows.
    light : Light
        The n spectra in these pixels.
    xp : module
        Array library of all of them.

    Returns
    -------
    value : (n, 1) float64
        The index; NaN where windows have too few good pixels or the continuum is not positive.
    error : (n, 1) float64
        Its standard error; NaN without a value or without variances.
    """
    means = [_mean(definition, strip, light, i, xp) for i in range(len(definition.windows))]
    relative = _ratio if definition.kind == "ratio" else _against_line
    q, gradient, usable = relative(definition, means, strip, light, xp)
    for mean in means:
        usable = usable & mean.usable
    value, factor = _of_kind(definition, q, xp)
    nothing = xp.full_like(q, xp.nan)
    value = xp.where(usable, value, nothing)
    if light.variance is None:
        return value, nothing
    spread = _variance(gradient, light.variance, xp)
    # A value without a number has no error either, a logarithm of a negative flux for one.
    return value, xp.where(xp.isnan(value), nothing, xp.abs(factor) * xp.sqrt(spread))


def _mean(definition: IndexDefinition, strip: Strip, light: Light, i: int, xp: Any) -> Mean:
    low, high = definition.windows[i]
    weights = strip.overlap[i] * light.good[:, strip.places[i]]
    covered = xp.sum(weights, axis=1, keepdims=True)
    usable = covered >= MIN_COVERED * (high - low)
    return Mean(strip.places[i], weights / xp.where(usable, covered, xp.ones_like(covered)), usable)


def _variance(gradient: Gradient, variance: Array, xp: Any) -> Array:
    total = xp.zeros_like(variance)
    for mean, part in gradient:
        total[:, mean.columns] += part
    return xp.sum(xp.where(total != 0, total**2 * variance, xp.zeros_like(total)), axis=1, keepdims=True)


def _ratio(
    definition: IndexDefinition, means: list[Mean], strip: Strip, light: Light, xp: Any
) -> tuple[Array, Gradient, Array]:
    """q, its gradient, and where it exists."""
    features, continua = means[: len(definition.feature)], means[len(definition.feature) :]
    level = sum(mean.of(light.flux, xp) for mean in continua) / len(continua)
    usable = level > 0
    level = xp.where(usable, level, xp.ones_like(level))
    q = sum(mean.of(light.flux, xp) for mean in features) / len(features) / level
    if light.variance is None:
        return q, [], usable
    up = [(mean, mean.weights / (len(features) * level)) for mean in features]
    down = [(mean, mean.weights * (-q / (len(continua) * level))) for mean in continua]
    return q, up + down, usable


def _against_line(
    definition: IndexDefinition, means: list[Mean], strip: Strip, light: Light, xp: Any
) -> tuple[Array, Gradient, Array]:
    """q, its gradient, and where it exists: where the continuum is positive in its windows and across the feature."""
    feature, blue, red = means
    B, R = blue.of(light.flux, xp), red.of(light.flux, xp)
    at_blue, at_red = blue.of(strip.middle, xp), red.of(strip.middle, xp)
    apart = at_red - at_blue
    t = (strip.middle[:, feature.columns] - at_blue) / xp.where(apart > 0, apart, xp.ones_like(apart))
    C = B + t * (R - B)
    positive = (C > 0) | (feature.weights == 0)
    usable = (B > 0) & (R > 0) & (apart > 0) & xp.all(positive, axis=1, keepdims=True)
    C = xp.where(C > 0, C, xp.ones_like(C))
    share = feature.weights / C
    relative = share * light.flux[:, feature.columns]
    q = xp.sum(relative, axis=1, keepdims=True)
    if light.variance is None:
        return q, [], usable
    to_red = xp.sum(relative * t / C, axis=1, keepdims=True)
    to_blue = xp.sum(relative / C, axis=1, keepdims=True) - to_red
    return q, [(feature, share), (blue, -to_blue * blue.weights), (red, -to_red * red.weights)], usable


def _of_kind(definition: IndexDefinition, q: Array, xp: Any) -> tuple[Array, Array]:
    """The index and its derivative with respect to q."""
    if definition.kind == "width":
        return definition.width * (1.0 - q), xp.full_like(q, -definition.width)
    if definition.kind == "magnitude":
        positive = xp.where(q > 0, q, xp.full_like(q, xp.nan))
        return -2.5 * xp.log10(positive), -2.5 / math.log(10.0) / positive
    return q, xp.ones_like(q)
