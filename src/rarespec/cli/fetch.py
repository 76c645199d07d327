"""`rarespec fetch`: spectra from the public archives into a survey."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rarespec.cli.exits import Exit, report_failures
from rarespec.cli.terminal import DataGroup, say_json, say_lines
from rarespec.progress import Progress

if TYPE_CHECKING:
    from rarespec.fetching.job import Place
    from rarespec.fetching.question import Question
    from rarespec.fetching.record import FetchReport
    from rarespec.fetching.sizes import Preview
    from rarespec.survey.store.accounts import IngestReport

app = typer.Typer(
    cls=DataGroup,
    help="Fetch spectra from the public archives: SDSS, LAMOST, DESI, SPARCL.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)

SHOWN = 20
"""Files and failures that are shown to a person; the rest is counted."""

Table = Annotated[
    Path | None, typer.Option(help="Table of objects (FITS, CSV, ECSV, VOTable, Parquet) or a plain list of ids.")
]
Into = Annotated[Path | None, typer.Option(help="Ingest the files into this survey, new or existing.")]
Out = Annotated[Path | None, typer.Option(help="Directory for the files. Default with --into: SURVEY.files.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="List the files and their sizes without fetching them.")]
Archives = Annotated[Path | None, typer.Option(help="TOML file of archive addresses, to replace the built-in ones.")]
Connections = Annotated[int, typer.Option(help="Number of simultaneous requests, at most 16.")]
NoChecksums = Annotated[bool, typer.Option("--no-checksums", help="Do not compare with the archive's checksums.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


@app.command("sdss")
@report_failures
def sdss(
    ids: Annotated[list[str] | None, typer.Argument(help="plate-mjd-fiber or field-mjd-catalogid.")] = None,
    table: Table = None,
    sql: Annotated[str | None, typer.Option(help="SkyServer query that returns plate, mjd, fiberid, run2d.")] = None,
    paper: Annotated[
        bool, typer.Option("--paper", help="Fetch the paper's sample: 450 carbon stars and 100 000 other stars.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Random seed for --paper.")] = 0,
    release: Annotated[
        str | None, typer.Option(help="Data release, 10 to 20. Default: 17 for plates, 20 for fields.")
    ] = None,
    run2d: Annotated[
        str | None, typer.Option(help="Reduction (run2d) of all objects: 26, 103, 104, v5_13_2 ...")
    ] = None,
    into: Into = None,
    out: Out = None,
    dry_run: DryRun = False,
    archives: Archives = None,
    connections: Connections = 4,
    no_checksums: NoChecksums = False,
    as_json: AsJson = False,
) -> None:
    """Fetch spec-lite files of SDSS I to V.

    Example: rarespec fetch sdss 0355-51788-0579 --into dr17.survey
    """
    from rarespec.fetching.job import Place
    from rarespec.fetching.question import Question

    question = Question("sdss", tuple(ids or ()), table, sql, paper, seed, release, run2d)
    carry_out(question, Place(out, into, archives, connections, not no_checksums), dry_run, as_json)


@app.command("lamost")
@report_failures
def lamost(
    ids: Annotated[list[str] | None, typer.Argument(help="Obsids.")] = None,
    table: Table = None,
    release: Annotated[str | None, typer.Option(help="Data release. Default: dr10/v2.0.")] = None,
    into: Into = None,
    out: Out = None,
    dry_run: DryRun = False,
    archives: Archives = None,
    connections: Connections = 4,
    as_json: AsJson = False,
) -> None:
    """Fetch low-resolution spectra of LAMOST by obsid.

    Recent releases need a token. Set it in the environment variable RARESPEC_LAMOST_TOKEN.

    Example: rarespec fetch lamost 437513049 --into lamost.survey
    """
    from rarespec.fetching.job import Place
    from rarespec.fetching.question import Question

    question = Question("lamost", tuple(ids or ()), table, release=release)
    carry_out(question, Place(out, into, archives, connections), dry_run, as_json)


@app.command("desi")
@report_failures
def desi(
    ids: Annotated[list[str] | None, typer.Argument(help="survey-program-healpix, or TARGETIDs.")] = None,
    table: Table = None,
    release: Annotated[str | None, typer.Option(help="Data release, edr or dr1. Default: dr1.")] = None,
    into: Into = None,
    out: Out = None,
    dry_run: DryRun = False,
    archives: Archives = None,
    connections: Connections = 4,
    no_checksums: NoChecksums = False,
    as_json: AsJson = False,
) -> None:
    """Fetch whole DESI coadd files, with the redrock files that contain the classes.

    Example: rarespec fetch desi main-dark-23040 --into desi.survey
    """
    from rarespec.fetching.job import Place
    from rarespec.fetching.question import Question

    question = Question("desi", tuple(ids or ()), table, release=release)
    carry_out(question, Place(out, into, archives, connections, not no_checksums), dry_run, as_json)


@app.command("sparcl")
@report_failures
def sparcl(
    ids: Annotated[list[str] | None, typer.Argument(help="sparcl_ids, or specids.")] = None,
    table: Table = None,
    into: Into = None,
    out: Out = None,
    dry_run: DryRun = False,
    archives: Archives = None,
    connections: Connections = 2,
    as_json: AsJson = False,
) -> None:
    """Fetch spectra from SPARCL, NOIRLab's archive of several surveys.

    Example: rarespec fetch sparcl 00000dd7-b1ff-48ed-b162-46d9d65f829c --into sparcl.survey
    """
    from rarespec.fetching.job import Place
    from rarespec.fetching.question import Question

    question = Question("sparcl", tuple(ids or ()), table)
    carry_out(question, Place(out, into, archives, connections), dry_run, as_json)


def carry_out(question: Question, place: Place, dry_run: bool, as_json: bool) -> None:
    """Run it, show the account, and end with the exit code that it deserves."""
    from rarespec.fetching.job import run_fetch, run_preview

    if dry_run:
        with stages() as stage:
            view = run_preview(question, place, stage)
        say_json(view.to_json()) if as_json else say_lines(preview_in_words(view))
        raise typer.Exit(Exit.DEFECTS if view.failures else Exit.DONE)
    with stages() as stage:
        report = run_fetch(question, place, stage)
    say_json(report.to_json()) if as_json else say_lines(account(report, place.into))
    raise typer.Exit(exit_code(report))


def exit_code(report: FetchReport) -> Exit:
    """Failed when nothing came at all; with defects when something did not."""
    if report.counts["failed"] == len(report.objects):
        return Exit.FAILED
    defective = report.ingest is not None and report.ingest.spectra["defective"] > 0
    return Exit.DEFECTS if report.failures or defective else Exit.DONE


@contextmanager
def stages() -> Iterator[Callable[[str], Progress]]:
    """A progress bar for each stage, one after the other."""
    from rarespec.cli.progress import progress

    units = {"ask": "queries", "fetch": "files", "sizes": "files", "ingest": "files"}
    with ExitStack() as open_now:

        def stage(name: str) -> Progress:
            shown: list[Progress] = []

            def show(done: int, total: int, note: str = "") -> None:
                if not shown:  # a stage with nothing to do shows no bar
                    open_now.close()
                    shown.append(open_now.enter_context(progress(name, units[name])))
                shown[0](done, total, note)

            return show

        yield stage


def account(report: FetchReport, into: Path | None) -> list[str]:
    """What became of the objects, line by line, for a person."""
    lines = [f"{len(report.objects)} objects requested"]
    lines += [f"  {outcome:<14} {report.counts[outcome]:>9}" for outcome in ("fetched", "already there", "failed")]
    fetched = [result for result in report.results if result.outcome == "fetched"]
    if fetched:
        n_checked = sum(result.verified for result in fetched)
        lines.append(f"{len(fetched)} files, {size_in_words(report.n_bytes)}, written to {report.folder}")
        lines.append(f"  {n_checked} match the archive's checksum; for {len(fetched) - n_checked} the archive has none")
    lines += failures_in_words(report)
    if into is not None and report.ingest is not None:
        lines += _ingest_account(into, report.ingest)
    return lines


def _ingest_account(into: Path, ingested: IngestReport) -> list[str]:
    from rarespec.cli.ingest import account as account_of_ingest
    from rarespec.survey import Survey

    return account_of_ingest(Survey.open(into), ingested)


def failures_in_words(report: FetchReport) -> list[str]:
    from rarespec.fetching.job import FAILED_NAME

    failures = [(id, result.reason) for result in report.failures for id in result.ids]
    lines = [f"  {id}: {reason}" for id, reason in failures[:SHOWN]]
    if len(failures) > SHOWN:
        lines.append(f"  and {len(failures) - SHOWN} more")
    if failures:
        lines.append(f"  all failures are listed in {report.folder / FAILED_NAME}; run the same command again to retry")
    return lines


def preview_in_words(view: Preview) -> list[str]:
    """What would be fetched, line by line, for a person."""
    lines = [f"{_size(view, one.name):>12}  {one.addresses[0]}" for one in view.missing[:SHOWN]]
    if len(view.missing) > SHOWN:
        lines.append(f"{'':>12}  and {len(view.missing) - SHOWN} more")
    lines += [f"  {', '.join(one.ids)}: {one.reason}" for one in view.failures[:SHOWN]]
    there = f", {len(view.there)} already there" if view.there else ""
    bad = f", {len(view.failures)} cannot be fetched" if view.failures else ""
    return [*lines, f"{len(view.missing)} files to fetch, {_total(view)}{there}{bad}"]


def _size(view: Preview, name: str) -> str:
    if name in view.sizes:
        return size_in_words(view.sizes[name])
    return "not checked" if view.looked_at and name not in view.looked_at else "size unknown"


def _total(view: Preview) -> str:
    if view.total is None:
        return "size unknown" if view.missing else "nothing to do"
    if view.total_is_exact:
        return size_in_words(view.total)
    return f"about {size_in_words(view.total)}, estimated from {len(view.sizes)} of them"


def size_in_words(n_bytes: int) -> str:
    size = float(n_bytes)
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"
