"""What a survey shows of itself in a notebook: from its manifest and the first rows of its catalogue, nothing else."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rarespec.pages.notebook import facts, note, shown, small_table
from rarespec.spectrum.printable import printable
from rarespec.survey.defects import NAME as DEFECTS
from rarespec.survey.survey import Survey
from rarespec.thousands import thousands

FIRST = 5
COLUMNS = {"id": "", "class": "", "subclass": "", "z": "z.5f", "snr": "z.1f", "ra": ".5f", "dec": "+.5f"}
"""Columns that are shown where they are, and how numbers in them are written."""
MOST_NAMED = 12


def survey_html(survey: Survey) -> str:
    title = f"Survey {printable(survey.path.name)}"
    if not len(survey):
        return shown(title, facts(_facts(survey)), note("empty; add spectra with rarespec.ingest or Survey.append"))
    names = [name for name in COLUMNS if name in survey.catalogue]
    first = survey.catalogue_at(np.arange(min(FIRST, len(survey))), names)
    rows = zip(*([_written(value, COLUMNS[name]) for value in first[name]] for name in names), strict=True)
    more = [note(f"and {thousands(len(survey) - FIRST)} more")] if len(survey) > FIRST else []
    return shown(title, facts(_facts(survey)), small_table(names, rows), *more)


def _facts(survey: Survey) -> Iterator[tuple[str, object]]:
    grid, manifest = survey.grid, survey.manifest
    first, last = grid.wavelength[0], grid.wavelength[-1]
    frame = "rest frame" if manifest.rest_frame else "observed frame"
    yield "spectra", thousands(len(survey))
    yield "grid", f"{first:.1f} to {last:.1f} Å (vacuum), {grid.n_pixels} pixels, {frame}"
    yield "catalogue", f"{len(manifest.columns)} columns: {_named(list(manifest.columns))}"
    if DEFECTS in manifest.files:
        yield "defects", "some inputs could not be stored; see .defects"
    if manifest.unfinished:
        yield "unfinished", f"{len(manifest.unfinished)} input files; run the same ingest again to continue"
    yield "place", printable(str(survey.path))


def _named(names: list[str]) -> str:
    some = ", ".join(printable(name) for name in names[:MOST_NAMED])
    return some + (", ..." if len(names) > MOST_NAMED else "")


def _written(value: object, form: str) -> str:
    if value is None:
        return ""
    return format(value, form) if form and isinstance(value, int | float) else printable(str(value))
