"""All that a command prints. Names, comments and messages of archives are data: no character of them steers a terminal.

What cannot be printed (escape sequences, line ends, marks that turn the direction of writing, halves of letters) is
written out, and brackets are no markup.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperGroup

if TYPE_CHECKING:
    from rich.console import Console


def say(text: object = "", err: bool = False, **style: Any) -> None:
    """One line; `style` is that of `typer.secho`."""
    from rarespec.storage.text import printable

    typer.secho(printable(str(text)), err=err, **style)


def say_lines(lines: Iterable[object], err: bool = False) -> None:
    for line in lines:
        say(line, err)


def say_json(content: Any) -> None:
    from rarespec.storage.text import as_json

    typer.echo(as_json(content))


def console(stderr: bool = False) -> Console:
    """For tables and bars; every text of a cell or a line comes to `render_str`."""
    from rich.console import Console
    from rich.text import Text

    from rarespec.storage.text import printable

    class DataConsole(Console):
        def render_str(self, text: str, **options: Any) -> Text:
            return super().render_str(printable(text), **options)

    return DataConsole(stderr=stderr, highlight=False, markup=False, emoji=False)


ROOM_FOR_WORDS = 16
"""Letters that a column of words gets at least; longer ones are folded."""
BETWEEN = 2
"""Blanks between columns."""


def print_rows(
    out: Console,
    headings: Sequence[str],
    rows: Iterable[Sequence[str]],
    ids: Sequence[str] = ("id",),
    spare: Sequence[str] = (),
) -> None:
    """A table in which every id stands whole on one line; columns that find no room beside it are left out, and named.

    Parameters
    ----------
    out : Console
        Where to print.
    headings : sequence of str
        The columns.
    rows : iterable of sequence of str
        The cells.
    ids : sequence of str
        Headings of the columns that hold ids: one that is cut or broken cannot be copied.
    spare : sequence of str
        Columns that may be left out, the first of them first.
    """
    from rich.table import Table

    from rarespec.storage.text import printable

    columns = dict(zip(headings, zip(*([printable(cell) for cell in row] for row in rows), strict=True), strict=False))
    widths = {name: _width(name, columns.get(name, ()), whole=name in ids) for name in headings}
    left_out: list[str] = []
    for name in spare:
        if _total(widths) > out.width:
            left_out.append(name)
            del widths[name]
    table = Table(box=None, pad_edge=False)
    for name, width in widths.items():
        whole = name in ids
        table.add_column(name, no_wrap=whole, overflow="ignore" if whole else "fold", min_width=width)
    for cells in zip(*(columns.get(name, ()) for name in widths), strict=True):
        table.add_row(*cells)
    out.width = max(out.width, _total(widths))  # a terminal that is narrower breaks lines itself, and copies them whole
    out.print(table)
    if left_out:
        out.print(f"no room for {', '.join(left_out)}: use a wider terminal", soft_wrap=True)


def _width(heading: str, cells: Sequence[str], whole: bool) -> int:
    from rich.cells import cell_len

    longest = max(map(cell_len, [heading, *cells]))
    return longest if whole else min(ROOM_FOR_WORDS, longest)


def _total(widths: dict[str, int]) -> int:
    return sum(widths.values()) + BETWEEN * (len(widths) - 1)


COMPLAINT: Any = typer.BadParameter.__bases__[0]
"""UsageError of the click that typer brings along, which it does not name itself."""


class DataGroup(TyperGroup):
    """Verbs whose words may be names of files that a stranger chose: what is said of wrong words is data as well."""

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        with _printable_complaints():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: Any) -> Any:
        with _printable_complaints():
            return super().invoke(ctx)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        command = super().get_command(ctx, cmd_name)
        for param in getattr(command, "params", ()):
            _name_type_plainly(param)
        return command


PLAIN_TYPES = {"<list[str]>": "<text>", "<str>": "<text>", "<list[Path]>": "<path>"}
"""What `--help` calls the type of an option -> what a person calls it."""


def _name_type_plainly(param: Any) -> None:
    shown = getattr(param, "display_type", None)  # versions of typer before 0.20 do not have it, and say TEXT
    if shown is not None and "display_type" not in vars(param):
        vars(param)["display_type"] = lambda ctx: PLAIN_TYPES.get(shown(ctx), shown(ctx))


@contextmanager
def _printable_complaints() -> Iterator[None]:
    try:
        yield
    except COMPLAINT as error:
        from rarespec.storage.text import printable

        vars(error)["message"] = "\n".join(map(printable, str(vars(error)["message"]).split("\n")))
        raise
