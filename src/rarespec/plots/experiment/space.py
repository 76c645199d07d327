"""Figure 5 of the paper: the survey in its first three components, and which rare objects were found there."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rarespec.evaluation.experiment.plan import STUDIED, choose_shown_numbers
from rarespec.evaluation.experiment.results import Results, Shown
from rarespec.plots.canvas import KNOWN_COLOUR, LABEL_SIZE, RIGHT_COLOUR, SMALL_SIZE, WRONG_COLOUR, panels, save_both
from rarespec.plots.experiment.curves import examples

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


PAPER_CHOICE = (STUDIED, "label_propagation", "emr")
"""Methods that the paper's figure shows."""
N_BINS = 90
"""Of the density behind the points, along each axis."""
DARKEST = 0.55
"""Grey of the densest bin, from 0 (white) to 1 (black): the points must stand out."""
Look = dict[str, Any]
KNOWN: Look = {"marker": "^", "s": 22, "color": KNOWN_COLOUR, "edgecolors": "black", "linewidths": 0.5, "zorder": 4}
HIDDEN: Look = {"marker": "o", "s": 7, "facecolors": "none", "edgecolors": WRONG_COLOUR, "linewidths": 0.7, "zorder": 2}
FOUND: Look = {"marker": "o", "s": 4, "color": RIGHT_COLOUR, "linewidths": 0, "zorder": 3}
"""Dots stand before rings: a ring around a dot can still be seen, a dot behind a ring cannot."""


def draw_figure_5(
    results: Results, X: NDArray[np.floating], rare: NDArray[np.bool_], folder: str | os.PathLike[str]
) -> list[Path]:
    """Draw Figure 5: for each method and number of known examples, components 1 and 2 above, 1 and 3 below.

    Two plane views instead of the paper's one in perspective, in which the rare objects stand before each other.

    Parameters
    ----------
    results : Results
        Of the experiment.
    X : (n, d) array
        Features, the first of which are the principal components; d >= 2.
    rare : (n,) bool array
        Which rows are of the rare class.
    folder : path or str
        Where the files go.

    Returns
    -------
    list of Path
        The files; none when no ranking is shown.
    """
    return save_both(space_figure(results, X, rare), folder, "figure-5") if results.shown else []


def space_figure(results: Results, X: NDArray[np.floating], rare: NDArray[np.bool_]) -> Figure:
    """Make Figure 5; see `draw_figure_5`.

    Parameters
    ----------
    results : Results
        Results of the experiment; some ranking is shown.
    X : (n, d) array
        Features, the first of which are the principal components; d >= 2.
    rare : (n,) bool array
        Which rows are of the rare class.

    Returns
    -------
    matplotlib.figure.Figure
        A column for each method, and for each number of known examples two rows of panels, or one where d is 2.
    """
    methods, numbers = _choose_methods(results), choose_shown_numbers({n_known for _, n_known in results.shown})
    upward = [component for component in (1, 2) if component < X.shape[1]]
    figure, grid = panels(len(numbers) * len(upward), len(methods), height=1.4, sharex=True, sharey="row")
    for i, n_known in enumerate(numbers):
        rows = grid[i * len(upward) : (i + 1) * len(upward)]
        for name, views in zip(methods, zip(*rows, strict=True), strict=True):
            _draw_cell(views, results, name, n_known, X[:, [0, *upward]], rare)
    for row, component in zip(grid, upward * len(numbers), strict=True):
        row[0].set_ylabel(f"component {component + 1}", fontsize=LABEL_SIZE)
    for panel in grid[-1]:
        panel.set_xlabel("component 1", fontsize=LABEL_SIZE)
    _add_legend(figure, max(len(shown.top) for shown in results.shown.values()))
    return figure


def _choose_methods(results: Results) -> list[str]:
    """Those of the paper's figure that were run; without them the first three."""
    run = [name for name in results.setting.methods if any(name == shown for shown, _ in results.shown)]
    return [name for name in PAPER_CHOICE if name in run] or run[:3]


def _draw_cell(
    views: Sequence[Axes],
    results: Results,
    name: str,
    n_known: int,
    X: NDArray[np.floating],
    rare: NDArray[np.bool_],
) -> None:
    title = f"{results.label(name)}, {examples(n_known)}"
    if (name, n_known) not in results.shown:
        views[0].set_title(f"{title}\nnot run", fontsize=LABEL_SIZE)
        return
    shown = results.shown[name, n_known]
    hidden, found = _split_hidden_found(shown, rare)
    views[0].set_title(f"{title}\n{len(found)} of {len(hidden) + len(found)} found", fontsize=LABEL_SIZE)
    for component, view in enumerate(views, start=1):
        plane = X[:, [0, component]]
        _draw_density(view, plane)
        for rows, look in ((found, FOUND), (hidden, HIDDEN), (shown.known, KNOWN)):
            view.scatter(*plane[rows].T, **look)


def _split_hidden_found(shown: Shown, rare: NDArray[np.bool_]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Rows of the rare objects that stayed hidden, and of those in the top of the list; the known are neither."""
    found = shown.top[rare[shown.top]]
    return np.setdiff1d(np.flatnonzero(rare), np.concatenate([found, shown.known])), found


def _draw_density(panel: Axes, plane: NDArray[np.floating]) -> None:
    """The whole survey as an image, white where there is nothing: a file with all its points would be huge."""
    counts, x_edges, y_edges = np.histogram2d(plane[:, 0], plane[:, 1], bins=N_BINS)
    grey = np.log1p(counts) / np.log1p(counts.max())
    extent = (x_edges[0], x_edges[-1], y_edges[0], y_edges[-1])
    panel.imshow(grey.T, origin="lower", extent=extent, aspect="auto", cmap="Greys", vmin=0, vmax=1 / DARKEST)


def _add_legend(figure: Figure, depth: int) -> None:
    from matplotlib.lines import Line2D

    point: Look = {"linestyle": "", "markersize": 4}
    handles = [
        Line2D([], [], marker="s", color=str(1 - DARKEST), label="all spectra", **point),
        Line2D([], [], marker="^", color=KNOWN_COLOUR, markeredgecolor="black", label="known", **point),
        Line2D([], [], marker="o", color=RIGHT_COLOUR, label=f"rare, found in the top {depth}", **point),
        Line2D([], [], marker="o", color=WRONG_COLOUR, markerfacecolor="none", label="rare, not found", **point),
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=4, frameon=False, fontsize=SMALL_SIZE)
