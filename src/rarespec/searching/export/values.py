"""The columns of a table as values and text that every format can hold."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rarespec.errors import UsageError
from rarespec.searching.candidates import describe_columns
from rarespec.storage.text import as_json
from rarespec.survey.store.catalogue import as_column

if TYPE_CHECKING:
    from astropy.table import Column, Table


INT64_MAX = np.iinfo(np.int64).max


@dataclass(frozen=True, eq=False)
class PlainColumn:
    """A column of plain values, one per row.

    Parameters
    ----------
    name : str
        Name of the column.
    values : (n,) array
        int64, float32, float64, bool, or object (str).
    missing : (n,) bool array
        True only for whole numbers and booleans: a missing real number is NaN and missing text is empty.
    unit : str
        Unit; empty without one.
    ucd : str
        What kind of quantity it is, in the words of the IVOA.
    description : str
        One line.
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
            raise UsageError(
                f"column {name!r} ({what}) cannot be written; use numbers, booleans or text, one value per row"
            )
        values, missing = _convert_values(np.asarray(column), np.ma.getmaskarray(column))
        yield PlainColumn(name, values, missing, **_meaning(column))


def _meaning(column: Column) -> dict[str, str]:
    info = column.info
    return {
        "unit": "" if info.unit is None else info.unit.to_string(),
        "ucd": str((info.meta or {}).get("ucd", "")),
        "description": info.description or "",
    }


