"""The answer of a search over a HATS catalogue."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rarespec.hats.scoring import Account
from rarespec.searching.export import write_table
from rarespec.searching.yield_curve import YieldCurve
from rarespec.thousands import thousands

if TYPE_CHECKING:
    from astropy.table import Table

TOLD = 5
"""Partitions that a message names at most."""


@dataclass(frozen=True, eq=False)
class HatsRanking:
    """Candidates of one search, best first.

    Not to be confused with `rarespec.searching.ranking.Ranking`, which has a survey behind it.

    Attributes
    ----------
    table : astropy Table: rank, id, ra, dec, class, subclass, z, snr, score, and the catalogue's own columns
    account : what became of every spectrum that was read
    unread : partitions that could not be read, each with the reason; nothing is known of their spectra
    empty : partitions without a spectrum
    method, why : the ranker, and what it did, in words
    examples_lost : whether an example that was given could not be used
    sample_yield : how many true objects are expected in the sample that was learned from; None with a model
    provenance : what the ranking depends on
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
        """What was wrong with the examples, and every spectrum that was not scored, by reason; one line each."""
        return [*self.lesson_problems, *self._unusable(), *self._partitions(), *self._repeated()]

    def _unusable(self) -> list[str]:
        account = self.account
        return [
            f"not scored: {thousands(n)} spectra, {reason} (for example {account.example[reason]})"
            for reason, n in account.unusable.most_common()
        ]

    def _partitions(self) -> list[str]:
        lines = [f"partition {name} could not be read: {why}" for name, why in self.unread.items()]
        if self.empty:
            some = ", ".join(self.empty[:TOLD]) + (", ..." if len(self.empty) > TOLD else "")
            lines.append(f"partitions without a spectrum: {len(self.empty)} ({some})")
        return lines

    def _repeated(self) -> list[str]:
        n = sum(count > 1 for count in Counter(self.table["id"].tolist()).values())
        return [f"the catalogue has duplicate ids; {n} of them appear more than once in the list"] if n else []

    def write(self, path: str | os.PathLike[str]) -> Path:
        """The table as .hats, .ecsv, .csv, .fits, .vot or .parquet, with where it comes from."""
        if os.fspath(path).endswith(".hats"):
            from rarespec.hats.writing import write_hats

            return write_hats(self, path)
        return write_table(self.table, path, self.provenance)

    def __repr__(self) -> str:
        catalogue = self.provenance["catalogue"]
        return f"<HatsRanking of {self.n_listed} spectra of {catalogue} by {self.method}: the best {len(self)}>"

    def _repr_html_(self) -> str:
        from rarespec.hats.notebook_view import hats_ranking_html

        return hats_ranking_html(self)
