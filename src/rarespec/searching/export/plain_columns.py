"""The columns of an astropy table as values that every format can hold: whole and real numbers, booleans, text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rarespec.searching.columns import describe_columns
from rarespec.survey.catalogue import as_column
from rarespec.survey.manifest import WrongUseError

if TYPE_CHECKING:
    from astropy.table import Column, Table

INT64_MAX = np.iinfo(np.int64).max


@dataclass(frozen=True, eq=False)
class PlainColumn:
    """One value per row.

    Attributes
    ----------
    values : (n,) int64, float32, float64, bool, or object (str)
    missing : (n,) bool; only whole numbers and booleans, as a missing real number is NaN and missing text is empty
    """

    name: str
    values: NDArray[Any]
    missing: NDArray[np.bool_]
    unit: str = ""
    ucd: str = ""
    description: str = ""

    @property
    def kind(self) -> str:
        """One of i (whole number), f (real number), b (boolean), O (text)."""
        return self.values.dtype.kind

    @property
    def is_text(self) -> bool:
        return self.kind == "O"


def plain_columns(table: Table) -> list[PlainColumn]:
    """All columns of a table; those of a ranking with their units, UCDs and descriptions."""
    return list(_plain_columns(describe_columns(table)))


def _plain_columns(table: Table) -> Iterator[PlainColumn]:
    from astropy.table import Column

    for column in table.itercols():
        name = column.info.name
        if not isinstance(column, Column) or column.ndim != 1 or column.dtype.kind not in "biufSUO":
            what = f"{type(column).__name__} of {getattr(column, 'dtype', 'unknown type')}"
            raise WrongUseError(
                f"column {name!r} ({what}) cannot be written; use numbers, booleans or text, one value per row"
            )
        values, missing = _plain(np.asarray(column), np.ma.getmaskarray(column))
        yield PlainColumn(name, values, missing, **_meaning(column))


def _meaning(column: Column) -> dict[str, str]:
    info = column.info
    return {
        "unit": "" if info.unit is None else info.unit.to_string(),
        "ucd": str((info.meta or {}).get("ucd", "")),
        "description": info.description or "",
    }


def _plain(values: NDArray[Any], missing: NDArray[np.bool_]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    none_missing = np.zeros(len(values), bool)
    match values.dtype.kind:
        case "f":
            return _reals(values, missing), none_missing
        case "b":
            return values.astype(bool), missing
        case "i" | "u" if _fit_int64(values, missing):
            return values.astype(np.int64), missing
        case "O" if not _all_text(values, missing):
            return _guessed(values, missing)
        case _:
            return _texts(values, missing), none_missing


def _reals(values: NDArray[Any], missing: NDArray[np.bool_]) -> NDArray[np.floating[Any]]:
    if values.dtype.itemsize > 8 and not np.array_equal(values.astype(float), values, equal_nan=True):
        raise WrongUseError(f"files cannot store the precision of {values.dtype}; convert to float64")
    single = values.dtype.itemsize <= 4
    return np.where(missing, np.nan, values).astype(np.float32 if single else np.float64)


def _fit_int64(values: NDArray[Any], missing: NDArray[np.bool_]) -> bool:
    return values.dtype.kind == "i" or not np.any(values[~missing] > INT64_MAX)


def _all_text(values: NDArray[Any], missing: NDArray[np.bool_]) -> bool:
    return all(isinstance(value, str | bytes | None) for value in values[~missing])


def _guessed(values: NDArray[Any], missing: NDArray[np.bool_]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Python values of several kinds, as a catalogue would store them."""
    column = as_column([None if gone else value for value, gone in zip(values, missing, strict=True)])
    gone = column.is_null().to_numpy(zero_copy_only=False)
    filled = column if column.type == "string" or not gone.any() else column.fill_null(column.drop_null()[0])
    return _plain(filled.to_numpy(zero_copy_only=False), gone)


def _texts(values: NDArray[Any], missing: NDArray[np.bool_]) -> NDArray[np.object_]:
    texts = np.empty(len(values), object)
    texts[:] = ["" if gone else _text(value) for value, gone in zip(values.tolist(), missing, strict=True)]
    return texts


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    return "" if value is None else str(value)
