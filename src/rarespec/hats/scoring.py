"""One partition scored: its best candidates, and an account of every spectrum in it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np

from rarespec.hats.partition import name_of, spectra_in
from rarespec.rankers.ranker import best_first
from rarespec.searching.model import SearchModel
from rarespec.spectrum import Defect, Reason, Spectra

if TYPE_CHECKING:
    import pandas as pd


@dataclass
class Account:
    """What became of the spectra: read = scored + unusable, and of those scored some are not listed."""

    read: int = 0
    scored: int = 0
    not_listed: int = 0
    """Known examples and known non-members."""
    unusable: Counter[str] = field(default_factory=Counter)
    """Reason -> how many."""
    example: dict[str, str] = field(default_factory=dict)
    """Reason -> the first one of which it is true, with the detail."""

    def refuse(self, reason: str, id: str, detail: str) -> None:
        self.unusable[reason] += 1
        self.example.setdefault(reason, f"{id}: {detail}")

    def __add__(self, other: Account) -> Account:
        return Account(
            self.read + other.read,
            self.scored + other.scored,
            self.not_listed + other.not_listed,
            self.unusable + other.unusable,
            other.example | self.example,
        )


@dataclass
class Best:
    """The best candidates so far, best first: rows of the catalogue, each with its score."""

    top: int
    rows: list[dict[str, Any]] = field(default_factory=list)

    @property
    def least(self) -> float:
        """A score that is not above this one is of no use any more."""
        return self.rows[-1]["score"] if len(self.rows) == self.top else -np.inf

    def add(self, rows: list[dict[str, Any]]) -> None:
        """Rows of equal score stay in the order in which they came."""
        rows = self.rows + rows
        order = best_first(np.array([row["score"] for row in rows]))[: self.top]
        self.rows = [rows[i] for i in order.tolist()]


@dataclass(frozen=True, eq=False)
class Scoring:
    """What is done to each partition: the best `top` rows by the model, without those that are not to be listed."""

    model: SearchModel
    top: int
    unlisted: frozenset[str]
    """Known examples and known non-members."""
    token: str = field(default_factory=lambda: uuid4().hex)

    def __dask_tokenize__(self) -> str:
        """So that Dask need not look at every array to tell two of them apart."""
        return self.token


def score_partition(partition: pd.DataFrame, pixel: Any, scoring: Scoring) -> tuple[list[dict[str, Any]], Account]:
    """The best `top` rows of this partition, and the account of all."""
    best, account = Best(scoring.top), Account(read=len(partition))
    for found in spectra_in(partition, name_of(pixel), scoring.model.grid):
        if isinstance(found, Defect):
            account.refuse(found.reason.value, found.id, found.detail)
        else:
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
