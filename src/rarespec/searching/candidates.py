"""The table of candidates: catalogue columns of the best rows, with score, chance, nearest known, flags."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rarespec.searching.columns import described
from rarespec.searching.flags import flags_of
from rarespec.searching.material import Material
from rarespec.searching.nearest_known import nearest_known
from rarespec.searching.yield_curve import YieldCurve

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
    listed = survey.catalogue_at(rows, ["id", *(name for name in FROM_CATALOGUE if name in survey.catalogue)])
    columns: dict[str, Any] = {"rank": np.arange(1, len(best) + 1), "id": np.array(listed["id"], dtype=str)}
    columns |= {name: _column(listed.get(name, [None] * len(rows)), name) for name in FROM_CATALOGUE}
    columns["score"] = scores
    columns["chance"] = curve.chance[: len(best)]
    columns["nearest_known"] = np.array(material.ids, dtype=str)[nearest]
    columns["flags"] = np.array([",".join(flags) for flags in flags_of(survey, rows)], dtype=str)
    return described(Table(columns))


def _column(values: list[Any], name: str) -> NDArray[Any]:
    """What is not known is empty in text, and NaN in numbers."""
    if name in TEXTS:
        return np.array(["" if value is None else str(value) for value in values], dtype=str)
    return np.array([np.nan if value is None else float(value) for value in values])
