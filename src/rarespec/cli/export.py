"""`rarespec export`: spectra of a survey as files for other tools."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rarespec.cli.exits import Exit, report_failures
from rarespec.cli.terminal import say, say_json, say_lines

FORMATS = "specutils, fits, sdss-lite, parquet, zarr"


@report_failures
def command(
    survey: Annotated[Path, typer.Argument(help="Survey directory or URL.")],
    ids: Annotated[
        list[str],
        typer.Option(help="Ids separated by commas, or a table of ids, such as candidates.ecsv; may be repeated."),
    ],
    format: Annotated[
        str | None, typer.Option("--as", help=f"Format: {FORMATS}. Default: by the name of --out, else fits.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="File, or directory if each spectrum gets a file. Default: named after the survey."),
    ] = None,
    top: Annotated[int | None, typer.Option(min=1, help="Only the first N of the ids.")] = None,
    unit: Annotated[str, typer.Option(help="Unit of the flux, if the survey is not of SDSS or DESI.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Export spectra for other tools, with flux, errors, mask and catalogue. You can ingest them again.

    specutils and sdss-lite write a FITS file for each spectrum; fits, parquet and zarr write all into one.

    Example: rarespec export dr17.survey --ids candidates.ecsv --top 100 --as specutils --out best
    """
    from rarespec.cli.progress import progress
    from rarespec.searching.spectra_export import export
    from rarespec.storage.text import counted

    place = out or _usual_place(survey, format)
    with progress("export", "spectra") as show:
        written = export(survey, ids, place, format, top=top, unit=unit, progress=show)
    say_lines([*written.problems, *written.notes], err=True)
    if as_json:
        say_json({"spectra": written.n_spectra, "paths": [str(path) for path in written.paths]})
    else:
        say(f"{counted(written.n_spectra, 'spectrum', 'spectra')} written to {' and '.join(map(str, written.paths))}")
    if written.problems:
        raise typer.Exit(Exit.DEFECTS)


def _usual_place(survey: Path, format: str | None) -> Path:
    from rarespec.cli.exits import arguments
    from rarespec.formats.writing import writer_by_name

    with arguments():
        return Path(f"{survey.stem}-spectra{writer_by_name(format or 'fits').suffix}")
