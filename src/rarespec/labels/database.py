"""The SQLite file behind a log: opened or created, checked to be ours, and its failures in words."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rarespec.errors import LabelLogError, RarespecError, UsageError
from rarespec.labels.event import Label
from rarespec.labels.place import check_plain, check_writable, make_own, may_write
from rarespec.storage.file_systems import is_network

# ---- What the database of a log consists of: one table, one index, three triggers; nothing else is taken for a
# log.


APPLICATION = 0x52535031
"""Marks the file as a log of labels, for `file` and for ourselves."""
VERSION = 2

FIRST_COLUMNS = ("event_id", "spectrum", "label", "undoes", "person", "at", "rank", "score", "revision", "comment")
"""Those of version 1."""
COLUMNS = (*FIRST_COLUMNS, "tags", "chance")

_LABELS = ", ".join(f"'{label}'" for label in Label)
_REFUSED = "RAISE(ABORT, 'labels are only ever added')"
FIRST_SCHEMA = (
    f"""CREATE TABLE events (
        sequence INTEGER PRIMARY KEY,
        event_id TEXT NOT NULL UNIQUE,
        spectrum TEXT NOT NULL,
        label TEXT CHECK (label IN ({_LABELS})),
        undoes TEXT,
        person TEXT NOT NULL,
        at TEXT NOT NULL,
        rank INTEGER,
        score REAL,
        revision INTEGER,
        comment TEXT NOT NULL,
        CHECK ((label IS NULL) <> (undoes IS NULL))
    )""",
    "CREATE INDEX events_of_person ON events (person, at)",
    f"CREATE TRIGGER never_changed BEFORE UPDATE ON events BEGIN SELECT {_REFUSED}; END",
    f"CREATE TRIGGER never_deleted BEFORE DELETE ON events BEGIN SELECT {_REFUSED}; END",
    # INSERT OR REPLACE deletes without asking the trigger above
    f"""CREATE TRIGGER never_replaced BEFORE INSERT ON events
        WHEN EXISTS (SELECT 1 FROM events WHERE event_id = NEW.event_id OR sequence = NEW.sequence)
        BEGIN SELECT {_REFUSED}; END""",
    f"PRAGMA application_id = {APPLICATION}",
    "PRAGMA user_version = 1",
)
SECOND_SCHEMA = (
    "ALTER TABLE events ADD COLUMN tags TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE events ADD COLUMN chance REAL",
    "PRAGMA user_version = 2",
)
"""What makes version 2 of version 1. New logs are made in the same two steps, so that both have the same schema; a
rarespec that knows version 1 alone and has the log open can go on adding to it."""


def create(connection: sqlite3.Connection, version: int = VERSION) -> None:
    for statement in FIRST_SCHEMA if version == 1 else FIRST_SCHEMA + SECOND_SCHEMA:
        connection.execute(statement)


def bring_up_to_date(connection: sqlite3.Connection) -> None:
    """Make a log of version 1, which was checked to be one, a log of this version."""
    if version_of(connection) == 1:
        for statement in SECOND_SCHEMA:
            connection.execute(statement)


def version_of(connection: sqlite3.Connection) -> int:
    return _number(connection, "user_version")


def is_new(connection: sqlite3.Connection) -> bool:
    return not _number(connection, "application_id") and not _number(connection, "schema_version")


def check_ours(connection: sqlite3.Connection, path: Path) -> None:
    """Check the schema before any query: a stranger's view, trigger or column would run when the table is read."""
    if _number(connection, "application_id") != APPLICATION:
        raise UsageError(f"{path}: an SQLite database, but not a label log; choose another file")
    version = version_of(connection)
    if version not in range(1, VERSION + 1):
        raise UsageError(f"{path}: labels in format {version}; this rarespec reads {VERSION}, use a newer one")
    odd = _describe(connection) ^ _ours(version)
    if odd:
        kind, name, *_ = min(odd, key=repr)
        raise UsageError(
            f"{path}: its {kind} {name!r} was not made by rarespec; do not use this file, and ask who made it"
        )


def _ours(version: int) -> set[tuple[object, ...]]:
    with sqlite3.connect(":memory:") as empty:
        create(empty, version)
        found = _describe(empty)
    empty.close()
    return found


