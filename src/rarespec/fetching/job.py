"""The fetch itself: from a question to files in a folder, and from there into a survey."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rarespec.errors import UsageError
from rarespec.fetching.addresses import Table, load_addresses
from rarespec.fetching.checksums import Checksums
from rarespec.fetching.desi import without_classes
from rarespec.fetching.download import Downloads
from rarespec.fetching.fault import Patience
from rarespec.fetching.question import Question
from rarespec.fetching.record import FetchReport, Outcome, Record, Result, sole_user
from rarespec.fetching.run import Task, run_all
from rarespec.fetching.sizes import Preview, preview
from rarespec.fetching.sparcl import SparclDownloads
from rarespec.fetching.targets import RemoteFile
from rarespec.fetching.web import Web
from rarespec.progress import Progress
from rarespec.searching.export.comma_separated import without_formula
from rarespec.storage.whole_file import write_whole
from rarespec.survey.ingest.reading import IngestOptions
from rarespec.survey.ingest.run import run_ingest
from rarespec.survey.store.manifest import NAME as MANIFEST
from rarespec.survey.survey import Survey

CONNECTIONS = 4
MOST_CONNECTIONS = 16
FAILED_NAME = ".failed.csv"
Told = Callable[[str], Progress]
"""Gives the function that shows the progress of the stage of this name."""


def silent(stage: str) -> Progress:
    return lambda done, total, note="": None


@dataclass(frozen=True)
class Place:
    """Where the files go, and how.

    Parameters
    ----------
    out : Path or None
        Folder for the files; by default beside the survey, with the ending .files.
    into : Path or None
        Survey that is made or grown from them.
    archives : Path or None
        TOML file with addresses that replace the built-in ones.
    connections : int
        Requests to the archive at the same time.
    checksums : bool
        Whether to compare files with the lists of checksums that archives publish.
    patience : Patience or None
        How often to ask again after a fault, and how long to wait.
    """

    out: Path | None = None
    into: Path | None = None
    archives: Path | None = None
    connections: int = CONNECTIONS
    checksums: bool = True
    patience: Patience | None = None

    def check(self, dry_run: bool = False) -> None:
        if not dry_run and self.out is None and self.into is None:
            raise UsageError("give --into SURVEY, or --out DIR, or both")
        if not 1 <= self.connections <= MOST_CONNECTIONS:
            raise UsageError(f"{self.connections} connections: use 1 to {MOST_CONNECTIONS}, to spare the archive")

    @property
    def folder(self) -> Path:
        if self.out is not None:
            return self.out
        return Path() if self.into is None else self.into.with_name(f"{self.into.name}.files")


def run_fetch(question: Question, place: Place, told: Told = silent) -> FetchReport:
    """Fetch all files, then store them in the survey if there is to be one.

    Parameters
    ----------
    question : Question
        Which objects of which archive.
    place : Place
        Where the files go, and how many connections to use.
    told : callable
        Takes the name of a stage ("ask", "fetch" or "ingest") and returns its progress. Silent by default.

    Returns
    -------
    FetchReport
        The result of every file. A file that cannot be fetched is a failure in the report, not an error.

    Raises
    ------
    UsageError
        If question or place make no sense, or another process is fetching into the same folder.
    SurveyError
        If the archive cannot say which files there are.
    """
    question.check()
    place.check()
    with _web(question, place) as (table, web):
        files, failures = question.files(table, web, told("ask"))
        with sole_user(place.folder):
            record = Record(place.folder, _names_in(place.into))
            tasks = _tasks(question, place, table, web, record, files)
            results = run_all(tasks, place.connections, web.stop, _noting(record), told("fetch"))
            report = FetchReport(place.folder, [*results, *failures])
            _write_failures(report)
    if place.into is not None and (ready := _ready(report)):
        _, report.ingest = run_ingest(ready, place.into, IngestOptions(), progress=told("ingest"))
    return report


def _ready(report: FetchReport) -> list[Path]:
    """List the files to store: a DESI coadd whose classes could not be fetched waits for the next fetch."""
    held_back = {report.folder / name for name in without_classes(report.failures)}
    return [path for path in report.files if path not in held_back]


def run_preview(question: Question, place: Place, told: Told = silent) -> Preview:
    """List the files that `run_fetch` would ask for, with their sizes; nothing is written.

    Parameters
    ----------
    question : Question
        Which objects of which archive.
    place : Place
        Where the files would go; files that are there are not listed as missing.
    told : callable
        Takes the name of a stage ("ask" or "sizes") and returns its progress. Silent by default.

    Returns
    -------
    Preview
        Files to fetch, files already there, and failures. SPARCL does not tell sizes.

    Raises
    ------
    UsageError
        If question or place make no sense.
    SurveyError
        If the archive cannot say which files there are.
    """
    question.check()
    place.check(dry_run=True)
    with _web(question, place) as (table, web):
        files, failures = question.files(table, web, told("ask"))
        record = Record(place.folder, _names_in(place.into))
        tells_sizes = question.archive != "sparcl"
        return preview(files, failures, place.folder, record, web, place.connections, told("sizes"), tells_sizes)


@contextmanager
def _web(question: Question, place: Place) -> Iterator[tuple[Table, Web]]:
    table = load_addresses(place.archives)
    with Web(place.patience, question.secret(table), place.connections) as web:
        yield table, web


def _names_in(survey: Path | None) -> list[str]:
    """Name the files whose spectra the survey holds in full."""
    if survey is None or not (survey / MANIFEST).exists():
        return []
    opened = Survey.open(survey)
    sources = opened.catalogue.arrow(["source"]).column(0).unique().to_pylist() if len(opened) else []
    return [name for name in sources if name and name not in opened.manifest.unfinished]


def _tasks(
    question: Question, place: Place, table: Table, web: Web, record: Record, files: Sequence[RemoteFile]
) -> list[Task]:
    if question.archive == "sparcl":
        return list(SparclDownloads(web, place.folder, record, question.addresses(table)).tasks(files))
    downloads = Downloads(web, place.folder, record, Checksums(web) if place.checksums else None)
    return [Task(partial(downloads.results, one), one.ids) for one in files]


def _noting(record: Record) -> Callable[[Result], None]:
    def note(result: Result) -> None:
        if result.outcome == Outcome.FETCHED:
            record.add(result)

    return note


def _write_failures(report: FetchReport) -> None:
    """A hidden table in the folder, which can be given to `--table`; none when nothing failed."""
    path = report.folder / FAILED_NAME
    if not report.failures:
        path.unlink(missing_ok=True)
        return
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(("id", "reason", "address"))
    for one in report.failures:
        rows.writerows(map(without_formula, (id, one.reason, one.address)) for id in one.ids)
    write_whole(path, text.getvalue().encode())
