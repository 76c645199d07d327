"""Figure 7 of the paper: CPU time of each method, what is set up once apart from what each query takes."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from math import floor, log10
from pathlib import Path
from typing import TYPE_CHECKING

from rarespec.evaluation.experiment.results import Results, Timing
from rarespec.plots.canvas import LABEL_SIZE, SMALL_SIZE, panels, save_both
from rarespec.plots.experiment_curves import examples
from rarespec.plots.method_style import style_of
from rarespec.thousands import thousands

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ROOM_FOR_WORDS = 0.35
"""Of the length of the longest bar, behind it."""


def draw_figure_7(results: Results, folder: str | os.PathLike[str]) -> list[Path]:
    """The files that were written, none when nothing was timed."""
    return save_both(times_figure(results), folder, "figure-7") if results.timings else []


def times_figure(results: Results) -> Figure:
    """Bars on two logarithmic axes of one range: seconds of each query, seconds of the set-up."""
    n_known, methods = timed_number(results), results.setting.methods
    timings = [results.timings.get((name, n_known)) for name in methods]
    figure, ((queries, setups),) = panels(1, 2, height=1.1 + 0.19 * len(methods), sharex=True, sharey=True)
    _draw_bars(queries, methods, [_query(timing) for timing in timings], hatch=None)
    _draw_bars(setups, methods, [_setup(timing) for timing in timings], hatch="/////")
    queries.set(xscale="log", xlim=_limits(results, n_known))
    queries.xaxis.set_major_formatter("{x:g}")
    queries.set_yticks(range(len(methods)), [results.label(name) for name in methods])
    queries.set_ylim(len(methods) - 0.4, -0.6)
    queries.set_title("each query", fontsize=LABEL_SIZE)
    setups.set_title("set up once, for all queries", fontsize=LABEL_SIZE)
    figure.supxlabel("CPU time [s]", fontsize=LABEL_SIZE)
    figure.suptitle(_what_was_timed(results, n_known), fontsize=LABEL_SIZE)
    return figure


def timed_number(results: Results) -> int:
    """The number of known examples that most methods were timed with, the largest of several."""
    counts = Counter(n_known for name, n_known in results.timings if name in results.setting.methods)
    return max(counts, key=lambda n_known: (counts[n_known], n_known))


def _what_was_timed(results: Results, n_known: int) -> str:
    parameters = "tuned" if any(results.tuned.get(name) for name in results.setting.methods) else "default"
    ranked = f"{thousands(results.facts.n_spectra)} spectra ranked with {examples(n_known)}"
    return f"{ranked}, {parameters} parameters"


def in_words(seconds: float | None) -> str:
    """A time with its unit and two significant digits, or more before the point."""
    if seconds is None:
        return "not timed"
    if seconds <= 0:
        return "none"
    return f"{thousands(seconds, decimals=max(0, 1 - floor(log10(seconds))))} s"


def _query(timing: Timing | None) -> float | None:
    return timing.query_s if timing else None


def _setup(timing: Timing | None) -> float | None:
    return timing.setup_s if timing else None


def _draw_bars(panel: Axes, methods: Sequence[str], seconds: Sequence[float | None], hatch: str | None) -> None:
    """A bar for each method that took any time; the time in words behind it, or where it would start."""
    for place, (name, took) in enumerate(zip(methods, seconds, strict=True)):
        colour = style_of(name).colour
        if took:
            panel.barh(place, took, height=0.7, color="white" if hatch else colour, edgecolor=colour, hatch=hatch)
        at = (took, place) if took else (0.0, place)
        panel.annotate(
            in_words(took),
            at,
            (3, 0),
            xycoords="data" if took else ("axes fraction", "data"),
            textcoords="offset points",
            va="center",
            fontsize=SMALL_SIZE,
        )


def _limits(results: Results, n_known: int) -> tuple[float, float]:
    """From below the shortest time, so that its bar is seen, to beyond the longest, so that its words fit."""
    shown = [results.timings[cell] for cell in results.timings if cell[1] == n_known]
    times = [time for timing in shown for time in (timing.query_s, timing.setup_s) if time > 0] or [1.0]
    start, longest = min(times) / 3, max(times)
    return start, longest * (longest / start) ** ROOM_FOR_WORDS
