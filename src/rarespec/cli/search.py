"""`rarespec search`: here are my objects, find the others."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rarespec.cli.exits import Exit, report_failures
from rarespec.cli.hats_search import check_outputs, is_hats, search_catalogue, write_candidates
from rarespec.cli.kinds_search import refuse_with_kinds, search_kinds
from rarespec.cli.search_options import SearchOptions, Verbose, ranking_of, with_search_options
from rarespec.cli.terminal import console, print_rows, say, say_json
from rarespec.errors import UsageError

if TYPE_CHECKING:
    from rarespec.searching.ranking import Ranking

N_LISTED = 10
COLUMNS = ("rank", "id", "class", "S/N", "chance", "nearest known", "flags")
SPARE = ("nearest known", "flags", "class", "S/N")
"""What a narrow terminal leaves out, the first of them first."""


@report_failures
@with_search_options()
def command(
    options: SearchOptions,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Write candidates to .ecsv, .csv, .fits, .vot, .parquet or .hats; with --kinds, to this folder."
        ),
    ] = None,
    save_model: Annotated[
        Path | None, typer.Option(help="Save the trained model, to search another survey with.")
    ] = None,
    kinds: Annotated[
        Path | None, typer.Option(help="Search for many kinds: a table with the columns kind and id, or positions.")
    ] = None,
    table_format: Annotated[
        str, typer.Option("--format", help="With --kinds: format of the tables in --out.")
    ] = "ecsv",
    send: Annotated[bool, typer.Option("--send", help="Send the table to TOPCAT or Aladin via SAMP.")] = False,
    column: Annotated[
        list[str] | None,
        typer.Option(help="Of a HATS catalogue: ROLE=NAME of columns that cannot be guessed; may be repeated."),
    ] = None,
    verbose: Verbose = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the candidates as JSON.")] = False,
) -> None:
    """Rank a survey so that spectra like the known examples come first, and say how far down the list to look.

    Known examples are ids, tables of ids or positions, or files of spectra from any survey. --known may be repeated.

    Example: rarespec search dr17.survey --known carbon-stars.csv --top 1000 --out candidates.ecsv
    """
    if kinds is not None:
        refuse_with_kinds(options, **{"--save-model": save_model, "--send": send, "--column": column})
        search_kinds(options, kinds, out, table_format, as_json)
        return
    if table_format != "ecsv":
        raise UsageError("--format is for --kinds; of one kind, the end of --out says the format")
    check_outputs(out, save_model)
    if is_hats(options.survey):
        search_catalogue(options, out, save_model, send, as_json, verbose, column)
        return
    if column:
        raise UsageError(f"{options.survey}: --column is for HATS catalogues; a survey knows its spectra")
    ranking = ranking_of(options)
    for problem in ranking.problems:
        say(problem, err=True)
    _keep(ranking, out, save_model, send)
    say_json(json_of(ranking)) if as_json else show(ranking, verbose)
    if ranking.examples_lost:
        raise typer.Exit(Exit.DEFECTS)


def _keep(ranking: Ranking, out: Path | None, model: Path | None, send: bool) -> None:
    if out is not None:
        say(f"{len(ranking)} candidates written to {write_candidates(ranking, out)}", err=True)
    if model is not None:
        say(f"model saved to {ranking.save(model)}", err=True)
    if send:
        from rarespec.searching.samp import send_table

        names = send_table(ranking.table, f"rarespec: {ranking.survey.path.name}", provenance=ranking.provenance)
        say(f"sent to {', '.join(names)}", err=True)


def show(ranking: Ranking, verbose: bool = False) -> None:
    """How many to expect and where to stop, then the first candidates; `verbose` adds how they were ranked."""
    out = console()
    out.print(ranking.yield_curve.why)
    if verbose:
        out.print(f"method {ranking.method}: {ranking.why}")
    print_rows(out, COLUMNS, map(_cells, ranking.table[:N_LISTED]), ("id", "nearest known"), SPARE)
    if len(ranking) > N_LISTED:
        out.print(f"... and {len(ranking) - N_LISTED} more of {ranking.n_listed} ranked spectra")


def _cells(row: Any) -> list[str]:
    kind = " ".join(word for word in (row["class"], row["subclass"]) if word)
    figures = (_figure(row["snr"], ".1f"), _figure(row["chance"], ".2f"))
    return [str(row["rank"]), row["id"], kind, *figures, row["nearest_known"], row["flags"]]


def _figure(value: float, form: str) -> str:
    return "?" if value != value else format(value, form)


def json_of(ranking: Ranking) -> dict[str, Any]:
    """The ranking for a program to read."""
    table = ranking.table
    rows = [{name: row[name] for name in table.colnames} for row in table]
    curve = ranking.yield_curve
    return {
        "method": ranking.method,
        "why": ranking.why,
        "n_listed": ranking.n_listed,
        "yield": {"can_tell": curve.can_tell, "why": curve.why, "stopping_rank": curve.stopping_rank},
        "problems": ranking.problems,
        "candidates": rows,
    }
