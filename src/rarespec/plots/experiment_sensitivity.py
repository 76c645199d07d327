"""Figures 8 and 9 of the paper: BaggingTopPush over the size and number of its bags, and over lambda."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rarespec.evaluation.experiment.basis import default_of_studied
from rarespec.evaluation.experiment.plan import shown_numbers
from rarespec.evaluation.experiment.results import Results, Sensitivity
from rarespec.evaluation.paper_grids import BAG_SIZE, N_BAGS, REGULARISATION
from rarespec.plots.canvas import LABEL_SIZE, RED, SMALL_SIZE, panels, save_both
from rarespec.plots.experiment_curves import FROM_0_TO_1, examples, line_with_band

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

PAPER_BAG_SIZE, PAPER_N_BAGS, PAPER_STRENGTH = 200, 50, 100.0
"""What the paper settled on."""
FLAT = 0.01
"""A mean that falls this little short of the best of its panel counts as no worse."""
MEASURES = {"average_precision": "average precision", "auc": "AUC"}
"""Field of a Sensitivity -> its label."""
MARKERS = "osD^vPX*"


def draw_figure_8(results: Results, folder: str | os.PathLike[str]) -> list[Path]:
    """The files that were written, none when the bags were not varied."""
    return save_both(bags_figure(results.bags), folder, "figure-8") if results.bags else []


def draw_figure_9(results: Results, folder: str | os.PathLike[str]) -> list[Path]:
    """The files that were written, none when lambda was not varied."""
    return save_both(strengths_figure(results.strengths), folder, "figure-9") if results.strengths else []


def bags_figure(bags: Mapping[int, Sensitivity]) -> Figure:
    """Maps over K and T: one row for each measure, one column for each number of known examples."""
    numbers = shown_numbers(bags)
    figure, rows = panels(2, len(numbers), height=2.25, sharex=True, sharey=True)
    for row, (field, label) in zip(rows, MEASURES.items(), strict=True):
        means = [getattr(bags[n_known], field).mean(axis=-1) for n_known in numbers]
        images = [_draw_map(panel, mean, np.min(means)) for panel, mean in zip(row, means, strict=True)]
        bar = figure.colorbar(images[0], ax=row, pad=0.01, aspect=15)
        bar.set_label(f"mean {label}", fontsize=LABEL_SIZE)
        bar.ax.tick_params(labelsize=SMALL_SIZE)
        row[0].set_ylabel("K, size of a bag", fontsize=LABEL_SIZE)
    for top, bottom, n_known in zip(*rows, numbers, strict=True):
        top.set_title(examples(n_known), fontsize=LABEL_SIZE)
        bottom.set_xlabel("T, number of bags", fontsize=LABEL_SIZE)
    _add_key(figure, bags[numbers[0]].auc.shape[-1])
    return figure


def strengths_figure(strengths: Mapping[int, Sensitivity]) -> Figure:
    """One panel for each measure, one line for each number of known examples."""
    from matplotlib import colormaps

    figure, (row,) = panels(1, 2, height=2.9, sharex=True)
    shades = colormaps["viridis"](np.linspace(0, 0.82, len(strengths)))
    for panel, (field, label) in zip(row, MEASURES.items(), strict=True):
        for i, n_known in enumerate(sorted(strengths)):
            values = getattr(strengths[n_known], field).T
            look = {"color": shades[i], "marker": MARKERS[i % len(MARKERS)], "markersize": 3.5, "linewidth": 1.2}
            line_with_band(panel, np.array(REGULARISATION), values, of=len(strengths), label=f"{n_known} known", **look)
        panel.set_ylabel(label, fontsize=LABEL_SIZE)
        panel.set_xlabel("λ, strength of the regularisation", fontsize=LABEL_SIZE)
        _mark_strength(panel)
    row[0].set(xscale="log", ylim=FROM_0_TO_1)
    row[0].set_xticks(REGULARISATION, [f"{strength:g}" for strength in REGULARISATION])
    row[0].set_xticks([], minor=True)
    row[1].set_ylim(top=1 + 0.02 * (1 - row[1].get_ylim()[0]))
    _add_numbers(figure, row[0], next(iter(strengths.values())).auc.shape[-1])
    return figure


def _draw_map(panel: Axes, mean: NDArray[np.float64], lowest: float) -> AxesImage:
    """Cells of equal size for the values of K, from below, and T; mean is (values of K, values of T)."""
    image = panel.imshow(mean, cmap="cividis", vmin=lowest, vmax=1, origin="lower", aspect="auto")
    panel.set_xticks(range(len(N_BAGS)), [str(value) for value in N_BAGS])
    panel.set_yticks(range(len(BAG_SIZE)), [str(value) for value in BAG_SIZE])
    for (i, j), value in np.ndenumerate(mean):
        shade = "white" if value - lowest < 0.5 * (1 - lowest) else "black"
        number = panel.text(j, i, short(value), fontsize=SMALL_SIZE, color=shade, ha="center", va="center")
        number.set_in_layout(False)  # it stays within its cell, and measuring hundreds takes seconds
    _outline(panel, mean >= mean.max() - FLAT)
    at = np.interp(PAPER_N_BAGS, N_BAGS, range(len(N_BAGS))), BAG_SIZE.index(PAPER_BAG_SIZE)
    panel.plot(*at, **_CHOICE)
    return image


_CHOICE: dict[str, Any] = {
    "marker": "D",
    "markersize": 4,
    "markerfacecolor": RED,
    "markeredgecolor": "white",
    "markeredgewidth": 0.5,
    "linestyle": "none",
}


def short(value: float) -> str:
    """Two decimals without the zero before the point: .97, 1.0."""
    return f"{value:.2f}".removeprefix("0") if value < 0.995 else "1.0"


def _outline(panel: Axes, cells: NDArray[np.bool_]) -> None:
    """A line around the cells that are set, between each of them and a neighbour that is not."""
    from matplotlib.collections import LineCollection

    framed = np.pad(cells, 1)
    upright = [[(j - 0.5, i - 1.5), (j - 0.5, i - 0.5)] for i, j in np.argwhere(framed[:, 1:] != framed[:, :-1])]
    level = [[(j - 1.5, i - 0.5), (j - 0.5, i - 0.5)] for i, j in np.argwhere(framed[1:] != framed[:-1])]
    panel.add_collection(LineCollection(upright + level, colors=RED, linewidths=1.2, capstyle="projecting"))


def _add_key(figure: Figure, n_draws: int) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=RED, linewidth=1.2, label=f"within {FLAT} of the best of the panel"),
        Line2D([], [], label=f"the paper's choice, K = {PAPER_BAG_SIZE}, T = {PAPER_N_BAGS}", **_CHOICE),
    ]
    draws = f"mean of {n_draws} draws" if n_draws > 1 else "one draw"
    _add_legend(figure, handles, f"BaggingTopPush with λ = {default_of_studied('regularisation'):g}, {draws}")


def _mark_strength(panel: Axes) -> None:
    panel.axvline(PAPER_STRENGTH, color="0.35", linewidth=0.7, zorder=0)
    words, where = f"λ = {PAPER_STRENGTH:g} in the paper ", panel.get_xaxis_transform()
    panel.text(PAPER_STRENGTH, 0.015, words, transform=where, ha="right", fontsize=SMALL_SIZE, color="0.25")


def _add_numbers(figure: Figure, panel: Axes, n_draws: int) -> None:
    spread = f"line: mean of {n_draws} draws; band: ± one standard deviation" if n_draws > 1 else "one draw, no spread"
    what = f"BaggingTopPush with K = {default_of_studied('bag_size')} and T = {default_of_studied('n_bags')}, {spread}"
    _add_legend(figure, panel.get_legend_handles_labels()[0], what)


def _add_legend(figure: Figure, handles: list[Any], title: str) -> None:
    figure.legend(
        handles=handles,
        title=title,
        loc="outside lower center",
        ncols=len(handles),
        fontsize=SMALL_SIZE,
        title_fontsize=SMALL_SIZE,
        frameon=False,
    )
