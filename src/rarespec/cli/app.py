"""`rarespec`: the verbs put together."""

from __future__ import annotations

from typing import Annotated

import typer

from rarespec._version import __version__
from rarespec.cli import (
    demo,
    doctor,
    experiment,
    export,
    fetch,
    info,
    ingest,
    inspect,
    labels,
    launcher,
    mcp,
    repack,
    report,
    search,
    simulate,
    verify,
)
from rarespec.cli.terminal import DataGroup

app = typer.Typer(
    cls=DataGroup,
    help="Find rare spectra: rank a whole survey so that the objects you want come first.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"rarespec {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass


VERBS = (
    demo,
    simulate,
    ingest,
    info,
    verify,
    search,
    inspect,
    labels,
    report,
    export,
    repack,
    experiment,
    doctor,
    mcp,
)
for verb in VERBS:
    app.command(verb.__name__.rpartition(".")[2])(verb.command)
app.command("launcher", hidden=True)(launcher.command)
app.add_typer(fetch.app, name="fetch")
