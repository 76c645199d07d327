"""What a linear ranker looks for: its weights as a spectrum, below the spectra it learned from."""

from __future__ import annotations

import os

import numpy as np
from numpy.typing import NDArray

from rarespec.plots.canvas import BLUE, GREY, RED, save, stacked_panels
from rarespec.spectrum import WavelengthGrid


def draw_weights(
    weights: NDArray[np.floating],
    known: NDArray[np.floating],
    typical: NDArray[np.floating],
    grid: WavelengthGrid,
    path: str | os.PathLike[str],
) -> None:
    """Weights on the pixels (p,), the mean known spectrum and the mean of the survey (p,), filtered and rescaled.

    Flux counts in favour of a spectrum where the weights are positive, and against it where they are negative.
    """
    figure, (spectra, panel) = stacked_panels(2, height=2.2)
    spectra.plot(grid.wavelength, typical, color=GREY, linewidth=1.0, label="mean of the survey")
    spectra.plot(grid.wavelength, known, color=BLUE, linewidth=1.0, label="mean of the known")
    spectra.set_ylabel("rescaled flux", fontsize=9)
    spectra.legend(frameon=False, fontsize=9)
    panel.axhline(0, color="0.8", linewidth=0.6)
    panel.fill_between(grid.wavelength, weights, 0, where=weights > 0, color=BLUE, alpha=0.5, linewidth=0)
    panel.fill_between(grid.wavelength, weights, 0, where=weights < 0, color=RED, alpha=0.5, linewidth=0)
    panel.set_ylabel("weight of the flux", fontsize=9)
    panel.set_title("in favour where above zero, against where below", loc="left", fontsize=8.5, pad=3)
    save(figure, path)
