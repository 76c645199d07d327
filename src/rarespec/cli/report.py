"""`rarespec report`: a search as a page to look at and a sheet to print."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rarespec.cli.exits import Exit, told
from rarespec.cli.progress import progress
from rarespec.cli.search_options import (
    Classes,
    Cone,
    Known,
    Method,
    MinSnr,
    Model,
    NonMembers,
    NotClasses,
    Params,
    Radius,
    RecipeName,
    SearchOptions,
    Seed,
    SurveyPath,
    Top,
    ranking_of,
)
from rarespec.cli.terminal import say


@told
def command(
    survey: SurveyPath,
    known: Known = None,
    method: Method = "auto",
    top: Top = 1000,
    out: Annotated[Path, typer.Option(help="Output directory.")] = Path("report"),
    n: Annotated[int, typer.Option("--n", min=1, help="Number of candidates to show.")] = 100,
    non_members: NonMembers = None,
    params: Params = None,
    recipe: RecipeName = "paper",
    min_snr: MinSnr = None,
    classes: Classes = None,
    not_classes: NotClasses = None,
    cone: Cone = None,
    radius: Radius = 2.0,
    seed: Seed = 0,
    model: Model = None,
) -> None:
    """Search, and show the best candidates next to the known examples in an HTML page and a PDF contact sheet.

    The page is a single file: you can send it by e-mail and read it offline.

    Example: rarespec report dr17.survey --known carbon-stars.csv --out carbon
    """
    from rarespec.plots.search_report import write_report

    options = SearchOptions(
        survey,
        known,
        method,
        max(top, n),
        non_members,
        params,
        recipe,
        min_snr,
        classes,
        not_classes,
        cone,
        radius,
        seed,
        model,
    )
    ranking = ranking_of(options)
    for problem in ranking.problems:
        say(problem, err=True)
    with progress("report", "pages") as show:
        written = write_report(ranking, out, n, show)
    for path in written:
        say(path)
    say(ranking.yield_curve.why, err=True)
    if ranking.examples_lost:
        raise typer.Exit(Exit.DEFECTS)
