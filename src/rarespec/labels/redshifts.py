"""Redshifts that people set by hand: values are added and never changed; the last one of a person counts."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple

from rarespec.errors import LabelLogError, UsageError
from rarespec.labels.database import connect, explain_errors, writing
from rarespec.labels.event import MAX_SPECTRUM, now
from rarespec.labels.place import check_plain, check_writable, make_own

if TYPE_CHECKING:
    from astropy.table import Table

APPLICATION = 0x5253505A
"""Marks the file, for `file` and for ourselves."""
VERSION = 1
LOWEST, HIGHEST = -1.0, 1000.0
"""A redshift lies between these."""

_REFUSED = "RAISE(ABORT, 'redshifts are only ever added')"
SCHEMA = (
    f"""CREATE TABLE redshifts (
        sequence INTEGER PRIMARY KEY,
        spectrum TEXT NOT NULL,
        z REAL CHECK (z > {LOWEST} AND z < {HIGHEST}),
        person TEXT NOT NULL,
        at TEXT NOT NULL
    )""",
    f"CREATE TRIGGER never_changed BEFORE UPDATE ON redshifts BEGIN SELECT {_REFUSED}; END",
    f"CREATE TRIGGER never_deleted BEFORE DELETE ON redshifts BEGIN SELECT {_REFUSED}; END",
    f"PRAGMA application_id = {APPLICATION}",
    f"PRAGMA user_version = {VERSION}",
)


class Redshift(NamedTuple):
    """What one person set.

    Parameters
    ----------
    spectrum : str
        Id of the spectrum.
    z : float
        The redshift.
    person : str
        Who set it.
    at : str
        When, ISO 8601 in UTC.
    """

    spectrum: str
    z: float
    person: str
    at: str


def redshifts_beside(labels: str | os.PathLike[str]) -> Path:
    """Say where redshifts are kept: beside the log of labels, with `redshifts` in place of `labels` in its name."""
    path = Path(labels)
    stem = path.name.removesuffix(".sqlite").removesuffix(".labels")
    return path.with_name(f"{stem}.redshifts.sqlite")


class RedshiftLog:
    """Redshifts in one SQLite file, which is created with the first value.

    Any number of threads and processes may use it: one writes at a time, the others wait.

    Parameters
    ----------
    path : path or str
        The file.
    shared : bool
        Let the group read and write a new file too.

    Raises
    ------
    UsageError
        If the file holds something else, or cannot be opened.
    LabelLogError
        If the file is damaged, or another program holds it.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from rarespec.labels import RedshiftLog
    >>> with TemporaryDirectory() as folder, RedshiftLog(f"{folder}/a.redshifts.sqlite") as log:
    ...     log.set("0355-51788-0579", 0.0002, "Ada")
    ...     log.set("0355-51788-0579", 0.0004, "Ada")
    ...     print(log.of("Ada"))
    {'0355-51788-0579': 0.0004}
    """

    def __init__(self, path: str | os.PathLike[str], shared: bool = False) -> None:
        self.path, self._shared = Path(path), shared
        self._lock = threading.Lock()
        self._connection = self._open() if self.path.exists() else None

    def set(self, spectrum: str, z: float | None, person: str) -> None:
        """Store a redshift, or None to return to the catalogue's; when this returns, it is on the disk.

        Parameters
        ----------
        spectrum : str
            Id of the spectrum.
        z : float or None
            The redshift.
        person : str
            Who sets it.
        """
        if not 0 < len(spectrum) <= MAX_SPECTRUM:
            raise UsageError(f"an id must have 1 to {MAX_SPECTRUM} characters")
        if z is not None and not LOWEST < z < HIGHEST:
            raise UsageError(f"{spectrum}: {z:g} is not a redshift; it must be between {LOWEST:g} and {HIGHEST:g}")
        with self._using(create=True) as connection, writing(connection):
            values = (spectrum, z, person, now())
            connection.execute("INSERT INTO redshifts (spectrum, z, person, at) VALUES (?, ?, ?, ?)", values)

    def current(self) -> list[Redshift]:
        """List the last value of each person for each spectrum, the oldest first; without those taken back."""
        last = "SELECT max(sequence) FROM redshifts GROUP BY spectrum, person"
        select = f"SELECT spectrum, z, person, at FROM redshifts WHERE sequence IN ({last}) AND z IS NOT NULL"
        with self._using() as connection:
            rows = connection.execute(f"{select} ORDER BY sequence").fetchall() if connection else []
        return [Redshift(*self._checked(row)) for row in rows]

    def of(self, person: str) -> dict[str, float]:
        """Map ids to the redshifts that this person has set."""
        return {one.spectrum: one.z for one in self.current() if one.person == person}

    def close(self) -> None:
        """Close the file; what was stored stays."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()

    def __enter__(self) -> RedshiftLog:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _checked(self, row: tuple[object, ...]) -> tuple[str, float, str, str]:
        """Check values: whoever can write the file may have put anything there."""
        spectrum, z, person, at = row
        if not (isinstance(spectrum, str) and isinstance(z, float) and isinstance(person, str) and isinstance(at, str)):
            raise LabelLogError(f"{self.path}: a value was not written by rarespec; restore it from a backup")
        return spectrum, z, person, at

    @contextmanager
    def _using(self, create: bool = False) -> Iterator[sqlite3.Connection]:
        with self._lock, explain_errors(self.path):
            if self._connection is None and (create or self.path.exists()):  # which another process may have made
                self._connection = self._open()
            yield self._connection  # type: ignore[misc]  # None only for those who look

    def _open(self) -> sqlite3.Connection:
        """Open the file. It has no write-ahead log, so that it is safe on a network too; values are few."""
        check_writable(self.path)
        check_plain(self.path)
        make_own(self.path, self._shared)
        connection = connect(self.path, "mode=rw")
        try:
            with explain_errors(self.path):
                connection.execute("PRAGMA synchronous = FULL")
                with writing(connection):
                    self._check_ours(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _check_ours(self, connection: sqlite3.Connection) -> None:
        """Create the table in an empty file; refuse any other schema, of which a view or trigger would run."""
        if not _describe(connection):
            for statement in SCHEMA:
                connection.execute(statement)
        with sqlite3.connect(":memory:") as empty:
            for statement in SCHEMA:
                empty.execute(statement)
            ours = _describe(empty)
        empty.close()
        if _describe(connection) != ours:
            raise UsageError(f"{self.path}: an SQLite database, but not one of redshifts; move it elsewhere")


def _describe(connection: sqlite3.Connection) -> set[tuple[object, ...]]:
    return set(connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master").fetchall())


def redshift_table(path: str | os.PathLike[str]) -> Table:
    """Read the redshifts that people have set, one row for each person and spectrum.

    Parameters
    ----------
    path : path or str
        The file, such as `dr17.survey.redshifts.sqlite`.

    Returns
    -------
    astropy.table.Table
        Columns id, z, who and when; without rows where there is no file.

    Examples
    --------
    >>> from rarespec.labels import redshift_table
    >>> redshift_table("nothing.redshifts.sqlite").colnames
    ['id', 'z', 'who', 'when']
    """
    from astropy.table import Table

    with RedshiftLog(path) as log:
        rows = log.current()
    columns = list(zip(*rows, strict=True)) or [(), (), (), ()]
    return Table([list(column) for column in columns], names=("id", "z", "who", "when"), dtype=(str, float, str, str))
