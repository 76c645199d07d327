"""The table of candidates, of a search, a campaign or a HATS catalogue: one maker, the same columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rarespec.searching.columns import describe_columns
from rarespec.searching.flags import flags_of
from rarespec.searching.nearest_known import nearest_after
from rarespec.searching.rows import SearchRows
from rarespec.searching.yield_curve import YieldCurve
from rarespec.survey import Survey
from rarespec.survey.catalogue import as_column

if TYPE_CHECKING:
    from astropy.table import Table

FROM_CATALOGUE = ("ra", "dec", "class", "subclass", "z", "snr")
TEXTS = ("class", "subclass")
UNEXAMINED = "unexamined"
"""Stands among the flags of a spectrum that nobody has read yet: it may have any, or none."""

Numbers = NDArray[np.intp]
Columns = Mapping[str, Any]


def make_table(ids: Any, catalogue: Columns, scores: Any, judged: Columns | None = None) -> Table:
    """Of these candidates, best first.

    catalogue : values by the name of the column; those of FROM_CATALOGUE are always there, others come last
    judged : what a search says of each candidate, after its score
    """
    from astropy.table import Table

    n = len(ids)
    columns: dict[str, Any] = {"rank": np.arange(1, n + 1), "id": np.array(ids, dtype=str)}
    columns |= {name: _common(name, catalogue.get(name, [None] * n)) for name in FROM_CATALOGUE}
    columns |= {"score": np.array(scores, np.float64)} | dict(judged or {})
    columns |= {name: _own(values) for name, values in catalogue.items() if name not in columns}
    return describe_columns(Table(columns))


def _common(name: str, values: Any) -> NDArray[Any]:
    """What is not known is empty in text, and NaN in numbers."""
    if isinstance(values, np.ndarray):
        return values
    if name in TEXTS:
        return np.array(["" if value is None else str(value) for value in values], dtype=str)
    return np.array([np.nan if value is None else float(value) for value in values])


def _own(values: list[Any]) -> Any:
    """A column of the catalogue's own. Missing text is empty, a missing real number NaN; else it is masked."""
    import pyarrow as pa
    from astropy.table import MaskedColumn

    column = as_column(values)
    if pa.types.is_string(column.type):
        return np.array(column.fill_null("").to_pylist(), str)
    if pa.types.is_null(column.type):
        return np.full(len(column), np.nan)
    if pa.types.is_floating(column.type) or not column.null_count:
        return column.to_numpy(zero_copy_only=False)
    missing = column.is_null().to_numpy(zero_copy_only=False)
    return MaskedColumn(column.fill_null(0).to_numpy(zero_copy_only=False), mask=missing)


class CandidateTables:
    """Makes the tables of one survey; what is known of a spectrum is found once.

    Flags take time, as spectra have to be read: `examine` adds them to a table.

    whole_columns : read the columns of the catalogue as a whole and keep them, for a survey that is ranked again and
        again; otherwise only the rows of the candidates are read, and memory does not grow with the survey
    """

    def __init__(self, survey: Survey, whole_columns: bool = False) -> None:
        self._survey, self._whole_columns = survey, whole_columns
        self._columns: dict[str, NDArray[Any]] = {}
        self._flags: dict[str, str] = {}
        self._examining = Lock()

    def make(self, rows: SearchRows, best: Numbers, scores: NDArray[np.float64], curve: YieldCurve) -> Table:
        """Of these places, best first; `scores` are theirs. Flags are those of spectra that were examined before."""
        listed = self._catalogue_at(rows.survey_rows[best])
        ids = np.array(listed.pop("id"), dtype=str)
        judged = {
            "chance": curve.chance[: len(best)],
            "nearest_known": self._nearest(rows, best),
            "flags": self._flags_now(ids),
        }
        return make_table(ids, listed, scores, judged)

    def describe(self, rows: SearchRows, survey_rows: Numbers) -> list[dict[str, Any]]:
        """What the table would say, but for rank and score, of spectra of the survey that may be no candidates."""
        places = rows.places_of(survey_rows)
        nearest = np.full(len(places), "", dtype=object)
        nearest[places >= 0] = self._nearest(rows, places[places >= 0])
        columns = self._catalogue_at(survey_rows)
        columns["id"] = np.array(columns["id"], dtype=str)
        columns |= {"nearest_known": nearest, "flags": self._flags_now(columns["id"])}
        values = zip(*(np.asarray(column).tolist() for column in columns.values()), strict=True)
        return [dict(zip(columns, row, strict=True)) for row in values]

    def examine(self, table: Table, others: Sequence[str] = ()) -> None:
        """Read the spectra of this table, and others, that have not been read before; put the flags into the table."""
        with self._examining:
            new = [id for id in dict.fromkeys((*table["id"].tolist(), *others)) if id not in self._flags]
            if new:
                found = flags_of(self._survey, self._survey.rows_of(new))
                self._flags |= {id: ",".join(flags) for id, flags in zip(new, found, strict=True)}
        column = table["flags"].copy()
        new_column = type(column)(
            self._flags_now(table["id"]), name="flags", description=column.description, meta=column.meta
        )
        table.replace_column("flags", new_column)

    def _flags_now(self, ids: NDArray[np.str_]) -> NDArray[np.str_]:
        return np.array([self._flags.get(id, UNEXAMINED) for id in ids.tolist()], dtype=str)

    def _catalogue_at(self, survey_rows: Numbers) -> dict[str, Any]:
        """Columns `id` and FROM_CATALOGUE of these rows."""
        if self._whole_columns:
            columns = {name: self._whole(name)[survey_rows] for name in FROM_CATALOGUE}
            return {"id": self._survey.ids[survey_rows]} | columns
        there = [name for name in FROM_CATALOGUE if name in self._survey.catalogue]
        found = self._survey.catalogue_at(survey_rows, ["id", *there])
        nothing = [None] * len(survey_rows)
        return {"id": found["id"]} | {name: _common(name, found.get(name, nothing)) for name in FROM_CATALOGUE}

    def _whole(self, name: str) -> NDArray[Any]:
        """A column of the catalogue, (n,) in the survey's order."""
        if name not in self._columns:
            kind = str if name in TEXTS else float
            nothing = np.full(len(self._survey), "" if name in TEXTS else np.nan)
            there = name in self._survey.catalogue
            self._columns[name] = self._survey.catalogue[name].astype(kind) if there else nothing
        return self._columns[name]

    def _nearest(self, rows: SearchRows, places: Numbers) -> NDArray[np.str_]:
        """Id of the known example that each is most like, (k,); none is nearest to itself."""
        known = np.flatnonzero(rows.known)
        found = nearest_after(rows.matrix.to_white, rows.X[places], rows.X[known], places[:, None] == known)
        ids = np.array(rows.known_ids, dtype=str)[found.known]
        return np.where(np.isfinite(found.cosine), ids, "")
