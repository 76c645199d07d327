"""Spectra drawn one above the other, as an astronomer looks at them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from rarespec.plots.canvas import BLUE, GREY, save, stacked_panels
from rarespec.spectrum import Spectra, Spectrum

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FLUX = "flux [units of the survey]"
"""A survey does not know its units: those of its files are kept."""
SMOOTHING = 7
"""Pixels of the running mean drawn over the data."""


def draw_spectra(spectra: Sequence[Spectrum] | Spectra, path: str | os.PathLike[str], title: str = "") -> None:
    """A picture with one panel per spectrum: flux, its running mean, gaps where pixels are bad."""
    figure, panels = stacked_panels(len(spectra))
    for panel, spectrum in zip(panels, iter(spectra), strict=True):
        _draw(panel, spectrum)
    figure.supylabel(FLUX, fontsize=10)
    if title:
        figure.suptitle(title, fontsize=11)
    save(figure, path)


def _draw(panel: Axes, spectrum: Spectrum) -> None:
    flux = np.where(spectrum.bad, np.nan, spectrum.flux)
    smooth = np.convolve(np.where(spectrum.bad, 0, spectrum.flux), np.ones(SMOOTHING), "same")
    weight = np.convolve(~spectrum.bad, np.ones(SMOOTHING), "same")
    smooth = np.divide(smooth, weight, out=np.full(len(flux), np.nan), where=weight > 0)
    panel.plot(spectrum.wavelength, flux, color=GREY, linewidth=0.5)
    panel.plot(spectrum.wavelength, smooth, color=BLUE, linewidth=0.9)
    low, high = np.nanpercentile(smooth, [0.5, 99.5])
    panel.set_ylim(min(0, low - 0.1 * (high - low)), high + 0.1 * (high - low))
    panel.set_title(_caption(spectrum), loc="left", fontsize=8.5, pad=3)


def _caption(spectrum: Spectrum) -> str:
    row = spectrum.catalogue
    kind = " ".join(str(word) for word in (row.get("class"), row.get("subclass")) if word)
    snr = f", S/N {row['snr']:.0f}" if row.get("snr") is not None else ""
    return f"{spectrum.id}   {kind}{snr}"
