"""What a fetch is about: which archive and release, and which objects."""

from __future__ import annotations

import csv
import hashlib
import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from rarespec.errors import SurveyError, UsageError
from rarespec.fetching.addresses import Archive, Table, archive
from rarespec.fetching.desi import desi_files
from rarespec.fetching.fault import FaultError
from rarespec.fetching.record import Cause, Result
from rarespec.fetching.sdss_lamost import lamost_files, lamost_secret, sdss_files
from rarespec.fetching.secret import Secret
from rarespec.fetching.sparcl import sparcl_files
from rarespec.fetching.targets import RemoteFile, Target, make_targets, once, read_targets
from rarespec.fetching.web import QUERY_SECONDS, Web, page_title
from rarespec.formats.surveys.sdss import field_mjd_catalogid, plate_mjd_fiber
from rarespec.progress import Progress
from rarespec.storage.text import printable

# ---- Queries to SDSS's SkyServer, in SQL.


WANTED = "the query must return plate, mjd and fiberid (and best run2d), or field, mjd and catalogid"


def rows_of(sql: str, archive: Archive, web: Web) -> list[Target]:
    """Ask SkyServer for objects.

    Parameters
    ----------
    sql : str
        A query that returns plate, mjd and fiberid, or field, mjd and catalogid.
    archive : Archive
        SDSS, with its addresses.
    web : Web
        Sends the query.

    Returns
    -------
    list of Target
        Each object once, in the order of the answer.

    Raises
    ------
    SurveyError
        If SkyServer cannot be reached, or has cut its answer at its limit of rows.
    UsageError
        If the answer is a message instead of a table, or a table without these columns.
    """
    address = archive.fill(archive.text("sql"), sql=quote(" ".join(sql.split()), safe=""))
    try:
        text = web.text("GET", address, seconds=QUERY_SECONDS)
    except FaultError as fault:
        raise SurveyError(f"SkyServer, release {archive.release}: {fault.reason}") from None
    rows = _parse(text, archive.release)
    # SkyServer cuts long answers without a word: one of exactly its limit may lack objects.
    if len(rows) >= archive.number("sql_rows"):
        raise SurveyError(f"SkyServer truncated the result at {len(rows)} rows; request fewer at a time")
    return list({one.id: one for one in map(_read_target, rows)}.values())


def _parse(text: str, release: str) -> list[dict[str, str]]:
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    title = page_title(text.encode())
    if title is not None or not lines or _is_message(lines[0]):
        said = title if title is not None else " ".join(lines)
        raise UsageError(
            f"SkyServer, release {release}, returned no table but the message: {printable(said or '')[:300]!r}"
        )
    reader = csv.DictReader(lines)
    return [{(key or "").strip().lower(): (value or "").strip() for key, value in row.items()} for row in reader]


def _is_message(line: str) -> bool:
    return line.lstrip().startswith(("{", "<")) or line.lower().startswith(("error", "sql", "no objects", "no entries"))


def _read_target(row: dict[str, str]) -> Target:
    try:
        if "catalogid" in row:
            return Target(field_mjd_catalogid(int(row["field"]), int(row["mjd"]), row["catalogid"]), row)
        fiber = row["fiberid"] if "fiberid" in row else row["fiber"]
        return Target(plate_mjd_fiber(int(row["plate"]), int(row["mjd"]), int(fiber)), row)
    except (KeyError, ValueError):
        raise UsageError(f"{WANTED}; there is {_join_names(row)}") from None


def _join_names(names: Iterable[str]) -> str:
    return ", ".join(names) or "nothing"


# ---- The paper's sample: 450 carbon stars and 100 000 other stars, as SDSS's pipeline classifies them.
#
# The paper chose its carbon stars "carefully" from all that the pipeline calls so, and the others at random; it
# gives no list. Here both are drawn by a seed from the primary spectra without a redshift warning; white dwarfs
# with carbon (CarbonWD) are among neither. The draw takes the objects whose ids, hashed together with the seed,
# come first: anyone can repeat it, and a release that adds stars changes few.


N_CARBON = 450
N_OTHERS = 100_000
PLATES_AT_A_TIME = 500
"""So many plates have far fewer stars than SkyServer gives rows."""
LAST_PLATE = 20_000

COLUMNS = "SELECT plate, mjd, fiberid, run2d FROM SpecObj WHERE class = 'STAR' AND zwarning = 0"
CARBON = f"{COLUMNS} AND subclass IN ('Carbon', 'Carbon_lines')"
OTHERS = f"{COLUMNS} AND subclass NOT LIKE 'Carbon%' AND plate BETWEEN {{first}} AND {{last}}"


