"""Units in the spelling of a standard."""

from __future__ import annotations

import warnings


def unit_text(unit: str, standard: str) -> str:
    """In astropy's format `standard` (fits, vounit); as it was where the standard has no word for it."""
    from astropy.units import Unit, UnitsWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnitsWarning)  # units that the standard discourages are units still
        try:
            return Unit(unit, parse_strict="silent").to_string(standard)
        except ValueError:
            return unit
