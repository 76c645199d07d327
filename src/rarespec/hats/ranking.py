"""The answer of a search over a HATS catalogue."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn
from uuid import uuid4

import numpy as np

from rarespec.errors import UsageError
from rarespec.formats.matrices.multimodal_universe import Layout
from rarespec.formats.matrices.nested_spectra import EMPTY_ARMS, Arms
from rarespec.hats.catalogue import name_of, spectra_in
from rarespec.pages.html import Html, element
from rarespec.pages.notebook import note, show_card
from rarespec.rankers.ranker import best_first
from rarespec.searching.export import write_table
from rarespec.searching.model import SearchModel
from rarespec.searching.notebook_view import first_candidates, first_problems
from rarespec.searching.report_words import sentence
from rarespec.searching.yields.yield_curve import YieldCurve
from rarespec.spectrum import Defect, Noted, Reason, Skipped, Spectra
from rarespec.storage.text import printable, thousands
from rarespec.survey.fit_of_grid import percent

if TYPE_CHECKING:
    import pandas as pd
    from astropy.table import Table


# ---- One partition scored: its best candidates, and an account of every spectrum in it.


@dataclass
class Account:
    """The account of the spectra: read = scored + unusable; some of those scored are not listed."""

    read: int = 0
    scored: int = 0
    not_listed: int = 0
    """Known examples and known non-members."""
    unusable: Counter[str] = field(default_factory=Counter)
    """Reason -> how many."""
    example: dict[str, str] = field(default_factory=dict)
    """Reason -> the first spectrum with this reason, and the detail."""
    without_arms: Counter[str] = field(default_factory=Counter)
    """Arms that are empty or masked -> how many spectra were scored without them."""
    outside: float = 0.0
    """Sum over the spectra of the share of their good pixels that lies outside the grid."""
    blank: dict[str, str] = field(default_factory=dict)
    """Partition -> columns of the spectra without a value in any row: LSDB fills in a column that a file lacks."""
    noted: Counter[str] = field(default_factory=Counter)
    """What the reader decided by itself -> about how many spectra."""

    def refuse(self, reason: str, id: str, detail: str) -> None:
        """Count a spectrum that cannot be used.

        Parameters
        ----------
        reason : str
            Kind of defect, in the words printed to the user.
        id : str
            Id of the spectrum; empty if it has none.
        detail : str
            What is wrong with it; kept for the first of each reason.
        """
        self.unusable[reason] += 1
        self.example.setdefault(reason, f"{id}: {detail}")

    def note_losses(self, spectra: Spectra) -> None:
        """Count what spectra on the grid have lost: arms that are empty or masked, and pixels outside the grid."""
        self.without_arms.update(arms for arms in spectra.catalogue.get(EMPTY_ARMS, []) if arms)
        self.outside += sum(spectra.catalogue["outside"])

    def __add__(self, other: Account) -> Account:
        return Account(
            self.read + other.read,
            self.scored + other.scored,
            self.not_listed + other.not_listed,
            self.unusable + other.unusable,
            other.example | self.example,
            self.without_arms + other.without_arms,
            self.outside + other.outside,
            self.blank | other.blank,
            self.noted + other.noted,
        )


@dataclass
class Best:
    """The best candidates so far, best first: rows of the catalogue, each with its score."""

    top: int
    rows: list[dict[str, Any]] = field(default_factory=list)

    @property
    def least(self) -> float:
        """Only a score above this one can still enter the list."""
        return self.rows[-1]["score"] if len(self.rows) == self.top else -np.inf

    def add(self, rows: list[dict[str, Any]]) -> None:
        """Add rows; those of equal score stay in the order in which they came."""
        rows = self.rows + rows
        order = best_first(np.array([row["score"] for row in rows]))[: self.top]
        self.rows = [rows[i] for i in order.tolist()]


@dataclass(frozen=True, eq=False)
class Scoring:
    """How each partition is scored: the best `top` rows by the model, without those that are not to be listed."""

    model: SearchModel
    layout: Layout | Arms
    """Which columns hold the spectra."""
    top: int
    unlisted: frozenset[str]
    """Known examples and known non-members."""
    token: str = field(default_factory=lambda: uuid4().hex)

    def __dask_tokenize__(self) -> str:
        """Name this object for Dask, which would otherwise hash every array."""
        return self.token


def score_partition(partition: pd.DataFrame, pixel: Any, scoring: Scoring) -> tuple[list[dict[str, Any]], Account]:
    """Score the spectra of one partition.

    Parameters
    ----------
    partition : pandas.DataFrame
        As LSDB hands it out.
    pixel : HealpixPixel
        Which partition it is.
    scoring : Scoring
        The model, and how many candidates to keep.

    Returns
    -------
    rows : list of dict
        The best candidates.
    account : Account
        The account of every spectrum.
    """
    best, account = Best(scoring.top), Account(read=len(partition))
    blank = [name for name in scoring.layout.columns if len(partition) and partition[name].isna().all()]
    if blank:
        account.blank[name_of(pixel)] = ", ".join(blank)
    for found in spectra_in(partition, name_of(pixel), scoring.layout, scoring.model.grid):
        if isinstance(found, Defect):
            account.refuse(found.reason.value, found.id, found.detail)
        elif isinstance(found, Skipped):
            account.unusable[found.reason] += found.count
        elif isinstance(found, Noted):
            account.noted[found.note] += found.count
        else:
            account.note_losses(found)
            best.add(_candidates(found, scoring, account, best.least))
    return best.rows, account


def _candidates(spectra: Spectra, scoring: Scoring, account: Account, least: float) -> list[dict[str, Any]]:
    """The rows that may be listed and score above `least`."""
    scores, lost = scoring.model.score(spectra)
    for i in lost:
        account.refuse(Reason.NO_FEATURES.value, spectra.ids[i], lost[i])
    account.scored += len(spectra) - len(lost)
    unlisted = np.array([id in scoring.unlisted for id in spectra.ids])
    account.not_listed += int((unlisted & ~np.isnan(scores)).sum())
    places = np.flatnonzero(~unlisted & (scores > least)).tolist()
    return [{name: column[i] for name, column in spectra.catalogue.items()} | {"score": scores[i]} for i in places]


TOLD = 5
"""Partitions that a message names at most."""


@dataclass(frozen=True, eq=False)
class HatsRanking:
    """The candidates of a search in a HATS catalogue, best first.

    It has no survey behind it, as a `Ranking` has.

    Parameters
    ----------
    table : astropy.table.Table
        The candidates: rank, id, ra, dec, class, subclass, z, snr, score, and the catalogue's own columns.
    account : Account
        The account of every spectrum that was read.
    unread : dict
        Partitions that could not be read, each with the reason; nothing is known of their spectra.
    empty : list of str
        Partitions without a spectrum.
    method : str
        Name of the ranker.
    why : str
        What the ranker did, in words.
    lesson_problems : list of str
        What was wrong with the examples, one line each.
    examples_lost : bool
        Whether an example could not be used.
    sample_yield : YieldCurve or None
        How many true objects to expect in the sample that was learned from; None with a model.
    provenance : mapping
        What the ranking depends on.

    Examples
    --------
    >>> from astropy.table import Table
    >>> from rarespec.hats import HatsRanking
    >>> from rarespec.hats.ranking import Account
    >>> account = Account(read=10, scored=9, not_listed=1)
    >>> ranking = HatsRanking(Table({"rank": [1]}), account, {}, [], "auto", "", [], False, None, {})
    >>> ranking.n_listed
    8
    """

    table: Table
    account: Account
    unread: dict[str, str]
    empty: list[str]
    method: str
    why: str
    lesson_problems: list[str]
    examples_lost: bool
    sample_yield: YieldCurve | None
    provenance: Mapping[str, Any]

    def __len__(self) -> int:
        return len(self.table)

    @property
    def n_listed(self) -> int:
        """How many spectra were ranked; the table holds the best of them."""
        return self.account.scored - self.account.not_listed

    @property
    def problems(self) -> list[str]:
        """What was wrong with the examples, what was not scored, and what was noted; one line each."""
        own = (self._unusable(), self._without_arms(), self._noted(), self._outside(), self._partitions())
        return [*self.lesson_problems, *(line for lines in own for line in lines), *self._repeated_ids()]

    def _unusable(self) -> list[str]:
        account = self.account
        return [
            f"not scored: {thousands(n)} spectra, {reason}"
            + (f" (for example {account.example[reason]})" if reason in account.example else "")
            for reason, n in account.unusable.most_common()
        ]

    def _without_arms(self) -> list[str]:
        counts = self.account.without_arms.most_common()
        return [f"scored without arm {arms}, which is empty or masked: {thousands(n)} spectra" for arms, n in counts]

    def _noted(self) -> list[str]:
        return [f"{thousands(n)} spectra: {note}" for note, n in self.account.noted.most_common()]

    def _outside(self) -> list[str]:
        if not self.account.outside:
            return []
        share, grid = self.account.outside / self.account.scored, self.provenance["grid"]
        return [
            f"{percent(share)} of the good pixels lie outside the grid of this search ({grid}); "
            "grid= of rs.search_hats keeps them when you learn from examples"
        ]

    def _partitions(self) -> list[str]:
        lines = [f"partition {name} could not be read: {why}" for name, why in self.unread.items()]
        lines += [
            f"partition {name} has no {columns} in any row; its file may lack the column"
            for name, columns in self.account.blank.items()
        ]
        if self.empty:
            some = ", ".join(self.empty[:TOLD]) + (", ..." if len(self.empty) > TOLD else "")
            lines.append(f"partitions without a spectrum: {len(self.empty)} ({some})")
        return lines

    def _repeated_ids(self) -> list[str]:
        n = sum(count > 1 for count in Counter(self.table["id"].tolist()).values())
        return [f"the catalogue has duplicate ids; {n} of them appear more than once in the list"] if n else []

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write the table, with its provenance.

        Parameters
        ----------
        path : path or str
            The file; its name ends in .ecsv, .csv, .fits, .vot or .parquet, or .hats for a catalogue.

        Returns
        -------
        Path
            The file, or the directory of the catalogue.
        """
        if os.fspath(path).endswith(".hats"):
            from rarespec.hats.writing import write_hats

            return write_hats(self, path)
        return write_table(self.table, path, self.provenance)

    def inspect(self, **options: Any) -> NoReturn:
        """Refuse: the inspector shows spectra of a survey, and this ranking has none.

        Parameters
        ----------
        **options : dict
            As for `Ranking.inspect`.

        Raises
        ------
        UsageError
            Always; it says what to inspect instead.
        """
        name = self.provenance["catalogue"]
        raise UsageError(
            f"{name}: the inspector needs a survey; to inspect the sample that was learned from, keep it with "
            f"rs.search_hats(..., workspace=FOLDER) and run `rarespec inspect FOLDER/{name}.survey --known IDS`"
        )

    def __repr__(self) -> str:
        catalogue = self.provenance["catalogue"]
        return f"<HatsRanking of {self.n_listed} spectra of {catalogue} by {self.method}: the best {len(self)}>"

    def _repr_html_(self) -> str:
        return hats_ranking_html(self)


# ---- What a ranking of a HATS catalogue shows of itself in a notebook: what was scored, and the best candidates.


def hats_ranking_html(ranking: HatsRanking) -> str:
    return show_card(
        f"Ranking of {thousands(ranking.n_listed)} spectra of {printable(str(ranking.provenance['catalogue']))}",
        *_sample_yield(ranking),
        note(sentence(f"method {ranking.method}: {ranking.why}")),
        *first_candidates(ranking.table),
        *first_problems(ranking.problems),
    )


def _sample_yield(ranking: HatsRanking) -> list[Html]:
    """Of the sample alone: nothing is estimated for the catalogue as a whole."""
    if ranking.sample_yield is None:
        return []
    words = sentence(f"estimate for the training sample only: {ranking.sample_yield.why}")
    return [element("div", words, style="max-width:50em")]
