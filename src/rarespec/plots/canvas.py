"""Figures without a window and without global state."""

from __future__ import annotations

import os
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rarespec.storage.whole_file import write_whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WAVELENGTH = "vacuum wavelength [Å]"
BLUE, RED, GREY = "#0072b2", "#d55e00", "0.75"
"""Colours that people with colour-blindness can tell apart."""
KNOWN_COLOUR, RIGHT_COLOUR, WRONG_COLOUR = "#4daf00", "#3f2dfd", "#e6007e"
"""Green, blue and magenta for single objects; no method is drawn in these."""

PAGE_WIDTH = 7.0
"""Inches: both columns of a journal."""
LABEL_SIZE, SMALL_SIZE = 8.0, 7.0
"""Points: axis labels and titles, and everything else. Nothing in a printed figure is smaller."""


def empty_figure(width: float, height: float) -> Figure:
    """Make a figure without panels, sizes in inches, its layout constrained."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def stacked_panels(n: int, height: float = 1.5, width: float = 9.0) -> tuple[Figure, list[Axes]]:
    """Make a figure of panels one above the other that share their wavelength axis.

    Parameters
    ----------
    n : int
        Number of panels.
    height : float, default 1.5
        Height of a panel, in inches.
    width : float, default 9
        Width of the figure, in inches.

    Returns
    -------
    figure : matplotlib.figure.Figure
        The figure.
    panels : list of matplotlib.axes.Axes
        The panels, from the top down; the last has the label of the axis.
    """
    figure = empty_figure(width, 0.6 + height * n)
    panels = list(figure.subplots(n, 1, sharex=True, squeeze=False)[:, 0])
    for panel in panels:
        panel.margins(x=0)
        panel.tick_params(labelsize=8)
    panels[-1].set_xlabel(WAVELENGTH)
    return figure, panels


def panels(
    rows: int, columns: int, height: float = 2.0, width: float = PAGE_WIDTH, **subplots: Any
) -> tuple[Figure, list[list[Axes]]]:
    """Make a figure for print: rows of panels.

    Parameters
    ----------
    rows : int
        Rows of panels.
    columns : int
        Panels in a row.
    height : float, default 2
        Height of a row, in inches.
    width : float, optional
        Width of the figure, in inches; by default both columns of a journal.
    **subplots : object
        Further words, such as sharey=True, for matplotlib's `Figure.subplots`.

    Returns
    -------
    figure : matplotlib.figure.Figure
        The figure.
    panels : list of list of matplotlib.axes.Axes
        The panels, row by row from the top.
    """
    figure = empty_figure(width, height * rows)
    grid: list[list[Axes]] = figure.subplots(rows, columns, squeeze=False, **subplots).tolist()
    for panel in (panel for row in grid for panel in row):
        panel.tick_params(which="both", labelsize=SMALL_SIZE)
    return figure, grid


def save(figure: Figure, path: str | os.PathLike[str]) -> None:
    figure.savefig(path, dpi=130)


def save_both(figure: Figure, folder: str | os.PathLike[str], stem: str) -> list[Path]:
    """Write a figure as STEM.png and STEM.pdf, each whole or not at all; the same figure gives the same bytes.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        The figure.
    folder : path or str
        Where the files go.
    stem : str
        Their name, without the suffix.

    Returns
    -------
    list of Path
        The PNG file and the PDF file.
    """
    contents = {".png": _png(figure), ".pdf": _pdf(figure)}
    for suffix, content in contents.items():
        write_whole(Path(folder) / f"{stem}{suffix}", content)
    return [Path(folder) / f"{stem}{suffix}" for suffix in contents]


def _png(figure: Figure) -> bytes:
    memory = BytesIO()
    figure.savefig(memory, format="png", dpi=200)
    return memory.getvalue()


def _pdf(figure: Figure) -> bytes:
    """Letters stay letters (TrueType fonts, which journals ask for), and no date is written."""
    from matplotlib import rc_context

    memory = BytesIO()
    with rc_context({"pdf.fonttype": 42}):
        figure.savefig(memory, format="pdf", metadata={"CreationDate": None})
    return memory.getvalue()
