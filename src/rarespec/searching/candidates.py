"""The table of candidates, of a search, a campaign or a HATS catalogue: one maker, the same columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rarespec.rankers.linear_map import LinearMap, whitening
from rarespec.rankers.rows import BLOCK_ROWS, Rows, require_finite
from rarespec.searching.explain.template import NoTemplate, Template
from rarespec.searching.flags.flags import flags_of, flags_of_lists
from rarespec.searching.rows import SearchRows
from rarespec.searching.yields.yield_curve import YieldCurve
from rarespec.survey import Survey
from rarespec.survey.store.catalogue import as_column

if TYPE_CHECKING:
    from astropy.table import Table


# ---- The columns of a ranking: unit, UCD (IVOA, what kind of quantity it is) and description of each.


@dataclass(frozen=True)
class Meaning:
    """UCD, description and unit of a column."""

    ucd: str
    description: str
    unit: str = ""


COLUMNS = {
    "rank": Meaning("stat.rank", "Rank in the list; 1 is the best"),
    "id": Meaning("meta.id;meta.main", "Identifier of the spectrum in its survey"),
    "ra": Meaning("pos.eq.ra;meta.main", "Right ascension in the survey's catalogue", "deg"),
    "dec": Meaning("pos.eq.dec;meta.main", "Declination in the survey's catalogue", "deg"),
    "class": Meaning("src.class", "Class given by the survey"),
    "subclass": Meaning("src.class", "Subclass given by the survey"),
    "z": Meaning("src.redshift", "Redshift given by the survey"),
    "snr": Meaning("stat.snr", "Signal-to-noise ratio of the spectrum"),
    "score": Meaning("stat.value", "Score of the ranker; only the order matters"),
    "chance": Meaning("stat.probability", "Chance that this candidate is a true object"),
    "nearest_known": Meaning("meta.id.assoc", "Identifier of the most similar known example"),
    "flags": Meaning("meta.code.qual", "Signs of a likely artefact, separated by commas"),
}


def describe_columns(table: Table) -> Table:
    """Give every column of a ranking, in a copy, its unit, UCD and description; what a column has already stays.

    The UCD of a column is its ``meta["ucd"]``, where astropy keeps it as well. Other columns are as before.
    """
    from astropy.table import Table

    copy = Table(table)
    for name in copy.colnames:
        if name in COLUMNS:
            _describe(copy, name, COLUMNS[name])
    return copy


def _describe(table: Table, name: str, meaning: Meaning) -> None:
    info = table[name].info
    if info.unit is None and meaning.unit:
        info.unit = meaning.unit
    info.description = info.description or meaning.description
    info.meta = {"ucd": meaning.ucd} | dict(info.meta or {})


# ---- The known example that each candidate is most like.


class Nearest(NamedTuple):
    """For each candidate the number of the nearest known example, (k,) intp, and the cosine to it, (k,) float64."""

    known: NDArray[np.intp]
    cosine: NDArray[np.float64]


def nearest_known(candidates: Rows, known: Rows, unlabelled: Rows) -> Nearest:
    """Find the known example in whose direction each candidate differs from the survey: the largest cosine after
    whitening.

    As `MatchedFilter(method="cosine")`, with every known example by itself instead of their mean. Of equally near ones
    the first is taken.

    Parameters
    ----------
    candidates : (k, d) array
        Features of the candidates.
    known : (m, d) array
        Features of the known examples; m is at least 1.
    unlabelled : (n, d) array
        Features of the survey, from which mean and covariance are learned.

    Returns
    -------
    Nearest
        For each candidate the number of the nearest known example, and the cosine to it.
    """
    if not len(known):
        raise ValueError("there are no known examples")
    for rows in (candidates, known, unlabelled):
        require_finite(rows)
    return nearest_after(whitening(unlabelled), candidates, known)


def nearest_after(
    to_white: LinearMap, candidates: Rows, known: Rows, is_same: NDArray[np.bool_] | None = None
) -> Nearest:
    """Find the nearest known example as `nearest_known` does, with a whitening that exists already.

    Parameters
    ----------
    to_white : LinearMap
        The whitening.
    candidates : (k, d) array
        Features of the candidates.
    known : (m, d) array
        Features of the known examples.
    is_same : (k, m) bool array, optional
        Where a candidate is a known example itself, which is then not the nearest. The cosine is -inf when there is no
        other.

    Returns
    -------
    Nearest
        For each candidate the number of the nearest known example, and the cosine to it.
    """
    directions = _directions(to_white, known)
    nearest = Nearest(np.empty(len(candidates), np.intp), np.empty(len(candidates)))
    for start in range(0, len(candidates), BLOCK_ROWS):
        block = slice(start, start + BLOCK_ROWS)
        cosines = _directions(to_white, candidates[block]) @ directions.T
        if is_same is not None:
            cosines[is_same[block]] = -np.inf
        nearest.known[block] = cosines.argmax(axis=1)
        nearest.cosine[block] = cosines.max(axis=1)
    return nearest


def _directions(to_white: LinearMap, rows: Rows) -> NDArray[np.float64]:
    """Whitened rows of length 1; a row at the very centre of the survey has no direction and stays 0."""
    white = to_white.apply(rows)
    lengths = np.linalg.norm(white, axis=1, keepdims=True)
    return white / np.where(lengths > 0, lengths, 1.0)


FROM_CATALOGUE = ("ra", "dec", "class", "subclass", "z", "snr")
TEXTS = ("class", "subclass")
UNEXAMINED = "unexamined"
"""The flag of a spectrum that has not been read yet: it may have any flag, or none."""

Numbers = NDArray[np.intp]
Columns = Mapping[str, Any]


def make_table(ids: Any, catalogue: Columns, scores: Any, judged: Columns | None = None) -> Table:
    """Make the table of candidates.

    Parameters
    ----------
    ids : sequence of str
        Ids of the candidates, best first.
    catalogue : mapping
        Column -> values. Those of `FROM_CATALOGUE` are always in the table; others come last.
    scores : sequence of float
        The score of each candidate.
    judged : mapping, optional
        What a search says of each candidate; these columns follow the score.

    Returns
    -------
    astropy.table.Table
        With units, UCDs and descriptions.
    """
    from astropy.table import Table

    n = len(ids)
    columns: dict[str, Any] = {"rank": np.arange(1, n + 1), "id": np.array(ids, dtype=str)}
    columns |= {name: common_column(name, catalogue.get(name, [None] * n)) for name in FROM_CATALOGUE}
    columns |= {"score": np.array(scores, np.float64)} | dict(judged or {})
    columns |= {name: _own(values) for name, values in catalogue.items() if name not in columns}
    return describe_columns(Table(columns))


def common_column(name: str, values: Any) -> NDArray[Any]:
    """Bring a common column to an array; unknown text is empty, an unknown number NaN."""
    if isinstance(values, np.ndarray):
        return values
    if name in TEXTS:
        return np.array(["" if value is None else str(value) for value in values], dtype=str)
    return np.array([np.nan if value is None else float(value) for value in values])


def _narrow(values: NDArray[Any]) -> NDArray[Any]:
    """Text in no more width than these values need, whatever the whole column needs."""
    return np.array(values.tolist(), dtype=str) if values.dtype.kind == "U" else values


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


def _replace_flags(table: Table, flags: NDArray[np.str_]) -> None:
    # Replaced, not assigned: text in a column has a fixed width, which would cut longer flags off.
    column = table["flags"].copy()
    new = type(column)(flags, name="flags", description=column.description, meta=column.meta)
    table.replace_column("flags", new)


class CandidateTables:
    """Makes the tables of candidates of one survey; looks up each spectrum only once.

    Flags take time, as spectra have to be read: `examine` adds them to a table.

    Parameters
    ----------
    survey : Survey
        The survey.
    whole_columns : bool
        Read the columns of the catalogue as a whole and keep them, for a survey that is ranked again and again.
        Otherwise only the rows of the candidates are read, and memory does not grow with the survey.
    """

    def __init__(self, survey: Survey, whole_columns: bool = False) -> None:
        # columns that are joined in one file are as quick to read for a few rows
        self._survey, self._whole_columns = survey, whole_columns and survey.catalogue.joined is None
        self._columns: dict[str, NDArray[Any]] = {}
        self._flags: dict[str, str] = {}
        self._examining = Lock()

    def make(self, rows: SearchRows, best: Numbers, scores: NDArray[np.float64], curve: YieldCurve) -> Table:
        """Make the table of these candidates; flags are those of spectra that were examined before.

        Parameters
        ----------
        rows : SearchRows
            All rows of the search.
        best : (k,) intp array
            Places of the candidates, best first.
        scores : (k,) float64 array
            Their scores.
        curve : YieldCurve
            Gives their chances.

        Returns
        -------
        astropy.table.Table
            The table.
        """
        listed = self._catalogue_at(rows.survey_rows[best])
        ids = np.array(listed.pop("id"), dtype=str)
        judged = {
            "chance": curve.chance[: len(best)],
            "nearest_known": self._nearest(rows, best),
            "flags": self._flags_now(ids),
        }
        return make_table(ids, listed, scores, judged)

    def describe(self, rows: SearchRows, survey_rows: Numbers) -> list[dict[str, Any]]:
        """Describe spectra of the survey as the table would, candidates or not, but without rank and score."""
        places = rows.places_of(survey_rows)
        nearest = np.full(len(places), "", dtype=object)
        nearest[places >= 0] = self._nearest(rows, places[places >= 0])
        columns = self._catalogue_at(survey_rows)
        columns["id"] = np.array(columns["id"], dtype=str)
        columns |= {"nearest_known": nearest, "flags": self._flags_now(columns["id"])}
        values = zip(*(np.asarray(column).tolist() for column in columns.values()), strict=True)
        return [dict(zip(columns, row, strict=True)) for row in values]

    def examine(self, table: Table, others: Sequence[str] = (), template: Template | NoTemplate | None = None) -> None:
        """Read the spectra of a table that have not been read before, and put their flags into the table.

        Parameters
        ----------
        table : astropy.table.Table
            Made by `make`; its column `flags` is replaced.
        others : sequence of str
            Ids of more spectra to read, whose flags are kept for later tables.
        template : Template or NoTemplate, optional
            Template of the ranking, to flag spectra that lack pixels where it looks.
        """
        with self._examining:
            new = [id for id in dict.fromkeys((*table["id"].tolist(), *others)) if id not in self._flags]
            if new:
                found = flags_of(self._survey, self._survey.rows_of(new), template)
                self._flags |= {id: ",".join(flags) for id, flags in zip(new, found, strict=True)}
        _replace_flags(table, self._flags_now(table["id"]))

    def examine_lists(self, tables: Sequence[Table], templates: Sequence[Template | NoTemplate]) -> None:
        """Read the spectra of several tables, each spectrum once, and put their flags into the tables.

        Unlike `examine`, which keeps the flags that a spectrum got first, each table is seen with its own template.

        Parameters
        ----------
        tables : sequence of astropy.table.Table
            Made by `make`; their columns `flags` are replaced.
        templates : sequence of Template or NoTemplate
            One for each table.
        """
        rows = self._survey.rows_of([id for table in tables for id in table["id"].tolist()])
        lists = np.split(rows, np.cumsum([len(table) for table in tables])[:-1])
        for table, found in zip(tables, flags_of_lists(self._survey, lists, templates), strict=True):
            _replace_flags(table, np.array([",".join(flags) for flags in found], dtype=str))

    def _flags_now(self, ids: NDArray[np.str_]) -> NDArray[np.str_]:
        return np.array([self._flags.get(id, UNEXAMINED) for id in ids.tolist()], dtype=str)

    def _catalogue_at(self, survey_rows: Numbers) -> dict[str, Any]:
        """Columns `id` and FROM_CATALOGUE of these rows."""
        if self._whole_columns:
            columns = {name: _narrow(self._whole(name)[survey_rows]) for name in FROM_CATALOGUE}
            return {"id": self._survey.ids[survey_rows]} | columns
        there = [name for name in FROM_CATALOGUE if name in self._survey.catalogue]
        found = self._survey.catalogue_at(survey_rows, ["id", *there])
        nothing = [None] * len(survey_rows)
        return {"id": found["id"]} | {name: common_column(name, found.get(name, nothing)) for name in FROM_CATALOGUE}

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
