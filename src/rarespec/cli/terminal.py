"""All that a command prints. Names, comments and messages of archives are data: no character of them steers a terminal.

What cannot be printed (escape sequences, line ends, marks that turn the direction of writing, halves of letters) is
written out, and brackets are no markup.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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


@contextmanager
def _printable_complaints() -> Iterator[None]:
    try:
        yield
    except COMPLAINT as error:
        from rarespec.storage.text import printable

        vars(error)["message"] = "\n".join(map(printable, str(vars(error)["message"]).split("\n")))
        raise
