"""Figures 8 and 9 of the paper: BaggingTopPush over the size and number of its bags, and over lambda."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rarespec.evaluation.experiment.finding import default_of_studied
from rarespec.evaluation.experiment.plan import choose_shown_numbers
from rarespec.evaluation.experiment.results import Results, Sensitivity
from rarespec.evaluation.tuning import BAG_SIZE, N_BAGS, REGULARISATION
from rarespec.plots.canvas import LABEL_SIZE, RED, SMALL_SIZE, panels, save_both
from rarespec.plots.experiment.curves import examples, line_with_bars

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage


PAPER_BAG_SIZE, PAPER_N_BAGS, PAPER_STRENGTH = 200, 50, 100.0
"""What the paper settled on."""
FLAT = 0.01
"""A mean that falls this little short of the best of its panel counts as no worse."""
MEASURES = {"average_precision": ("average precision", 2), "auc": ("AUC", 3)}
"""Field of a Sensitivity -> its label, and the decimals that tell its values apart."""
LOOKS = tuple(
    {"color": colour, "marker": marker, "linestyle": line}
    for colour, marker, line in (
        ("#000000", "o", "-"), ("#d55e00", "s", "--"), ("#0072b2", "D", "-."), ("#009e73", "^", ":"),
        ("#cc79a7", "v", "-"), ("#56b4e9", "P", "--"), ("#e69f00", "X", "-."), ("#7f3b08", "*", ":"),
    )
)  # fmt: skip
"""Of the numbers of known examples, from the fewest: shades of one colour look too much alike."""
APART = 1.12
"""Factor between the λ at which two numbers of known examples are drawn."""


def draw_figure_8(results: Results, folder: str | os.PathLike[str]) -> list[Path]:
    """Draw Figure 8; return the files, none when the bags were not varied."""
    return save_both(bags_figure(results.bags), folder, "figure-8") if results.bags else []


def draw_figure_9(results: Results, folder: str | os.PathLike[str]) -> list[Path]:
    """Draw Figure 9; return the files, none when lambda was not varied."""
    return save_both(strengths_figure(results.strengths), folder, "figure-9") if results.strengths else []


def bags_figure(bags: Mapping[int, Sensitivity]) -> Figure:
    """Make maps over K and T: one row for each number of known examples, one column for each measure."""
    numbers = choose_shown_numbers(bags)
    figure, rows = panels(len(numbers), len(MEASURES), height=2.15, sharex=True, sharey=True)
    for (field, (label, decimals)), column in zip(MEASURES.items(), zip(*rows, strict=True), strict=True):
        means = [getattr(bags[n_known], field).mean(axis=-1) for n_known in numbers]
        shades = {"vmin": float(np.min(means)), "vmax": float(np.max(means))}
        for panel, mean, n_known in zip(column, means, numbers, strict=True):
            image = _draw_map(panel, mean, decimals, **shades)
            panel.set_title(f"{label}, {examples(n_known)}", fontsize=LABEL_SIZE)
        bar = figure.colorbar(image, ax=column, location="top", pad=0.01, aspect=40, shrink=0.9)
        bar.ax.tick_params(labelsize=SMALL_SIZE)
        column[-1].set_xlabel("number of bags T", fontsize=LABEL_SIZE)
    for row in rows:
        row[0].set_ylabel("bag size K", fontsize=LABEL_SIZE)
    _add_key(figure, bags[numbers[0]].auc.shape[-1])
    return figure


def strengths_figure(strengths: Mapping[int, Sensitivity]) -> Figure:
    """Make a figure with one panel for each measure, one line for each number of known examples."""
    figure, (row,) = panels(1, len(MEASURES), height=3.1, sharex=True)
    for panel, (field, (label, _)) in zip(row, MEASURES.items(), strict=True):
        for i, n_known in enumerate(sorted(strengths)):
            aside = APART ** (i - (len(strengths) - 1) / 2)  # bars at one λ stand beside each other
            values = getattr(strengths[n_known], field).T
            look = {**LOOKS[i % len(LOOKS)], "markersize": 3.5, "linewidth": 1.1, "label": f"{n_known} known"}
            line_with_bars(panel, np.array(REGULARISATION) * aside, values, slice(None), **look)
        panel.set_title(f"mean {label}", fontsize=LABEL_SIZE)
        panel.set_xlabel("regularisation λ", fontsize=LABEL_SIZE)
        panel.axvline(PAPER_STRENGTH, color="0.35", linewidth=0.7, zorder=0)
        panel.set_ylim(*_limits([getattr(one, field) for one in strengths.values()]))
    row[0].set(xscale="log")
    row[0].set_xticks(REGULARISATION, [f"{strength:g}" for strength in REGULARISATION])
    row[0].set_xticks([], minor=True)
    _add_numbers(figure, row[0], next(iter(strengths.values())).auc.shape[-1])
    return figure


def _limits(values: Sequence[NDArray[np.float64]]) -> tuple[float, float]:
    """Around all means and their bars, (values of lambda, draws) each; a little beyond 1 where they reach it."""
    means = np.array([one.mean(axis=-1) for one in values])
    spread = np.array([one.std(axis=-1, ddof=1) if one.shape[-1] > 1 else 0 * one[..., 0] for one in values])
    low, high = max(0.0, float((means - spread).min())), min(1.0, float((means + spread).max()))
    room = 0.04 * max(high - low, 0.01)
    return low - room, high + room


def _draw_map(panel: Axes, mean: NDArray[np.float64], decimals: int, vmin: float, vmax: float) -> AxesImage:
    """Cells of equal size for the values of K, from below, and T; mean is (values of K, values of T)."""
    image = panel.imshow(mean, cmap="cividis", vmin=vmin, vmax=vmax, origin="lower", aspect="auto")
    panel.set_xticks(range(len(N_BAGS)), [str(value) for value in N_BAGS])
    panel.set_yticks(range(len(BAG_SIZE)), [str(value) for value in BAG_SIZE])
    for (i, j), value in np.ndenumerate(mean):
        shade = "white" if value - vmin < 0.5 * (vmax - vmin) else "black"
        number = panel.text(j, i, short(value, decimals), fontsize=SMALL_SIZE, color=shade, ha="center", va="center")
        number.set_in_layout(False)  # it stays within its cell, and measuring hundreds takes seconds
    _outline(panel, mean >= mean.max() - FLAT)
    at = np.interp(PAPER_N_BAGS, N_BAGS, range(len(N_BAGS))), BAG_SIZE.index(PAPER_BAG_SIZE)
    panel.plot(*at, **_CHOICE)  # on the line between two cells, where no number is
    return image


_CHOICE: dict[str, Any] = {
    "marker": "D",
    "markersize": 3.5,
    "markerfacecolor": RED,
    "markeredgecolor": "white",
    "markeredgewidth": 0.5,
    "linestyle": "none",
}


def short(value: float, decimals: int) -> str:
    """Write a number without the zero before the point: .97, .9987; 1.00."""
    return f"{value:.{decimals}f}".removeprefix("0")


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
        Line2D([], [], color=RED, linewidth=1.2, label=f"within {FLAT} of the best in the panel"),
        Line2D([], [], label=f"the paper's choice, K = {PAPER_BAG_SIZE}, T = {PAPER_N_BAGS}", **_CHOICE),
    ]
    draws = f"mean of {n_draws} draws" if n_draws > 1 else "one draw"
    _add_legend(figure, handles, f"BaggingTopPush with λ = {default_of_studied('regularisation'):g}, {draws}")


def _add_numbers(figure: Figure, panel: Axes, n_draws: int) -> None:
    spread = f"mean of {n_draws} draws ± one standard deviation" if n_draws > 1 else "one draw, no error bars"
    what = f"BaggingTopPush with K = {default_of_studied('bag_size')} and T = {default_of_studied('n_bags')}, {spread}"
    handles = panel.get_legend_handles_labels()[0]
    _add_legend(figure, handles, f"{what}; vertical line: λ = {PAPER_STRENGTH:g}, the paper's choice")


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
