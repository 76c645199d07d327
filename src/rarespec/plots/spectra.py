"""Spectra drawn one above the other, as an astronomer looks at them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from rarespec.plots.canvas import BLUE, GREY, save, stacked_panels
from rarespec.spectrum import Spectra, Spectrum
from rarespec.spectrum.printable import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FLUX = "flux [units of the survey]"
"""A survey does not know its units: those of its files are kept."""
SMOOTHING = 7
"""Pixels of the running mean drawn over the data."""


def draw_spectra(spectra: Sequence[Spectrum] | Spectra, path: str | os.PathLike[str], title: str = "") -> list[Axes]:
    """A picture with one panel per spectrum: flux, its running mean, gaps where pixels are bad."""
    figure, panels = stacked_panels(len(spectra))
    for panel, spectrum in zip(panels, iter(spectra), strict=True):
        draw_spectrum(panel, spectrum)
    figure.supylabel(FLUX, fontsize=10)
    if title:
        figure.suptitle(title, fontsize=11)
    save(figure, path)
    return panels


def draw_spectrum(panel: Axes, spectrum: Spectrum) -> None:
    """One spectrum, with its id, class and S/N above it."""
    usable = ~spectrum.bad & np.isfinite(spectrum.flux)
    smooth = np.convolve(np.where(usable, spectrum.flux, 0), np.ones(SMOOTHING), "same")
    weight = np.convolve(usable, np.ones(SMOOTHING), "same")
    smooth = np.divide(smooth, weight, out=np.full(len(usable), np.nan), where=weight > 0.5)
    panel.plot(spectrum.wavelength, np.where(usable, spectrum.flux, np.nan), color=GREY, linewidth=0.5)
    panel.plot(spectrum.wavelength, smooth, color=BLUE, linewidth=0.9)
    if usable.any():
        low, high = np.nanpercentile(smooth, [0.5, 99.5])
        margin = 0.1 * (high - low) or 1.0
        panel.set_ylim(min(0, low - margin), high + margin)
    panel.set_title(_caption(spectrum), loc="left", fontsize=8.5, pad=3, parse_math=False)


def _caption(spectrum: Spectrum) -> str:
    row = spectrum.catalogue
    kind = " ".join(str(word) for word in (row.get("class"), row.get("subclass")) if word)
    snr = f", S/N {row['snr']:.0f}" if row.get("snr") is not None else ""
    return printable(f"{spectrum.id}   {kind}{snr}")
