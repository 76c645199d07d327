"""A campaign: a search whose ranking learns from every look."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from time import perf_counter
from typing import Any

import numpy as np

from rarespec.errors import UsageError
from rarespec.labels.campaign_progress import (
    ORDERS,
    CampaignProgress,
    Change,
    arrange,
    find_moved,
    in_order,
    progress_of,
)
from rarespec.labels.campaign_start import CampaignStart, start_beside
from rarespec.labels.event import Label
from rarespec.progress import Progress as FeaturesDone
from rarespec.searching.ranking import Ranking
from rarespec.searching.relearning import NothingLeftError, Relearning
from rarespec.searching.request import SearchRequest
from rarespec.searching.search import prepare_search
from rarespec.survey import Survey
from rarespec.survey.engine_for import AnyEngine

Labels = Mapping[str, Label]
"""Id -> label, in the order of the looks."""

Places = Mapping[str, int]
"""Id -> place in the list, from 0."""


@dataclass(frozen=True, eq=False)
class Revision:
    """One state of a campaign; it never changes, except that flags are added to its table.

    Parameters
    ----------
    number : int
        0 for the first ranking; one more each time that the campaign learns.
    ranking : Ranking
        The ranking.
    labels : mapping
        Id -> label, those that it learned from.
    places : mapping
        Order -> id -> place in the list, of the labelled spectra.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import rarespec
    >>> with TemporaryDirectory() as folder:
    ...     survey = rarespec.Survey.create(f"{folder}/mock.survey")
    ...     report = survey.append(rarespec.MockSky(60, {"carbon": 8}, seed=1))
    ...     carbon = survey.ids[survey.catalogue["class"] == "CARBON"].tolist()
    ...     revision = rarespec.Campaign.start(survey, carbon[:4], "matched_filter", top=5).now
    >>> revision.number, len(revision.list_ids())
    (0, 5)
    """

    number: int
    ranking: Ranking
    labels: Labels
    places: Mapping[str, Places]

    def list_ids(self, order: str = "likely") -> list[str]:
        """List the ids in the order in which to look at them.

        Parameters
        ----------
        order : str
            "likely" (best first) or "informative" (even chances first).

        Returns
        -------
        list of str
            Ids; labelled spectra stay where they stood when they were labelled.
        """
        table = self.ranking.table
        looked_at = in_order(order, np.asarray(table["chance"]))
        return arrange(table["id"][looked_at].tolist(), self.places[order])


class Campaign:
    """A search that learns from what people say of its candidates.

    Make one with `Campaign.start` or `Campaign.resume`. All methods may be called from any thread. While one learns,
    the others see the revision before.

    Parameters
    ----------
    relearning : Relearning
        Ranks again with more labels.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import rarespec
    >>> with TemporaryDirectory() as folder:
    ...     survey = rarespec.Survey.create(f"{folder}/mock.survey")
    ...     report = survey.append(rarespec.MockSky(60, {"carbon": 8}, seed=1))
    ...     carbon = survey.ids[survey.catalogue["class"] == "CARBON"].tolist()
    ...     campaign = rarespec.Campaign.start(survey, carbon[:4], "matched_filter", top=5)
    ...     change = campaign.relearn({campaign.list_ids()[0]: rarespec.Label.YES})
    >>> change.revision, change.n_yes
    (1, 1)
    """

    def __init__(self, relearning: Relearning) -> None:
        """Use `Campaign.start`."""
        self._relearning = relearning
        self._learning = Lock()
        self._now = Revision(0, relearning.ranking(), {}, {order: {} for order in ORDERS})
        self.examine()

    @classmethod
    def start(
        cls,
        survey: Survey | str | os.PathLike[str],
        known: Any,
        method: str = "auto",
        top: int = 1000,
        *,
        progress: FeaturesDone | None = None,
        **settings: Any,
    ) -> Campaign:
        """Rank for the first time; the parameters are those of `rarespec.search`.

        Parameters
        ----------
        survey : Survey or path
            The survey, or its directory.
        known : ids, table, positions, spectra or files
            The known examples.
        method : str
            Name of the ranker.
        top : int
            How many candidates to list.
        progress : callable, optional
            Called with the blocks of features done, and in all.
        **settings : dict
            Everything else that a `SearchRequest` takes, by name.

        Returns
        -------
        Campaign
            At revision 0.

        Raises
        ------
        UsageError
            If a setting is wrong, or no example can be used.
        """
        return cls.from_request(survey, SearchRequest(known, method, top, **settings), progress)

    @classmethod
    def from_request(
        cls,
        survey: Survey | str | os.PathLike[str],
        request: SearchRequest,
        progress: FeaturesDone | None = None,
    ) -> Campaign:
        """Rank for the first time, as this request asks.

        Parameters
        ----------
        survey : Survey or path
            The survey, or its directory.
        request : SearchRequest
            The known examples and the settings.
        progress : callable, optional
            Called with the blocks of features done, and in all.

        Returns
        -------
        Campaign
            At revision 0.

        Raises
        ------
        UsageError
            If the request has a model instead of known examples, or no example can be used.
        """
        if request.model is not None:
            raise UsageError(f"{request.model}: a campaign learns from known examples, not from a model")
        return cls(Relearning(prepare_search(survey, request, progress)))

    @classmethod
    def resume(
        cls,
        survey: Survey | str | os.PathLike[str],
        labels: Labels | None = None,
        path: str | os.PathLike[str] | None = None,
        progress: FeaturesDone | None = None,
        *,
        engine: AnyEngine = None,
        device: str | None = None,
    ) -> Campaign:
        """Start as the campaign did that was kept (see `keep`), and recall these labels.

        Parameters
        ----------
        survey : Survey or path
            The survey, or its directory.
        labels : mapping, optional
            Id -> label, in the order of the looks.
        path : path, optional
            Where the campaign was kept; beside the survey by default.
        progress : callable, optional
            Called with the blocks of features done, and in all.
        engine : address, client or engine, optional
            Where to compute, as for `rarespec.search`; it is not kept.
        device : str, optional
            "cuda" for a GPU; it is not kept.

        Returns
        -------
        Campaign
            With these labels learned.

        Raises
        ------
        UsageError
            If no campaign was kept there, or it cannot go on.
        """
        opened = survey if isinstance(survey, Survey) else Survey.open(survey)
        place = Path(path) if path else start_beside(opened)
        request = replace(CampaignStart.read(place).request, engine=engine, device=device)
        try:
            campaign = cls.from_request(opened, request, progress)
        except (TypeError, ValueError, OverflowError) as error:  # parameters that no recipe, ranker or selection takes
            raise UsageError(
                f"{place}: cannot continue this campaign ({error}); start a new one with --known"
            ) from error
        if labels:
            campaign.recall(labels)
        return campaign

    def keep(self, path: str | os.PathLike[str] | None = None, blind: bool = False) -> Path:
        """Write what the campaign was started with; labels are kept in their own log.

        Parameters
        ----------
        path : path, optional
            The file; by default beside the survey.
        blind : bool
            Whether people who go on with it label without knowing what others say.

        Returns
        -------
        Path
            The file.

        Raises
        ------
        UsageError
            If the examples or the settings cannot be written to a file.
        """
        place = Path(path) if path else start_beside(self._relearning.survey)
        CampaignStart.of(self._relearning.start, blind).write(place)
        return place

    @property
    def now(self) -> Revision:
        """The newest revision, all of one piece."""
        return self._now

    @property
    def ranking(self) -> Ranking:
        """The newest ranking."""
        return self._now.ranking

    @property
    def revision(self) -> int:
        """Number of the newest ranking, from 0."""
        return self._now.number

    @property
    def known_ids(self) -> list[str]:
        """Ids of the examples given at the start."""
        return list(self._relearning.start.rows.known_ids)

    def list_ids(self, order: str = "likely") -> list[str]:
        """List the ids in the order in which to look at them.

        Labelled spectra stay at the place where they stood when they were labelled, so that nobody loses their place
        when the ranking learns; the candidates of the newest ranking fill the places between and after them.

        Parameters
        ----------
        order : str
            "likely" (best first) or "informative" (even chances first).

        Returns
        -------
        list of str
            Ids of candidates and of labelled spectra.
        """
        return self._now.list_ids(order)

    def relearn(self, labels: Labels) -> Change:
        """Rank again by these labels.

        Spectra labelled yes are known examples from now on, those labelled no are known non-members. Bad data is taken
        off the list, and nothing is learned from it. Unsure changes nothing. Candidates that are new to the list have
        no flags yet: call `examine`.

        Parameters
        ----------
        labels : mapping
            Id -> label, all that stand, in the order of the looks.

        Returns
        -------
        Change
            What moved.
        """
        with self._learning:
            return self._learn(labels, {order: _places_in(self._now.list_ids(order)) for order in ORDERS})

    def recall(self, labels: Labels) -> Change:
        """Rank by labels of earlier sessions; these spectra come first in the list, in the order of the labels.

        Parameters
        ----------
        labels : mapping
            Id -> label, all that stand, in the order of the looks.

        Returns
        -------
        Change
            What moved.
        """
        with self._learning:
            return self._learn(labels, dict.fromkeys(ORDERS, _places_in(list(labels))))

    def examine(self) -> None:
        """Find the flags of candidates and labelled spectra; this takes time, as new ones have to be read."""
        now = self._now
        self._relearning.examine(now.ranking, now.labels)

    def describe(self, ids: list[str]) -> dict[str, dict[str, Any]]:
        """Say what the table would say of spectra that have left the list: all but rank and score.

        Parameters
        ----------
        ids : list of str
            Ids of spectra of the survey.

        Returns
        -------
        dict
            Id -> column -> value.
        """
        return self._relearning.describe(self._now.ranking, ids)

    def progress(self, labels: Labels) -> CampaignProgress:
        """Count how far these labels have come.

        Parameters
        ----------
        labels : mapping
            Id -> label, all that stand, in the order of the looks.

        Returns
        -------
        CampaignProgress
            Counts, how many members to expect among the rest, and whether to go on.
        """
        return progress_of(self._now.ranking, labels)

    def _learn(self, labels: Labels, stood: Mapping[str, Places]) -> Change:
        """`stood` : order -> where ids stood in the list."""
        started, before = perf_counter(), self._now
        ranking, (yes, no, bad) = before.ranking, _list_taught(labels)
        if [yes, no, bad] != _list_taught(before.labels):
            with suppress(NothingLeftError):  # then the last list that had candidates stays, with its labels
                ranking = self._relearning.ranking(yes, no, bad)
        number = before.number + (ranking is not before.ranking)
        places = {order: self._places(labels, stood[order]) for order in ORDERS}
        # One assignment: a thread that reads meanwhile sees the old revision or the new one, never half of each.
        self._now = Revision(number, ranking, dict(labels), places)
        moved = self._find_moved(before.ranking, ranking)
        return Change(number, moved, len(yes), len(no), perf_counter() - started)

    def _places(self, labels: Labels, stood: Places) -> Places:
        """Of the labelled spectra of the survey; those that were not listed come to the end."""
        ids = list(labels)
        in_survey = (id for id, row in zip(ids, self._relearning.rows_of(ids), strict=True) if row >= 0)
        return {id: stood.get(id, len(stood) + number) for number, id in enumerate(in_survey)}

    def _find_moved(self, before: Ranking, after: Ranking) -> dict[str, tuple[int | None, int]]:
        if before is after:
            return {}
        ids = after.table["id"].tolist()
        return find_moved(ids, self._relearning.ranks(before, like=after)[self._relearning.rows_of(ids)])


def _list_taught(labels: Labels) -> list[list[str]]:
    """Ids labelled yes, no and bad: what a ranking depends on."""
    return [sorted(id for id, said in labels.items() if said == one) for one in (Label.YES, Label.NO, Label.BAD)]


def _places_in(listed: list[str]) -> Places:
    return {id: place for place, id in enumerate(listed)}
