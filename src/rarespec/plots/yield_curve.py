"""The yield curve: how many true objects are expected in the first k candidates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rarespec.plots.canvas import BLUE, GREY, LABEL_SIZE, RED, SMALL_SIZE, empty_figure, panels
from rarespec.plots.experiment.curves import examples
from rarespec.plots.method_style import LONG_DASHES, SHORT_DASHES, WIDE_DOTS, MethodStyle, choose_marked_places
from rarespec.searching.yields.yield_curve import YieldCurve
from rarespec.storage.text import thousands

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


BEYOND = 2.5
"""How far the curve is drawn, in units of the suggested stopping rank."""
SHORTEST = 100


def yield_figure(curve: YieldCurve, width: float = 4.8) -> Figure:
    """Draw a yield curve as a figure of its own.

    Parameters
    ----------
    curve : YieldCurve
        A curve that has an estimate.
    width : float
        Width in inches.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Raises
    ------
    ValueError
        If the curve has no estimate.

    Examples
    --------
    >>> import numpy as np
    >>> from rarespec.plots import yield_figure
    >>> from rarespec.searching.yields.yield_curve import yield_curve
    >>> figure = yield_figure(yield_curve(-np.log(np.arange(1, 1001)), hidden_places=[1, 3, 5], n_known=3))
    >>> len(figure.axes)
    1
    """
    figure = empty_figure(width, 0.62 * width)
    draw_yield_curve(figure.subplots(), curve)
    return figure


def draw_yield_curve(panel: Axes, curve: YieldCurve) -> None:
    """Draw a yield curve with its interval, the line on which all candidates are true, and where to stop.

    Parameters
    ----------
    panel : matplotlib.axes.Axes
        Where to draw.
    curve : YieldCurve
        A curve that has an estimate.

    Raises
    ------
    ValueError
        If the curve has no estimate.

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from rarespec.plots import draw_yield_curve
    >>> from rarespec.searching.yields.yield_curve import yield_curve
    >>> panel = Figure().subplots()
    >>> draw_yield_curve(panel, yield_curve(-np.log(np.arange(1, 1001)), hidden_places=[1, 3, 5], n_known=3))
    >>> panel.get_xlabel()
    'number of candidates inspected'
    """
    if not curve.can_tell:
        raise ValueError(f"no yield curve to plot. {curve.why}")
    depth = np.arange(1, depth_drawn(curve) + 1)
    expected, low, high = (array[: len(depth)] for array in (curve.expected, curve.low, curve.high))
    panel.plot(depth, depth, color="0.6", linewidth=0.7, linestyle=":", label="if all candidates were true")
    panel.fill_between(depth, low, high, color=BLUE, alpha=0.25, linewidth=0, label=_interval(curve))
    panel.plot(depth, expected, color=BLUE, linewidth=1.2, label="expected")
    if curve.stopping_rank:
        stop = f"stop at {thousands(curve.stopping_rank)}"
        panel.axvline(curve.stopping_rank, color=RED, linewidth=0.9, linestyle="--", label=stop)
    panel.set_xlim(0, len(depth))
    panel.set_ylim(0, 1.08 * max(float(high.max()), 1.0))
    panel.set_xlabel("number of candidates inspected", fontsize=LABEL_SIZE)
    panel.set_ylabel("expected true objects", fontsize=LABEL_SIZE)
    panel.tick_params(labelsize=SMALL_SIZE)
    panel.legend(frameon=False, fontsize=SMALL_SIZE, loc="lower right")


def depth_drawn(curve: YieldCurve) -> int:
    """Somewhat beyond where to stop: further down the curve is flat."""
    return min(len(curve.expected), max(SHORTEST, round(BEYOND * (curve.stopping_rank or 0))))


def _interval(curve: YieldCurve) -> str:
    return f"{100 * curve.confidence:.0f} % interval"


# ---- Members found against spectra looked at, for several ways to choose the next look.


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
    """Draw members found over looks: one panel for each number of known examples, one line for each way of looking.

    Parameters
    ----------
    found : mapping
        Number of known examples -> way of looking, one of `WAYS` -> (draws, looks) bool array, whether each look found
        a member.
    n_members : int
        Members in the survey, the known ones included.
    title : str
        A title above all panels.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Examples
    --------
    >>> import numpy as np
    >>> from rarespec.plots import looks_figure
    >>> found = np.array([[True, True, False, True]])
    >>> len(looks_figure({3: {"learning": found}, 10: {"learning": found}}, n_members=20).axes)
    2
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
        panel.plot(at, mean, markevery=slice(*choose_marked_places(number, n_looks)), **WAYS[way][1].line())
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
