"""What the steps of a recipe do to a spectrum, and what the principal components look like."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rarespec.plots.canvas import BLUE, RED, save, stacked_panels
from rarespec.plots.spectra import FLUX
from rarespec.spectrum import Spectrum, WavelengthGrid

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_filtering(spectrum: Spectrum, filtered: NDArray[np.floating], path: str | os.PathLike[str]) -> Axes:
    """The paper's Figure 1: a spectrum as observed and after the median filter, (p,) each."""
    figure, (panel,) = stacked_panels(1, height=3.6)
    draw_before_and_after(panel, spectrum, filtered)
    panel.set_ylabel(FLUX, fontsize=9)
    panel.legend(frameon=False, fontsize=9)
    save(figure, path)
    return panel


def draw_before_and_after(panel: Axes, spectrum: Spectrum, filtered: NDArray[np.floating]) -> None:
    """Both curves, with gaps in the observed one where pixels are bad."""
    flux = np.where(spectrum.bad, np.nan, spectrum.flux)
    panel.plot(spectrum.wavelength, flux, color=BLUE, linewidth=0.6, label="as observed")
    panel.plot(spectrum.wavelength, filtered, color=RED, linewidth=1.0, label="after the median filter")


def draw_components(
    components: NDArray[np.floating], shares: NDArray[np.floating], grid: WavelengthGrid, path: str | os.PathLike[str]
) -> list[Axes]:
    """Principal components (k, p) as spectra, with the share of the variance (k,) that each explains."""
    figure, panels = stacked_panels(len(components), height=1.25)
    for number, (panel, component, share) in enumerate(zip(panels, components, shares, strict=True), start=1):
        panel.axhline(0, color="0.8", linewidth=0.6)
        panel.plot(grid.wavelength, component, color=BLUE, linewidth=0.8)
        panel.set_title(f"component {number}: {100 * share:.2f} % of the variance", loc="left", fontsize=8.5, pad=3)
    figure.supylabel("weight of the rescaled flux", fontsize=10)
    save(figure, path)
    return panels
