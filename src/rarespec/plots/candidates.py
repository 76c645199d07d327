"""Spectra of candidates, each before the nearest known example and with the lines and band heads to look at."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from rarespec.pages.html import Html, element
from rarespec.pages.plot import css_left, plot_html
from rarespec.pages.svg import Frame
from rarespec.plots.canvas import BLUE, GREY, RED, SMALL_SIZE
from rarespec.searching.explain.portrait import Portrait
from rarespec.searching.explain.spectral_features import SpectralFeature
from rarespec.spectrum.picture import extreme_points, mean_points

if TYPE_CHECKING:
    from matplotlib.axes import Axes


POINTS = 600
"""Of a curve: more than a small panel can show, few enough for a hundred of them in one file."""
HEADROOM = 0.22
"""Share of the panel above the spectrum, for the names of lines."""
MARK, SKY_MARK = "0.35", "0.7"


def draw_candidate(panel: Axes, portrait: Portrait) -> None:
    """Draw a candidate into a panel.

    Grey is the observed flux, blue the filtered flux, and orange, behind it, the nearest known example; there are gaps
    where pixels are bad.

    Parameters
    ----------
    panel : matplotlib.axes.Axes
        Where to draw.
    portrait : Portrait
        What is shown of the candidate.

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from rarespec import PAPER_GRID
    >>> from rarespec.plots import draw_candidate
    >>> from rarespec.searching.explain.portrait import Portrait
    >>> flux = np.linspace(1, 2, PAPER_GRID.n_pixels)
    >>> panel = Figure().subplots()
    >>> draw_candidate(panel, Portrait({"id": "a"}, PAPER_GRID.wavelength, flux, flux, None, "", (), (), ()))
    >>> len(panel.lines)
    2
    """
    wavelength = portrait.wavelength
    panel.plot(*extreme_points(wavelength, portrait.observed, POINTS), color=GREY, linewidth=0.35)
    if portrait.known is not None:
        panel.plot(*mean_points(wavelength, portrait.known, POINTS), color=RED, linewidth=0.7)
    panel.plot(*mean_points(wavelength, portrait.filtered, POINTS), color=BLUE, linewidth=0.7)
    panel.set_xlim(wavelength[0], wavelength[-1])
    panel.set_ylim(*flux_limits(portrait))
    _mark(panel, portrait)
    panel.tick_params(labelsize=SMALL_SIZE - 1, length=2, pad=1.5)


def flux_limits(portrait: Portrait) -> tuple[float, float]:
    """Of the picture: zero, all of the filtered flux but its rarest extremes, and room for names above it."""
    curves = [portrait.filtered] if portrait.known is None else [portrait.filtered, portrait.known]
    finite = [curve[np.isfinite(curve)] for curve in curves]
    ends = np.array([np.percentile(curve, [0.5, 99.5]) if len(curve) else [0.0, 1.0] for curve in finite])
    low, high = float(ends[:, 0].min()), float(ends[:, 1].max())
    margin = 0.06 * (high - low) or 1.0
    bottom, top = min(0.0, low - margin), high + margin
    return bottom, top + HEADROOM * (top - bottom)


def _mark(panel: Axes, portrait: Portrait) -> None:
    names = panel.get_xaxis_transform()
    for feature in portrait.sky:
        panel.axvline(feature.wavelength, color=SKY_MARK, linewidth=0.5, linestyle=":", zorder=0)
    for i, feature in enumerate(portrait.marks):
        height = 0.97 if i % 2 else 0.87  # two lines, so that neighbours do not collide
        panel.axvline(feature.wavelength, ymax=height - 0.1, color=MARK, linewidth=0.5, linestyle="--", zorder=0)
        words: dict[str, Any] = {
            "ha": "center",
            "va": "top",
            "fontsize": SMALL_SIZE - 1,
            "color": MARK,
            "transform": names,
        }
        panel.text(feature.wavelength, height, feature.name, **words)


# ---- The spectrum of a candidate as markup for a page: sharp at any size, in the colours of the page, about 12 kB.


WIDTH, HEIGHT = 2000, 600
"""Whole units in which points are written."""
BELOW_NAMES = 115
"""Units from the top to where marks begin."""
SVG_POINTS = 720
"""Of a curve."""


def candidate_svg(portrait: Portrait, label: str) -> Html:
    """The picture with its scales; `label` says what it shows to those who do not see it."""
    wavelength = portrait.wavelength
    first, last = wavelength[[0, -1]].tolist()
    frame = Frame(first, last, *flux_limits(portrait), WIDTH, HEIGHT)
    curves = [frame.draw(*extreme_points(wavelength, portrait.observed, SVG_POINTS), class_="observed")]
    if portrait.known is not None:
        curves.append(frame.draw(*mean_points(wavelength, portrait.known, SVG_POINTS), class_="known"))
    curves.append(frame.draw(*mean_points(wavelength, portrait.filtered, SVG_POINTS), class_="filtered"))
    lines = [_draw_upright(frame, one, "sky", 0) for one in portrait.sky]
    lines += [_draw_upright(frame, one, "mark", BELOW_NAMES) for one in portrait.marks]
    return plot_html(frame, [*lines, *curves], label, _write_names(frame, portrait))


def _draw_upright(frame: Frame, feature: SpectralFeature, kind: str, start: int) -> Html:
    return element("path", class_=kind, d=f"M{round(float(frame.across(feature.wavelength)))} {start}V{HEIGHT}")


def _write_names(frame: Frame, portrait: Portrait) -> Iterator[Html]:
    """Of the marked features, in two lines so that neighbours do not collide."""
    for i, feature in enumerate(portrait.marks):
        line = "name" if i % 2 else "name lower"
        told = f"{feature.name} {feature.wavelength:.0f} Å"
        yield element("span", feature.name, class_=line, title=told, style=css_left(frame, feature.wavelength))


# ---- The same as a thumbnail of about 1 kB: the filtered flux over the nearest known example, without any words.


SMALL_WIDTH, SMALL_HEIGHT = 240, 72
SMALL_POINTS = 120


def thumbnail_svg(portrait: Portrait) -> Html:
    """The two curves; what they show is told beside them."""
    wavelength = portrait.wavelength
    first, last = wavelength[[0, -1]].tolist()
    bottom, top = flux_limits(portrait)
    frame = Frame(first, last, bottom, top - HEADROOM / (1 + HEADROOM) * (top - bottom), SMALL_WIDTH, SMALL_HEIGHT)
    curves = [] if portrait.known is None else [(portrait.known, "known")]
    drawn = (
        frame.draw(*mean_points(wavelength, curve, SMALL_POINTS), class_=kind)
        for curve, kind in [*curves, (portrait.filtered, "filtered")]
    )
    size = f"0 0 {SMALL_WIDTH} {SMALL_HEIGHT}"
    return element("svg", *drawn, viewBox=size, preserveAspectRatio="none", class_="thumbnail", aria_hidden="true")
