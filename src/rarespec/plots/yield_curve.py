"""The yield curve: how many true objects are expected in the first k candidates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rarespec.plots.canvas import BLUE, LABEL_SIZE, RED, SMALL_SIZE, empty_figure
from rarespec.searching.yield_curve import YieldCurve
from rarespec.thousands import thousands

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BEYOND = 2.5
"""How far the curve is drawn, in units of the suggested stopping rank."""
SHORTEST = 100


def yield_figure(curve: YieldCurve, width: float = 4.8) -> Figure:
    """A figure of its own; only for a curve that can tell."""
    figure = empty_figure(width, 0.62 * width)
    draw_yield_curve(figure.subplots(), curve)
    return figure


def draw_yield_curve(panel: Axes, curve: YieldCurve) -> None:
    """Expected number over depth with its interval, the line on which all are true, and where to stop."""
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
