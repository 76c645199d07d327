"""Right ascensions and declinations, however a table writes them, as degrees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarespec.spectrum import DefectError, Reason


def degrees_of(values: Sequence[Any], unit: str | None = None, in_hours: bool = False) -> NDArray[np.float64]:
    """(n,) float64, NaN for what is missing or cannot be understood.

    Numbers, also as text, are degrees unless the unit says otherwise. Other text is sexagesimal (`12:34:56.7`,
    `12 34 56.7`, `12h34m56.7s`): hours where `in_hours`, else degrees, unless it names its own unit.
    """
    numbers = np.array([_number(value) for value in values], dtype=np.float64)
    is_text = [np.isnan(number) and isinstance(value, str) for number, value in zip(numbers, values, strict=True)]
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
