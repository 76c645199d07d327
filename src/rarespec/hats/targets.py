"""Which rows of a catalogue the given examples mean: by id, or by a place on the sky."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from rarespec.formats.column_roles import find
from rarespec.formats.generic_catalogue import IDS, NUMBERS, ids_of, python_values
from rarespec.formats.mmu_parquet import plain_id
from rarespec.searching.crossmatch import ARCSEC, directions, is_position
from rarespec.searching.example_inputs import read_examples
from rarespec.searching.example_table import ExampleTable
from rarespec.survey import Survey

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Targets:
    """ids, and places as unit vectors, (m, 3), with a radius in arcseconds."""

    ids: frozenset[str] = frozenset()
    places: NDArray[np.float64] = field(default_factory=lambda: np.empty((0, 3)))
    radius: float = 2.0

    def rows_of(self, partition: pd.DataFrame) -> NDArray[np.intp]:
        """Rows of the partition that are meant; of a place, all within the radius."""
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
    """What ids, tables, positions and files mean; `words` are those that the catalogue has as ids."""
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
    """Stands for a survey where words are told from files: it knows which are ids."""

    ids: frozenset[str]

    def rows_of(self, ids: Sequence[str]) -> NDArray[np.intp]:
        return np.array([0 if id in self.ids else -1 for id in ids], dtype=np.intp)


def words_in(given: Any) -> frozenset[str]:
    """Texts among what was given, whole and between commas: ids, or names of files."""
    if isinstance(given, str):
        return frozenset(word.strip() for word in (given, *given.split(",")))
    if isinstance(given, list | tuple | set | np.ndarray):
        return frozenset().union(*(words_in(one) for one in given))
    return frozenset()


def light_columns(names: Iterable[str]) -> list[str]:
    """Columns with ids and positions, as far as there are any."""
    names = list(names)
    found = (find(names, wanted) for wanted in (IDS, NUMBERS["ra"], NUMBERS["dec"]))
    return [name for name in found if name is not None]


def ids_in(partition: pd.DataFrame) -> list[str]:
    """As the spectra of this partition will be called; empty where a row has none."""
    name = find(partition.columns, IDS)
    if name is None:
        return [""] * len(partition)
    return ids_of([plain_id(value) for value in python_values(partition[name].to_numpy())], [""] * len(partition))


def numbers_in(partition: pd.DataFrame, name: str) -> NDArray[np.float64]:
    column = find(partition.columns, NUMBERS[name])
    if column is None:
        return np.full(len(partition), np.nan)
    return partition[column].to_numpy(dtype=np.float64, na_value=np.nan)
