"""The catalogue of a generic file: common columns under their usual names, and the file's own, as Python values.

Columns used under a common name are not repeated under their own; one whose name is already taken becomes `file_NAME`.
Rows without an id are called `<stem>-<row>` (row from 0, six digits or more), a single spectrum `<stem>`.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Mapping
from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np

from rarespec.formats.column_roles import Column, find
from rarespec.spectrum import DefectError, Reason
from rarespec.spectrum.spectra import Catalogue

IDS = ("id", "object_id", "objectid", "objid", "targetid", "specobjid", "spec_id", "obsid", "source_id", "name")
NUMBERS = {
    "ra": ("ra", "ra_deg", "raj2000", "ra_icrs", "ra_j2000", "target_ra", "plug_ra"),
    "dec": ("dec", "dec_deg", "dej2000", "decj2000", "de_icrs", "dec_icrs", "dec_j2000", "target_dec", "plug_dec"),
    "z": ("z", "redshift", "z_best", "z_spec"),
    "snr": ("snr", "sn", "s_n", "snr_median", "sn_median_all"),
}
TEXTS = {"class": ("class", "spectype", "cls"), "subclass": ("subclass", "subtype"), "survey": ("survey",)}

EXACT_IN_FLOAT = 2**53
"""Whole numbers from here on are rounded by float64: an id stored that way is not the object's id."""


def generic_catalogue(columns: Mapping[str, Column], source_name: str, spare_ids: list[str]) -> Catalogue:
    """Common columns first, then the file's own in lower case; every list has one value per spare id."""
    left = {name: python_values(column) for name, column in columns.items()}
    n = len(spare_ids)
    catalogue: Catalogue = {"id": ids_of(_taken(left, IDS) or [None] * n, spare_ids)}
    for common, names in NUMBERS.items():
        catalogue[common] = _floats(left, names) or [None] * n
    for common, names in TEXTS.items():
        values = _taken(left, names) or [None] * n
        catalogue[common] = [None if value is None else str(value) for value in values]
    catalogue["survey"] = [value or "unknown" for value in catalogue["survey"]]
    catalogue["source"] = [source_name] * n
    used: Counter[str] = Counter()
    for name, values in left.items():
        catalogue[_free_name(_whole_characters(name.lower()), catalogue, used)] = values
    return catalogue


def _taken(left: dict[str, list[Any]], names: tuple[str, ...]) -> list[Any] | None:
    name = find(left, names)
    return None if name is None else left.pop(name)


def _floats(left: dict[str, list[Any]], names: tuple[str, ...]) -> list[Any] | None:
    # A column of another kind (coordinates as text, say) is not lost: it stays among the file's own.
    name = find(left, names)
    if name is None or not all(value is None or isinstance(value, int | float) for value in left[name]):
        return None
    return [None if value is None else float(value) for value in left.pop(name)]


def _free_name(name: str, taken: Mapping[str, Any], used: Counter[str]) -> str:
    """NAME, else `file_NAME`, else `file_NAME_2` and so on; `used` keeps how far each name got."""
    free = name
    while free in taken:
        used[name] += 1
        free = f"file_{name}" if used[name] == 1 else f"file_{name}_{used[name]}"
    return free


def python_values(column: Any) -> list[Any]:
    """Plain Python values: whole numbers stay exact, text is decoded and stripped, NaN and masked are None."""
    if isinstance(column, np.ma.MaskedArray):
        hidden = np.ma.getmaskarray(column)
        values = python_values(np.asarray(column.data))
        return [None if hide else value for value, hide in zip(values, hidden, strict=True)]
    if isinstance(column, np.ndarray) and column.dtype.kind in "Mm":
        column = [None if np.isnat(value) else str(value) for value in column]
    if isinstance(column, np.ndarray):
        column = _listed(column)
    return [_python_value(value) for value in column]


def _listed(column: np.ndarray[Any, Any]) -> list[Any]:
    if column.dtype.kind == "U" and column.dtype.itemsize:
        # NumPy makes broken text, which crashes Python later, of numbers that are no characters.
        codes = np.ascontiguousarray(column).view(np.dtype("u4").newbyteorder(column.dtype.byteorder))
        if codes.max(initial=0) > sys.maxunicode:
            raise DefectError(Reason.CORRUPT, "text that is not valid Unicode; fetch it again")
    return column.tolist()


def _python_value(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bytes):
        value = value.decode("utf-8", errors="backslashreplace")
    if isinstance(value, str):
        return _whole_characters(value).strip().rstrip("\0")
    if isinstance(value, float):
        return None if math.isnan(value) else value
    if isinstance(value, date | datetime):
        return value.isoformat()
    return value if value is None or isinstance(value, bool | int) else str(value)


def _whole_characters(text: str) -> str:
    """Text as it can be stored: halves of a character, which damage leaves behind, are written out as such."""
    return text if text.isascii() else text.encode("utf-8", errors="backslashreplace").decode()


def ids_of(values: list[Any], otherwise: list[str]) -> list[str]:
    """Ids as text, never through a float that would round them; the other where there is none."""
    return [_id(value) or spare for value, spare in zip(values, otherwise, strict=True)]


def _id(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        if abs(value) >= EXACT_IN_FLOAT:
            raise DefectError(Reason.LAYOUT, f"ids stored as floating point have lost digits ({value:.0f})")
        value = int(value)
    return str(value)


def stem_of(path: Path) -> str:
    """The file's name without its endings for format and compression."""
    return path.with_suffix("").stem if path.suffix == ".gz" else path.stem


def numbered_ids(stem: str, first: int, n: int, single: bool = False) -> list[str]:
    return [stem] if single else [f"{stem}-{row:06d}" for row in range(first, first + n)]
