"""Which pixels an index looks at, and how much of each lies in each window.

Windows are given in the rest frame. With one redshift per row they move over the grid row by row, and every array
here has a row per spectrum; without, one row serves all spectra.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from array_api_compat import device

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
    places  : per window, which columns of the strip it can touch
    overlap : per window, (rows, columns) Angstrom in the rest frame that it shares with each pixel; 0 off the grid
    """

    pixels: Array
    middle: Array
    places: tuple[slice, ...]
    overlap: tuple[Array, ...]

    def values_of(self, flux: Array, xp: Any) -> Array:
        """(n, k) float64: what is in these pixels of the (n, p) spectra."""
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
    """Where the windows of one index fall; `stretch` is 1 + z, (rows, 1) float64."""
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
