"""Right ascensions of a survey that look like hours: asked about, never changed."""

from __future__ import annotations

import numpy as np

from rarespec.survey.survey import Survey

ENOUGH = 20
"""Positions; fewer may lie below 24 degrees by accident."""
HOURS = 24.0
WIDE = 6.0, 30.0
"""Spread in right ascension and declination. A strip of so many degrees is rare, all-sky hours always have it."""


def ask_about_hours(survey: Survey) -> str | None:
    """Ask whether right ascensions are in hours, if all lie below 24 and declinations spread far; None otherwise.

    Parameters
    ----------
    survey : Survey
        The survey.

    Returns
    -------
    str or None
        A question for the user. A strip of the sky may look the same, so it is no more than that.
    """
    if "ra" not in survey.catalogue or "dec" not in survey.catalogue:
        return None
    ra, dec = survey.catalogue["ra"], survey.catalogue["dec"]
    if ra.dtype.kind != "f" or dec.dtype.kind != "f":
        return None
    known = np.isfinite(ra) & np.isfinite(dec)
    ra, dec = ra[known], dec[known]
    if len(ra) < ENOUGH or ra.min() < 0 or ra.max() > HOURS or np.ptp(ra) < WIDE[0] or np.ptp(dec) < WIDE[1]:
        return None
    return (
        f"are right ascensions in hours? All {len(ra)} lie between 0 and 24, with declinations from {dec.min():.0f} to "
        f"{dec.max():.0f} degrees. If so, call the column ra_hours or give it a unit, and ingest into a new survey"
    )
