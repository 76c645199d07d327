"""The table of candidates of a HATS catalogue: the columns of every search, then the catalogue's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rarespec.searching.candidates import FROM_CATALOGUE, TEXTS
from rarespec.searching.columns import described
from rarespec.survey.catalogue import as_column

if TYPE_CHECKING:
    from astropy.table import Table


def candidate_table(rows: list[dict[str, Any]]) -> Table:
    """Of these rows, best first."""
    from astropy.table import Table

    own = dict.fromkeys(name for row in rows for name in row)
    columns: dict[str, Any] = {"rank": np.arange(1, len(rows) + 1), "id": np.array([row["id"] for row in rows], str)}
    columns |= {name: _common(name, [row.get(name) for row in rows]) for name in FROM_CATALOGUE}
    columns["score"] = np.array([row["score"] for row in rows], np.float64)
    columns |= {name: _column([row.get(name) for row in rows]) for name in own if name not in columns}
    return described(Table(columns))


def _common(name: str, values: list[Any]) -> Any:
    """What is not known is empty in text, and NaN in numbers."""
    if name in TEXTS:
        return np.array(["" if value is None else str(value) for value in values], str)
    return np.array([np.nan if value is None else float(value) for value in values])


def _column(values: list[Any]) -> Any:
    """Missing text is empty and a missing real number NaN; what else is missing is masked."""
    import pyarrow as pa
    from astropy.table import MaskedColumn

    column = as_column(values)
    if pa.types.is_string(column.type):
        return np.array(column.fill_null("").to_pylist(), str)
    if pa.types.is_null(column.type):
        return np.full(len(column), np.nan)
    if pa.types.is_floating(column.type) or not column.null_count:
        return column.to_numpy(zero_copy_only=False)
    missing = column.is_null().to_numpy(zero_copy_only=False)
    return MaskedColumn(column.fill_null(0).to_numpy(zero_copy_only=False), mask=missing)
