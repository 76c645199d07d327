"""Candidates travel to other tools: the spectra that a list, a table or a ranking names, as files."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

from rarespec.progress import Progress
from rarespec.searching.known.known_examples import examples_of
from rarespec.searching.ranking import Ranking
from rarespec.survey import Survey
from rarespec.survey.export import Exported, check_export, export_rows


def export(
    survey: Survey | str | os.PathLike[str],
    ids: Any,
    out: str | os.PathLike[str],
    format: str | None = None,
    *,
    top: int | None = None,
    unit: str = "",
    progress: Progress | None = None,
) -> Exported:
    """Write spectra of a survey to files that other programs read, with flux, errors, mask and catalogue.

    What is written can be ingested again, with the same pixels and ids.

    Parameters
    ----------
    survey : Survey or path
        The survey, or its directory.
    ids : ids, table, file, positions or Ranking
        Which spectra: ids; a table, or a file with one, of ids or positions, such as the candidates that a search
        wrote; or a ranking.
    out : path or str
        The file, or the directory for formats with a file for each spectrum. It must not exist yet.
    format : str, optional
        "specutils" or "sdss-lite", a FITS file for each spectrum; "fits", "parquet" or "zarr", all in one. By default
        what the end of `out` says, and "fits" if it says nothing.
    top : int, optional
        Only the first so many of those named.
    unit : str, optional
        Unit of the flux, such as "Jy"; by default that of SDSS and DESI where all spectra are theirs.
    progress : callable, optional
        Called with the spectra done, and in all.

    Returns
    -------
    Exported
        What was written; its `problems` name the ids that are not in the survey.

    Raises
    ------
    UsageError
        If nothing can be exported, or something is at `out` already.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import rarespec
    >>> with TemporaryDirectory() as folder:
    ...     survey = rarespec.Survey.create(f"{folder}/mock.survey")
    ...     report = survey.append(rarespec.MockSky(10, seed=1))
    ...     written = rarespec.export(survey, survey.ids[:3], f"{folder}/three.parquet")
    ...     again = rarespec.ingest(written.paths, f"{folder}/again.survey")
    ...     print(written.n_spectra, (again[0].flux == survey[0].flux).all())
    3 True
    """
    check_export(out, format, unit)
    opened = survey if isinstance(survey, Survey) else Survey.open(survey)
    named = examples_of(opened, ids.table if isinstance(ids, Ranking) else ids)
    problems = list(named.problems)
    if named.spectra is not None:
        problems.append(f"{opened.path}: spectra that are not in the survey: {', '.join(named.spectra.ids[:5])}")
    written = export_rows(opened, named.rows[:top], out, format, unit, progress)
    return replace(written, problems=problems)
