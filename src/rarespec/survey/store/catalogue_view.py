"""What a catalogue shows of itself, at the prompt and in a notebook: its first rows, and how much more there is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rarespec.pages.html import Html
from rarespec.pages.notebook import note, show_card, small_table
from rarespec.storage.text import counted, printable, thousands
from rarespec.survey.store.catalogue import Catalogue

FIRST = 10
WIDEST = 100
"""Letters of a line at the prompt; an id is never cut for it."""
LONGEST = 28
"""Letters of any other text."""
MOST_COLUMNS = 10
"""Columns in a notebook."""
FORMS = {"z": "z.5f", "snr": "z.1f", "ra": ".5f", "dec": "+.5f", "coverage": ".3f"}
"""How numbers of these columns are written; others with six digits."""


def catalogue_text(catalogue: Catalogue) -> str:
    """A line that counts, then the first rows in as many columns as a line can hold."""
    lines = [f"<Catalogue: {len(catalogue)} rows, {len(catalogue.columns)} columns>"]
    if not len(catalogue):
        return "\n".join([*lines, ", ".join(map(printable, catalogue.columns))]).rstrip()
    shown = list(_columns_that_fit(catalogue, _in_order(catalogue)))
    lines += ["  ".join(cells).rstrip() for cells in zip(*shown, strict=True)]
    n_rows, n_columns = len(catalogue) - FIRST, len(catalogue.columns) - len(shown)
    more = [counted(n_rows, "more row", "more rows")] if n_rows > 0 else []
    more += [counted(n_columns, "more column", "more columns")] if n_columns > 0 else []
    return "\n".join(lines + ([f"... and {' and '.join(more)}; see .colnames"] if more else []))


def _columns_that_fit(catalogue: Catalogue, names: list[str]) -> Iterator[list[str]]:
    room = WIDEST
    for name, cells in _first_cells(catalogue, names[: WIDEST // 2]).items():
        heading = printable(name)
        width = max(map(len, [heading, *cells]))
        if room < width and room < WIDEST:
            return
        room -= width + 2
        is_number = all(_is_number(cell) for cell in cells if cell)
        yield [f"{text:>{width}}" if is_number else f"{text:<{width}}" for text in (heading, *cells)]


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def catalogue_html(catalogue: Catalogue) -> str:
    """A card with the first rows of the first columns."""
    counts = f"{thousands(len(catalogue))} rows, {len(catalogue.columns)} columns"
    names = _in_order(catalogue)
    more = names[MOST_COLUMNS:]
    rest = [note(f"and {counted(len(more), 'more column', 'more columns')}; .colnames lists all")] if more else []
    return show_card(f"Catalogue: {counts}", *first_rows(catalogue, names[:MOST_COLUMNS], FIRST), *rest)


def first_rows(catalogue: Catalogue, names: list[str], n: int) -> list[Html]:
    """A table of the first n rows, and how many more there are."""
    cells = _first_cells(catalogue, names, n)
    more = len(catalogue) - n
    rest = [note(f"and {thousands(more)} more")] if more > 0 else []
    return [small_table([printable(name) for name in names], zip(*cells.values(), strict=True)), *rest]


def _in_order(catalogue: Catalogue) -> list[str]:
    """The id first, as spectra are known by it."""
    return sorted(catalogue.columns, key=lambda name: name != "id")


def _first_cells(catalogue: Catalogue, names: list[str], n: int = FIRST) -> dict[str, list[str]]:
    first = catalogue[:n].arrow(names).to_pydict()
    return {name: list(_cells(name, values)) for name, values in first.items()}


def _cells(name: str, values: Iterable[object]) -> Iterator[str]:
    for value in values:
        if value is None or value != value:
            yield ""
        elif isinstance(value, float):
            yield format(value, FORMS.get(name, ".6g"))
        else:
            text = printable(str(value))
            yield text if name == "id" or len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
