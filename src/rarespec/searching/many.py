"""Many kinds in one survey: features, graphs, catalogue and candidates are read once for all of them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rarespec.engines.here import compute_ahead
from rarespec.errors import UsageError
from rarespec.progress import Progress
from rarespec.rankers.ranker import Fit, Preparation
from rarespec.searching.candidates import CandidateTables
from rarespec.searching.export import check_table_path
from rarespec.searching.fitting import prepare
from rarespec.searching.ranking import Ranking
from rarespec.searching.relearning import rank_with_lessons
from rarespec.searching.request import SearchRequest
from rarespec.searching.search import PreparedSearch, find_given, put_together, rank_fitted, ready_survey
from rarespec.storage.processes import available_cores, give_back_freed
from rarespec.survey import Survey

if TYPE_CHECKING:
    from astropy.table import Table


class Rankings(Mapping[str, Ranking]):
    """The rankings of several kinds, by the name of the kind, and why some kinds could not be searched.

    `rarespec.search_many` makes it. It is a mapping: `rankings["carbon"]` is what `rarespec.search` gives for this kind
    alone.

    Parameters
    ----------
    rankings : mapping of str to Ranking
        Kind -> its ranking.
    unsearched : mapping of str to str
        Kind -> why it could not be searched.
    notes : tuple of str
        What else to tell the user, a line each.

    Examples
    --------
    >>> from rarespec.searching import Rankings
    >>> Rankings({}, {"carbon": "no known example can be used"})
    <Rankings of 0 kinds; 1 could not be searched: carbon>
    """

    def __init__(
        self, rankings: Mapping[str, Ranking], unsearched: Mapping[str, str] | None = None, notes: tuple[str, ...] = ()
    ) -> None:
        self._rankings, self.unsearched, self.notes = dict(rankings), dict(unsearched or {}), notes

    def __getitem__(self, kind: str) -> Ranking:
        if kind in self.unsearched:
            raise KeyError(f"{kind} could not be searched: {self.unsearched[kind]}")
        return self._rankings[kind]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rankings)

    def __len__(self) -> int:
        return len(self._rankings)

    def __repr__(self) -> str:
        lost = (
            f"; {len(self.unsearched)} could not be searched: {', '.join(self.unsearched)}" if self.unsearched else ""
        )
        return f"<Rankings of {len(self)} kinds{lost}>"

    def _repr_html_(self) -> str:
        return str(self.overview._repr_html_())

    @property
    def overview(self) -> Table:
        """One row for each kind that was searched.

        `known` examples, the id of the `first` candidate and its `chance`, how many candidates to `look_at` (-1 where
        there is no estimate) and how many true objects are `expected` among these (NaN), and whether `examples_lost`.
        """
        from astropy.table import Table

        names = ("kind", "known", "first", "chance", "look_at", "expected", "examples_lost")
        rows = [(kind, *_in_short(ranking)) for kind, ranking in self.items()]
        types = (str, int, str, float, int, float, bool)
        return Table(rows=rows or None, names=names, dtype=types)

    def write(self, folder: str | os.PathLike[str], format: str = "ecsv") -> dict[str, Path]:
        """Write the table of every kind to a file of its own, FOLDER/KIND.FORMAT.

        Parameters
        ----------
        folder : path or str
            The folder; it is made if it does not exist.
        format : str
            "ecsv", "csv", "fits", "vot" or "parquet".

        Returns
        -------
        dict of str to Path
            Kind -> its file.

        Raises
        ------
        UsageError
            If there is no such format, or a kind cannot be the name of a file.
        """
        paths = paths_of_kinds(folder, list(self), format)
        Path(folder).mkdir(parents=True, exist_ok=True)
        return {kind: ranking.write(paths[kind]) for kind, ranking in self.items()}


def _in_short(ranking: Ranking) -> tuple[Any, ...]:
    curve, first = ranking.yield_curve, ranking.table[0]
    stop = curve.stopping_rank
    expected = np.nan if stop is None else float(curve.expected[stop - 1]) if stop else 0.0
    n_known = len(ranking.rows.known_ids)
    look_at = -1 if stop is None else stop
    return n_known, first["id"], first["chance"], look_at, expected, ranking.examples_lost


def paths_of_kinds(folder: str | os.PathLike[str], kinds: list[str], format: str) -> dict[str, Path]:
    """Name the file of each kind; raise a UsageError where one cannot be written. Nothing is made."""
    place = Path(folder)
    if place.exists() and not place.is_dir():
        raise UsageError(f"{place}: a file has this name, where a folder is needed; choose another name")
    check_table_path(Path(f"KIND.{format}"))
    same: dict[str, str] = {}
    for kind in kinds:
        if Path(kind).name != kind or kind.startswith("."):
            raise UsageError(f"the kind {kind!r} cannot be the name of a file")
        other = same.setdefault(kind.casefold(), kind)
        if other != kind:
            raise UsageError(f"the kinds {other} and {kind} would be written to one file on some systems; rename one")
    return {kind: place / f"{kind}.{format}" for kind in kinds}


def rank_many(
    survey: Survey | str | os.PathLike[str],
    requests: Mapping[str, SearchRequest],
    progress: Progress | None = None,
    refused: Mapping[str, str] | None = None,
    notes: tuple[str, ...] = (),
) -> Rankings:
    """Rank a survey once for each request; each ranking is what `rank_survey` gives.

    Parameters
    ----------
    survey : Survey or path
        The survey, or its directory.
    requests : mapping of str to SearchRequest
        Kind -> what is asked for. They differ in their examples and lessons alone, and none names a model.
    progress : callable, optional
        Called with the blocks of features done, and in all; then with the kinds done.
    refused : mapping of str to str, optional
        Kinds for which no request could be made, and why.
    notes : tuple of str
        What else the answer is to tell.

    Returns
    -------
    Rankings
        By kind, and why some could not be searched.

    Raises
    ------
    UsageError
        If no kind can be searched.
    """
    opened = survey if isinstance(survey, Survey) else Survey.open(survey)
    unsearched = dict(refused or {})
    given = {}
    for kind, request in requests.items():
        with _keep_reason(kind, unsearched):
            given[kind] = find_given(opened, request)
    _require_some(given, unsearched)
    ready = ready_survey(opened, requests[next(iter(given))], progress)
    searches = {}
    for kind, found in given.items():
        with _keep_reason(kind, unsearched):
            searches[kind] = put_together(requests[kind], found, ready)
    _require_some(searches, unsearched)
    rankings = _rank_all(searches, unsearched, progress)
    _require_some(rankings, unsearched)
    return Rankings({kind: rankings[kind] for kind in requests if kind in rankings}, unsearched, notes)


@contextmanager
def _keep_reason(kind: str, unsearched: dict[str, str]) -> Iterator[None]:
    """One kind that cannot be searched does not stop the others."""
    try:
        yield
    except UsageError as error:
        unsearched[kind] = str(error)


def _require_some(found: Mapping[str, Any], unsearched: Mapping[str, str]) -> None:
    if not found:
        reasons = "; ".join(f"{kind}: {why}" for kind, why in unsearched.items())
        raise UsageError(f"none of the {len(unsearched)} kinds can be searched: {reasons}")


def _rank_all(
    searches: Mapping[str, PreparedSearch], unsearched: dict[str, str], progress: Progress | None
) -> dict[str, Ranking]:
    tables = CandidateTables(next(iter(searches.values())).rows.survey, whole_columns=True)
    rankings: dict[str, Ranking] = {}
    for kind, ranking in _rank_each(searches, tables, unsearched):
        rankings[kind] = ranking
        if progress is not None:
            progress(len(rankings), len(searches), kind)
    found = list(rankings.values())
    tables.examine_lists([ranking.table for ranking in found], [ranking.template for ranking in found])
    return rankings


def _rank_each(
    searches: Mapping[str, PreparedSearch], tables: CandidateTables, unsearched: dict[str, str]
) -> Iterator[tuple[str, Ranking]]:
    """Rank each kind, without flags; those whose examples are all in the survey share the prepared ranker."""
    inside = {kind: search for kind, search in searches.items() if not search.rows.n_from_elsewhere}
    if inside:
        first = next(iter(inside.values()))
        preparation = prepare(first.ranker, first.rows, first.device)
        give_back_freed()
        together = {kind: search for kind, search in inside.items() if search.request.lessons is None}
        yield from zip(together, _rank_together(list(together.values()), preparation, tables), strict=True)
    for kind, search in searches.items():
        if kind not in inside or search.request.lessons is not None:
            with _keep_reason(kind, unsearched):
                yield kind, _rank_alone(search, preparation.for_another() if kind in inside else None, tables)


def _rank_together(
    searches: list[PreparedSearch], preparation: Preparation, tables: CandidateTables
) -> Iterator[Ranking]:
    def rank(one: tuple[PreparedSearch, Fit]) -> Ranking:
        ranking = rank_fitted(*one, tables)
        _ = ranking.template  # found here, where threads work side by side
        return ranking

    n_threads = available_cores()
    fits = preparation.fit_each([(search.rows.known, search.rows.refused) for search in searches], n_threads)
    yield from compute_ahead(rank, zip(searches, fits, strict=True), n_threads)


def _rank_alone(search: PreparedSearch, preparation: Preparation | None, tables: CandidateTables) -> Ranking:
    """Rank one kind that has labels, or examples from elsewhere, which change the rows themselves."""
    if search.request.lessons is not None:
        return rank_with_lessons(search, search.request.lessons, preparation, examine=False)
    fit = prepare(search.ranker, search.rows, search.device).fit(search.rows.known, search.rows.refused)
    return rank_fitted(search, fit, tables)
