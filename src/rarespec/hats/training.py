"""A survey to learn from: the known objects of a catalogue, and a random sample over all its partitions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rarespec.hats.over_partitions import Failed, over_partitions
from rarespec.hats.partition import name_of, spectra_in
from rarespec.hats.targets import Targets, find_targets, ids_in, light_columns, words_in
from rarespec.progress import Progress
from rarespec.searching.request import SearchRequest
from rarespec.spectrum import Spectra, WavelengthGrid
from rarespec.survey import Survey
from rarespec.survey.appending import append_to

if TYPE_CHECKING:
    import pandas as pd
    from lsdb.catalog import Catalog

SAMPLE = 100_000
"""Spectra to learn from besides the known ones."""


@dataclass(frozen=True)
class Drawing:
    """What is taken of each partition."""

    targets: Targets
    share: dict[str, int]
    """Name of the partition -> how many rows are drawn."""
    grid: WavelengthGrid
    seed: int


def training_survey(
    catalogue: Catalog,
    request: SearchRequest,
    into: Path,
    grid: WavelengthGrid,
    sample: int = SAMPLE,
    progress: Progress | None = None,
) -> Survey:
    """A new survey in this directory with all that is known by the request, and a sample of so many others.

    Spectra that cannot be used are left out here; whoever scores the catalogue accounts for them.
    """
    given = [request.known] if request.non_members is None else [request.known, request.non_members]
    words = frozenset[str]().union(*map(words_in, given))
    light: Any = catalogue[light_columns(catalogue.columns)] if light_columns(catalogue.columns) else catalogue
    looks = {name: look for name, look in over_partitions(light, look_for, words) if not isinstance(look, Failed)}
    found = frozenset[str]().union(*(look[1] for look in looks.values()))
    sizes = {name: look[0] for name, look in looks.items()}
    targets = find_targets(given, found, request.radius_arcsec)
    drawing = Drawing(targets, apportion(sizes, sample), grid, request.seed)
    survey = Survey.create(into, grid)
    append_to(survey, _drawn(catalogue, drawing, progress), action=f"sample of {catalogue.name}")
    return Survey.open(into)


def look_for(partition: pd.DataFrame, pixel: Any, words: frozenset[str]) -> tuple[int, frozenset[str]]:
    """How many rows there are, and which of the words are ids of some."""
    return len(partition), words & frozenset(ids_in(partition)) - {""}


def apportion(sizes: dict[str, int], total: int) -> dict[str, int]:
    """Share `total` out in proportion to these sizes, none more than it has."""
    n = sum(sizes.values())
    if n <= total:
        return sizes
    exact = {name: total * size / n for name, size in sizes.items()}
    share = {name: int(part) for name, part in exact.items()}
    for name in sorted(exact, key=lambda name: share[name] - exact[name])[: total - sum(share.values())]:
        share[name] += 1
    return share


def draw(partition: pd.DataFrame, pixel: Any, drawing: Drawing) -> list[Spectra]:
    """The spectra of the rows that are wanted or drawn, on the grid."""
    rng = np.random.default_rng([drawing.seed, pixel.order, pixel.pixel])
    n = min(drawing.share.get(name_of(pixel), 0), len(partition))
    drawn = rng.choice(len(partition), n, replace=False, shuffle=False) if n else np.empty(0, np.intp)
    rows: NDArray[np.intp] = np.union1d(drawn, drawing.targets.rows_of(partition)).astype(np.intp)
    found = spectra_in(partition.iloc[rows], name_of(pixel), drawing.grid)
    return [spectra for spectra in found if isinstance(spectra, Spectra)]


def _drawn(catalogue: Catalog, drawing: Drawing, progress: Progress | None) -> Iterator[Spectra]:
    for _, stacks in over_partitions(catalogue, draw, drawing, progress):
        if not isinstance(stacks, Failed):
            yield from stacks
