"""A survey to learn from: the known objects of a catalogue, and a random sample over all its partitions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from rarespec.formats.columns import IDS, NUMBERS, find, ids_of, python_values
from rarespec.formats.matrices.multimodal_universe import Layout, plain_id
from rarespec.formats.matrices.nested_spectra import Arms
from rarespec.hats.catalogue import Failed, name_of, over_partitions, spectra_in
from rarespec.progress import Progress
from rarespec.searching.crossmatch import ARCSEC, directions, is_position
from rarespec.searching.known.example_inputs import read_examples
from rarespec.searching.known.example_table import ExampleTable
from rarespec.searching.request import SearchRequest
from rarespec.spectrum import Spectra, WavelengthGrid
from rarespec.survey import Survey
from rarespec.survey.store.intake import append_to

if TYPE_CHECKING:
    import pandas as pd
    from lsdb.catalog import Catalog


# ---- Which rows of a catalogue the given examples mean: by id, or by a place on the sky.


@dataclass(frozen=True, eq=False)
class Targets:
    """ids, and places as unit vectors, (m, 3), with a radius in arcseconds."""

    ids: frozenset[str] = frozenset()
    places: NDArray[np.float64] = field(default_factory=lambda: np.empty((0, 3)))
    radius: float = 2.0

    def rows_of(self, partition: pd.DataFrame) -> NDArray[np.intp]:
        """Find the rows of the partition that are meant; of a place, all within the radius."""
        ids = ids_in(partition)
        meant = np.array([id in self.ids for id in ids], dtype=bool)
        if len(self.places) and len(partition):
            meant |= self._near(partition)
        return np.flatnonzero(meant)

    def _near(self, partition: pd.DataFrame) -> NDArray[np.bool_]:
        from scipy.spatial import cKDTree

        ra, dec = numbers_in(partition, "ra"), numbers_in(partition, "dec")
        placed = np.flatnonzero(is_position(ra, dec))
        near = np.zeros(len(partition), bool)
        if len(placed):
            # a little more than asked for: the search itself measures again
            chord = 2 * np.sin(1.01 * self.radius * ARCSEC / 2)
            distance, _ = cKDTree(self.places).query(directions(ra[placed], dec[placed]))
            near[placed] = distance <= chord
        return near


def find_targets(given: Iterable[Any], words: frozenset[str], radius: float) -> Targets:
    """Find out what ids, tables, positions and files mean.

    Parameters
    ----------
    given : iterable
        Known examples and non-members, in any form that `rarespec.search` takes.
    words : frozenset of str
        Those words that the catalogue has as ids.
    radius : float
        How far from a given position a spectrum may be, in arcsec.

    Returns
    -------
    Targets
        Ids and positions to look for.
    """
    ids: set[str] = set()
    places = [np.empty((0, 3))]
    for one in given:
        for table in read_examples(one, cast(Survey, _Ids(words))):
            if isinstance(table, ExampleTable):
                ids |= {id for column in table.ids for id in column if id}
                known = np.isfinite(table.ra)
                places.append(directions(table.ra[known], table.dec[known]))
    return Targets(frozenset(ids), np.concatenate(places), radius)


@dataclass(frozen=True)
class _Ids:
    """Takes the place of a survey where ids have to be told from names of files: it knows the ids."""

    ids: frozenset[str]

    def rows_of(self, ids: Sequence[str]) -> NDArray[np.intp]:
        return np.array([0 if id in self.ids else -1 for id in ids], dtype=np.intp)


def words_in(given: Any) -> frozenset[str]:
    """Collect the texts that were given, whole and between commas: ids, or names of files."""
    if isinstance(given, str):
        return frozenset(word.strip() for word in (given, *given.split(",")))
    if isinstance(given, list | tuple | set | np.ndarray):
        return frozenset().union(*(words_in(one) for one in given))
    return frozenset()


def light_columns(names: Iterable[str]) -> list[str]:
    """Find the columns with ids and positions, as far as there are any."""
    names = list(names)
    found = (find(names, wanted) for wanted in (IDS, NUMBERS["ra"], NUMBERS["dec"]))
    return [name for name in found if name is not None]


def ids_in(partition: pd.DataFrame) -> list[str]:
    """Give each row the id that its spectrum will have; empty where it has none."""
    name = find(partition.columns, IDS)
    if name is None:
        return [""] * len(partition)
    return ids_of([plain_id(value) for value in python_values(partition[name].to_numpy())], [""] * len(partition))


def numbers_in(partition: pd.DataFrame, name: str) -> NDArray[np.float64]:
    column = find(partition.columns, NUMBERS[name])
    if column is None:
        return np.full(len(partition), np.nan)
    return partition[column].to_numpy(dtype=np.float64, na_value=np.nan)


SAMPLE = 100_000
"""Spectra to learn from besides the known ones."""


@dataclass(frozen=True)
class Drawing:
    """What to take from each partition."""

    targets: Targets
    share: dict[str, int]
    """Name of the partition -> how many rows are drawn."""
    layout: Layout | Arms
    """Which columns hold the spectra."""
    grid: WavelengthGrid | None
    seed: int


def training_survey(
    catalogue: Catalog,
    request: SearchRequest,
    into: Path,
    layout: Layout | Arms,
    grid: WavelengthGrid | None,
    sample: int = SAMPLE,
    progress: Progress | None = None,
) -> Survey:
    """Make a new survey of all that is known by the request, and a sample of others.

    Spectra that cannot be used are left out here; whoever scores the catalogue accounts for them.

    Parameters
    ----------
    catalogue : Catalog
        A catalogue of LSDB.
    request : SearchRequest
        The known examples and non-members.
    into : Path
        Directory of the survey.
    layout : Layout or Arms
        Which columns hold the spectra.
    grid : WavelengthGrid or None
        Its wavelengths; None for what the first spectra drawn call for.
    sample : int
        How many others.
    progress : callable, optional
        Called with the partitions done, and in all: while the known are looked for, then while others are drawn.

    Returns
    -------
    Survey
        The survey to learn from.
    """
    labelled = [] if request.lessons is None else [sorted(request.lessons.ids)]
    given = [request.known, *([] if request.non_members is None else [request.non_members]), *labelled]
    words = frozenset[str]().union(*map(words_in, given))
    light: Any = catalogue[light_columns(catalogue.columns)] if light_columns(catalogue.columns) else catalogue
    each = over_partitions(light, look_for, words, progress)
    looks = {name: look for name, look in each if not isinstance(look, Failed)}
    found = frozenset[str]().union(*(look[1] for look in looks.values()))
    sizes = {name: look[0] for name, look in looks.items()}
    targets = find_targets(given, found, request.radius_arcsec)
    drawing = Drawing(targets, apportion(sizes, sample), layout, grid, request.seed)
    survey = Survey.create(into, grid, precision="exact")  # other rows are scored as their files have them
    append_to(survey, _draw(catalogue, drawing, progress), action=f"sample of {catalogue.name}")
    return Survey.open(into)


def look_for(partition: pd.DataFrame, pixel: Any, words: frozenset[str]) -> tuple[int, frozenset[str]]:
    """Count the rows of a partition, and find which words are ids of some.

    Parameters
    ----------
    partition : pandas.DataFrame
        As LSDB hands it out.
    pixel : HealpixPixel
        Which partition it is; not needed here, but `over_partitions` passes it.
    words : frozenset of str
        Texts that may be ids.

    Returns
    -------
    n_rows : int
        Rows of the partition.
    found : frozenset of str
        Those of the words that are ids.
    """
    return len(partition), words & frozenset(ids_in(partition)) - {""}


def apportion(sizes: dict[str, int], total: int) -> dict[str, int]:
    """Share `total` out in proportion to these sizes, none more than it has."""
    n = sum(sizes.values())
    if n <= total:
        return sizes
    exact = {name: total * size / n for name, size in sizes.items()}
    # Largest remainders: what rounding down leaves over goes to those who lost most by it.
    share = {name: int(part) for name, part in exact.items()}
    for name in sorted(exact, key=lambda name: share[name] - exact[name])[: total - sum(share.values())]:
        share[name] += 1
    return share


def draw(partition: pd.DataFrame, pixel: Any, drawing: Drawing) -> list[Spectra]:
    """Take the spectra of a partition that are known, and some that are drawn at random.

    Parameters
    ----------
    partition : pandas.DataFrame
        As LSDB hands it out.
    pixel : HealpixPixel
        Which partition it is; its random numbers depend on it.
    drawing : Drawing
        What is known, how many rows to draw from each partition, and the grid.

    Returns
    -------
    list of Spectra
        On the grid, if there is one. Spectra that cannot be used are left out.
    """
    # By the partition, not by its turn: the sample is the same on any number of workers.
    rng = np.random.default_rng([drawing.seed, pixel.order, pixel.pixel])
    n = min(drawing.share.get(name_of(pixel), 0), len(partition))
    drawn = rng.choice(len(partition), n, replace=False, shuffle=False) if n else np.empty(0, np.intp)
    rows: NDArray[np.intp] = np.union1d(drawn, drawing.targets.rows_of(partition)).astype(np.intp)
    found = spectra_in(partition.iloc[rows], name_of(pixel), drawing.layout, drawing.grid)
    return [spectra for spectra in found if isinstance(spectra, Spectra)]


def _draw(catalogue: Catalog, drawing: Drawing, progress: Progress | None) -> Iterator[Spectra]:
    for _, stacks in over_partitions(catalogue, draw, drawing, progress):
        if not isinstance(stacks, Failed):
            yield from stacks
