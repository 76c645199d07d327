"""Figure 7 of the paper: CPU time of each method, what is set up once apart from what each query takes."""

from __future__ import annotations

import os
from collections import Counter
from math import floor, log10
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rarespec.evaluation.experiment.results import Results, Timing
from rarespec.plots.canvas import LABEL_SIZE, SMALL_SIZE, panels, save_both
from rarespec.plots.experiment.curves import examples
from rarespec.plots.method_style import style_of
from rarespec.storage.text import thousands

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


ROOM_FOR_WORDS = 0.35
"""Of the length of the longest bar, behind it."""


def draw_figure_7(results: Results, folder: str | os.PathLike[str]) -> list[Path]:
    """The files that were written, none when nothing was timed."""
    return save_both(times_figure(results), folder, "figure-7") if results.timings else []


def times_figure(results: Results) -> Figure:
    """One bar for each method, as in the paper: all that a first query takes, with what is set up once set apart.

    The axis is linear and begins at 0, so that lengths can be compared; short times are read from the words.
    """
    n_known, methods = choose_timed_number(results), results.setting.methods
    timings = [results.timings.get((name, n_known)) for name in methods]
    figure, ((panel,),) = panels(1, 1, height=1.1 + 0.19 * len(methods))
    for place, (name, timing) in enumerate(zip(methods, timings, strict=True)):
        _draw_bar(panel, place, style_of(name, methods).colour, timing)
    longest = max(_total(timing) for timing in timings if timing)
    panel.set_xlim(0, (1 + ROOM_FOR_WORDS) * (longest or 1.0))
    panel.set_yticks(range(len(methods)), [results.label(name) for name in methods])
    panel.set_ylim(len(methods) - 0.4, -0.6)
    panel.set_xlabel("CPU time of a first query [s]", fontsize=LABEL_SIZE)
    panel.set_title(_what_was_timed(results, n_known), fontsize=LABEL_SIZE)
    _add_key(figure)
    return figure


def choose_timed_number(results: Results) -> int:
    """The number of known examples that most methods were timed with, the largest of several."""
    counts = Counter(n_known for name, n_known in results.timings if name in results.setting.methods)
    return max(counts, key=lambda n_known: (counts[n_known], n_known))


def _what_was_timed(results: Results, n_known: int) -> str:
    parameters = "tuned" if any(results.tuned.get(name) for name in results.setting.methods) else "default"
    ranked = f"{thousands(results.facts.n_spectra)} spectra ranked with {examples(n_known)}"
    return f"{ranked}, {parameters} parameters"


def in_words(seconds: float) -> str:
    """A time with its unit and two significant digits, or more before the point."""
    if seconds <= 0:
        return "0 s"
    return f"{thousands(seconds, decimals=max(0, 1 - floor(log10(seconds))))} s"


def words_of(timing: Timing | None) -> str:
    if timing is None:
        return "not timed"
    if timing.setup_s <= 0:
        return in_words(timing.query_s)
    return f"{in_words(_total(timing))}; each query {in_words(timing.query_s)}"


def _total(timing: Timing) -> float:
    return timing.query_s + timing.setup_s


def _draw_bar(panel: Axes, place: int, colour: str, timing: Timing | None) -> None:
    """First the query, then the set-up; the total in words behind it."""
    if timing:
        bar: dict[str, Any] = {"height": 0.7, "edgecolor": colour, "linewidth": 0.8}
        panel.barh(place, timing.query_s, color=colour, **bar)
        if timing.setup_s > 0:
            panel.barh(place, timing.setup_s, left=timing.query_s, color="white", hatch=HATCH, **bar)
    at = (_total(timing) if timing else 0.0, place)
    panel.annotate(words_of(timing), at, (3, 0), textcoords="offset points", va="center", fontsize=SMALL_SIZE)


HATCH = "/////"


def _add_key(figure: Figure) -> None:
    from matplotlib.patches import Patch

    handles = [
        Patch(facecolor="0.4", edgecolor="0.4", label="each query"),
        Patch(facecolor="white", edgecolor="0.4", hatch=HATCH, label="set up once, for all queries"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=2, frameon=False, fontsize=SMALL_SIZE)
