"""A table as text: GitHub markdown, LaTeX, CSV."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Entry:
    """What one cell shows: a value, bold where it stands out, and then its spread or interval."""

    value: str
    rest: str = ""
    bold: bool = False


@dataclass(frozen=True)
class Table:
    """For reading. Texts are plain; each format escapes what it must."""

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[Entry]]
    footer: Sequence[Sequence[Entry]] = ()
    """Rows below a line, such as averages."""


def as_markdown(table: Table, title: str) -> str:
    """Bold title, caption, and the table with its first column on the left and the others centred."""
    lines = [
        [markdown_text(heading) for heading in table.header],
        [":---", *[":---:"] * (len(table.header) - 1)],
        *[[_markdown_entry(entry) for entry in row] for row in (*table.rows, *table.footer)],
    ]
    grid = "".join(f"| {' | '.join(line)} |\n" for line in lines)
    return f"**{markdown_text(title)}.** {markdown_text(table.caption)}\n\n{grid}"


def _markdown_entry(entry: Entry) -> str:
    value = markdown_text(entry.value)
    return (f"**{value}**" if entry.bold else value) + markdown_text(entry.rest)


def markdown_text(text: str) -> str:
    """Text that shows as it is, on one line."""
    return re.sub(r"([\\`*_\[\]<>|&~])", r"\\\1", _on_one_line(text))


def as_tex(table: Table, label: str) -> str:
    """A table over the full width of the page, which needs no package."""
    lines = [
        r"\begin{table*}",
        r"\centering",
        r"\scriptsize",
        r"\setlength{\tabcolsep}{2pt}",
        rf"\caption{{{tex_text(table.caption)}}}",
        rf"\label{{{label}}}",
        rf"\begin{{tabular}}{{l{'c' * (len(table.header) - 1)}}}",
        r"\hline",
        _tex_row(map(_tex_heading, table.header)),
        r"\hline",
        *[_tex_row(map(_tex_entry, row)) for row in table.rows],
        r"\hline",
        *[_tex_row(map(_tex_entry, row)) for row in table.footer],
        *([r"\hline"] if table.footer else []),
        r"\end{tabular}",
        r"\end{table*}",
    ]
    return "\n".join(lines) + "\n"


def _tex_row(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"


def _tex_heading(heading: str) -> str:
    """One word above the other: ten columns have to fit."""
    words = tex_text(heading).split()
    return r"\shortstack{" + r" \\ ".join(words) + "}" if len(words) > 1 else "".join(words)


def _tex_entry(entry: Entry) -> str:
    value, rest = tex_text(entry.value), tex_text(entry.rest).replace(r" $\pm$ ", r"$\pm$")
    return (rf"\textbf{{{value}}}" if entry.bold else value) + rest


TEX = {character: rf"\{character}" for character in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": "$<$",
    ">": "$>$",
    "|": "$|$",
    "±": r"$\pm$",
    "–": "--",
}
"""Characters that mean something else in LaTeX, or that old fonts lack."""


def tex_text(text: str) -> str:
    """Text that prints as it is."""
    return "".join(TEX.get(character, character) for character in _on_one_line(text))


def as_csv(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Quoted where needed; None is an empty field, and a float has all the digits that it takes to read it back."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue()


def _on_one_line(text: str) -> str:
    return re.sub(r"\s+", " ", text)
