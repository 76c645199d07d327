"""Members found against spectra looked at, for several ways to choose the next look."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rarespec.plots.canvas import GREY, LABEL_SIZE, SMALL_SIZE, panels
from rarespec.plots.experiment_curves import examples
from rarespec.plots.method_style import LONG_DASHES, SHORT_DASHES, WIDE_DOTS, MethodStyle, marked_places

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Looks = Mapping[str, NDArray[np.bool_]]
"""Way -> whether each look found a member, (draws, looks)."""

WAYS = {
    "learning": ("rarespec, learning", MethodStyle("#000000", "-", "x", linewidth=2.0)),
    "informative": ("rarespec, learning, informative first", MethodStyle("#0072b2", LONG_DASHES, "o")),
    "positives": ("rarespec, learning from members only", MethodStyle("#009e73", "-.", "^")),
    "fixed": ("rarespec, fixed ranking", MethodStyle("#56b4e9", "--", "s")),
    "pine": ("PineForest", MethodStyle("#d55e00", SHORT_DASHES, "D")),
    "aad": ("AADForest", MethodStyle("#cc79a7", WIDE_DOTS, "v")),
}
"""Way -> its name, and how it is drawn."""

BAND_OPACITY = 0.12


def looks_figure(found: Mapping[int, Looks], n_members: int, title: str = "") -> Figure:
    """One panel for each number of known examples, one line for each way.

    found : number known -> way -> looks
    n_members : in the survey, known ones included
    """
    figure, (row,) = panels(1, len(found), height=3.1, sharex=True, sharey=True)
    for panel, (n_known, looks) in zip(row, found.items(), strict=True):
        _draw(panel, looks, n_members - n_known)
        panel.set_title(f"{examples(n_known)}, {n_members - n_known} to find", fontsize=LABEL_SIZE)
    row[0].set_ylabel("members found", fontsize=LABEL_SIZE)
    row[0].set(xlim=(0, None), ylim=(0, None))
    _add_legend(figure, next(iter(found.values())), title)
    return figure


def _draw(panel: Axes, looks: Looks, n_hidden: int) -> None:
    n_looks = max(found.shape[1] for found in looks.values())
    at = np.arange(n_looks + 1)
    most = np.minimum(at, n_hidden)
    panel.plot(at, most, **PERFECT)
    for number, (way, found) in enumerate(looks.items()):
        counts = np.cumsum(np.insert(found.astype(int), 0, 0, axis=1), axis=1)
        mean, spread = counts.mean(axis=0), counts.std(axis=0, ddof=1 if len(counts) > 1 else 0)
        panel.plot(at, mean, markevery=slice(*marked_places(number, n_looks)), **WAYS[way][1].line())
        low, high = (np.clip(end, 0, most) for end in (mean - spread, mean + spread))
        panel.fill_between(at, low, high, color=WAYS[way][1].colour, alpha=BAND_OPACITY, linewidth=0, zorder=1)
    panel.set_xlabel("spectra inspected", fontsize=LABEL_SIZE)


PERFECT: dict[str, Any] = {"color": GREY, "linewidth": 1.0, "zorder": 0}


def _add_legend(figure: Figure, looks: Looks, title: str) -> None:
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], label=WAYS[way][0], **WAYS[way][1].line()) for way in looks]
    handles.append(Line2D([], [], label="every spectrum is a member", **PERFECT))
    figure.legend(
        handles=handles,
        loc="outside lower center",
        ncols=3,
        fontsize=SMALL_SIZE,
        title=title or None,
        title_fontsize=SMALL_SIZE,
        frameon=False,
        handlelength=4,
    )
