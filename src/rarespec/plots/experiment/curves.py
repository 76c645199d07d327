"""Figures 2, 3 and 4 of the paper: P@k, R@k and AP@k from the top of the list down, with their spread."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rarespec.evaluation.experiment.finding import ONE_DRAW, draws_in_words
from rarespec.evaluation.experiment.plan import choose_shown_numbers
from rarespec.evaluation.experiment.results import Results
from rarespec.evaluation.places import Places
from rarespec.plots.canvas import LABEL_SIZE, SMALL_SIZE, panels, save_both
from rarespec.plots.method_style import choose_marked_places, style_of
from rarespec.storage.text import thousands

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


MIN_DEPTH, MAX_DEPTH = 100, 1000
FROM_0_TO_1 = (0.0, 1.02)
"""Limits of an axis on which a line at 1 is still seen."""
BEHIND, BEFORE = 2.0, 2.5
"""Where Auto, the thickest line, is drawn, and where the others are: it must not cover them."""
HIDDEN_LINE: dict[str, Any] = {"color": "0.35", "linewidth": 0.7, "zorder": 0}
"""Drawn where a perfect list would have shown all hidden rare objects."""
LONG_LABEL = 20
"""Characters; with a longer one five columns of a legend are wider than the page."""


@dataclass(frozen=True)
class Curve:
    """A metric over k."""

    label: str
    at: Callable[[Places, ArrayLike], NDArray[np.float64]]
    """Places and depths (K,) -> (trials, K)."""


PRECISION = Curve("precision P@k", Places.precision)
RECALL = Curve("recall R@k", Places.recall)
AVERAGE_PRECISION = Curve("average precision AP@k", Places.average_precision)


def draw_figure_2(results: Results, folder: str | os.PathLike[str]) -> list[Path]:
    """Draw Figure 2, P@k; return the files, none when there are no trials."""
    return _draw(results, PRECISION, folder, "figure-2")


def draw_figure_3(results: Results, folder: str | os.PathLike[str]) -> list[Path]:
    """Draw Figure 3, R@k; return the files, none when there are no trials."""
    return _draw(results, RECALL, folder, "figure-3")


def draw_figure_4(results: Results, folder: str | os.PathLike[str]) -> list[Path]:
    """Draw Figure 4, AP@k; return the files, none when there are no trials."""
    return _draw(results, AVERAGE_PRECISION, folder, "figure-4")


def _draw(results: Results, curve: Curve, folder: str | os.PathLike[str], stem: str) -> list[Path]:
    return save_both(curves_figure(results, curve), folder, stem) if results.trials else []


def curves_figure(results: Results, curve: Curve) -> Figure:
    """Make a figure with one panel for each number of known examples, one line for each method."""
    numbers = choose_shown_numbers({n_known for _, n_known in results.trials})
    columns = _legend_columns(results)
    height = 2.75 + 0.15 * ceil((len(results.setting.methods) + 1) / columns)
    figure, (row,) = panels(1, len(numbers), height=height, sharex=True, sharey=True)
    depths = np.arange(1, _last_depth(results, numbers[0]) + 1)
    for panel, n_known in zip(row, numbers, strict=True):
        _draw_panel(panel, results, curve, n_known, depths)
    row[0].set(ylim=FROM_0_TO_1, xlim=(0, depths[-1]))
    row[0].set_ylabel(curve.label, fontsize=LABEL_SIZE)
    _add_legend(figure, results, columns, title=_how_many(results, numbers))
    return figure


def examples(n_known: int) -> str:
    return f"{n_known} known example{'s' if n_known > 1 else ''}"


def line_with_bars(
    panel: Axes, x: NDArray[Any], values: NDArray[np.float64], at: slice, color: Any, **line: Any
) -> None:
    """Draw a mean as a line, with the standard deviation as bars at some of its points.

    Bars, not bands: those of ten methods would blend into one grey.

    Parameters
    ----------
    panel : matplotlib.axes.Axes
        Where to draw.
    x : (k,) array
        Places along the axis.
    values : (repeats, k) float64
        Values from 0 to 1. One repeat has no spread and no bars.
    at : slice
        The points that get a marker and a bar.
    color : color
        Colour of the line and the bars.
    **line : object
        How else the line looks, for matplotlib's `Axes.plot`.
    """
    mean = values.mean(axis=0)
    panel.plot(x, mean, color=color, markevery=at, **line)
    if len(values) > 1:
        spread = values.std(axis=0, ddof=1)[at]
        reach = np.minimum(spread, mean[at]), np.minimum(spread, 1 - mean[at])
        panel.errorbar(x[at], mean[at], reach, fmt="none", zorder=1.5, **_BARS, ecolor=color)


_BARS: dict[str, Any] = {"elinewidth": 0.8, "capsize": 1.5, "capthick": 0.8, "alpha": 0.7}


def _draw_panel(panel: Axes, results: Results, curve: Curve, n_known: int, depths: NDArray[np.int64]) -> None:
    absent = [results.label(name) for name in results.setting.methods if (name, n_known) not in results.trials]
    for i, name in enumerate(results.setting.methods):
        if (name, n_known) in results.trials:
            values = curve.at(results.trials[name, n_known].places, depths)
            at = slice(*choose_marked_places(i, len(depths), len(results.setting.methods)))
            look = style_of(name, results.setting.methods).line() | {"zorder": BEHIND if name == "auto" else BEFORE}
            line_with_bars(panel, depths, values, at, **look)
    n_hidden = _n_hidden(results, n_known)
    if n_hidden <= depths[-1]:
        panel.axvline(n_hidden, **HIDDEN_LINE)
    without = f"\n(no trials for {', '.join(absent)})" if absent else ""
    panel.set_title(f"{examples(n_known)}, {thousands(n_hidden)} hidden{without}", fontsize=LABEL_SIZE)
    panel.set_xlabel("k [number of top-ranked spectra]", fontsize=LABEL_SIZE)


def _n_hidden(results: Results, n_known: int) -> int:
    """Rare objects among the unlabelled, the same for all methods."""
    return next(trials.places.places.shape[1] for (_, n), trials in results.trials.items() if n == n_known)


def _last_depth(results: Results, n_known: int) -> int:
    """Twice as far as the hidden rare objects would reach in a perfect list, within limits."""
    n_listed = min(trials.places.n_listed for trials in results.trials.values())
    return min(MAX_DEPTH, max(MIN_DEPTH, 2 * _n_hidden(results, n_known)), n_listed)


def _legend_columns(results: Results) -> int:
    labels = [results.label(name) for name in results.setting.methods]
    return min(len(labels) + 1, 4 if max(map(len, labels)) > LONG_LABEL else 5)


def _add_legend(figure: Figure, results: Results, columns: int, title: str) -> None:
    from matplotlib.lines import Line2D

    methods = results.setting.methods
    handles = [Line2D([], [], label=results.label(name), **style_of(name, methods).line()) for name in methods]
    handles.append(Line2D([], [], label="number hidden", **HIDDEN_LINE))
    figure.legend(
        handles=handles,
        loc="outside lower center",
        ncols=columns,
        fontsize=SMALL_SIZE,
        title=title,
        title_fontsize=SMALL_SIZE,
        frameon=False,
        handlelength=4,
    )


def _how_many(results: Results, numbers: list[int]) -> str:
    draws = draws_in_words(results, numbers)
    if draws == ONE_DRAW:
        return f"{draws}, no error bars"
    return f"line: mean of {draws}; bars: ± one standard deviation, clipped to 0 to 1"
