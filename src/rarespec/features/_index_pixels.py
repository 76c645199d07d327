"""Which pixels an index looks at, and how much of each lies in each window.

Windows are given in the rest frame. With one redshift per row they move over the grid row by row, and every array
here has a row per spectrum; without, one row serves all spectra.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rarespec.features.index_definitions import Window
from rarespec.spectrum import WavelengthGrid

Array = Any
"""An array of any library that follows the array API standard."""

NEIGHBOURS = 3.0
"""Windows closer than this many pixels may share one, and are looked at together."""


@dataclass(frozen=True, slots=True)
class Strip:
    """The pixels of one index, in one or more runs of neighbouring pixels.

    pixels  : (rows, k) integers, places in the grid; those off the grid are clipped to it
    middle  : (rows, k) rest-frame wavelength of the middle of each pixel, Angstrom
    overlap : one (rows, k) array per window, Angstrom in the rest frame that it shares with each pixel; 0 off the grid
    """

    pixels: Array
    middle: Array
    overlap: tuple[Array, ...]

    def values_of(self, flux: Array, xp: Any) -> Array:
        """(n, k) float64: what is in these pixels of the (n, p) spectra."""
        n, p = flux.shape
        if self.pixels.shape[0] == 1:
            taken = xp.take(flux, self.pixels[0, :], axis=1)
        else:
            row_start = xp.arange(n, dtype=xp.int64, device=_device_of(flux))[:, None] * p
            flat = xp.reshape(row_start + self.pixels, (-1,))
            taken = xp.reshape(xp.take(xp.reshape(flux, (-1,)), flat), self.pixels.shape)
        return xp.astype(taken, xp.float64)


def strip_of(windows: tuple[Window, ...], grid: WavelengthGrid, stretch: Array, xp: Any) -> Strip:
    """Where the windows of one index fall; `stretch` is 1 + z, (rows, 1) float64."""
    edges = xp.asarray(grid.edges, dtype=xp.float64, device=_device_of(stretch))
    runs = [_run(group, windows, grid, edges, stretch, xp) for group in neighbours(windows, grid)]
    pixels = xp.concat([run[0] for run in runs], axis=1)
    middle = xp.concat([run[1] for run in runs], axis=1)
    overlap = [xp.concat([run[2][i] for run in runs], axis=1) for i in range(len(windows))]
    return Strip(pixels, middle, tuple(overlap))


def neighbours(windows: tuple[Window, ...], grid: WavelengthGrid) -> list[list[int]]:
    """Numbers of the windows, grouped so that no two groups can share a pixel."""
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


def _run(
    group: list[int], windows: tuple[Window, ...], grid: WavelengthGrid, edges: Array, stretch: Array, xp: Any
) -> tuple[Array, Array, list[Array]]:
    """Pixels, their middles, and the overlap of all windows with one run of pixels."""
    first = _pixel_holding(min(windows[i][0] for i in group), grid, stretch, xp)
    last = _pixel_holding(max(windows[i][1] for i in group), grid, stretch, xp)
    length = int(xp.max(last - first)) + 1
    pixels = first + xp.arange(length, dtype=xp.int64, device=_device_of(first))[None, :]
    inside = (pixels >= 0) & (pixels < grid.n_pixels)
    pixels = xp.clip(pixels, 0, grid.n_pixels - 1)
    flat = xp.reshape(pixels, (-1,))
    low = xp.reshape(xp.take(edges, flat), pixels.shape) / stretch
    high = xp.reshape(xp.take(edges, flat + 1), pixels.shape) / stretch
    none = xp.zeros_like(low)
    overlap = [_overlap(windows[i], low, high, inside, xp) if i in group else none for i in range(len(windows))]
    return pixels, (low + high) / 2, overlap


def _pixel_holding(wavelength: float, grid: WavelengthGrid, stretch: Array, xp: Any) -> Array:
    """(rows, 1) number of the pixel around this rest-frame wavelength; just off the grid when it lies beyond."""
    observed = wavelength * stretch
    position = xp.log10(observed) if grid.spacing == "log" else observed
    pixel = xp.floor((position - grid.start) / grid.step + 0.5)
    return xp.astype(xp.clip(pixel, -1.0, float(grid.n_pixels)), xp.int64)


def _overlap(window: Window, low: Array, high: Array, inside: Array, xp: Any) -> Array:
    shared = xp.clip(high, window[0], window[1]) - xp.clip(low, window[0], window[1])
    return xp.where(inside, shared, xp.zeros_like(shared))


def _device_of(array: Array) -> Any:
    from array_api_compat import device

    return device(array)
