"""The spectrum of a candidate as markup for a page: sharp at any size, in the colours of the page, about 12 kB.

Curves stretch with the page while letters keep their size: the lines are SVG, the words around them HTML.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from rarespec.pages.html_element import Html, element
from rarespec.pages.svg_path import path_through, round_numbers
from rarespec.plots.candidates import flux_limits
from rarespec.searching.portrait import Portrait
from rarespec.searching.spectral_features import SpectralFeature
from rarespec.spectrum.fewer_points import extreme_points, mean_points

WIDTH, HEIGHT = 2000, 600
"""Whole units in which points are written."""
BELOW_NAMES = 115
"""Units from the top to where marks begin."""
POINTS = 720
"""Of a curve."""
N_WAVELENGTHS, N_FLUXES = 7, 5
"""Numbers on the scales at most."""


def candidate_svg(portrait: Portrait, label: str) -> Html:
    """The picture with its scales; `label` says what it shows to those who do not see it."""
    frame = _Frame(portrait)
    curves = [frame.path(*extreme_points(portrait.wavelength, portrait.observed, POINTS), "observed")]
    if portrait.known is not None:
        curves.append(frame.path(*mean_points(portrait.wavelength, portrait.known, POINTS), "known"))
    curves.append(frame.path(*mean_points(portrait.wavelength, portrait.filtered, POINTS), "filtered"))
    lines = [frame.upright(one, "sky") for one in portrait.sky]
    lines += [frame.upright(one, "mark") for one in portrait.marks]
    view = {"viewBox": f"0 0 {WIDTH} {HEIGHT}", "preserveAspectRatio": "none", "role": "img", "aria_label": label}
    drawing = element("svg", *lines, *curves, **view)
    return element("div", drawing, *frame.names(portrait), *frame.wavelengths(), *frame.fluxes(), class_="spectrum")


class _Frame:
    """From wavelength and flux to places in the picture."""

    def __init__(self, portrait: Portrait) -> None:
        self.first, self.last = float(portrait.wavelength[0]), float(portrait.wavelength[-1])
        self.bottom, self.top = flux_limits(portrait)

    def across(self, wavelength: NDArray[np.floating] | float) -> NDArray[np.floating]:
        """Share of the width."""
        return (np.asarray(wavelength) - self.first) / (self.last - self.first)

    def down(self, flux: NDArray[np.floating] | float) -> NDArray[np.floating]:
        """Share of the height, from the top."""
        return (self.top - np.asarray(flux)) / (self.top - self.bottom)

    def path(self, wavelength: NDArray[np.floating], flux: NDArray[np.floating], kind: str) -> Html:
        y = HEIGHT * np.clip(self.down(flux), -0.02, 1.02)  # what is outside ends just beyond the edge
        return element("path", class_=kind, d=path_through(WIDTH * self.across(wavelength), y))

    def upright(self, feature: SpectralFeature, kind: str) -> Html:
        x = round(float(WIDTH * self.across(feature.wavelength)))
        return element("path", class_=kind, d=f"M{x} {BELOW_NAMES if kind == 'mark' else 0}V{HEIGHT}")

    def names(self, portrait: Portrait) -> Iterator[Html]:
        """Of the marked features, in two lines so that neighbours do not collide."""
        for i, feature in enumerate(portrait.marks):
            line = "name" if i % 2 else "name lower"
            told = f"{feature.name} {feature.wavelength:.0f} Å"
            yield element("span", feature.name, class_=line, title=told, style=self._left(feature.wavelength))

    def wavelengths(self) -> Iterator[Html]:
        for tick in round_numbers(self.first, self.last, N_WAVELENGTHS):
            yield element("span", f"{tick:.0f}", class_="across", style=self._left(tick))

    def fluxes(self) -> Iterator[Html]:
        for tick in round_numbers(self.bottom, self.top, N_FLUXES):
            style = f"top:{100 * float(self.down(tick)):.1f}%"
            yield element("span", f"{tick:.6g}", class_="up", style=style)

    def _left(self, wavelength: float) -> str:
        return f"left:{100 * float(self.across(wavelength)):.1f}%"
