"""Ranking the same survey again with other marks, without doing again what the marks do not touch."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarespec.errors import UsageError
from rarespec.rankers.ranker import Preparation, best_first
from rarespec.searching.candidates import CandidateTables
from rarespec.searching.fitting import prepare
from rarespec.searching.lessons import Lessons
from rarespec.searching.listing import Listing, list_rows
from rarespec.searching.ranking import Ranking, build_ranking
from rarespec.searching.search import PreparedSearch
from rarespec.searching.yields.after_looks import yield_after_looks
from rarespec.searching.yields.yield_curve import YieldCurve
from rarespec.survey import Survey

Ids = Collection[str]


class NothingLeftError(UsageError):
    """Every spectrum that could be listed is known or refused."""


class Relearning:
    """A search whose examples change.

    Features, graph, prepared ranker, selection, catalogue and flags are kept from one ranking to the next.

    Parameters
    ----------
    start : PreparedSearch
        The search with the examples given at the start.
    again_and_again : bool
        Whether to keep whole columns of the catalogue in memory, which pays for many rankings.
    preparation : Preparation, optional
        The ranker, prepared on these rows before.
    """

    def __init__(
        self, start: PreparedSearch, again_and_again: bool = True, preparation: Preparation | None = None
    ) -> None:
        self.start = start
        self._preparation = preparation or prepare(start.ranker, start.rows, start.device)
        self._listed_first = start.rows.may_be_listed(start.chosen.mask)
        self._tables = CandidateTables(self.survey, whole_columns=again_and_again)
        self._row_of: dict[str, int] = {}
        self._hidden: NDArray[np.int64] | None = None

    @property
    def survey(self) -> Survey:
        return self.start.rows.survey

    def ranking(self, members: Ids = (), refused: Ids = (), unusable: Ids = (), left_out: Ids = ()) -> Ranking:
        """Rank with further known members and non-members.

        These lists go before what was given at the start: a known example that is refused here is known no longer.
        `problems` says what cannot be used, and what differs from the start. Flags are those of spectra that have been
        examined before; `examine` adds the others.

        Parameters
        ----------
        members : sequence of str
            Ids labelled yes.
        refused : sequence of str
            Ids labelled no.
        unusable : sequence of str
            Ids labelled as bad data: not listed, and nothing is learned from them.
        left_out : sequence of str
            Ids that are not listed, and otherwise as they were.

        Returns
        -------
        Ranking
            The new ranking.

        Raises
        ------
        NothingLeftError
            If every spectrum in the list has a label.
        UsageError
            If no known example is left.
        """
        labelled = {"a member": members, "a non-member": refused, "bad data": unusable}
        if self._hidden is None and (any(labelled.values()) or left_out):
            self.ranking()  # where examples stand before the first look
        problems = [line for said, ids in labelled.items() for line in self._problems(said, ids)]
        known, non_members = self._marks(*map(self._places, labelled.values()))
        refused_or_bad = non_members.copy()
        refused_or_bad[self._places(unusable)] = True
        refused_or_bad[self._places(left_out)] = True
        refused_or_bad &= ~known
        rows, start = self.start.rows.relabel(known, refused_or_bad), self.start
        if (any(labelled.values()) or left_out) and not rows.may_be_listed(self.start.chosen.mask).any():
            raise NothingLeftError(
                f"{self.survey.path}: every spectrum in the list has a label; there is nothing left to rank"
            )
        fit = self._preparation.fit(known, non_members)
        listing = list_rows(rows, fit, self.start.chosen)
        return build_ranking(
            listing,
            self._curve(listing),
            self._tables,
            start.request,
            start.problems + problems,
            start.examples_lost or bool(problems),
            {"labelled_no": sorted(refused), "labelled_bad": sorted(unusable)},
        )

    def examine(self, ranking: Ranking, others: Ids = ()) -> None:
        """Find the flags of all candidates, and of others; only spectra that were not read before are read."""
        in_survey = [id for id, row in zip(others, self.rows_of(others), strict=True) if row >= 0]
        self._tables.examine(ranking.table, in_survey, ranking.template)

    def describe(self, ranking: Ranking, ids: Ids) -> dict[str, dict[str, Any]]:
        """Describe spectra of the survey as the table of candidates would, by id, but without rank and score."""
        rows = self.rows_of(ids)
        facts = self._tables.describe(ranking.rows, rows)
        return dict(zip(ids, facts, strict=True))

    def ranks(self, ranking: Ranking, like: Ranking | None = None) -> NDArray[np.int64]:
        """Rank the rows of the survey, (n,), 0 where one has no rank; only rows that `like` lists too, if given."""
        listed = self._find_listed(ranking) & (True if like is None else self._find_listed(like))
        rows = np.flatnonzero(listed)
        ranks = np.zeros(len(self.survey), np.int64)
        ranks[self.start.rows.survey_rows[rows[best_first(ranking.scores[rows])]]] = np.arange(1, len(rows) + 1)
        return ranks

    def rows_of(self, ids: Ids) -> NDArray[np.intp]:
        """Find rows as `Survey.rows_of` does, which searches the whole survey; here each id is looked up once."""
        new = [id for id in ids if id not in self._row_of]
        if new:
            self._row_of |= zip(new, self.survey.rows_of(new).tolist(), strict=True)
        return np.array([self._row_of[id] for id in ids], dtype=np.intp)

    def _find_listed(self, ranking: Ranking) -> NDArray[np.bool_]:
        return ranking.rows.may_be_listed(self.start.chosen.mask)

    def _places(self, ids: Ids) -> NDArray[np.intp]:
        """Find the places of these ids; leave out those that the survey lacks, or has no features of."""
        places = self.start.rows.places_of(self.rows_of(ids))
        return places[places >= 0]

    def _marks(
        self, members: NDArray[np.intp], refused: NDArray[np.intp], unusable: NDArray[np.intp]
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Mark, (n,) each, which rows are known, and which are non-members to learn from."""
        known, non_members = self.start.rows.known.copy(), self.start.rows.refused.copy()
        for marks, places in ((known, members), (non_members, refused)):
            marks[np.concatenate([members, refused, unusable])] = False  # what was said at the start of these
            marks[places] = True
        if not known.any():
            raise UsageError(
                f"{self.survey.path}: all known examples were labelled as non-members; give new ones with --known"
            )
        return known, non_members

    def _problems(self, said: str, ids: Ids) -> list[str]:
        problems, start, rows = [], self.start.rows, self.rows_of(ids)
        for id, row, place in zip(ids, rows.tolist(), start.places_of(rows).tolist(), strict=True):
            if row < 0:
                problems.append(f"{id}: labelled as {said}, but the survey has no spectrum with this id")
            elif place < 0:
                problems.append(f"{id}: labelled as {said}, but has no features, so the ranking cannot learn from it")
            elif start.known[place] and said != "a member":
                problems.append(f"{id}: given as known at the start but labelled as {said}; treated as {said}")
            elif start.refused[place] and said != "a non-member":
                problems.append(f"{id}: given as a non-member at the start but labelled as {said}; treated as {said}")
        return problems

    def _curve(self, listing: Listing) -> YieldCurve:
        """Estimate the yield. Examples are hidden once, before the first look; see `yield_after_looks`."""
        if self._hidden is None:
            self._hidden = listing.hidden_places(self.start.request.seed)
        looked = self._listed_first & ~listing.listed
        n_found = int((looked & listing.rows.known).sum())
        n_known = int(self.start.rows.known.sum())
        return yield_after_looks(listing.falling_scores(), self._hidden, n_known, int(looked.sum()), n_found)


def rank_with_lessons(
    search: PreparedSearch, lessons: Lessons, preparation: Preparation | None = None, examine: bool = True
) -> Ranking:
    """Rank as a campaign does that has learned these labels, and list none of the spectra that have one.

    So the number that remain is estimated as in a campaign: members that were found by looking at the top of a list are
    no random sample of their kind.

    Parameters
    ----------
    search : PreparedSearch
        The search with the examples given.
    lessons : Lessons
        What people said.
    preparation : Preparation, optional
        The ranker, prepared on the rows of this search before.
    examine : bool
        Whether to read the spectra of the candidates for their flags.

    Returns
    -------
    Ranking
        The candidates without a label, best first.

    Raises
    ------
    UsageError
        If every spectrum has a label, or no known example is left.
    """
    told = [*lessons.said, *lessons.doubts(search.rows.known_ids)]
    relearning = Relearning(replace(search, problems=[*told, *search.problems]), False, preparation)
    ranking = relearning.ranking(lessons.members, lessons.refused, lessons.bad, lessons.left_out)
    if examine:
        relearning.examine(ranking)
    return ranking
