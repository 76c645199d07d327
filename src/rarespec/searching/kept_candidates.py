"""The table of candidates for a survey that is ranked again and again: what is known of a spectrum is found once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rarespec.rankers._known import Rows
from rarespec.rankers._linear_map import LinearMap, whitening
from rarespec.searching.candidates import FROM_CATALOGUE, TEXTS
from rarespec.searching.columns import described
from rarespec.searching.flags import flags_of
from rarespec.searching.material import Material
from rarespec.searching.yield_curve import YieldCurve
from rarespec.survey import Survey

if TYPE_CHECKING:
    from astropy.table import Table

UNEXAMINED = "unexamined"
"""Stands among the flags of a spectrum that nobody has read yet: it may have any, or none."""


class KeptCandidates:
    """Makes the tables that `candidate_table` makes, but for flags, which take time: `examine` adds them afterwards."""

    def __init__(self, survey: Survey, X: Rows) -> None:
        self._survey, self._X = survey, X
        self._columns: dict[str, NDArray[Any]] = {}
        self._flags: dict[str, str] = {}
        self._examining = Lock()

    def table(
        self, material: Material, best: NDArray[np.intp], scores: NDArray[np.float64], curve: YieldCurve
    ) -> Table:
        """Of these rows of the material, best first; `scores` are theirs."""
        from astropy.table import Table

        rows = material.rows[best]
        ids = self._survey.ids[rows].astype(str)
        columns: dict[str, Any] = {"rank": np.arange(1, len(best) + 1), "id": ids}
        columns |= {name: self._column(name)[rows] for name in FROM_CATALOGUE}
        columns["score"] = scores
        columns["chance"] = curve.chance[: len(best)]
        columns["nearest_known"] = self._nearest(material, best)
        columns["flags"] = self._flags_now(ids)
        return described(Table(columns))

    def facts(self, material: Material, rows: NDArray[np.intp], places: NDArray[np.intp]) -> list[dict[str, Any]]:
        """What the table would say, but for rank and score, of spectra that may be no candidates.

        rows, places : (k,) each, of the survey and of the material; a place is -1 where there are no features
        """
        ids = self._survey.ids[rows].astype(str)
        nearest = np.full(len(rows), "", dtype=object)
        nearest[places >= 0] = self._nearest(material, places[places >= 0])
        columns = {"id": ids} | {name: self._column(name)[rows] for name in FROM_CATALOGUE}
        columns |= {"nearest_known": nearest, "flags": self._flags_now(ids)}
        values = zip(*(column.tolist() for column in columns.values()), strict=True)
        return [dict(zip(columns, row, strict=True)) for row in values]

    def examine(self, table: Table, others: Sequence[str] = ()) -> None:
        """Read the spectra of this table, and others, that have not been read before; put the flags into the table."""
        with self._examining:
            new = [id for id in dict.fromkeys((*table["id"].tolist(), *others)) if id not in self._flags]
            if new:
                found = flags_of(self._survey, self._survey.rows_of(new))
                self._flags |= {id: ",".join(flags) for id, flags in zip(new, found, strict=True)}
        self._put_flags(table)

    def _put_flags(self, table: Table) -> None:
        column = table["flags"].copy()
        new = type(column)(self._flags_now(table["id"]), name="flags", description=column.description, meta=column.meta)
        table.replace_column("flags", new)

    def _flags_now(self, ids: NDArray[np.str_]) -> NDArray[np.str_]:
        return np.array([self._flags.get(id, UNEXAMINED) for id in ids.tolist()], dtype=str)

    def _column(self, name: str) -> NDArray[Any]:
        """A whole column of the catalogue, (n,) in the survey's order."""
        if name not in self._columns:
            self._columns[name] = _whole_column(self._survey, name)
        return self._columns[name]

    @cached_property
    def _to_white(self) -> LinearMap:
        return whitening(self._X)

    def _nearest(self, material: Material, places: NDArray[np.intp]) -> NDArray[np.str_]:
        """Ids, (k,), as `nearest_known` finds them, with the whitening kept; none is nearest to itself."""
        known = np.flatnonzero(material.known)
        alike = self._directions(material.X[places]) @ self._directions(material.X[known]).T
        alike[places[:, None] == known] = -np.inf
        return np.where(np.isfinite(alike.max(axis=1)), np.array(material.ids, dtype=str)[alike.argmax(axis=1)], "")

    def _directions(self, rows: Rows) -> NDArray[np.float64]:
        white = self._to_white.apply(rows)
        lengths = np.linalg.norm(white, axis=1, keepdims=True)
        return white / np.where(lengths > 0, lengths, 1.0)


def _whole_column(survey: Survey, name: str) -> NDArray[Any]:
    if name not in survey.catalogue:
        return np.full(len(survey), "", dtype=str) if name in TEXTS else np.full(len(survey), np.nan)
    return survey.catalogue[name].astype(str if name in TEXTS else float)
