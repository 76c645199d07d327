"""Values as the text of table cells: the fewest digits that give the same number again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from rarespec.searching.export.plain_columns import PlainColumn


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
