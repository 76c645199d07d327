"""Figure 1 of an experiment: what the median filter does to a spectrum of the rare class."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from rarespec.features import median_filter
from rarespec.plots.canvas import LABEL_SIZE, PAGE_WIDTH, SMALL_SIZE, WAVELENGTH, empty_figure, save_both
from rarespec.plots.spectra import FLUX, draw_before_and_after
from rarespec.spectrum import Spectrum
from rarespec.survey import Survey

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


WIDTH_ANGSTROM = 10.0
"""Of the paper's median filter."""
ZOOMED_ANGSTROM = 300.0
"""Width of the panel that shows the pixels one by one."""
EDGE = 0.04
"""Room between the observed flux and the frame, in ranges of the filtered flux."""
HEADROOM = 0.5
"""How far the axis may follow a spike, in ranges of the filtered flux."""


def draw_figure_1(survey: Survey, row: int, folder: str | os.PathLike[str]) -> list[Path]:
    """Draw Figure 1: a spectrum as observed and filtered, whole and around the pixel that the filter changes most.

    Parameters
    ----------
    survey : Survey
        The survey.
    row : int
        Row of the spectrum in the survey.
    folder : path or str
        Where the files go.

    Returns
    -------
    list of Path
        The files.
    """
    return save_both(filtering_figure(survey, row), folder, "figure-1")


def filtering_figure(survey: Survey, row: int) -> Figure:
    spectrum = survey[survey.ids[row]]
    filtered = median_filter(spectrum.flux, survey.grid, WIDTH_ANGSTROM, bad=spectrum.bad)
    figure = empty_figure(PAGE_WIDTH, 2.8)
    whole, zoomed = figure.subplots(1, 2, width_ratios=[2.4, 1])
    for panel in (whole, zoomed):
        draw_before_and_after(panel, spectrum, filtered)
        panel.tick_params(labelsize=SMALL_SIZE)
        panel.set_xlabel(WAVELENGTH, fontsize=LABEL_SIZE)
    _frame_whole(whole, spectrum, filtered)
    _tell_cut(whole, spectrum)
    _frame_most_changed(zoomed, spectrum, filtered)
    whole.axvspan(*zoomed.get_xlim(), color="0.9", zorder=0)
    zoomed.set_title("zoom on the shaded range", loc="left", fontsize=LABEL_SIZE)
    whole.set_title(_caption(spectrum), loc="left", fontsize=LABEL_SIZE)
    whole.set_ylabel(FLUX, fontsize=LABEL_SIZE)
    whole.legend(frameon=False, fontsize=SMALL_SIZE)
    return figure


def row_to_show(survey: Survey, rare_rows: NDArray[np.intp]) -> int:
    """Choose the row of middling S/N among these of the survey: its bands and its noise can both be seen.

    Where no S/N is known it is the middle one of all.
    """
    snr = survey.catalogue["snr"][rare_rows].astype(float)
    by_snr = rare_rows[np.argsort(snr, kind="stable")]  # unknown ones (NaN) come last
    n_measured = int(np.isfinite(snr).sum())
    return int(by_snr[(n_measured or len(rare_rows)) // 2])


def _frame_whole(panel: Axes, spectrum: Spectrum, filtered: NDArray[np.floating]) -> None:
    """The axis follows the observed flux, but not a spike so high that the bands would lie flat below it."""
    low, high = np.nanmin(filtered), np.nanmax(filtered)
    room = HEADROOM * (high - low)
    observed = spectrum.flux[~spectrum.bad]
    edge = EDGE * (high - low)
    panel.set_ylim(max(observed.min() - edge, low - room), min(observed.max() + edge, high + room))
    panel.set_xlim(*spectrum.wavelength[[0, -1]])


def _tell_cut(panel: Axes, spectrum: Spectrum) -> None:
    """Where the axis cuts off a line, such as that of the night sky at 5577 Å, and how far that would reach."""
    low, high = panel.get_ylim()
    flux = np.where(spectrum.bad, low, spectrum.flux)
    above, below = int(np.argmax(flux)), int(np.argmin(flux))
    if flux[above] > high:
        _write_cut(panel, spectrum.wavelength[above], flux[above], high, "top")
    if flux[below] < low:
        _write_cut(panel, spectrum.wavelength[below], flux[below], low, "bottom")


def _write_cut(panel: Axes, wavelength: float, flux: float, edge: float, side: Literal["top", "bottom"]) -> None:
    """On that side of the line on which there is more room."""
    is_left = wavelength > np.mean(panel.get_xlim())
    panel.annotate(
        f"clipped: the line at {wavelength:.0f} Å reaches {flux:.3g}",
        (wavelength, edge),
        (-4 if is_left else 4, -4 if side == "top" else 4),
        textcoords="offset points",
        ha="right" if is_left else "left",
        va=side,
        fontsize=SMALL_SIZE,
    )


def _frame_most_changed(panel: Axes, spectrum: Spectrum, filtered: NDArray[np.floating]) -> None:
    change = np.where(spectrum.bad, 0, np.abs(spectrum.flux - filtered))
    middle = spectrum.wavelength[np.argmax(change)]
    first, last = spectrum.wavelength[[0, -1]]
    left = np.clip(middle - ZOOMED_ANGSTROM / 2, first, max(first, last - ZOOMED_ANGSTROM))
    panel.set_xlim(left, min(left + ZOOMED_ANGSTROM, last))
    inside = ~spectrum.bad & (spectrum.wavelength >= left) & (spectrum.wavelength <= left + ZOOMED_ANGSTROM)
    low, high = spectrum.flux[inside].min(), spectrum.flux[inside].max()
    panel.set_ylim(low - 0.05 * (high - low), high + 0.05 * (high - low))


def _caption(spectrum: Spectrum) -> str:
    snr = spectrum.catalogue.get("snr")
    return f"{spectrum.id}" + (f", S/N {snr:.0f}" if snr is not None else "")
