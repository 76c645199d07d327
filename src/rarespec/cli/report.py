"""`rarespec report`: a search as a page to look at and a sheet to print."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from rarespec.cli.exits import Exit, report_failures
from rarespec.cli.progress import progress
from rarespec.cli.search_options import SearchOptions, ranking_of, with_search_options
from rarespec.cli.terminal import say


@report_failures
@with_search_options()
def command(
    options: SearchOptions,
    out: Annotated[Path, typer.Option(help="Output directory.")] = Path("report"),
    n: Annotated[int, typer.Option("--n", min=1, help="Number of candidates to show.")] = 100,
) -> None:
    """Search, and show the best candidates next to the known examples in an HTML page and a PDF contact sheet.

    The page is a single file: you can send it by e-mail and read it offline.

    Example: rarespec report dr17.survey --known carbon-stars.csv --out carbon
    """
    from rarespec.errors import UsageError
    from rarespec.plots.search_report import write_report

    if out.exists() and not out.is_dir():
        raise UsageError(f"{out}: is a file; the report needs a directory")
    ranking = ranking_of(replace(options, top=max(options.top, n)))
    for problem in ranking.problems:
        say(problem, err=True)
    with progress("report", "pages") as show:
        written = write_report(ranking, out, n, show)
    for path in written:
        say(path)
    say(ranking.yield_curve.why, err=True)
    if ranking.examples_lost:
        raise typer.Exit(Exit.DEFECTS)
