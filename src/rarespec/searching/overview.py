"""The overview of a report: every candidate in one table with a thumbnail, to jump from, to sort and to take along."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from rarespec.pages.html import Html, element, join_html
from rarespec.searching.explain.portrait import Portrait
from rarespec.searching.export import write_table
from rarespec.searching.ranking import Ranking
from rarespec.searching.report_words import number_or, text

MISSING = "–"
DOWNLOADS = {"CSV": "candidates.csv", "ECSV": "candidates.ecsv"}
"""Name of a format -> name of the file."""


class Heading(NamedTuple):
    """Of a column: what stands there, how it sorts (rising, falling or text), and how it looks."""

    words: str
    sort: str
    look: str = ""


HEADINGS = (
    Heading("rank", "rising", "rank"),
    Heading("id", "text", "words id"),
    Heading("class", "text", "words"),
    Heading("S/N", "falling"),
    Heading("redshift", "falling", "spare"),
    Heading("score", "falling", "spare"),
    Heading("chance", "falling"),
    Heading("nearest known", "text", "words id spare"),
    Heading("flags", "text", "words"),
)


def overview(ranking: Ranking, portraits: Sequence[Portrait], thumbnails: Sequence[Html]) -> list[Html]:
    """Make the section.

    Parameters
    ----------
    ranking : Ranking
        The answer of a search.
    portraits : sequence of Portrait
        The candidates that are shown.
    thumbnails : sequence of Html
        One for each.

    Returns
    -------
    list of Html
        What to do with the table, and the table.
    """
    how = "The number leads to the candidate. Blue is its spectrum; the nearest known example is faint behind it. "
    take = "A click on a heading sorts the table; a second click turns it round."
    head = element("tr", *(element("th", one.words, **_looks(one), scope="col") for one in HEADINGS))
    rows = (_row(*one) for one in zip(portraits, thumbnails, strict=True))
    table = element("table", element("thead", head), element("tbody", *rows), class_="sortable")
    about = {"role": "region", "aria_label": "Table of the candidates", "tabindex": 0}
    return [
        element("p", how, element("span", take, class_="with-script"), class_="note"),
        element("div", table, class_="overview", **about),
        _downloads(ranking, len(portraits)),
    ]


def _looks(heading: Heading) -> dict[str, str]:
    return {"data_sort": heading.sort} | ({"class_": heading.look} if heading.look else {})


def _row(portrait: Portrait, thumbnail: Html) -> Html:
    facts = portrait.facts
    jump = element("a", element("span", facts["rank"]), thumbnail, href=f"#rank-{facts['rank']}")
    kind = " ".join(filter(None, (text(facts["class"]), text(facts["subclass"]))))
    cells: list[object] = [
        jump,
        element("bdi", text(facts["id"])),
        element("bdi", kind),
        number_or(facts["snr"], ".1f", MISSING),
        number_or(facts["z"], ".5f", MISSING),
        number_or(facts["score"], ".4g", MISSING),
        number_or(facts["chance"], ".2f", MISSING),
        element("bdi", text(facts["nearest_known"])),
        text(facts["flags"]).replace(",", ", "),
    ]
    looks = ({"class_": heading.look} if heading.look else {} for heading in HEADINGS)
    return element("tr", *(element("td", cell, **look) for cell, look in zip(cells, looks, strict=True)))


def _downloads(ranking: Ranking, n: int) -> Html:
    """Links that hold the files, so that the page stays whole wherever it is sent."""
    links = (
        element("a", name, href=f"data:text/csv;base64,{_file_of(ranking, n, file)}", download=file)
        for name, file in DOWNLOADS.items()
    )
    return element("p", "Download this table as ", join_html(*links, between=" or "), ".", class_="note")


def _file_of(ranking: Ranking, n: int, name: str) -> str:
    """In base64; the ECSV says where it comes from."""
    with TemporaryDirectory() as folder:
        return b64encode(write_table(ranking.table[:n], Path(folder) / name, ranking.provenance).read_bytes()).decode()
