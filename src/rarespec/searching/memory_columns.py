"""Examples in a table in memory: of astropy, pandas, Arrow or NumPy, or a dictionary of columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rarespec.searching.example_table import ExampleTable, used_columns


def is_table(given: Any) -> bool:
    """Whether it has named columns; the libraries are told apart by what their tables have, not imported."""
    return isinstance(given, Mapping) or _names_of(given) is not None


def _names_of(table: Any) -> list[str] | None:
    if isinstance(table, Mapping):
        return list(table)
    if isinstance(table, np.ndarray):
        return list(table.dtype.names) if table.dtype.names else None
    if isinstance(table, type):
        return None
    for attribute in ("colnames", "column_names", "columns"):
        names = getattr(table, attribute, None)
        if names is not None:
            return [str(name) for name in names]
    return None


def table_in_memory(given: Any) -> ExampleTable:
    """The examples in it; a DefectError when no column holds ids or positions."""
    where = f"the {type(given).__name__} given"
    table = _with_index(given)
    names = _names_of(table) or []
    used = used_columns(names) or names
    columns = {name: _values(table[name]) for name in used}
    units = {name: str(table[name].unit) for name in used if getattr(table[name], "unit", None) is not None}
    return ExampleTable.of_columns(columns | _sky_column(table, names), where, units)


def _with_index(table: Any) -> Any:
    """A pandas table whose index is named, as ids often are, with the index among its columns."""
    names = getattr(getattr(table, "index", None), "names", None) or ()
    unseen = [name for name in names if name is not None and name not in table.columns]
    return table.reset_index() if unseen and len(unseen) == len(names) else table


def _values(column: Any) -> Any:
    if hasattr(column, "notna"):  # pandas marks what is missing in several ways
        return column.astype(object).where(column.notna(), None).tolist()
    if hasattr(column, "to_pylist"):
        return column.to_pylist()
    if isinstance(column, np.ma.MaskedArray):
        return np.ma.MaskedArray(np.asarray(column.data), np.ma.getmaskarray(column))
    return np.atleast_1d(np.asarray(getattr(column, "value", column)))


def _sky_column(table: Any, names: list[str]) -> dict[str, Any]:
    """ra and dec of the first column that holds coordinates, as astropy's tables can."""
    coordinates = next((table[name].icrs for name in names if hasattr(table[name], "icrs")), None)
    if coordinates is None:
        return {}
    return {"ra": np.atleast_1d(coordinates.ra.deg), "dec": np.atleast_1d(coordinates.dec.deg)}
