"""Spectra drawn one above the other, as an astronomer looks at them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rarespec.plots.canvas import BLUE, GREY, RED, save, stacked_panels
from rarespec.spectrum import Spectra, Spectrum, WavelengthGrid
from rarespec.storage.text import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes


FLUX = "flux [units of the survey]"
"""A survey does not know its units: those of its files are kept."""
SMOOTHING = 7
"""Pixels of the running mean drawn over the data."""


def draw_spectra(spectra: Sequence[Spectrum] | Spectra, path: str | os.PathLike[str], title: str = "") -> list[Axes]:
    """Write a picture with one panel per spectrum: flux, its running mean, gaps where pixels are bad.

    Parameters
    ----------
    spectra : Spectra or sequence of Spectrum
        The spectra.
    path : path or str
        The file; its name says the format.
    title : str
        A title above all panels.

    Returns
    -------
    list of matplotlib.axes.Axes
        One for each spectrum.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from rarespec import MockSky
    >>> from rarespec.plots import draw_spectra
    >>> with TemporaryDirectory() as folder:
    ...     panels = draw_spectra(MockSky(2, seed=1).block(0), f"{folder}/two.png", title="Two stars")
    >>> len(panels)
    2
    """
    figure, panels = stacked_panels(len(spectra))
    for panel, spectrum in zip(panels, iter(spectra), strict=True):
        draw_spectrum(panel, spectrum)
    figure.supylabel(FLUX, fontsize=10)
    if title:
        figure.suptitle(title, fontsize=11)
    save(figure, path)
    return panels


def draw_spectrum(panel: Axes, spectrum: Spectrum) -> None:
    """Draw one spectrum, with its id, class and S/N above it."""
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


# ---- What the steps of a recipe do to a spectrum, and what the principal components look like.


def draw_filtering(spectrum: Spectrum, filtered: NDArray[np.floating], path: str | os.PathLike[str]) -> Axes:
    """Write the paper's Figure 1: a spectrum as observed and after the median filter.

    Parameters
    ----------
    spectrum : Spectrum
        The spectrum, of p pixels.
    filtered : (p,) array
        Its flux after the filter.
    path : path or str
        The file; its name says the format.

    Returns
    -------
    matplotlib.axes.Axes
        The plot.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from rarespec import MockSky
    >>> from rarespec.plots import draw_filtering
    >>> spectrum = MockSky(1, seed=1).block(0)[0]
    >>> with TemporaryDirectory() as folder:
    ...     panel = draw_filtering(spectrum, spectrum.flux, f"{folder}/filtering.png")
    >>> len(panel.lines) > 1
    True
    """
    figure, (panel,) = stacked_panels(1, height=3.6)
    draw_before_and_after(panel, spectrum, filtered)
    panel.set_ylabel(FLUX, fontsize=9)
    panel.legend(frameon=False, fontsize=9)
    save(figure, path)
    return panel


def draw_before_and_after(panel: Axes, spectrum: Spectrum, filtered: NDArray[np.floating]) -> None:
    """Draw a spectrum as observed and after the median filter, with gaps in the observed one where pixels are bad.

    Parameters
    ----------
    panel : matplotlib.axes.Axes
        Where to draw.
    spectrum : Spectrum
        The spectrum as observed, of p pixels.
    filtered : (p,) array
        Its flux after the filter.
    """
    flux = np.where(spectrum.bad, np.nan, spectrum.flux)
    panel.plot(spectrum.wavelength, flux, color=BLUE, linewidth=0.6, label="as observed")
    panel.plot(spectrum.wavelength, filtered, color=RED, linewidth=1.0, label="after the median filter")


def draw_components(
    components: NDArray[np.floating], shares: NDArray[np.floating], grid: WavelengthGrid, path: str | os.PathLike[str]
) -> list[Axes]:
    """Write a picture of principal components as spectra.

    Parameters
    ----------
    components : (k, p) array
        The components.
    shares : (k,) array
        The share of the variance that each explains, from 0 to 1.
    grid : WavelengthGrid
        The wavelengths of the p pixels.
    path : path or str
        The file; its name says the format.

    Returns
    -------
    list of matplotlib.axes.Axes
        One for each component.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> from rarespec import PAPER_GRID
    >>> from rarespec.plots import draw_components
    >>> with TemporaryDirectory() as folder:
    ...     panels = draw_components(np.ones((2, 3601)), np.array([0.6, 0.1]), PAPER_GRID, f"{folder}/pca.png")
    >>> panels[0].get_title(loc="left")
    'component 1: 60.00 % of the variance'
    """
    figure, panels = stacked_panels(len(components), height=1.25)
    for number, (panel, component, share) in enumerate(zip(panels, components, shares, strict=True), start=1):
        panel.axhline(0, color="0.8", linewidth=0.6)
        panel.plot(grid.wavelength, component, color=BLUE, linewidth=0.8)
        panel.set_title(f"component {number}: {100 * share:.2f} % of the variance", loc="left", fontsize=8.5, pad=3)
    figure.supylabel("weight of the rescaled flux", fontsize=10)
    save(figure, path)
    return panels


# ---- What a linear ranker looks for: its weights as a spectrum, below the spectra it learned from.


def draw_weights(
    weights: NDArray[np.floating],
    known: NDArray[np.floating],
    typical: NDArray[np.floating],
    grid: WavelengthGrid,
    path: str | os.PathLike[str],
) -> tuple[Axes, Axes]:
    """Write a picture of the weights on the pixels, under the mean known spectrum and the mean of the survey.

    Flux counts in favour of a spectrum where the weights are positive, and against it where they are negative.

    Parameters
    ----------
    weights : (p,) array
        The weights.
    known : (p,) array
        Mean of the known spectra, filtered and rescaled.
    typical : (p,) array
        Mean of the survey, filtered and rescaled.
    grid : WavelengthGrid
        The wavelengths of the p pixels.
    path : path or str
        The file; its name says the format.

    Returns
    -------
    tuple of matplotlib.axes.Axes
        The panel above and the panel below.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> from rarespec import PAPER_GRID
    >>> from rarespec.plots import draw_weights
    >>> flat = np.ones(3601)
    >>> with TemporaryDirectory() as folder:
    ...     above, below = draw_weights(flat, flat, flat, PAPER_GRID, f"{folder}/weights.png")
    >>> len(above.lines) > 1
    True
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
    """Draw the spectra in the panel above and the weights in the one below.

    Parameters
    ----------
    above : matplotlib.axes.Axes
        For the spectra.
    below : matplotlib.axes.Axes
        For the weights.
    weights : (p,) array
        The weights.
    known : (p,) array
        Mean of the known spectra, filtered and rescaled.
    typical : (p,) array
        Mean of the survey, filtered and rescaled.
    wavelength : (p,) array
        Vacuum Angstrom.
    fontsize : float
        Of the labels, in points.
    """
    above.plot(wavelength, typical, color=GREY, linewidth=1.0, label="mean of the survey")
    above.plot(wavelength, known, color=BLUE, linewidth=1.0, label="mean of the known examples")
    above.set_ylabel("rescaled flux", fontsize=fontsize)
    above.legend(frameon=False, fontsize=fontsize)
    below.axhline(0, color="0.8", linewidth=0.6)
    below.fill_between(wavelength, weights, 0, where=weights > 0, color=BLUE, alpha=0.5, linewidth=0)
    below.fill_between(wavelength, weights, 0, where=weights < 0, color=RED, alpha=0.5, linewidth=0)
    below.set_ylim(*weight_limits(weights))
    below.set_ylabel("weight of the flux", fontsize=fontsize)
    below.set_title("positive: in favour; negative: against", loc="left", fontsize=fontsize - 0.5, pad=3)


def weight_limits(weights: NDArray[np.floating]) -> tuple[float, float]:
    """Of a scale with 0 at its middle: equal heights in favour and against count the same."""
    largest = 1.06 * float(np.abs(weights).max(initial=0.0)) or 1.0
    return -largest, largest
