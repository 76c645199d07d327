"""What is in a survey, in numbers and in a notebook."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarespec.pages.notebook import facts, note, show_card
from rarespec.storage.text import printable, thousands
from rarespec.survey.fit_of_grid import fits_of
from rarespec.survey.hours import ask_about_hours
from rarespec.survey.store.accounts import NAME as DEFECTS
from rarespec.survey.store.catalogue_view import first_rows
from rarespec.survey.store.location import sizes_below
from rarespec.survey.survey import Survey

PERCENTILES = (5, 25, 50, 75, 95)


def summarise(survey: Survey) -> dict[str, Any]:
    """Counts, grid and how it fits, resolution, coverage, S/N, redshifts, classes, defects, history of a survey."""
    grid, resolution, fits = survey.grid, survey.resolution, fits_of(survey)
    return {
        "path": str(survey.path),
        "spectra": len(survey),
        "bytes": sum(sizes_below(survey.path).values()),
        "grid": grid.to_json(),
        "wavelength": [float(grid.wavelength[0]), float(grid.wavelength[-1])],
        "grid_name": grid.name,
        "fit": [asdict(fit) for fit in fits],
        "notes": [line for fit in fits for line in fit.in_words()],
        "positions": ask_about_hours(survey),
        "resolution": None if resolution is None else str(resolution),
        "rest_frame": survey.manifest.rest_frame,
        "precision": str(survey.precision),
        "columns": survey.catalogue.columns,
        "surveys": _counts(survey, "survey"),
        "classes": _counts(survey, "class"),
        "types": _types(survey),
        "snr": _percentiles(survey, "snr"),
        "coverage": _percentiles(survey, "coverage"),
        "z": _percentiles(survey, "z"),
        "defects": len(survey.defects),
        "history": list(survey.manifest.provenance),
    }


def _counts(survey: Survey, column: str) -> dict[str, int]:
    """How often each value occurs, most frequent first; spectra without one count under the empty text."""
    if column not in survey.catalogue:
        return {}
    values, counts = np.unique(survey.catalogue[column].astype(str), return_counts=True)
    order = np.argsort(-counts, kind="stable")
    return {str(values[i]): int(counts[i]) for i in order}


def _types(survey: Survey) -> list[dict[str, Any]]:
    """Class and subclass together, most frequent first."""
    if "class" not in survey.catalogue or "subclass" not in survey.catalogue:
        return []
    pairs = zip(survey.catalogue["class"].astype(str), survey.catalogue["subclass"].astype(str), strict=True)
    return [{"class": a, "subclass": b, "spectra": n} for (a, b), n in Counter(pairs).most_common()]


def _percentiles(survey: Survey, column: str) -> dict[str, float]:
    """Percentiles of the known values, and how many are known."""
    values: NDArray[Any] = survey.catalogue[column] if column in survey.catalogue else np.empty(0)
    if values.dtype.kind not in "if":
        return {"known": 0}
    known = values[np.isfinite(values)]
    if not len(known):
        return {"known": 0}
    return {"known": len(known)} | {
        f"p{p}": float(value) for p, value in zip(PERCENTILES, np.percentile(known, PERCENTILES), strict=True)
    }


# ---- What a survey shows of itself in a notebook: from its manifest and the first rows of its catalogue, nothing
# else.


FIRST = 5
COLUMNS = ("id", "class", "subclass", "z", "snr", "ra", "dec")
"""Columns that are shown where they are."""
MOST_NAMED = 12


def survey_html(survey: Survey) -> str:
    title = f"Survey {printable(survey.path.name)}"
    if not len(survey):
        return show_card(title, facts(_facts(survey)), note("empty; add spectra with rarespec.ingest or Survey.append"))
    names = [name for name in COLUMNS if name in survey.catalogue]
    return show_card(title, facts(_facts(survey)), *first_rows(survey.catalogue, names, FIRST))


def _facts(survey: Survey) -> Iterator[tuple[str, object]]:
    grid, manifest = survey.grid, survey.manifest
    first, last = grid.wavelength[0], grid.wavelength[-1]
    frame = "rest frame" if manifest.rest_frame else "observed frame"
    yield "spectra", thousands(len(survey))
    yield "grid", f"{first:.1f} to {last:.1f} Å (vacuum), {grid.n_pixels} pixels, {frame}"
    yield "precision", survey.precision.in_words()
    yield "catalogue", f"{len(manifest.columns)} columns: {_join_names(list(manifest.columns))}"
    if DEFECTS in manifest.files:
        yield "defects", "some inputs could not be stored; see .defects"
    if manifest.unfinished:
        yield "unfinished", f"{len(manifest.unfinished)} input files; run the same ingest again to continue"
    yield "place", printable(str(survey.path))


def _join_names(names: list[str]) -> str:
    some = ", ".join(printable(name) for name in names[:MOST_NAMED])
    return some + (", ..." if len(names) > MOST_NAMED else "")
