"""What objects show of themselves in a notebook: facts and small tables, in the colours and letters of the notebook.

Styles stand in the elements, since a style sheet would reach the whole page.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rarespec.pages.html import Html, element

FAINT = "opacity:.7"
LEFT = "text-align:left"
TIGHT = "border-collapse:collapse;margin:.4em 0"


def show_card(title: str, *parts: object) -> str:
    """A title, and below it paragraphs (any text) and markup (Html)."""
    below = (part if isinstance(part, Html) else element("div", part, style="max-width:50em") for part in parts)
    return str(element("div", element("div", element("b", title)), *below))


def note(words: str) -> Html:
    return element("div", words, style=f"{FAINT};max-width:50em")


def facts(pairs: Iterable[tuple[str, object]]) -> Html:
    """Names and values, one a line."""
    rows = (
        element("tr", element("th", name, style=LEFT, scope="row"), element("td", value, style=LEFT))
        for name, value in pairs
    )
    return element("table", element("tbody", *rows), style=TIGHT)


def small_table(names: Sequence[str], rows: Iterable[Sequence[object]]) -> Html:
    """A table with a heading; wide ones scroll, and a long text does not push the others out."""
    head = element("tr", *(element("th", name, style=LEFT) for name in names))
    body = (element("tr", *(_cell(value) for value in row)) for row in rows)
    table = element("table", element("thead", head), element("tbody", *body), style=TIGHT)
    return element("div", table, style="overflow-x:auto")


def _cell(value: object) -> Html:
    # a name of a catalogue that runs from right to left must not turn its neighbours round
    return element("td", element("bdi", value), style=f"{LEFT};max-width:24em;overflow-wrap:anywhere")