def _convert_values(values: NDArray[Any], missing: NDArray[np.bool_]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    none_missing = np.zeros(len(values), bool)
    match values.dtype.kind:
        case "f":
            return _reals(values, missing), none_missing
        case "b":
            return values.astype(bool), missing
        case "i" | "u" if _fit_int64(values, missing):
            return values.astype(np.int64), missing
        case "O" if not _all_text(values, missing):
            return _guess(values, missing)
        case _:
            return _texts(values, missing), none_missing


def _reals(values: NDArray[Any], missing: NDArray[np.bool_]) -> NDArray[np.floating[Any]]:
    if values.dtype.itemsize > 8 and not np.array_equal(values.astype(float), values, equal_nan=True):
        raise UsageError(f"files cannot store the precision of {values.dtype}; convert to float64")
    single = values.dtype.itemsize <= 4
    return np.where(missing, np.nan, values).astype(np.float32 if single else np.float64)


def _fit_int64(values: NDArray[Any], missing: NDArray[np.bool_]) -> bool:
    return values.dtype.kind == "i" or not np.any(values[~missing] > INT64_MAX)


def _all_text(values: NDArray[Any], missing: NDArray[np.bool_]) -> bool:
    return all(isinstance(value, str | bytes | None) for value in values[~missing])


def _guess(values: NDArray[Any], missing: NDArray[np.bool_]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Python values of several kinds, as a catalogue would store them."""
    column = as_column([None if gone else value for value, gone in zip(values, missing, strict=True)])
    gone = column.is_null().to_numpy(zero_copy_only=False)
    filled = column if column.type == "string" or not gone.any() else column.fill_null(column.drop_null()[0])
    return _convert_values(filled.to_numpy(zero_copy_only=False), gone)


def _texts(values: NDArray[Any], missing: NDArray[np.bool_]) -> NDArray[np.object_]:
    texts = np.empty(len(values), object)
    texts[:] = ["" if gone else _text(value) for value, gone in zip(values.tolist(), missing, strict=True)]
    return texts


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    return "" if value is None else str(value)


# ---- Values as the text of table cells: the fewest digits that give the same number again.


def cells(column: PlainColumn, nan: str, infinity: str = "inf") -> list[str]:
    """One text per row; empty where a value is missing."""
    if column.is_text:
        return column.values.tolist()
    texts: Any = column.values.astype(str).astype(object)
    texts[column.missing] = ""
    if column.kind == "f":
        texts[np.isnan(column.values)] = nan
        texts[np.isposinf(column.values)] = infinity
        texts[np.isneginf(column.values)] = f"-{infinity.removeprefix('+')}"
    return texts.tolist()


def rows_of_cells(columns: Sequence[PlainColumn], nan: str, infinity: str = "inf") -> Iterable[tuple[str, ...]]:
    return zip(*(cells(column, nan, infinity) for column in columns), strict=True)


# ---- Characters that a format cannot hold, written as \uXXXX (\UXXXXXXXX above U+FFFF) so that nothing is lost.


LONE_SURROGATES = "[\ud800-\udfff]"
"""No encoding has them; they stand for bytes that were not text."""
CONTROLS = "[\x00-\x1f\x7f-\x9f\u2028\u2029\ufffe\uffff]"
"""Of no use in a table, and line ends or forbidden to some readers."""
EDGE_SPACE = r"^\s|\s\Z"
NOT_PRINTABLE_ASCII = "[^ -~]"
WORDS = ("name", "unit", "ucd", "description")

_TAKEN_FOR_ESCAPED = r"\\(?=u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})"
_ESCAPED = re.compile(r"\\u([0-9a-fA-F]{4})|\\U([0-9a-fA-F]{8})")


def pattern_of(*forbidden: str) -> re.Pattern[str]:
    """Matches each character that must be escaped where these are forbidden."""
    return re.compile("|".join((*forbidden, _TAKEN_FOR_ESCAPED)))


def escape_text(text: str, forbidden: re.Pattern[str]) -> str:
    return forbidden.sub(lambda found: _escape(ord(found[0])), text)


def unescape_text(text: str) -> str:
    r"""Turn text that a table format could not hold, written as \uXXXX, back into what it was.

    Parameters
    ----------
    text : str
        A value from a table that `write_table` wrote.

    Returns
    -------
    str
        The original text.

    Examples
    --------
    >>> from rarespec.searching import unescape_text
    >>> unescape_text("Mira, \\u03b1 Ceti")
    'Mira, α Ceti'
    """
    return _ESCAPED.sub(lambda found: chr(int(found[1] or found[2], 16)), text)


def _escape(code: int) -> str:
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def escape_columns(columns: Sequence[PlainColumn], forbidden: re.Pattern[str], path: Path) -> list[PlainColumn]:
    """The columns with all their texts escaped; a warning counts them."""
    result = [_escape_column(column, forbidden) for column in columns]
    counts = {old.name: _n_changed(old, new) for old, new in zip(columns, result, strict=True)}
    if any(counts.values()):
        where = ", ".join(name for name, count in counts.items() if count)
        warnings.warn(
            f"{path}: {sum(counts.values())} texts ({where}) have characters that this format cannot store; "
            r"they are written as \uXXXX, see rarespec.searching.unescape_text",
            stacklevel=4,
        )
    return result


def with_legal_words(column: PlainColumn, forbidden: re.Pattern[str]) -> PlainColumn:
    """The column with name, unit, UCD and description escaped."""
    words: dict[str, Any] = {word: escape_text(getattr(column, word), forbidden) for word in WORDS}
    return replace(column, **words)


def _escape_column(column: PlainColumn, forbidden: re.Pattern[str]) -> PlainColumn:
    column = with_legal_words(column, forbidden)
    if not column.is_text:
        return column
    values = np.empty_like(column.values)
    values[:] = [escape_text(text, forbidden) for text in column.values]
    return replace(column, values=values)


def _n_changed(old: PlainColumn, new: PlainColumn) -> int:
    words = sum(getattr(old, word) != getattr(new, word) for word in WORDS)
    return words + (int(np.sum(old.values != new.values)) if old.is_text else 0)


# ---- Units in the spelling of a standard.


def unit_text(unit: str, standard: str) -> str:
    """In astropy's format `standard` (fits, vounit); as it was where the standard has no word for it."""
    from astropy.units import Unit, UnitsWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnitsWarning)  # units that the standard discourages are units still
        try:
            return Unit(unit, parse_strict="silent").to_string(standard)
        except ValueError:
            return unit


# ---- Provenance as JSON in plain ASCII, which survives in every format.


Provenance = dict[str, Any]
NAME = "rarespec"
"""Under which files keep it."""


def plain_provenance(provenance: Mapping[str, Any]) -> Provenance:
    """As it will be read again: names are text, sequences are lists, NumPy's numbers are Python's."""
    try:
        return json.loads(to_json(dict(provenance)))
    except (TypeError, ValueError) as error:
        raise UsageError(f"the provenance cannot be written as JSON: {error}") from None


def to_json(provenance: Provenance) -> str:
    """In one line of printable ASCII; a number that is not finite is null."""
    return as_json(provenance, default=_refuse)


def _refuse(value: Any) -> Any:
    raise TypeError(f"{value!r} is a {type(value).__name__}; use only text, numbers, lists and dictionaries")
