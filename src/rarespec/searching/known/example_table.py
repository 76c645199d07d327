"""Examples named by a table: one a row, by an id, by a position, or by both."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarespec.formats.catalogue import COMMON, KEYS
from rarespec.formats.columns import IDS, NUMBERS, find, ids_of, python_values
from rarespec.searching.crossmatch import is_position
from rarespec.spectrum import DefectError, Reason

# ---- Right ascensions and declinations, however a table writes them, as degrees.


def degrees_of(values: Sequence[Any], unit: str | None = None, in_hours: bool = False) -> NDArray[np.float64]:
    """Read right ascensions or declinations, however a table writes them.

    Numbers, also as text, are degrees unless the unit says otherwise. Other text is sexagesimal: `12:34:56.7`,
    `12 34 56.7` or `12h34m56.7s`.

    Parameters
    ----------
    values : sequence
        Numbers, text or None, n of them.
    unit : str, optional
        Unit of the column. By default degrees.
    in_hours : bool
        Whether sexagesimal text is in hours, unless it or the unit says otherwise. By default in degrees.

    Returns
    -------
    (n,) float64 array
        Degrees, NaN for what is missing or cannot be understood.

    Raises
    ------
    DefectError
        If the unit is no angle.
    """
    numbers = np.array([_number(value) for value in values], dtype=np.float64)
    is_text = [np.isnan(number) and isinstance(value, str) for number, value in zip(numbers, values, strict=True)]
    # A column of sexagesimal text may have a unit such as "h:m:s", which is no unit to convert from.
    if not np.isnan(numbers).all():
        numbers *= _degrees_per(unit)
    in_hours = in_hours and not (unit or "").strip('"').lower().startswith("d")
    numbers[is_text] = [_sexagesimal(values[i], in_hours) for i in np.flatnonzero(is_text).tolist()]
    return numbers


def _number(value: Any) -> float:
    try:
        return np.nan if value is None else float(value)
    except (TypeError, ValueError):
        return np.nan


def _degrees_per(unit: str | None) -> float:
    from astropy import units as u

    if not unit or unit.lower() in ("deg", "degree", "degrees"):
        return 1.0
    parsed = u.Unit(unit, parse_strict="silent")
    try:
        return float((u.hourangle if parsed == u.hour else parsed).to(u.deg))
    except u.UnitConversionError:
        raise DefectError(Reason.LAYOUT, f"positions in {unit!r}; use degrees, hours or radians") from None


def _sexagesimal(text: str, in_hours: bool) -> float:
    from astropy import units as u
    from astropy.coordinates import Angle

    try:
        return float(Angle(text, u.hourangle if in_hours else u.deg).deg)
    except (ValueError, u.UnitsError):
        return np.nan


# ---- example table


RA = (*NUMBERS["ra"], *COMMON["ra"])
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
    """

    where: str
    ids: tuple[list[str], ...]
    ra: NDArray[np.float64]
    dec: NDArray[np.float64]
    unread: NDArray[np.bool_]
    problems: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.ra)

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
        degrees = degrees_of(lists[ra], units.get(ra), in_hours=True), degrees_of(lists[dec], units.get(dec))
        return cls(where, ids, *_check_positions(*degrees, written), problems)


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
