"""A spectrum as a small picture in markup, for notebooks: no library that draws is needed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rarespec.pages.html_element import Html, element
from rarespec.pages.svg_path import path_through, round_numbers
from rarespec.spectrum.fewer_points import extreme_points, mean_points
from rarespec.spectrum.spectra import Spectrum

WIDTH, BELOW = 700, 18
"""Units of the picture: its width, and the room for the wavelengths below the curves."""
POINTS = 350
"""Of the running mean; as many of the lowest and of the highest pixels."""
N_WAVELENGTHS = 7
MARGIN = 0.06


def spectrum_svg(spectrum: Spectrum, height: int = 140) -> Html | None:
    """Flux over wavelength: all pixels faint, their running mean over them, gaps where pixels are bad.

    None when no pixel can be drawn.
    """
    flux = np.where(spectrum.bad | ~np.isfinite(spectrum.flux), np.nan, spectrum.flux.astype(np.float64))
    if not np.isfinite(flux).any() or len(flux) < 2:
        return None
    x, mean = mean_points(spectrum.wavelength, flux, POINTS)
    low, high = _limits(mean)

    def path(at: NDArray[np.floating], values: NDArray[np.floating], **look: object) -> Html:
        down = height * np.clip((high - values) / (high - low), -0.01, 1.01)
        return element("path", d=path_through(_across(spectrum, at), down), fill="none", **look)

    pixels = path(*extreme_points(spectrum.wavelength, flux, 2 * POINTS), stroke="currentColor", stroke_opacity="0.25")
    curve = path(x, mean, stroke="#2a8fd0", stroke_width="1.5")
    style = f"display:block;width:100%;max-width:{WIDTH}px;height:auto"
    view = {"viewBox": f"0 0 {WIDTH} {height + BELOW}", "role": "img", "aria_label": f"Spectrum {spectrum.id}"}
    return element("svg", pixels, curve, *_scale(spectrum, height), style=style, **view)


def _limits(mean: NDArray[np.floating]) -> tuple[float, float]:
    """Of the picture: zero, and all of the curve but its rarest extremes."""
    low, high = np.nanpercentile(mean, [0.5, 99.5])
    margin = MARGIN * (high - low) or abs(high) or 1.0
    return float(min(0.0, low - margin)), float(max(0.0, high + margin))


def _across(spectrum: Spectrum, wavelength: NDArray[np.floating] | float) -> NDArray[np.floating]:
    first, last = spectrum.wavelength[0], spectrum.wavelength[-1]
    return np.asarray(WIDTH * (np.asarray(wavelength) - first) / (last - first))


def _scale(spectrum: Spectrum, height: int) -> list[Html]:
    """Wavelengths below a line; those that would be cut at the edges are left out."""
    line = element("path", d=f"M0 {height}H{WIDTH}", stroke="currentColor", stroke_opacity="0.4")
    ticks = round_numbers(float(spectrum.wavelength[0]), float(spectrum.wavelength[-1]), N_WAVELENGTHS)
    places = [(tick, float(_across(spectrum, tick))) for tick in ticks]
    look = {"y": height + 13, "font_size": 11, "fill": "currentColor", "text_anchor": "middle"}
    return [
        line,
        *(element("text", f"{tick:g} Å", x=f"{x:.0f}", **look) for tick, x in places if 25 < x < WIDTH - 25),
    ]
