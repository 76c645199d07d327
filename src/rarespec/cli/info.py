"""`rarespec info`: what is in a survey."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rarespec.cli.exits import report_failures
from rarespec.cli.terminal import console, say_json

if TYPE_CHECKING:
    from rich.console import RenderableType

TYPES_SHOWN = 20


@report_failures
def command(
    survey: Annotated[Path, typer.Argument(help="Survey directory.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Summarise a survey: number of spectra, wavelength coverage, S/N, classes, defects.

    Example: rarespec info dr17.survey
    """
    from rarespec.survey import Survey
    from rarespec.survey.summary import summarise

    summary = summarise(Survey.open(survey))
    if as_json:
        say_json(summary)
    else:
        show(summary)


def show(summary: dict[str, Any]) -> None:
    """Print a summary for a person."""

    out = console()
    out.print(_facts(summary))
    if summary["types"]:
        out.print(_types(summary))


def _facts(summary: dict[str, Any]) -> RenderableType:
    from rich.table import Table

    from rarespec.survey import Precision

    table = Table(box=None, show_header=False, pad_edge=False)
    first, last = summary["wavelength"]
    frame = "rest frame" if summary["rest_frame"] else "observed frame"
    table.add_row("survey", summary["path"])
    table.add_row("spectra", f"{summary['spectra']:,}  ({summary['bytes'] / 1e6:,.1f} MB on disk)")
    name = f" ({summary['grid_name']})" if summary["grid_name"] else ""
    table.add_row("grid", f"{first:.1f}-{last:.1f} A vacuum, {summary['grid']['n_pixels']} pixels{name}, {frame}")
    table.add_row("precision", Precision.parse(summary["precision"]).in_words())
    for note in summary["notes"]:
        table.add_row("", note)
    if summary["positions"]:
        table.add_row("positions", summary["positions"])
    if summary["resolution"]:
        table.add_row("resolution", summary["resolution"])
    table.add_row("from", ", ".join(f"{name or 'unknown'} {count:,}" for name, count in summary["surveys"].items()))
    table.add_row("S/N", _range(summary["snr"], "{:.1f}"))
    table.add_row("coverage", _range(summary["coverage"], "{:.3f}"))
    table.add_row("redshift", _range(summary["z"], "{:.4f}"))
    table.add_row("columns", str(len(summary["columns"])))
    defects = f"{summary['defects']:,}"
    table.add_row("defects", defects + (f"  (see {summary['path']}/defects.csv)" if summary["defects"] else ""))
    return table


def _range(percentiles: dict[str, float], form: str) -> str:
    if not percentiles["known"]:
        return "unknown"
    low, middle, high = (form.format(percentiles[name]) for name in ("p5", "p50", "p95"))
    return f"median {middle}, 90 % between {low} and {high}"


def _types(summary: dict[str, Any]) -> RenderableType:
    from rich.table import Table

    table = Table("class", "subclass", "spectra", "share", box=None, pad_edge=False)
    table.columns[2].justify = table.columns[3].justify = "right"
    types = summary["types"]
    for row in types[:TYPES_SHOWN]:
        share = f"{100 * row['spectra'] / summary['spectra']:.2f} %"
        table.add_row(row["class"] or "(none)", row["subclass"], f"{row['spectra']:,}", share)
    hidden = types[TYPES_SHOWN:]
    if hidden:
        table.add_row(f"and {len(hidden)} more", "", f"{sum(row['spectra'] for row in hidden):,}", "")
    return table
