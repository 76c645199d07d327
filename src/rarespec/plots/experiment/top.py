"""Figure 6 of the paper: the spectra that each method puts first, right and wrong ones."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rarespec.evaluation.experiment.results import Results
from rarespec.features import MinMax, median_filter
from rarespec.plots.canvas import (
    KNOWN_COLOUR,
    LABEL_SIZE,
    PAGE_WIDTH,
    RIGHT_COLOUR,
    SMALL_SIZE,
    WAVELENGTH,
    WRONG_COLOUR,
    panels,
    save_both,
)
from rarespec.plots.experiment.curves import examples
from rarespec.survey import Survey

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


DEPTH = 20
"""Spectra of each list."""
PAGE_HEIGHT = 8.8
COLUMN_WIDTH = 0.75
"""Inches that the names and the wavelengths of a column need at least."""
PIXELS_PER_POINT = 6
"""Pixels that are drawn as one point, their median: a column is not wide enough to show more."""
HEIGHT = 0.85
"""Of a spectrum; the next one begins at 1."""
MARGIN = 0.26
"""Room for the crosses, as a share of the wavelengths."""
EDGE = 0.05
"""Room between the spectra and the frame, likewise."""
CROSS = "\u00d7"
LONGEST = 10
"""Letters of a line that fit above a column."""


def draw_figure_6(
    results: Results,
    survey: Survey,
    rows_in_survey: NDArray[np.intp],
    rare: NDArray[np.bool_],
    folder: str | os.PathLike[str],
) -> list[Path]:
    """Draw Figure 6: for each method a known example, and below it the best 20 of its list, filtered and rescaled.

    Parameters
    ----------
    results : Results
        Of the experiment.
    survey : Survey
        The survey that was ranked.
    rows_in_survey : (n,) intp array
        Row of the survey of each row that was ranked.
    rare : (n,) bool array
        Which of the rows that were ranked are of the rare class.
    folder : path or str
        Where the files go.

    Returns
    -------
    list of Path
        The files; none when no ranking is shown.
    """
    return save_both(top_figure(results, survey, rows_in_survey, rare), folder, "figure-6") if results.shown else []


def top_figure(results: Results, survey: Survey, rows_in_survey: NDArray[np.intp], rare: NDArray[np.bool_]) -> Figure:
    """Make Figure 6, with the fewest known examples; see `draw_figure_6`.

    Parameters
    ----------
    results : Results
        Results of the experiment; some ranking is shown.
    survey : Survey
        The survey that was ranked.
    rows_in_survey : (n,) intp array
        Row of the survey of each row that was ranked.
    rare : (n,) bool array
        Which of the rows that were ranked are of the rare class.

    Returns
    -------
    matplotlib.figure.Figure
        A column of spectra for each method.
    """
    n_known = min(number for _, number in results.shown)
    methods = [name for name in results.setting.methods if (name, n_known) in results.shown]
    tops = [results.shown[name, n_known].top[:DEPTH] for name in methods]
    drawn = [np.append(results.shown[name, n_known].known[:1], top) for name, top in zip(methods, tops, strict=True)]
    rows, where = np.unique(np.concatenate(drawn), return_inverse=True)
    flux = np.split(_as_ranked(survey, rows_in_survey[rows])[where], np.cumsum([len(one) for one in drawn])[:-1])
    figure, columns = _columns(len(methods))
    for name, column, spectra, top in zip(methods, columns, flux, tops, strict=True):
        _draw_column(column, survey.grid.wavelength, spectra, rare[top])
        heading = [*_break_label(results.label(name)), f"{rare[top].sum()} of {len(top)}"]
        column.set_title("\n".join(heading), fontsize=SMALL_SIZE)
    _name_rows(columns[0], max(map(len, tops)))
    _add_legend(figure, n_known)
    return figure


def _as_ranked(survey: Survey, rows: NDArray[np.intp]) -> NDArray[np.floating]:
    """Flux of these rows of the survey after the median filter and the rescaling to 0 to 1, (n, pixels)."""
    spectra = survey.select(survey.ids[rows].tolist())
    rescaled: NDArray[np.floating] = MinMax().fit_transform(median_filter(spectra.flux, survey.grid, bad=spectra.bad))
    return rescaled


def _columns(n: int) -> tuple[Figure, list[Axes]]:
    from matplotlib.ticker import MaxNLocator

    width = max(PAGE_WIDTH, 0.4 + COLUMN_WIDTH * n)
    figure, (columns,) = panels(1, n, height=PAGE_HEIGHT, width=width, sharex=True, sharey=True)
    figure.set_layout_engine("constrained", w_pad=0.01, wspace=0)
    columns[0].xaxis.set_major_locator(MaxNLocator(2, steps=[1, 2, 4, 5, 10]))
    for column in columns[1:]:
        column.tick_params(left=False)
    figure.supxlabel(WAVELENGTH, fontsize=LABEL_SIZE)
    return figure, columns


def _draw_column(
    panel: Axes, wavelength: NDArray[np.floating], flux: NDArray[np.floating], right: NDArray[np.bool_]
) -> None:
    """The known spectrum at 0 and those of the list below it, each at its place; a cross beside the wrong ones."""
    wavelength, flux = _fewer_points(wavelength[None])[0], _fewer_points(flux)
    colours = [KNOWN_COLOUR, *(RIGHT_COLOUR if is_right else WRONG_COLOUR for is_right in right)]
    for place, (one, colour) in enumerate(zip(flux, colours, strict=True)):
        panel.plot(wavelength, place - HEIGHT * one, color=colour, linewidth=0.6)
    panel.axhline(0.07, color="0.7", linewidth=0.6)
    first, last = wavelength[[0, -1]]
    margin, edge = MARGIN * (last - first), EDGE * (last - first)
    for wrong in np.flatnonzero(~right):
        at = last + margin / 2, wrong + 1 - HEIGHT / 2
        panel.text(*at, CROSS, color=WRONG_COLOUR, ha="center", va="center", fontsize=LABEL_SIZE)
    panel.set_xlim(first - edge, last + margin)


def _fewer_points(flux: NDArray[np.floating]) -> NDArray[np.floating]:
    """(n, pixels) -> (n, points): the median of each few pixels; those at the end that fill no point are left out."""
    n_points = max(1, flux.shape[1] // PIXELS_PER_POINT)
    return np.median(flux[:, : n_points * PIXELS_PER_POINT].reshape(len(flux), n_points, -1), axis=2)


def _break_label(label: str) -> list[str]:
    """In lines that fit above a narrow column: between words, before capitals, and else wherever a line is full."""
    parts = re.split(r" +|(?<=[a-z]{3})(?=[A-Z])", label)
    pieces = [part[i : i + LONGEST] for part in parts for i in range(0, len(part), LONGEST)]
    lines = pieces[:1]
    for piece in pieces[1:]:
        together = f"{lines[-1]} {piece}" if f"{lines[-1]} {piece}" in label else lines[-1] + piece
        if len(together) <= LONGEST and together in label:
            lines[-1] = together
        else:
            lines.append(piece)
    return lines


def _name_rows(panel: Axes, n_places: int) -> None:
    places = np.arange(n_places + 1)
    panel.set_yticks(places - HEIGHT / 2, ["known", *map(str, places[1:])], fontsize=SMALL_SIZE)
    panel.set_ylim(n_places + 0.15, -1.0)
    panel.set_ylabel("rank", fontsize=LABEL_SIZE)


def _add_legend(figure: Figure, n_known: int) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=KNOWN_COLOUR, label="known"),
        Line2D([], [], color=RIGHT_COLOUR, label="right: rare class"),
        Line2D([], [], color=WRONG_COLOUR, marker="x", markersize=4, label="wrong"),
    ]
    title = f"{examples(n_known)}; median-filtered flux, each spectrum scaled from its minimum to its maximum"
    figure.legend(
        handles=handles,
        loc="outside upper center",
        ncols=3,
        frameon=False,
        fontsize=SMALL_SIZE,
        title=title,
        title_fontsize=SMALL_SIZE,
    )
