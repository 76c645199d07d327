"""`rarespec mcp`: tools for language-model clients over standard input and output."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from rarespec.cli.exits import report_failures


@report_failures
def command(
    surveys: Annotated[list[Path], typer.Argument(metavar="SURVEY...", help="Surveys that the client may read.")],
    allow_labels: Annotated[
        bool, typer.Option("--allow-labels", help="Let the client save labels under the name given with --person.")
    ] = False,
    person: Annotated[str | None, typer.Option(help="Name of the person whose labels the client saves.")] = None,
) -> None:
    """Give a language-model client tools to look at surveys: info, search, explain, and spectra as pictures.

    The client starts this command itself and talks to it over standard input and output. It can only reach the surveys
    named here. By default it cannot label; a search keeps the features it computes, and nothing else changes.

    Example: rarespec mcp dr17.survey
    """
    from rarespec.errors import UsageError
    from rarespec.labels.event import person_named
    from rarespec.survey import Survey

    if find_spec("mcp") is None:
        raise UsageError("the mcp package is not installed; install it with: python -m pip install 'rarespec[mcp]'")
    if allow_labels != (person is not None):
        raise UsageError("to allow labels give both --allow-labels and --person NAME; every label carries a name")
    from rarespec.mcp_server.server import serve
    from rarespec.mcp_server.tools import SurveyTools, named

    who = person_named(person) if allow_labels else None
    serve(SurveyTools(named([Survey.open(path) for path in surveys]), who))