def _describe(connection: sqlite3.Connection) -> set[tuple[object, ...]]:
    return set(connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master").fetchall())


def _number(connection: sqlite3.Connection, pragma: str) -> int:
    return int(connection.execute(f"PRAGMA {pragma}").fetchone()[0])


WAIT_S = 60.0
"""Seconds that a writer waits for another; each needs milliseconds."""

MAX_LENGTH = 1 << 20
"""Most bytes of one row, a dozen times what an event can hold. A longer one is not taken into memory."""


def open_to_write(path: Path, file_system: str | None, shared: bool = False) -> sqlite3.Connection:
    """Open the log in this file for writing; create it if there is none.

    Parameters
    ----------
    path : Path
        The file.
    file_system : str or None
        Type of the file system in the kernel's words. On a network, and where it is not known (None), the log has no
        write-ahead log, which works only between processes of one computer.
    shared : bool
        Whether the group of a new file may read and write it too.

    Returns
    -------
    sqlite3.Connection
        Safe to use: the schema has been checked, and every commit reaches the disk.

    Raises
    ------
    UsageError
        If the file cannot be written, or is not a log of labels.
    LabelLogError
        If the log is locked, damaged or on a disk that fails.
    """
    check_writable(path)
    make_own(path, shared)
    connection = connect(path, "mode=rwc")
    try:
        with explain_errors(path):
            _settle_journal(connection, path, is_network(file_system))
            # With NORMAL, a write-ahead log may lose the last commits when the power fails; a stored label must stay.
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA fullfsync = ON")  # macOS: as far as the disk itself
            with writing(connection):
                if is_new(connection):
                    create(connection)
                check_ours(connection, path)
                bring_up_to_date(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def open_to_read(path: Path) -> sqlite3.Connection:
    """Open the log in this file for reading, even where this user may not write."""
    if not path.is_file():
        raise UsageError(f"{path}: there is no label log here")
    check_plain(path)
    connection = connect(path, _how_to_read(path))
    try:
        with explain_errors(path):
            connection.execute("PRAGMA query_only = ON")
            check_ours(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def _how_to_read(path: Path) -> str:
    """Choose how to open: readers of a write-ahead log share files beside it, which only those who may write remove."""
    if may_write(path.parent):
        return "mode=rw"
    # Where there is no such log at the moment, nothing is missed by reading the file alone.
    return "mode=ro" if path.with_name(f"{path.name}-wal").exists() else "mode=ro&immutable=1"


@contextmanager
def writing(connection: sqlite3.Connection) -> Iterator[None]:
    """Run one transaction as the only writer; all of it is stored or nothing."""
    # Takes the lock for writing at once. A plain BEGIN reads first and asks for it later; of two such transactions one
    # must fail with SQLITE_BUSY, however long it would wait.
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


@contextmanager
def explain_errors(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into words: what happened to this log, and what to do."""
    try:
        yield
    except sqlite3.Error as error:
        name = getattr(error, "sqlite_errorname", None) or type(error).__name__
        for start, (kind, words) in FAILURES.items():
            if name.startswith(start):
                raise kind(f"{path}: {words}") from None
        raise LabelLogError(f"{path}: SQLite error: {error} ({name}); nothing was changed") from None
    except UnicodeDecodeError:  # from Python's module, of names in the schema and of SQLite's own messages
        raise LabelLogError(f"{path}: the log is damaged (invalid text); restore it from a backup") from None


FAILURES: dict[str, tuple[type[RarespecError], str]] = {
    "SQLITE_NOTADB": (UsageError, "this is not a label log (not an SQLite database); choose another file"),
    "SQLITE_CANTOPEN": (
        UsageError,
        "cannot be opened; check that its directory exists and that you can write to it",
    ),
    "SQLITE_READONLY": (UsageError, "is read-only; save the labels in another file, or ask its owner"),
    "SQLITE_BUSY": (
        LabelLogError,
        f"another process has locked the log for {WAIT_S:.0f} s; nothing was saved. Stop it, or try again",
    ),
    "SQLITE_FULL": (LabelLogError, "the disk is full; nothing was saved. Free some space, then label again"),
    "SQLITE_IOERR_LOCK": (LabelLogError, "this file system cannot lock files; save the labels on another disk"),
    "SQLITE_IOERR": (
        LabelLogError,
        "the disk failed or is full; nothing was saved. Check it, then label again",
    ),
    "SQLITE_CORRUPT": (LabelLogError, "the log is damaged; restore it from a backup"),
    "ProgrammingError": (LabelLogError, "the log has been closed"),
}
"""Start of the name of SQLite's error -> what it means here; the first match counts."""


def connect(path: Path, how: str) -> sqlite3.Connection:
    """Connect to the file. Do not open it by other means meanwhile: closing it would release SQLite's locks."""
    with explain_errors(path):
        uri = f"{path.absolute().as_uri()}?{how}"
        connection = sqlite3.connect(uri, timeout=WAIT_S, isolation_level=None, check_same_thread=False, uri=True)
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_LENGTH)
        # The file may come from anybody: its schema may call no function with effects, and damaged pages are refused.
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA cell_size_check = ON")
        return connection


def _settle_journal(connection: sqlite3.Connection, path: Path, network: bool) -> None:
    """Choose the journal of a new log to suit its disk. A rollback journal stays: other computers may use the log."""
    if network:
        # with the file to itself, SQLite reads what a write-ahead log holds without sharing memory
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        if _journal_set(connection, "delete") != "delete":
            raise LabelLogError(f"{path}: another program has it open as a file on a local disk; close that first")
        connection.execute("PRAGMA locking_mode = NORMAL")
        connection.execute("PRAGMA user_version").fetchall()  # lets go of the file
    elif is_new(connection):
        _journal_set(connection, "wal")


def _journal_set(connection: sqlite3.Connection, mode: str) -> str:
    """Set the journal, and return the one in use. SQLite does not always wait here for others that open the file."""
    until = time.monotonic() + WAIT_S
    while True:
        try:
            return str(connection.execute(f"PRAGMA journal_mode = {mode}").fetchone()[0])
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(0.01)


def journal_of(connection: sqlite3.Connection) -> str:
    return str(connection.execute("PRAGMA journal_mode").fetchone()[0])
