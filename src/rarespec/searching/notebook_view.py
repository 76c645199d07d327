"""What an answer shows of itself in a notebook: a ranking, its yield curve, and why a candidate is on the list."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from rarespec.pages.html import Html, element
from rarespec.pages.notebook import note, show_card, small_table
from rarespec.pages.svg import BELOW, Frame, scale_below
from rarespec.searching.explain.explanation import Explanation
from rarespec.searching.ranking import Ranking
from rarespec.searching.report_words import number_or, sentence
from rarespec.searching.yields.yield_curve import YieldCurve
from rarespec.spectrum import Spectrum
from rarespec.spectrum.picture import spectrum_svg
from rarespec.storage.text import printable, thousands

if TYPE_CHECKING:
    from astropy.table import Table

FIRST = 10
MOST_PROBLEMS = 5
COLUMNS = {
    "rank": "",
    "id": "",
    "class": "",
    "subclass": "",
    "snr": "z.1f",
    "z": "z.5f",
    "score": ".4g",
    "chance": ".2f",
    "nearest_known": "",
    "flags": "",
}
"""Columns of the table that are shown, and how numbers in them are written."""


def ranking_html(ranking: Ranking) -> str:
    return show_card(
        f"Ranking of {thousands(ranking.n_listed)} spectra of {printable(ranking.survey.path.name)}",
        element("div", sentence(ranking.yield_curve.why), style="max-width:50em"),
        note(sentence(f"method {ranking.method}: {ranking.why}")),
        *first_candidates(ranking.table),
        *first_problems(ranking.problems),
    )


def first_candidates(table: Table) -> list[Html]:
    """Show the best rows of a table of candidates, and how many more there are."""
    names = [name for name in COLUMNS if name in table.colnames]
    rows = ([_write(row[name], COLUMNS[name]) for name in names] for row in table[:FIRST])
    more = len(table) - FIRST
    rest = [note(f"and {thousands(more)} more in .table, an astropy Table")] if more > 0 else []
    return [small_table([name.replace("_", " ") for name in names], rows), *rest]


def _write(value: Any, form: str) -> str:
    return number_or(value, form, "") if form else printable(str(value))


def first_problems(problems: list[str]) -> list[Html]:
    if not problems:
        return []
    items = [element("li", printable(problem)) for problem in problems[:MOST_PROBLEMS]]
    more = len(problems) - MOST_PROBLEMS
    return [element("ul", *items, *([element("li", f"and {more} more in .problems")] if more > 0 else []))]


# ---- How many true objects to expect: the curve, its interval, and the numbers at a few depths.


WIDTH, HEIGHT = 700, 140
N_DEPTHS = 7
DEPTHS = (10, 30, 100, 300, 1000, 3000, 10_000, 30_000, 100_000)


def yield_html(curve: YieldCurve) -> str:
    parts = [_draw_yield(curve), small_table(("first", "expected", "at least", "at most", "chance"), _depths(curve))]
    return show_card("How many to expect", sentence(curve.why), *(parts if curve.can_tell else []))


def depths_in_words(curve: YieldCurve) -> list[str]:
    """What to expect at a few depths, one a line; nothing where there is no estimate."""
    if not curve.can_tell:
        return []
    return [f"first {k}: about {expected} ({low} to {high})" for k, expected, low, high, _ in _depths(curve)]


def _depths(curve: YieldCurve) -> Iterator[tuple[int, str, str, str, str]]:
    k_max = len(curve.expected)
    known = {k for k in (*DEPTHS, curve.stopping_rank or 0, k_max) if 0 < k <= k_max}
    for k in sorted(known):
        i = k - 1
        yield k, f"{curve.expected[i]:.1f}", f"{curve.low[i]:.0f}", f"{curve.high[i]:.0f}", f"{curve.chance[i]:.2f}"


def _draw_yield(curve: YieldCurve) -> Html:
    k = np.unique(np.linspace(1, len(curve.expected), WIDTH).astype(int))
    expected, low, high = (values[k - 1] for values in (curve.expected, curve.low, curve.high))
    frame = Frame(0, max(k[-1], 2), 0, max(1.0, float(high[-1])) * 1.05, WIDTH, HEIGHT)
    around, ends = np.concatenate([k, k[::-1]]), np.concatenate([high, low[::-1]])
    interval = frame.draw(around, ends, fill="#2a8fd0", fill_opacity="0.2", stroke="none")
    line = frame.draw(k, expected, fill="none", stroke="#2a8fd0", stroke_width="1.5")
    view = {"viewBox": f"0 0 {WIDTH} {HEIGHT + BELOW}", "role": "img", "aria_label": "True objects in the first k"}
    style = f"display:block;width:100%;max-width:{WIDTH}px;height:auto"
    return element("svg", interval, line, *scale_below(frame, "", N_DEPTHS), style=style, **view)


# ---- Why a candidate stands where it stands: its spectrum, what each wavelength adds, and the ranges that count most.


def explanation_html(explanation: Explanation) -> str:
    total = f"{explanation.score:+.4g} relative to a typical spectrum of the survey"
    ranges = (
        (f"{band.start:.0f}-{band.stop:.0f} Å", f"{band.contribution:+.3g}", f"{100 * band.share:.0f} %")
        for band in explanation.bands
    )
    return show_card(
        printable(explanation.id),
        total,
        *_draw_pixels(explanation, explanation.flux, "rescaled flux", HEIGHT),
        *_draw_pixels(explanation, explanation.contribution, "what each pixel adds to the score", HEIGHT // 2),
        small_table(("wavelength", "adds", "share"), ranges),
        note(sentence(printable(explanation.said))),
    )


def _draw_pixels(explanation: Explanation, values: Any, title: str, height: int) -> list[Html]:
    shown = Spectrum(explanation.id, explanation.wavelength, values, None, np.zeros(len(values), bool))
    picture = spectrum_svg(shown, height)
    return [] if picture is None else [note(title), picture]
