"""Spectra drawn one above the other, as an astronomer looks at them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from rarespec.spectrum import Spectra, Spectrum

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SMOOTHING = 7
"""Pixels of the running mean drawn over the data."""


def draw_spectra(spectra: Sequence[Spectrum] | Spectra, path: str | os.PathLike[str], title: str = "") -> None:
    """A picture with one panel per spectrum: flux, its running mean, gaps where pixels are bad."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 0.6 + 1.5 * len(spectra)), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(len(spectra), 1, sharex=True, squeeze=False)[:, 0]
    for panel, spectrum in zip(panels, iter(spectra), strict=True):
        _draw(panel, spectrum)
    panels[-1].set_xlabel("vacuum wavelength [Å]")
    figure.supylabel("flux density [10$^{-17}$ erg s$^{-1}$ cm$^{-2}$ Å$^{-1}$]", fontsize=10)
    if title:
        figure.suptitle(title, fontsize=11)
    figure.savefig(path, dpi=130)


def _draw(panel: Axes, spectrum: Spectrum) -> None:
    flux = np.where(spectrum.bad, np.nan, spectrum.flux)
    smooth = np.convolve(np.where(spectrum.bad, 0, spectrum.flux), np.ones(SMOOTHING), "same")
    weight = np.convolve(~spectrum.bad, np.ones(SMOOTHING), "same")
    smooth = np.divide(smooth, weight, out=np.full(len(flux), np.nan), where=weight > 0)
    panel.plot(spectrum.wavelength, flux, color="0.75", linewidth=0.5)
    panel.plot(spectrum.wavelength, smooth, color="#0072b2", linewidth=0.9)
    low, high = np.nanpercentile(smooth, [0.5, 99.5])
    panel.set_ylim(min(0, low - 0.1 * (high - low)), high + 0.1 * (high - low))
    panel.margins(x=0)
    panel.tick_params(labelsize=8)
    panel.set_title(_caption(spectrum), loc="left", fontsize=8.5, pad=3)


def _caption(spectrum: Spectrum) -> str:
    row = spectrum.catalogue
    words = [row.get("class"), row.get("subclass")]
    kind = " ".join(str(word) for word in words if word)
    snr = f", S/N {row['snr']:.0f}" if row.get("snr") is not None else ""
    return f"{spectrum.id}   {kind}{snr}"
