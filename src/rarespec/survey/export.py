"""Spectra out of a survey, to files that other programs read: chunk by chunk, whole or not at all."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from rarespec.errors import UsageError
from rarespec.formats.writing import ColumnKind, Outgoing, Writer, writer_by_name, writer_for
from rarespec.formats.writing.catalogue_rows import ascii_text
from rarespec.progress import Progress
from rarespec.spectrum import Spectra
from rarespec.storage.whole_file import name_file
from rarespec.survey.store.catalogue import fits_a_double
from rarespec.survey.survey import Survey

if TYPE_CHECKING:
    import pyarrow as pa

CHUNK = 512
"""Spectra in memory at a time."""
LOOKED_AT = 50_000
"""Rows of the catalogue in memory at a time, to find the longest text."""
LONGEST_INTEGER = 20
"""Letters of a whole number of 64 bits."""
FLUX_UNIT = "1e-17 erg / (Angstrom s cm2)"
KNOWN_UNIT = ("SDSS", "BOSS", "SDSS-V", "DESI")
"""Surveys whose files have the flux in this unit."""


@dataclass(frozen=True)
class Exported:
    """What an export wrote.

    Parameters
    ----------
    paths : list of Path
        The files, or the directory with a file for each spectrum.
    n_spectra : int
        Spectra in them.
    notes : list of str
        What the reader of these files should know.
    problems : list of str
        What was asked for and could not be exported.

    Examples
    --------
    >>> from pathlib import Path
    >>> from rarespec.survey import Exported
    >>> Exported([Path("best.fits")], 3).n_spectra
    3
    """

    paths: list[Path]
    n_spectra: int
    notes: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def export_rows(
    survey: Survey,
    rows: NDArray[np.intp],
    out: str | os.PathLike[str],
    format: str | None = None,
    unit: str = "",
    progress: Progress | None = None,
) -> Exported:
    """Write the spectra in these rows to a file, or to a directory of files.

    Parameters
    ----------
    survey : Survey
        The survey.
    rows : (n,) intp array
        Row numbers, in the order in which the spectra are written.
    out : path or str
        The file or directory, which must not exist yet.
    format : str, optional
        One of `rarespec.formats.writing.WRITERS`; by default what the end of `out` says.
    unit : str, optional
        Unit of the flux; by default that of the surveys whose unit is known.
    progress : callable, optional
        Called with the spectra done, and in all.

    Returns
    -------
    Exported
        What was written.

    Raises
    ------
    UsageError
        If the format does not exist, something is at `out` already, or the format cannot hold these spectra.
    """
    writer, path = check_export(out, format, unit)
    if not len(rows):
        raise UsageError(f"{path}: no spectra were chosen, so there is nothing to export")
    with_errors = _with_errors(survey, rows)
    _check_possible(survey, rows, writer, with_errors)
    unit = unit or _unit_of(survey, rows)
    done, paths = 0, []
    for has_errors, part, place in _parts(rows, with_errors, writer, path):
        outgoing = Outgoing(
            survey.grid.wavelength,
            len(part),
            _kinds(survey, part),
            has_errors,
            unit,
            _stacks(survey, part, progress, done, len(rows)),
        )
        _write_whole(writer, outgoing, place)
        done += len(part)
        paths.append(place)
    return Exported(paths, len(rows), _notes(survey, writer, unit, with_errors))


def check_export(out: str | os.PathLike[str], format: str | None = None, unit: str = "") -> tuple[Writer, Path]:
    """Find the format, and make sure that the place is free, before anything is read.

    Parameters
    ----------
    out : path or str
        The file or directory.
    format : str, optional
        Name of the format; by default what the end of `out` says.
    unit : str, optional
        Unit of the flux.

    Returns
    -------
    writer : Writer
        The format.
    path : Path
        The place.

    Raises
    ------
    UsageError
        If one of them cannot be.
    """
    from astropy import units as u

    path = Path(out)
    try:
        writer = writer_by_name(format) if format else writer_for(path.name)
        u.Unit(unit).to_string("fits")
    except ValueError as error:
        raise UsageError(str(error)) from None
    if os.path.lexists(path):
        raise UsageError(f"{path}: already exists; choose another name, or remove it first")
    if not path.absolute().parent.is_dir():
        raise UsageError(f"{path}: the directory {path.parent} does not exist; create it first")
    return writer, path


def _with_errors(survey: Survey, rows: NDArray[np.intp]) -> NDArray[np.bool_]:
    if "has_ivar" not in survey.catalogue:
        return np.ones(len(rows), bool)
    return survey.catalogue.take(rows)["has_ivar"].astype(bool)


def _check_possible(survey: Survey, rows: NDArray[np.intp], writer: Writer, with_errors: NDArray[np.bool_]) -> None:
    if writer.needs_errors and not with_errors.all():
        n = int((~with_errors).sum())
        raise UsageError(
            f"{survey.path}: {n} of {len(rows)} spectra have no errors, which {writer.name} files need; "
            "use another format, such as fits"
        )
    if writer.ascii_ids:
        odd = [id for id in survey.catalogue.take(rows)["id"] if not (id.isascii() and id.isprintable())]
        if odd:
            raise UsageError(f"{survey.path}: FITS cannot hold the id {odd[0]!r}; use parquet or zarr")


def _unit_of(survey: Survey, rows: NDArray[np.intp]) -> str:
    if "survey" not in survey.catalogue:
        return ""
    return FLUX_UNIT if set(survey.catalogue.take(rows)["survey"]) <= set(KNOWN_UNIT) else ""


def _parts(
    rows: NDArray[np.intp], with_errors: NDArray[np.bool_], writer: Writer, path: Path
) -> Iterator[tuple[bool, NDArray[np.intp], Path]]:
    """Spectra without errors apart from the others: a column of zeros would make each of their pixels bad."""
    apart = path.with_name(f"{path.stem}-without-errors{path.suffix}") if with_errors.any() else path
    for has_errors, part, place in ((True, rows[with_errors], path), (False, rows[~with_errors], apart)):
        if len(part):
            yield has_errors, part, place


def _kinds(survey: Survey, rows: NDArray[np.intp]) -> dict[str, ColumnKind]:
    """What the columns hold in these rows; columns without any value are left out."""
    found: dict[str, ColumnKind] = {}
    filled: Counter[str] = Counter()
    ordered = np.sort(rows)
    for start in range(0, len(rows), LOOKED_AT):
        table = survey.catalogue.take(ordered[start : start + LOOKED_AT]).arrow()
        for name, column in zip(table.column_names, table.columns, strict=True):
            filled[name] += len(column) - column.null_count
            if column.null_count < len(column):
                found[name] = _kind(column, found.get(name))
    return {name: replace(kind, gaps=filled[name] < len(rows)) for name, kind in found.items()}


def _kind(column: pa.ChunkedArray, before: ColumnKind | None) -> ColumnKind:
    """What a column holds, here and in the rows before."""
    kind = str(column.type)
    before = before or ColumnKind(kind)
    if kind == "int64":
        return ColumnKind(kind, LONGEST_INTEGER, exact=before.exact and fits_a_double(column))
    texts = column.unique().drop_null().to_pylist() if kind == "string" else []
    return ColumnKind(kind, max([before.width, *(len(ascii_text(text)) for text in texts)]))


def _stacks(
    survey: Survey, rows: NDArray[np.intp], progress: Progress | None, done: int, total: int
) -> Iterator[Spectra]:
    for start in range(0, len(rows), CHUNK):
        chunk = rows[start : start + CHUNK]
        yield survey.at(chunk)
        if progress:
            progress(done + start + len(chunk), total)


def _write_whole(writer: Writer, outgoing: Outgoing, place: Path) -> None:
    temporary = place.with_name(f".{place.name}.{uuid4().hex}.part")
    try:
        writer.write(outgoing, temporary)
        os.rename(temporary, place)
    except BaseException as error:
        if temporary.is_dir():
            shutil.rmtree(temporary, ignore_errors=True)
        else:
            with suppress(OSError):  # the first error says more
                temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename and temporary.name in str(error.filename):
            name_file(error, place)
        raise


def _notes(survey: Survey, writer: Writer, unit: str, with_errors: NDArray[np.bool_]) -> list[str]:
    notes = []
    if survey.manifest.rest_frame:
        notes.append("the spectra are in the rest frame, as the survey is; ingest them without --rest-frame")
    if not unit and writer.name == "specutils":
        notes.append("the unit of the flux is not known; specutils needs one to find the flux: add --unit UNIT")
    if not writer.is_folder and not with_errors.all() and with_errors.any():
        notes.append(f"{int((~with_errors).sum())} spectra without errors are in a file of their own")
    return notes
