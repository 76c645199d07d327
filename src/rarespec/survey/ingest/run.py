"""The ingest itself: files in, a survey out, every file accounted for."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from rarespec.engines.engine import Engine
from rarespec.errors import UsageError
from rarespec.formats import reader_by_name
from rarespec.formats.contained import end_readers
from rarespec.progress import Progress
from rarespec.spectrum import Defect, Noted, Skipped, Spectra
from rarespec.storage.processes import available_cores
from rarespec.storage.text import printable
from rarespec.survey.engine_for import AnyEngine, engine_for
from rarespec.survey.ingest.first_files import grid_of_files
from rarespec.survey.ingest.inputs import input_files
from rarespec.survey.ingest.no_data import refuse_no_data
from rarespec.survey.ingest.pool import read_all
from rarespec.survey.ingest.reading import IngestOptions, Outcome, Unmatched
from rarespec.survey.resolution import resolution_given
from rarespec.survey.store.accounts import IngestReport
from rarespec.survey.store.intake import Intake
from rarespec.survey.store.manifest import NAME as MANIFEST
from rarespec.survey.store.writer import SurveyWriter, provenance_entry, refuse_other_directories
from rarespec.survey.survey import Survey

FEW_FILES = 64
"""Up to here, starting a second process costs more than it gains."""


def run_ingest(
    paths: Iterable[str | os.PathLike[str]],
    into: str | os.PathLike[str],
    options: IngestOptions,
    join: Sequence[str | os.PathLike[str]] = (),
    jobs: int | None = None,
    progress: Progress | None = None,
    engine: AnyEngine = None,
) -> tuple[Survey, IngestReport]:
    """Read all files into the survey, which is made or grown.

    Parameters
    ----------
    paths : iterable of path or str
        Files, directories, globs or lists, as for `ingest`.
    into : path or str
        Directory of the survey.
    options : IngestOptions
        How files are read.
    join : sequence of path or str
        Catalogue files whose columns are joined by id.
    jobs : int, optional
        Worker processes; by default one per core.
    progress : callable, optional
        Called with the files done, in all, and a note.
    engine : address, client or engine, optional
        A Dask cluster that reads the files instead.

    Returns
    -------
    survey : Survey
        The survey with the new spectra.
    report : IngestReport
        The account of this run.
    """
    if jobs is not None and engine is not None:
        raise UsageError("jobs and a cluster exclude each other: jobs are processes on this machine")
    if engine is None:
        return _run(paths, into, options, join, progress, jobs, None)
    with engine_for(engine) as where:
        return _run(paths, into, options, join, progress, None, where)


def _run(
    paths: Iterable[str | os.PathLike[str]],
    into: str | os.PathLike[str],
    options: IngestOptions,
    join: Sequence[str | os.PathLike[str]],
    progress: Progress | None,
    jobs: int | None,
    engine: Engine | None,
) -> tuple[Survey, IngestReport]:
    root = Path(into)
    refuse_other_directories(root)
    paths = list(paths)
    found = list(input_files(paths))
    files = [path for path in found if isinstance(path, str)]
    refuse_no_data(paths, found, new=not (root / MANIFEST).exists())
    if options.format:
        reader_by_name(options.format)
    if engine is not None and files:
        engine.require(Path(files[0]))
    with (
        SurveyWriter(root, options.grid, options.rest_frame, precision=options.precision) as writer,
        _scratch(root, engine) as scratch,
    ):
        _check_resolution(writer, options)
        provenance = _provenance(options, join)
        if join:
            from rarespec.survey.ingest.join import prepare

            joined = prepare(join, Path(scratch) / "join.arrow", options.limits)
            options = replace(options, join=joined.file)
            provenance |= {"units": joined.units} if joined.units else {}
        try:
            if not writer.has_grid:
                provenance |= _decide_grid(writer, files, options)
            options = replace(options, grid=writer.manifest.grid)
            intake = Intake(writer, provenance)
            _note_what_is_no_file(found, intake)
            _take_files(files, options, engine, jobs or _usual_jobs(len(files)), intake, progress, len(found))
        finally:
            end_readers()
    return Survey.open(root), intake.report


def _usual_jobs(n_files: int) -> int:
    return available_cores() if n_files > FEW_FILES else 1


def _scratch(root: Path, engine: Engine | None) -> tempfile.TemporaryDirectory[str]:
    """Make a temporary directory on this machine; beside the survey if workers elsewhere have to see it."""
    if engine is None:
        return tempfile.TemporaryDirectory()
    return tempfile.TemporaryDirectory(dir=root.absolute().parent, prefix=f".{root.name}-")


def _decide_grid(writer: SurveyWriter, files: list[str], options: IngestOptions) -> dict[str, str]:
    """Give a new survey the grid that its first files call for, and say what the provenance says about it."""
    choice = grid_of_files(files, options)
    if choice is None:  # no file can be read: whoever mends one decides
        return {}
    writer.decide_grid(choice.grid)
    return choice.record


def _note_what_is_no_file(found: list[str | Defect | Skipped], intake: Intake) -> None:
    intake.forget_mended_folders()
    for item in found:
        if isinstance(item, Defect):
            intake.begin(item.source)
            intake.refuse(item)
            intake.finish(item.source)
            intake.report.files["defective"] += 1
        elif isinstance(item, Skipped):
            intake.report.files["set aside"] += 1
            intake.report.skipped[item.reason] += item.count


def _check_resolution(writer: SurveyWriter, options: IngestOptions) -> None:
    """A survey has one resolution, as it has one grid."""
    given = resolution_given(writer.manifest)
    if options.resolution is not None and given not in (None, options.resolution):
        raise UsageError(f"{writer.root}: this survey has {given}, not {options.resolution}; use another survey")


def _provenance(options: IngestOptions, join: Sequence[str | os.PathLike[str]]) -> dict[str, object]:
    resolution = {} if options.resolution is None else {"resolution": str(options.resolution)}
    return provenance_entry(
        "ingest",
        format=options.format,
        join=[os.fspath(name) for name in join],
        reading=asdict(options.reading),
        **resolution,
    )


def _take_files(
    files: list[str],
    options: IngestOptions,
    engine: Engine | None,
    jobs: int,
    intake: Intake,
    progress: Progress | None,
    n_found: int,
) -> None:
    for path, outcomes in read_all(_not_yet_held(files, options, intake), options, engine, jobs):
        _take_file(printable(path), outcomes, intake)
        if progress:
            n_defective = intake.report.files["defective"]
            progress(intake.report.files_seen, n_found, f"{n_defective} defective" if n_defective else "")
    intake.commit()


def _not_yet_held(files: list[str], options: IngestOptions, intake: Intake) -> Iterator[str]:
    for path in files:
        source = printable(path)
        if "\\" not in source and intake.holds_all_of(source):  # a written-out name may be that of two files
            intake.report.files["repeated"] += 1
            intake.report.not_joined += bool(options.join)
        else:
            yield path


def _take_file(source: str, outcomes: Iterator[Outcome], intake: Intake) -> None:
    intake.begin(source)
    kinds = {kind for outcome in outcomes for kind in _take(source, outcome, intake)}
    intake.finish(source)
    for kind in ("stored", "repeated", "defective"):
        if kind in kinds:
            intake.report.files[kind] += 1
            return
    intake.report.files["set aside"] += 1


def _take(source: str, outcome: Outcome, intake: Intake) -> set[str]:
    """Take an outcome in; say whether spectra were stored, repeated or defective."""
    if isinstance(outcome, Spectra):
        return intake.store(source, outcome)
    if isinstance(outcome, Defect):
        intake.refuse(outcome)
        return {"defective"}
    if isinstance(outcome, Skipped):
        intake.report.skipped[outcome.reason] += outcome.count
    elif isinstance(outcome, Noted):
        intake.report.noted[outcome.note] += outcome.count
    elif isinstance(outcome, Unmatched):
        intake.report.unmatched += outcome.count
    return set()