def paper_sample(
    archive: Archive, web: Web, seed: int, progress: Progress, n_carbon: int = N_CARBON, n_others: int = N_OTHERS
) -> list[Target]:
    """Draw the sample of the paper: the carbon stars, then the others, each in the order of their ids.

    Parameters
    ----------
    archive : Archive
        SDSS, with its addresses.
    web : Web
        Asks the archive.
    seed : int
        Same seed, same sample.
    progress : callable
        Called with the groups of plates asked for, in all, and a note.
    n_carbon : int
        How many carbon stars.
    n_others : int
        How many other stars.

    Returns
    -------
    list of Target
        The objects.
    """
    carbon = draw_targets(rows_of(CARBON, archive, web), n_carbon, seed, "carbon stars")
    others: list[Target] = []
    starts = range(0, LAST_PLATE, PLATES_AT_A_TIME)
    for n_asked, first in enumerate(starts, 1):
        last = first + PLATES_AT_A_TIME - 1
        others += rows_of(OTHERS.format(first=first, last=last), archive, web)
        progress(n_asked, len(starts), f"{len(others)} stars")
    return [*carbon, *draw_targets(others, n_others, seed, "other stars")]


def draw_targets(objects: Sequence[Target], n: int, seed: int, what: str) -> list[Target]:
    """Draw objects by a hash of their ids and the seed, so that anyone can repeat the draw.

    Parameters
    ----------
    objects : sequence of Target
        Objects to choose from, in any order.
    n : int
        How many to draw.
    seed : int
        Same seed, same objects.
    what : str
        What an error message calls the objects.

    Returns
    -------
    list of Target
        In the order of their ids.

    Raises
    ------
    SurveyError
        If there are fewer than n objects.
    """
    if len(objects) < n:
        raise SurveyError(f"SkyServer has only {len(objects)} {what}, but the paper used {n}; try a later release")
    return sorted(heapq.nsmallest(n, objects, lambda one: _place(one.id, seed)), key=lambda one: one.id)


def _place(id: str, seed: int) -> bytes:
    return hashlib.sha256(f"{seed} {id}".encode()).digest()


ARCHIVES = ("sdss", "lamost", "desi", "sparcl")


@dataclass(frozen=True)
class Question:
    """Which objects to fetch: by ids, a table, a query or the paper's choice; ids and a table may be joined.

    Parameters
    ----------
    archive : str
        "sdss", "lamost", "desi" or "sparcl".
    ids : tuple of str
        Ids of objects.
    table : Path or None
        A table of objects.
    sql : str or None
        A query to SkyServer (SDSS).
    paper : bool
        The sample of the paper (SDSS), drawn with `seed`.
    seed : int
        Same seed, same sample.
    release : str or None
        Release of the archive.
    run2d : str or None
        The reduction of SDSS, when a table does not have it.
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
            raise UsageError(f"there is no archive {self.archive!r}; choose from {', '.join(ARCHIVES)}")
        if (self.sql or self.paper or self.run2d) and self.archive != "sdss":
            raise UsageError(f"--sql, --paper and --run2d work only with sdss, not with {self.archive}")
        n_ways = bool(self.ids or self.table) + bool(self.sql) + self.paper
        if n_ways != 1:
            raise UsageError("give one of these: ids or a table, a query (--sql), or the paper's sample (--paper)")

    def addresses(self, table: Table) -> Archive:
        default = "plate_release" if self.archive == "sdss" else "release"
        return archive(table, self.archive, self.release, default)

    def secret(self, table: Table) -> Secret | None:
        return lamost_secret(self.addresses(table)) if self.archive == "lamost" else None

    def files(self, table: Table, web: Web, progress: Progress) -> tuple[list[RemoteFile], list[Result]]:
        """Find the files to fetch.

        Parameters
        ----------
        table : mapping
            The table of archives, as `load_addresses` gives it.
        web : Web
            Asks the archive where it has to be asked.
        progress : callable
            Called with the groups of plates asked for, in all, and a note; only for the sample of the paper.

        Returns
        -------
        files : list of RemoteFile
            Each file once.
        failures : list of Result
            Objects without a file, with the reason.

        Raises
        ------
        UsageError
            If there is nothing to fetch, or no id has the form that this archive uses.
        SurveyError
            If the archive cannot be asked.
        """
        targets = self._find_targets(table, web, progress)
        if not targets:
            raise UsageError("nothing to fetch: no objects given")
        found = self._find_files(targets, table, web)
        files = once([one for one in found if isinstance(one, RemoteFile)])
        failures = [one for one in found if isinstance(one, Result)]
        if not files and all(one.cause == Cause.NO_ID for one in failures):
            raise UsageError(f"{failures[0].ids[0]}: {failures[0].reason}")
        return files, failures

    def _find_targets(self, table: Table, web: Web, progress: Progress) -> Sequence[Target]:
        if self.paper:
            return paper_sample(self.addresses(table), web, self.seed, progress)
        if self.sql:
            return rows_of(self.sql, self.addresses(table), web)
        listed = read_targets(self.table) if self.table else []
        known = {one.id for one in listed}
        return [*listed, *(one for one in make_targets(self.ids) if one.id not in known)]

    def _find_files(self, targets: Sequence[Target], table: Table, web: Web) -> list[RemoteFile | Result]:
        if self.archive == "sdss":
            return sdss_files(targets, table, self.release, self.run2d)
        addresses = self.addresses(table)
        if self.archive == "lamost":
            return lamost_files(targets, addresses)
        return (desi_files if self.archive == "desi" else sparcl_files)(targets, addresses, web)
