"""`rarespec ingest`: survey files into a survey."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rarespec.cli.exits import Exit, arguments, told

if TYPE_CHECKING:
    from rarespec.survey import Survey
    from rarespec.survey.report import IngestReport

N_TOLD = 3
"""Defects that are told at once where they are all that was found."""


@told
def command(
    paths: Annotated[
        list[str], typer.Argument(help="Files, directories, globs, or @LIST (paths relative to the list).")
    ],
    into: Annotated[Path, typer.Option(help="Directory of the survey; made or grown.")],
    format: Annotated[str | None, typer.Option(help="Name of a reader, when the structure does not tell.")] = None,
    grid: Annotated[
        str | None, typer.Option(help="Of a new survey: paper, log:START:STEP:PIXELS or linear:...")
    ] = None,
    rest_frame: Annotated[bool, typer.Option("--rest-frame", help="Shift each spectrum by its redshift.")] = False,
    join: Annotated[list[Path] | None, typer.Option(help="Catalogue with classes, redshifts ... by id.")] = None,
    air: Annotated[bool, typer.Option("--air", help="Wavelengths are in air, which the files do not say.")] = False,
    bad_bits: Annotated[str | None, typer.Option(help="Bits of SDSS's and_mask that make a pixel bad.")] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Worker processes; one per core by default.")] = None,
    scheduler: Annotated[
        str | None, typer.Option(help="Read on the Dask cluster at this address, for example tcp://host:8786.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the account as JSON.")] = False,
) -> None:
    """Read survey files into a survey on disk.

    Every file ends as stored, repeated or defective; a bad one never stops the rest. Run the same command again after
    an interruption and it goes on where it stopped.

    Example: rarespec ingest 'dr17/**/spec-*.fits' --into dr17.survey
    """
    from rarespec.cli.progress import progress
    from rarespec.formats import reader_by_name
    from rarespec.formats.reader import SDSS_BAD_BITS, ReadOptions
    from rarespec.spectrum import WavelengthGrid
    from rarespec.survey.ingest.options import IngestOptions
    from rarespec.survey.ingest.run import run_ingest

    with arguments():
        if format:
            reader_by_name(format)
        reading = ReadOptions(air, SDSS_BAD_BITS if bad_bits is None else bits_of(bad_bits))
        options = IngestOptions(WavelengthGrid.parse(grid) if grid else None, rest_frame, format, None, reading)
    with progress("ingest", "files") as show:

        def after_file(report: IngestReport, total: int) -> None:
            done = report.files_seen + report.files["set aside"]
            show(done, total, f"{report.files['defective']} defective" if report.files["defective"] else "")

        survey, report = run_ingest(paths, into, options, join or [], jobs, after_file, scheduler)
    typer.echo(json.dumps(report.to_json()) if as_json else account(survey, report))
    raise typer.Exit(Exit.DEFECTS if report.spectra["defective"] else Exit.DONE)


def bits_of(text: str) -> int:
    try:
        return int(text, 0)
    except ValueError:
        raise ValueError(f"--bad-bits {text}: write a number such as 0xFFFF0000") from None


def account(survey: Survey, report: IngestReport) -> str:
    """What became of the files, for a person."""
    from rarespec.survey.column_limit import OF_A_FILE, OF_A_SURVEY

    counts = report.to_json()
    lines = [f"{survey.path}: {len(survey)} spectra", f"  files seen {report.files_seen:>12}"]
    lines += [f"    {name:<10} {counts['files'][name]:>10}" for name in ("stored", "repeated", "defective")]
    if counts["files"]["set aside"]:
        lines.append(f"  set aside  {counts['files']['set aside']:>12}  (catalogues, files without a target)")
    if report.spectra["stored"] + report.spectra["repeated"] > report.files["stored"] + report.files["repeated"]:
        lines.append(f"  spectra    {report.spectra['stored']:>12}  stored, {report.spectra['repeated']} repeated")
    lines += [f"  skipped    {count:>12}  {reason}" for reason, count in report.skipped.items()]
    if report.unmatched:
        lines.append(f"  unmatched  {report.unmatched:>12}  not in the joined catalogue")
    if report.not_joined:
        lines.append(
            f"  not joined {report.not_joined:>12}  files stored before; ingest them into a new survey to join"
        )
    if report.columns_left_out:
        limits = f"a survey takes {OF_A_FILE} of a file, {OF_A_SURVEY} in all"
        lines.append(f"  columns    {report.columns_left_out:>12}  left out: {limits}")
    if report.reasons:
        lines.append("  defects by reason")
        lines += [f"    {reason:<34} {count:>6}" for reason, count in report.reasons.most_common()]
        if not len(survey):
            lines += [f"  {defect.source}: {defect.detail}" for defect in survey.defects[:N_TOLD]]
        lines.append(f"  listed with path and detail in {survey.path / 'defects.csv'}")
    return "\n".join(lines)
