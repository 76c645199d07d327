"""`rarespec ingest`: survey files into a survey."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rarespec.cli.exits import Exit, arguments, report_failures
from rarespec.cli.terminal import say_json, say_lines

if TYPE_CHECKING:
    from rarespec.survey import Survey
    from rarespec.survey.store.accounts import IngestReport

GRIDS = (
    "Wavelength grid of a new survey: paper, sdss, boss, lamost, desi, log:START:STEP:PIXELS, linear:... (A, or with "
    "unit: 0.8um), or like:FILE. Default: what the first files call for."
)
N_TOLD = 3
"""Defects that are told at once where they are all that was found."""


@report_failures
def command(
    paths: Annotated[
        list[str], typer.Argument(help="Files, directories, globs, or @LIST (a file of paths relative to itself).")
    ],
    into: Annotated[Path, typer.Option(help="Survey directory, new or existing.")],
    format: Annotated[
        str | None,
        typer.Option(help="Reader to use, if the format is not recognised or to read the spaxels of a cube."),
    ] = None,
    grid: Annotated[str | None, typer.Option(help=GRIDS)] = None,
    precision: Annotated[
        str | None,
        typer.Option(help="Of a new survey: noise (steps of 0.35 of the noise), noise:STEP, or exact. Default: noise."),
    ] = None,
    resolution: Annotated[
        str | None, typer.Option(help="Resolution of the spectra: R, such as 2000, or a width, such as 1.8A.")
    ] = None,
    rest_frame: Annotated[bool, typer.Option("--rest-frame", help="Shift each spectrum to its rest frame.")] = False,
    join: Annotated[list[Path] | None, typer.Option(help="Catalogue of classes, redshifts ..., matched by id.")] = None,
    air: Annotated[
        bool, typer.Option("--air", help="Wavelengths are in air, although the files do not say so.")
    ] = False,
    wavelength_unit: Annotated[
        str | None,
        typer.Option(help="Unit of wavelengths in files that name none: A, nm or um. Default: by their size."),
    ] = None,
    bad_bits: Annotated[str | None, typer.Option(help="Bits of the SDSS and_mask that mark a bad pixel.")] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Number of worker processes. Default: one per core.")] = None,
    scheduler: Annotated[
        str | None, typer.Option(help="Read on this Dask cluster, for example tcp://host:8786.")
    ] = None,
    time_limit: Annotated[
        float, typer.Option(help="Seconds to wait for the next spectra of a file; large files get more.")
    ] = 120.0,
    memory_limit: Annotated[float, typer.Option(help="Memory limit for reading one file, in gigabytes.")] = 4.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Read survey files into a survey on disk.

    Every file is counted as stored, repeated or defective; a bad file never stops the rest. If interrupted, run the
    same command again to continue.

    Example: rarespec ingest 'dr17/**/spec-*.fits' --into dr17.survey
    """
    from rarespec.cli.progress import progress
    from rarespec.formats import reader_by_name
    from rarespec.formats.contained import read_limits
    from rarespec.formats.reader import SDSS_BAD_BITS, ReadOptions
    from rarespec.spectrum import Resolution
    from rarespec.survey.ingest.first_files import grid_of_text
    from rarespec.survey.ingest.reading import IngestOptions
    from rarespec.survey.ingest.run import run_ingest
    from rarespec.survey.store.precision import Precision

    with arguments():
        if format:
            reader_by_name(format)
        reading = ReadOptions(air, SDSS_BAD_BITS if bad_bits is None else bits_of(bad_bits), wavelength_unit)
        limits = read_limits(time_limit, memory_limit)
        sharpness = Resolution.parse(resolution) if resolution else None
        options = IngestOptions(None, rest_frame, format, None, reading, limits, sharpness)
        steps = Precision.parse(precision) if precision else None
        options = replace(options, grid=grid_of_text(grid, options) if grid else None, precision=steps)
    with progress("ingest", "files") as show:
        survey, report = run_ingest(paths, into, options, join or [], jobs, show, scheduler)
    say_json(_as_json(survey, report)) if as_json else say_lines(account(survey, report))
    raise typer.Exit(Exit.DEFECTS if report.spectra["defective"] else Exit.DONE)


def bits_of(text: str) -> int:
    try:
        return int(text, 0)
    except ValueError:
        raise ValueError(f"--bad-bits {text}: write a number such as 0xFFFF0000") from None


def _as_json(survey: Survey, report: IngestReport) -> dict[str, Any]:
    from rarespec.survey.fit_of_grid import fits_of
    from rarespec.survey.hours import ask_about_hours

    return report.to_json() | {
        "grid": str(survey.grid),
        "fit": [asdict(fit) for fit in fits_of(survey)],
        "positions": ask_about_hours(survey),
    }


def account(survey: Survey, report: IngestReport) -> list[str]:
    """What became of the files, line by line, for a person."""
    from rarespec.storage.text import counted
    from rarespec.survey.store.intake import OF_A_FILE, OF_A_SURVEY

    counts = report.to_json()
    lines = [f"{survey.path}: {counted(len(survey), 'spectrum', 'spectra')}", f"  files seen {report.files_seen:>12}"]
    lines += [f"    {name:<10} {counts['files'][name]:>10}" for name in ("stored", "repeated", "defective")]
    if counts["files"]["set aside"]:
        lines.append(f"    set aside  {counts['files']['set aside']:>10}  (catalogues and files without a target)")
    if report.spectra["stored"] + report.spectra["repeated"] > report.files["stored"] + report.files["repeated"]:
        lines.append(f"  spectra    {report.spectra['stored']:>12}  stored, {report.spectra['repeated']} repeated")
    lines += [f"  skipped    {count:>12}  {reason}" for reason, count in report.skipped.items()]
    lines += [f"  noted      {count:>12}  {note}" for note, count in report.noted.items()]
    lines += [*_about_grid(survey), *_about_positions(survey)] if len(survey) else []
    if report.unmatched:
        lines.append(f"  unmatched  {report.unmatched:>12}  not in the joined catalogue")
    if report.not_joined:
        lines.append(
            f"  not joined {report.not_joined:>12}  files stored earlier; to join them, ingest into a new survey"
        )
    if report.columns_left_out:
        most = f"a survey keeps at most {OF_A_FILE} per file and {OF_A_SURVEY} in total"
        lines.append(f"  columns    {report.columns_left_out:>12}  left out: {most}")
    if report.reasons:
        lines.append("  defects by reason")
        lines += [f"    {reason:<34} {count:>6}" for reason, count in report.reasons.most_common()]
        if not len(survey):
            lines += [f"  {defect.source}: {defect.detail}" for defect in survey.defects[:N_TOLD]]
        lines.append(f"  every defect is listed in {survey.path / 'defects.csv'}")
    return lines


def _about_positions(survey: Survey) -> list[str]:
    from rarespec.survey.hours import ask_about_hours

    question = ask_about_hours(survey)
    return [f"  positions  {question}"] if question else []


def _about_grid(survey: Survey) -> list[str]:
    """Which grid it is and why, and how it fits the spectra of the survey."""
    from rarespec.survey.fit_of_grid import fits_of

    grid = survey.grid
    first, last = grid.wavelength[0], grid.wavelength[-1]
    why = survey.manifest.provenance[-1].get("grid_from")
    named = f"{grid.name}, " if grid.name else ""
    chosen = f"; {why}" if why else ""
    lines = [f"  grid       {named}{first:.1f}-{last:.1f} A, {grid.n_pixels} pixels{chosen}"]
    return lines + [f"             {note}" for fit in fits_of(survey) for note in fit.in_words()]
