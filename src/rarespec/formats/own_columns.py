"""The survey's own columns: scalars of a table's rows or of a header, as plain Python values in lower case."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarespec.formats.fits_header import Header
from rarespec.spectrum.spectra import COMMON_COLUMNS, Catalogue

_STRUCTURE = re.compile(
    r"SIMPLE|XTENSION|BITPIX|NAXIS\d*|EXTEND|PCOUNT|GCOUNT|TFIELDS|EXTNAME|EXTVER|BSCALE|BZERO|BLANK|CHECKSUM|DATASUM"
    r"|T(TYPE|FORM|UNIT|SCAL|ZERO|NULL|DIM|DISP)\d+|WAT\d_\d+|LONGSTRN|ENCODING|COMMENT|HISTORY"
)
"""Cards that say how a file is built and nothing about the object."""


def plain(value: Any) -> Any:
    """A value of a table as Python's own type: text without blanks around it, None for NaN."""
    if isinstance(value, bytes):
        return value.split(b"\0", 1)[0].decode("latin-1").strip()
    if isinstance(value, str):
        return value.strip()
    return None if value != value else value


@lru_cache(maxsize=256)
def _scalar_names(dtype: np.dtype[Any]) -> tuple[tuple[int, str, str], ...]:
    """(position, name, name in lower case) of the columns with one plain value per row; the first of a name counts."""
    found: dict[str, tuple[int, str, str]] = {}
    for position, name in enumerate(dtype.names or ()):
        if dtype[name].shape == () and dtype[name].kind in "biufSU":
            found.setdefault(name.lower(), (position, name, name.lower()))
    return tuple(found.values())


def own_row(table: NDArray[Any], row: int = 0) -> dict[str, Any]:
    """The scalars of one row of a structured array. Integers never pass through floats."""
    values = table[row].tolist()
    return {lower: plain(values[position]) for position, _, lower in _scalar_names(table.dtype)}


def scalar_columns(table: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """The columns of a structured array with one plain value per row, as stored, by name in lower case."""
    return {lower: table[name] for _, name, lower in _scalar_names(table.dtype)}


def own_columns(table: NDArray[Any]) -> Catalogue:
    """The scalar columns of a structured array as Python values."""
    return {name: plain_list(column) for name, column in scalar_columns(table).items()}


def plain_list(column: NDArray[Any]) -> list[Any]:
    """The values of a column as Python's own types."""
    if column.dtype.kind in "biu":
        return column.tolist()
    return [plain(value) for value in column.tolist()]


def own_cards(header: Header) -> dict[str, Any]:
    """The cards of a header that say something about the object; the first of a name counts."""
    own: dict[str, Any] = {}
    for key, value in header.cards():
        name = _name_of_card(key)
        if name and name not in own:
            own[name] = value
    return own


@lru_cache(maxsize=4096)
def _name_of_card(keyword: str) -> str:
    """In lower case; nothing for cards about the file itself."""
    return "" if _STRUCTURE.fullmatch(keyword) else keyword.lower()


def catalogue_of(common: dict[str, Any], own: dict[str, Any], taken: Collection[str] = ()) -> dict[str, Any]:
    """All common columns first, then the survey's own."""
    return with_own({name: common.get(name) for name in COMMON_COLUMNS}, own, taken)


def with_own(common: dict[str, Any], own: dict[str, Any], taken: Collection[str]) -> dict[str, Any]:
    """These common columns and the survey's own.

    A column of the survey that happens to carry a common name but holds something else is kept as `file_NAME`;
    those in `taken` are the very values that became the common column, and are not repeated.
    """
    result = {**common, **own, **common}
    for name in common:
        if name in own and name not in taken:
            result[f"file_{name}"] = own[name]
    return result


def one_row(row: dict[str, Any]) -> Catalogue:
    """A catalogue with a single spectrum."""
    return {name: [value] for name, value in row.items()}
