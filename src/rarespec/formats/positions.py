"""Right ascensions and declinations, however a file writes them, as degrees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarespec.spectrum import DefectError, Reason

IN_HOURS = ("ra_hours", "ra_hour", "ra_h", "rah")
"""Names of columns that say that right ascensions are in hours."""

HOURS = ("hours", "hrs", "hms")
"""Names of the unit that astropy does not know."""


def degrees_of(values: Sequence[Any], unit: str | None = None, in_hours: bool = False) -> NDArray[np.float64]:
    """Read right ascensions or declinations, however a table writes them.

    Numbers, also as text, are degrees unless the unit says otherwise. Other text is sexagesimal: `12:34:56.7`,
    `12 34 56.7` or `12h34m56.7s`.

    Parameters
    ----------
    values : sequence
        Numbers, text or None, n of them.
    unit : str, optional
        Unit of the column. By default degrees.
    in_hours : bool
        Whether sexagesimal text is in hours, unless it or the unit says otherwise. By default in degrees.

    Returns
    -------
    (n,) float64 array
        Degrees, NaN for what is missing or cannot be understood.

    Raises
    ------
    DefectError
        If the unit is no angle.
    """
    numbers = np.array([_number(value) for value in values], dtype=np.float64)
    is_text = [np.isnan(number) and isinstance(value, str) for number, value in zip(numbers, values, strict=True)]
    # A column of sexagesimal text may have a unit such as "h:m:s", which is no unit to convert from.
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
    parsed = u.hour if unit.lower() in HOURS else u.Unit(unit, parse_strict="silent")
    try:
        return float((u.hourangle if parsed == u.hour else parsed).to(u.deg))
    except (u.UnitConversionError, ValueError, TypeError):  # of another kind, or none that astropy knows
        raise DefectError(Reason.LAYOUT, f"positions in {unit!r}; use degrees, hours or radians") from None


def _sexagesimal(text: str, in_hours: bool) -> float:
    from astropy import units as u
    from astropy.coordinates import Angle

    try:
        return float(Angle(text, u.hourangle if in_hours else u.deg).value) * (15.0 if in_hours else 1.0)
    except (ValueError, u.UnitsError):  # 185:00:00 are no hours
        return _sexagesimal(text, False) if in_hours else np.nan


def is_sexagesimal(text: str) -> bool:
    """Say whether text is written as 12:34:56.7, 12 34 56.7 or 12h34m56.7s, and not as a number."""
    return bool(np.isnan(_number(text))) and not np.isnan(_sexagesimal(text, False))
