"""A column of a survey's catalogue as numbers, also where the survey has no such column or holds it as text."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rarespec.survey import Survey


def numbers_of(survey: Survey, column: str) -> NDArray[np.float64]:
    """(n,) float64, NaN where there is no number."""
    if column not in survey.catalogue:
        return np.full(len(survey), np.nan)
    values = survey.catalogue[column]
    if values.dtype.kind in "biuf":
        return values.astype(np.float64)
    return np.array([_number(value) for value in values], dtype=np.float64)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return np.nan
