"""Other spectra of the same object: those at the same place on the sky, and those with the same id of the object."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarespec.searching.crossmatch import Sky
from rarespec.survey import Survey

ARCSEC = 2.0
"""Spectra within this distance are taken for those of one object."""
MOST = 6
"""Others that are drawn, for which there are colours; how many there are is always told."""
OBJECT_COLUMNS = ("sdss_id", "targetid", "source_id", "gaia_source_id", "catalogid", "thing_id")
"""Columns in which surveys write which object a spectrum is of, in upper or lower case."""
NOT_AN_OBJECT = {"", "0", "-1", "-9999", "nan", "none", "--"}
SHOWN = ("class", "z", "snr")


class SameObject:
    """Answers which spectra of a survey are of one object; made once, it answers at once."""

    def __init__(self, survey: Survey) -> None:
        self._survey = survey
        self._sky = Sky.of(survey)
        self._objects = [
            _Groups(survey.catalogue[name]) for name in survey.catalogue.columns if name.lower() in OBJECT_COLUMNS
        ]
        if self._sky.placed.any():
            self._sky.within(0.0, 0.0, ARCSEC)  # builds the tree

    def others(self, row: int) -> dict[str, Any]:
        """Describe the other spectra of the object in this row; `note` says why nothing can be told."""
        found = dict(self._found(row))
        found.pop(row, None)
        rows = np.array(list(found)[:MOST], dtype=np.intp)
        ids: Sequence[str] = self._survey.catalogue_at(rows, ["id"])["id"] if found else []
        told = zip(found.items(), ids, strict=False)
        others = [{"id": id, "arcsec": arcsec, **self._facts(other)} for (other, arcsec), id in told]
        return {"others": others, "n": len(found), "note": self._note(row), "within": ARCSEC}

    def _found(self, row: int) -> Iterator[tuple[int, float | None]]:
        """Row and distance of each; None for one known by its id alone. Of a row that comes twice, the last counts."""
        yield from ((other, None) for group in self._objects for other in group.like(row))
        if self._sky.placed[row]:
            rows, arcsec = self._sky.within(self._sky.ra[row], self._sky.dec[row], ARCSEC)
            yield from zip(rows.tolist(), arcsec.tolist(), strict=True)

    def _facts(self, row: int) -> dict[str, Any]:
        facts = self._survey.catalogue[int(row)]
        return {name: facts.get(name) for name in SHOWN}

    def _note(self, row: int) -> str:
        if self._sky.placed[row] or any(group.knows(row) for group in self._objects):
            return ""
        whose = "this spectrum has" if self._sky.placed.any() else "the spectra of this survey have"
        return f"{whose} no position and no id of the object"


class _Groups:
    """Rows by the value of a column."""

    def __init__(self, values: NDArray[Any]) -> None:
        self._values = np.array([str(value).strip().removesuffix(".0") for value in values.tolist()])
        self._order = np.argsort(self._values, kind="stable")
        self._sorted = self._values[self._order]

    def knows(self, row: int) -> bool:
        return self._values[row].lower() not in NOT_AN_OBJECT

    def like(self, row: int) -> list[int]:
        """List the rows with the same value, this one too; none where the value says nothing."""
        if not self.knows(row):
            return []
        ends = (np.searchsorted(self._sorted, self._values[row], side) for side in ("left", "right"))
        found: list[int] = self._order[slice(*ends)].tolist()
        return found
