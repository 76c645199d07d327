"""`rarespec doctor`: is this installation well, in a text made for a bug report."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from rarespec.cli.exits import Exit, report_failures
from rarespec.cli.terminal import say, say_json, say_lines


@report_failures
def command(
    survey: Annotated[Path | None, typer.Argument(help="Also check this survey.", show_default=False)] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
    licences: Annotated[
        bool, typer.Option("--licences", help="Print the licences of all dependencies instead.")
    ] = False,
) -> None:
    """Check this installation: versions, optional packages, write access, and a small test search.

    Takes a few seconds. Paste the output into a bug report: it shows no user names, and home directories as ~.

    Example: rarespec doctor
    """
    if licences:
        _print_licences(as_json)
        return
    from rarespec.doctor.checkup import checkup
    from rarespec.doctor.text import as_json as plain_values
    from rarespec.doctor.text import as_text

    if sys.stderr.isatty():
        say("checking the installation; this takes a few seconds ...", err=True)
    result = checkup(survey)
    say_json(plain_values(result)) if as_json else say_lines(as_text(result).split("\n"))
    raise typer.Exit(Exit.DEFECTS if result.problems else Exit.DONE)


def _print_licences(as_json: bool) -> None:
    from dataclasses import asdict

    from rarespec.doctor.software import as_markdown, licences_used

    used = licences_used()
    say_json([asdict(one) for one in used]) if as_json else say_lines(as_markdown(used).split("\n"))
