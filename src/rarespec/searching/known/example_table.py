"""Examples named by a table: one a row, by an id, by a position, or by both."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarespec.formats.catalogue import COMMON, KEYS
from rarespec.formats.columns import IDS, NUMBERS, find, ids_of, python_values
from rarespec.formats.positions import IN_HOURS, degrees_of, is_sexagesimal
from rarespec.searching.crossmatch import is_position
from rarespec.spectrum import DefectError, Reason

RA = (*NUMBERS["ra"], *COMMON["ra"], *IN_HOURS)
DEC = (*NUMBERS["dec"], *COMMON["dec"])
COMPOSITE = tuple((names, build) for names, build in KEYS if len(names) > 1)
"""Columns that make an id together, such as plate, mjd and fiberid."""


@dataclass(frozen=True, eq=False)
class ExampleTable:
    """n examples, none of them looked up yet.

    Parameters
    ----------
    where : str
        The file, or what else a message calls it.
    ids : tuple of list of str
        One list of n for each column that may hold ids; "" where a row has none.
    ra : (n,) float64 array
        Right ascension in degrees, NaN where unknown.
    dec : (n,) float64 array
        Declination in degrees, NaN where unknown.
    unread : (n,) bool array
        Where something is written that is no position.
    problems : tuple of str
        What else is wrong, one line each.
    bare_numbers : bool
        Whether right ascensions are numbers of which nothing says that they are degrees.
    """

    where: str
    ids: tuple[list[str], ...]
    ra: NDArray[np.float64]
    dec: NDArray[np.float64]
    unread: NDArray[np.bool_]
    problems: tuple[str, ...] = ()
    bare_numbers: bool = False

    def __len__(self) -> int:
        return len(self.ra)

    def take(self, rows: NDArray[np.intp]) -> ExampleTable:
        """Take some of the examples, in this order; what else is wrong with the table is told of each part."""
        ids = tuple([column[row] for row in rows.tolist()] for column in self.ids)
        return replace(self, ids=ids, ra=self.ra[rows], dec=self.dec[rows], unread=self.unread[rows])

    @classmethod
    def of_ids(cls, ids: list[str], where: str = "") -> ExampleTable:
        nowhere = np.full(len(ids), np.nan)
        return cls(where, (ids,), nowhere, nowhere, np.zeros(len(ids), bool))

    @classmethod
    def of_positions(cls, ra: NDArray[np.float64], dec: NDArray[np.float64], where: str) -> ExampleTable:
        """Make a table of positions without ids.

        Parameters
        ----------
        ra : (n,) float64 array
            Right ascension in degrees.
        dec : (n,) float64 array
            Declination in degrees.
        where : str
            What messages call these examples.

        Returns
        -------
        ExampleTable
            Positions that are not on the sky are marked as unread.
        """
        return cls(where, (), *_check_positions(ra, dec, np.ones(len(ra), bool)))

    @classmethod
    def of_columns(cls, columns: Mapping[str, Any], where: str, units: Mapping[str, str] | None = None) -> ExampleTable:
        """Find ids and positions among columns.

        Parameters
        ----------
        columns : mapping
            Name in the file -> values; all of equal length.
        where : str
            The file, or what else messages call it.
        units : mapping, optional
            Name -> unit of the columns that have one.

        Returns
        -------
        ExampleTable
            The examples, one per row.

        Raises
        ------
        DefectError
            If no column holds ids or positions, or columns differ in length.
        """
        if not names_objects(columns):
            raise DefectError(Reason.MISSING_COLUMN, f"{WANTED}; there is {', '.join([*columns][:12]) or 'nothing'}")
        lists = {name: python_values(columns[name]) for name in find_used_columns(columns)}
        n = len(next(iter(lists.values())))
        if any(len(values) != n for values in lists.values()):
            raise DefectError(Reason.LAYOUT, f"the columns {', '.join(lists)} differ in length")
        ids, problems = _id_columns(lists, where)
        ra, dec = find(lists, RA), find(lists, DEC)
        if ra is None or dec is None:
            return cls(where, ids, np.full(n, np.nan), np.full(n, np.nan), np.zeros(n, bool), problems)
        written = np.array([r is not None and d is not None for r, d in zip(lists[ra], lists[dec], strict=True)], bool)
        units = units or {}
        unit = units.get(ra) or ("hourangle" if ra.lower() in IN_HOURS else None)
        degrees = degrees_of(lists[ra], unit, in_hours=True), degrees_of(lists[dec], units.get(dec))
        unsaid = not unit and not any(isinstance(value, str) and is_sexagesimal(value) for value in lists[ra])
        return cls(where, ids, *_check_positions(*degrees, written), problems, unsaid)


WANTED = f"no column of ids ({', '.join(IDS)}) and no positions (ra and dec); name the columns in a header line"


def names_objects(names: Iterable[str]) -> bool:
    """Say whether columns of these names tell which objects are meant."""
    names = list(names)
    return bool(_id_names(names)) or bool(find(names, RA) and find(names, DEC))


def find_used_columns(names: Iterable[str]) -> list[str]:
    """Find the columns that hold ids or positions, under their own names."""
    names = list(names)
    used = [name for group in _id_names(names) for name in group]
    return list(dict.fromkeys(used + [name for name in (find(names, RA), find(names, DEC)) if name]))


def _id_names(names: list[str]) -> list[tuple[str, ...]]:
    """Groups of columns that make an id: composite ones first, since single ones may be of another catalogue."""
    groups = [*(columns for columns, _ in COMPOSITE), *((name,) for name in IDS)]
    found = [tuple(find(names, (name,)) for name in group) for group in groups]
    return [tuple(name for name in group if name) for group in found if all(group)]


def _id_columns(lists: dict[str, list[Any]], where: str) -> tuple[tuple[list[str], ...], tuple[str, ...]]:
    ids, problems = [], []
    for names in _id_names(list(lists)):
        try:
            ids.append(_ids(names, [lists[name] for name in names]))
        except DefectError as error:
            problems.append(f"{where}: column {names[0]}: {error.detail}; save them as whole numbers or text")
    return tuple(ids), tuple(problems)


def _ids(names: tuple[str, ...], columns: Sequence[list[Any]]) -> list[str]:
    if len(columns) == 1:
        return [id.strip() for id in ids_of(columns[0], [""] * len(columns[0]))]
    key = tuple(name.lower() for name in names)
    build = next(build for columns, build in COMPOSITE if columns == key)
    return list(_build_ids(build, columns))


def _build_ids(build: Any, columns: Sequence[list[Any]]) -> Iterator[str]:
    for values in zip(*columns, strict=True):
        try:
            yield build(*map(int, values))
        except (TypeError, ValueError):  # one of them is missing, or no whole number
            yield ""


def _check_positions(
    ra: NDArray[np.float64], dec: NDArray[np.float64], written: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
    """Replace positions that are not on the sky by NaN, and say where one was written nevertheless."""
    good = is_position(ra, dec)
    return np.where(good, ra, np.nan), np.where(good, dec, np.nan), written & ~good
