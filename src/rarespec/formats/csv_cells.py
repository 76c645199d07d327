"""Cells of a CSV file: what kind of value a column holds, and its value."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarespec.formats.column_roles import MASK
from rarespec.spectrum import DefectError, Reason

BLANKS = ("", "nan", "null", "none", "n/a", "--")
TRUTH = {"true": 1.0, "false": 0.0, "t": 1.0, "f": 0.0, "yes": 1.0, "no": 0.0}


def kind_of(cell: str) -> str:
    """One of the keys of `VALUE_OF`."""
    cell = cell.strip()
    if cell.lower() in BLANKS:
        return "blank"
    if cell in ("True", "False", "true", "false", "TRUE", "FALSE"):
        return "truth"
    if re.fullmatch(r"[+-]?(0|[1-9]\d{0,17})", cell):  # fits 64 bits; 007 is a name
        return "whole"
    return "number" if all_numbers([cell]) and not re.fullmatch(r"[+-]?\d+|.*_.*", cell) else "text"


def wider(one: str, other: str) -> str:
    """The kind of a column that holds both."""
    if one == other or other == "blank":
        return one
    if one == "blank":
        return other
    return "number" if {one, other} == {"whole", "number"} else "text"


def _blank_or(convert: Callable[[str], Any]) -> Callable[[str], Any]:
    return lambda cell: None if cell.strip().lower() in BLANKS else convert(cell)


VALUE_OF: dict[str, Callable[[str], Any]] = {
    "blank": lambda cell: None,
    "truth": _blank_or(lambda cell: cell.strip().lower() == "true"),
    "whole": _blank_or(int),
    "number": _blank_or(float),
    "text": lambda cell: cell.strip() or None,
}


def value_of(cell: str) -> Any:
    """The value of a cell that stands alone."""
    return VALUE_OF[kind_of(cell)](cell)


def all_numbers(cells: list[str]) -> bool:
    try:
        return bool([float(cell) for cell in cells])
    except ValueError:
        return False


def numbers_in(cells: Sequence[str], name: str) -> NDArray[np.float64]:
    """Blank cells are NaN, and words for yes and no are 1 and 0 in a mask."""
    try:
        return np.array(cells, dtype=np.float64)
    except ValueError:
        return np.array([_number(cell, name) for cell in cells], dtype=np.float64)


def _number(cell: str, name: str) -> float:
    word = cell.strip().lower()
    if word in BLANKS:
        return np.nan
    if word in TRUTH and name.lower() in MASK:
        return TRUTH[word]
    try:
        return float(cell)
    except ValueError:
        raise DefectError(Reason.CORRUPT, f"{cell[:20]!r} among the numbers of {name}") from None
