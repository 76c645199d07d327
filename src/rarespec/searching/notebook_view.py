"""What a ranking shows of itself in a notebook: what was asked, how far to look, and the best candidates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rarespec.pages.html import Html, element
from rarespec.pages.notebook import note, show_card, small_table
from rarespec.searching.ranking import Ranking
from rarespec.searching.report import number_or, sentence
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
