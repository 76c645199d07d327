"""What a linear ranker looks for: its weights as a spectrum, below the spectra it learned from."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rarespec.plots.canvas import BLUE, GREY, RED, save, stacked_panels
from rarespec.spectrum import WavelengthGrid

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_weights(
    weights: NDArray[np.floating],
    known: NDArray[np.floating],
    typical: NDArray[np.floating],
    grid: WavelengthGrid,
    path: str | os.PathLike[str],
) -> tuple[Axes, Axes]:
    """Weights on the pixels (p,), the mean known spectrum and the mean of the survey (p,), filtered and rescaled.

    Flux counts in favour of a spectrum where the weights are positive, and against it where they are negative.
    """
    figure, (above, below) = stacked_panels(2, height=2.2)
    draw_weights_on(above, below, weights, known, typical, grid.wavelength)
    save(figure, path)
    return above, below


def draw_weights_on(
    above: Axes,
    below: Axes,
    weights: NDArray[np.floating],
    known: NDArray[np.floating],
    typical: NDArray[np.floating],
    wavelength: NDArray[np.floating],
    fontsize: float = 9.0,
) -> None:
    """The spectra in the panel above, the weights in the one below; (p,) each."""
    above.plot(wavelength, typical, color=GREY, linewidth=1.0, label="mean of the survey")
    above.plot(wavelength, known, color=BLUE, linewidth=1.0, label="mean of the known examples")
    above.set_ylabel("rescaled flux", fontsize=fontsize)
    above.legend(frameon=False, fontsize=fontsize)
    below.axhline(0, color="0.8", linewidth=0.6)
    below.fill_between(wavelength, weights, 0, where=weights > 0, color=BLUE, alpha=0.5, linewidth=0)
    below.fill_between(wavelength, weights, 0, where=weights < 0, color=RED, alpha=0.5, linewidth=0)
    below.set_ylabel("weight of the flux", fontsize=fontsize)
    below.set_title("positive: in favour; negative: against", loc="left", fontsize=fontsize - 0.5, pad=3)
