"""The table of candidates: catalogue columns of the best rows, with score, expected precision, nearest known, flags."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rarespec.searching.columns import described
from rarespec.searching.flags import flags_of
from rarespec.searching.material import Material
from rarespec.searching.nearest_known import nearest_known
from rarespec.searching.yield_curve import YieldCurve
from rarespec.survey import Survey

if TYPE_CHECKING:
    from astropy.table import Table

FROM_CATALOGUE = ("ra", "dec", "class", "subclass", "z", "snr")
TEXTS = ("class", "subclass")


def candidate_table(
    material: Material, best: NDArray[np.intp], scores: NDArray[np.float64], curve: YieldCurve
) -> Table:
    """Of these rows of the material, best first; `scores` are theirs."""
    from astropy.table import Table

    survey, rows = material.features.survey, material.rows[best]
    nearest, _ = nearest_known(material.X[best], material.X[material.known], material.X)
    columns: dict[str, Any] = {"rank": np.arange(1, len(best) + 1), "id": survey.ids[rows].astype(str)}
    columns |= {name: _column(survey, name, rows) for name in FROM_CATALOGUE}
    columns["score"] = scores
    columns["expected_precision"] = curve.precision[: len(best)]
    columns["nearest_known"] = np.array(material.ids, dtype=str)[nearest]
    columns["flags"] = np.array([",".join(flags) for flags in flags_of(survey, rows)], dtype=str)
    return described(Table(columns))


def _column(survey: Survey, name: str, rows: NDArray[np.intp]) -> NDArray[Any]:
    if name not in survey.catalogue:
        return np.full(len(rows), "", dtype=str) if name in TEXTS else np.full(len(rows), np.nan)
    values = survey.catalogue[name][rows]
    return values.astype(str) if name in TEXTS else values.astype(float)
