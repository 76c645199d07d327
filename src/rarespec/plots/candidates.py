"""Spectra of candidates, each before the nearest known example and with the lines and band heads to look at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rarespec.plots.canvas import BLUE, GREY, RED, SMALL_SIZE
from rarespec.searching.portrait import Portrait
from rarespec.spectrum.fewer_points import extreme_points, mean_points

if TYPE_CHECKING:
    from matplotlib.axes import Axes

POINTS = 600
"""Of a curve: more than a small panel can show, few enough for a hundred of them in one file."""
HEADROOM = 0.22
"""Share of the panel above the spectrum, for the names of lines."""
MARK, SKY_MARK = "0.35", "0.7"


def draw_candidate(panel: Axes, portrait: Portrait) -> None:
    """Observed flux grey, filtered flux blue, the nearest known example orange behind it; gaps where pixels are bad."""
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
