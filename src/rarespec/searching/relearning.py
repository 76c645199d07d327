"""Ranking the same survey again with other marks, without doing again what the marks do not touch."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarespec.rankers._ranker import Ranker, Scores, best_first
from rarespec.searching.fitting import hidden_places
from rarespec.searching.kept_candidates import KeptCandidates
from rarespec.searching.material import Material
from rarespec.searching.provenance import provenance_of
from rarespec.searching.ranking import Ranking
from rarespec.searching.refitting import prepared_on, refitted
from rarespec.searching.search import Asked, falling_scores, listed_rows, ranked
from rarespec.searching.yield_after_looks import yield_after_looks
from rarespec.searching.yield_curve import YieldCurve
from rarespec.survey import Survey
from rarespec.survey.manifest import WrongUseError

Ids = Collection[str]


class NothingLeftError(WrongUseError):
    """Every spectrum that could be listed is known or refused."""


class Relearning:
    """A search whose examples change. Features, graph, prepared ranker, selection, catalogue and flags are kept."""

    def __init__(self, asked: Asked) -> None:
        self._asked = asked
        self._prepared = prepared_on(asked.ranker, asked.material.X)
        self._chosen = asked.selection.chosen(self.survey)
        self._listed_first = listed_rows(asked.material, self._chosen.mask)
        self._candidates = KeptCandidates(self.survey, asked.material.X)
        self._provenance: dict[str, Any] = {}
        self._row_of: dict[str, int] = {}
        self._hidden: NDArray[np.int64] | None = None
        self._place = np.full(len(self.survey), -1)
        self._place[asked.material.rows] = np.arange(len(asked.material.rows))

    @property
    def survey(self) -> Survey:
        return self._asked.material.features.survey

    @property
    def material(self) -> Material:
        """As it was given at the start."""
        return self._asked.material

    def ranking(self, members: Ids = (), refused: Ids = (), unusable: Ids = ()) -> Ranking:
        """With further known members and non-members; nothing is learned from `unusable` ones, which are not listed.

        These lists go before what was given at the start: a known example that is refused here is known no longer.
        What cannot be used, and what differs from the start, is told in `problems`. Flags are those of spectra that
        have been examined before; `examine` adds the others.
        """
        labelled = {"a member": members, "a non-member": refused, "bad data": unusable}
        if self._hidden is None and any(labelled.values()):
            self.ranking()  # where examples stand before the first look
        problems = [line for said, ids in labelled.items() for line in self._problems(said, ids)]
        known, non_members = self._marks(*map(self._places, labelled.values()))
        material, asked = self._material_with(known, non_members, unusable), self._asked
        if any(labelled.values()) and not listed_rows(material, self._chosen.mask).any():
            raise NothingLeftError(
                f"{self.survey.path}: every spectrum in the list has a label; there is nothing left to rank"
            )
        return ranked(
            material,
            refitted(self._prepared, self.material.X, known, non_members, by_looking=bool(members)),
            self._chosen,
            asked.top,
            asked.seed,
            asked.settings | {"labelled_no": sorted(refused), "labelled_bad": sorted(unusable)},
            asked.problems + problems,
            curve_of=self._curve,
            table_of=self._candidates.table,
            provenance=self._provenance_of,
        )

    def examine(self, ranking: Ranking, others: Ids = ()) -> None:
        """Find the flags of all candidates, and of others; only spectra that were not read before are read."""
        in_survey = [id for id, row in zip(others, self.rows_of(others), strict=True) if row >= 0]
        self._candidates.examine(ranking.table, in_survey)

    def described(self, ranking: Ranking, ids: Ids) -> dict[str, dict[str, Any]]:
        """Id -> what the table of candidates would say of it, but for rank and score; all ids are of the survey."""
        rows = self.rows_of(ids)
        facts = self._candidates.facts(ranking.material, rows, self._place[rows])
        return dict(zip(ids, facts, strict=True))

    def ranks(self, ranking: Ranking, like: Ranking | None = None) -> NDArray[np.int64]:
        """Rank of each row of the survey, (n,), 0 where it has none; among the rows that `like` lists too, if given."""
        listed = self._listed(ranking) & (True if like is None else self._listed(like))
        rows = np.flatnonzero(listed)
        ranks = np.zeros(len(self.survey), np.int64)
        ranks[self.material.rows[rows[best_first(ranking.scores[rows])]]] = np.arange(1, len(rows) + 1)
        return ranks

    def rows_of(self, ids: Ids) -> NDArray[np.intp]:
        """As `Survey.rows_of`, which looks through the whole survey; here each id is looked up once."""
        new = [id for id in ids if id not in self._row_of]
        if new:
            self._row_of |= zip(new, self.survey.rows_of(new).tolist(), strict=True)
        return np.array([self._row_of[id] for id in ids], dtype=np.intp)

    def _listed(self, ranking: Ranking) -> NDArray[np.bool_]:
        return listed_rows(ranking.material, self._chosen.mask)

    def _places(self, ids: Ids) -> NDArray[np.intp]:
        """Rows of the material; ids that the survey does not have, or has no features of, are left out."""
        rows = self.rows_of(ids)
        places = self._place[rows[rows >= 0]]
        return places[places >= 0]

    def _marks(
        self, members: NDArray[np.intp], refused: NDArray[np.intp], unusable: NDArray[np.intp]
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """(n,) each: which rows of the material are known, and which are non-members to learn from."""
        known, non_members = self.material.known.copy(), self.material.refused.copy()
        for marks, places in ((known, members), (non_members, refused)):
            marks[np.concatenate([members, refused, unusable])] = False  # what was said at the start of these
            marks[places] = True
        if not known.any():
            raise WrongUseError(
                f"{self.survey.path}: all known examples were labelled as non-members; give new ones with --known"
            )
        return known, non_members

    def _material_with(self, known: NDArray[np.bool_], non_members: NDArray[np.bool_], unusable: Ids) -> Material:
        """As at the start but for the marks; neither non-members nor unusable rows are listed."""
        start, refused = self.material, non_members.copy()
        refused[self._places(unusable)] = True
        in_survey = self.survey.ids[start.rows[known[: len(start.rows)]]].tolist()
        elsewhere = start.ids[len(start.ids) - start.n_from_elsewhere :]
        return replace(start, known=known, refused=refused, ids=in_survey + elsewhere)

    def _problems(self, said: str, ids: Ids) -> list[str]:
        problems = []
        for id, row in zip(ids, self.rows_of(ids).tolist(), strict=True):
            if row < 0:
                problems.append(f"{id}: labelled as {said}, but the survey has no spectrum with this id")
            elif self._place[row] < 0:
                problems.append(f"{id}: labelled as {said}, but has no features, so the ranking cannot learn from it")
            elif self.material.known[self._place[row]] and said != "a member":
                problems.append(f"{id}: given as known at the start but labelled as {said}; treated as {said}")
            elif self.material.refused[self._place[row]] and said != "a non-member":
                problems.append(f"{id}: given as a non-member at the start but labelled as {said}; treated as {said}")
        return problems

    def _curve(
        self,
        ranker: Ranker,
        material: Material,
        scores: Scores,
        listed: NDArray[np.bool_],
        order: NDArray[np.intp],
        seed: int,
    ) -> YieldCurve:
        """Examples are hidden once, before the first look; see `yield_after_looks`."""
        if self._hidden is None:
            self._hidden = hidden_places(ranker, material, scores, listed, seed)
        looked = self._listed_first & ~listed
        n_found = int((looked & material.known).sum())
        n_known = int(self.material.known.sum())
        falling = falling_scores(ranker, material, scores, order)
        return yield_after_looks(falling, self._hidden, n_known, int(looked.sum()), n_found)

    def _provenance_of(self, material: Material, ranker: Ranker, settings: dict[str, Any]) -> dict[str, Any]:
        """The fingerprint of the features, which takes a while, is computed once."""
        if not self._provenance:
            self._provenance = provenance_of(material, ranker, settings)
        created = datetime.now(UTC).isoformat(timespec="seconds")
        changed = {"created": created, "known_ids": material.ids, "ranker": repr(ranker)}
        return self._provenance | changed | settings
