"""What a fetch is about: which archive and release, and which objects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rarespec.fetching.addresses import Archive, Table, archive
from rarespec.fetching.asked import Asked, asked_ids, asked_in
from rarespec.fetching.desi import desi_files
from rarespec.fetching.lamost import lamost_files, lamost_secret
from rarespec.fetching.outcome import Cause, Result
from rarespec.fetching.paper_sample import paper_sample
from rarespec.fetching.sdss import sdss_files
from rarespec.fetching.secret import Secret
from rarespec.fetching.sky_server import rows_of
from rarespec.fetching.sparcl import sparcl_files
from rarespec.fetching.wanted import Wanted, once
from rarespec.fetching.web import Web
from rarespec.progress import Progress
from rarespec.survey.manifest import WrongUseError

ARCHIVES = ("sdss", "lamost", "desi", "sparcl")


@dataclass(frozen=True)
class Question:
    """The objects are given by ids, a table, a query or the paper's choice; ids and a table may be joined.

    table : path of a table of objects
    sql   : a query to SkyServer (SDSS)
    paper : the sample of the paper (SDSS), drawn with `seed`
    run2d : the reduction of SDSS, when a table does not tell it
    """

    archive: str
    ids: tuple[str, ...] = ()
    table: Path | None = None
    sql: str | None = None
    paper: bool = False
    seed: int = 0
    release: str | None = None
    run2d: str | None = None

    def check(self) -> None:
        if self.archive not in ARCHIVES:
            raise WrongUseError(f"there is no archive {self.archive!r}; choose from {', '.join(ARCHIVES)}")
        if (self.sql or self.paper or self.run2d) and self.archive != "sdss":
            raise WrongUseError(f"--sql, --paper and --run2d work only with sdss, not with {self.archive}")
        n_ways = bool(self.ids or self.table) + bool(self.sql) + self.paper
        if n_ways != 1:
            raise WrongUseError("give one of these: ids or a table, a query (--sql), or the paper's sample (--paper)")

    def addresses(self, table: Table) -> Archive:
        default = "plate_release" if self.archive == "sdss" else "release"
        return archive(table, self.archive, self.release, default)

    def secret(self, table: Table) -> Secret | None:
        return lamost_secret(self.addresses(table)) if self.archive == "lamost" else None

    def files(self, table: Table, web: Web, progress: Progress) -> tuple[list[Wanted], list[Result]]:
        """The files to be fetched, each once, and the objects for which there is none, with the reason."""
        asked = self._asked(table, web, progress)
        if not asked:
            raise WrongUseError("nothing to fetch: no objects given")
        found = self._found(asked, table, web)
        files = once([one for one in found if isinstance(one, Wanted)])
        failures = [one for one in found if isinstance(one, Result)]
        if not files and all(one.cause == Cause.NO_ID for one in failures):
            raise WrongUseError(f"{failures[0].asked[0]}: {failures[0].reason}")
        return files, failures

    def _asked(self, table: Table, web: Web, progress: Progress) -> Sequence[Asked]:
        if self.paper:
            return paper_sample(self.addresses(table), web, self.seed, progress)
        if self.sql:
            return rows_of(self.sql, self.addresses(table), web)
        listed = asked_in(self.table) if self.table else []
        known = {one.id for one in listed}
        return [*listed, *(one for one in asked_ids(self.ids) if one.id not in known)]

    def _found(self, asked: Sequence[Asked], table: Table, web: Web) -> list[Wanted | Result]:
        if self.archive == "sdss":
            return sdss_files(asked, table, self.release, self.run2d)
        addresses = self.addresses(table)
        if self.archive == "lamost":
            return lamost_files(asked, addresses)
        return (desi_files if self.archive == "desi" else sparcl_files)(asked, addresses, web)
