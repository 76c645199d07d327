"""The catalogue of a stack of spectra as an astropy Table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from astropy.table import Table


def table_of(catalogue: Mapping[str, list[Any]]) -> Table:
    """One column for each, masked where a value is None."""
    from astropy.table import Table

    return Table({name: _column(values) for name, values in catalogue.items()})


def _column(values: list[Any]) -> Any:
    missing = [value is None for value in values]
    if not any(missing):
        return values
    known = next((value for value in values if value is not None), np.nan)
    stand_in = "" if isinstance(known, str) else known
    return np.ma.MaskedArray([stand_in if value is None else value for value in values], missing)
