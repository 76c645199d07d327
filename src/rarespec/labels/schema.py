"""What the database of a log consists of: one table, one index, three triggers; nothing else is taken for a log."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from rarespec.labels.label import Label
from rarespec.survey.manifest import WrongUseError

APPLICATION = 0x52535031
"""Marks the file as a log of labels, for `file` and for ourselves."""
VERSION = 1

COLUMNS = ("event_id", "spectrum", "label", "undoes", "person", "at", "rank", "score", "revision", "comment")

_LABELS = ", ".join(f"'{label}'" for label in Label)
_REFUSED = "RAISE(ABORT, 'labels are only ever added')"
SCHEMA = (
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
    f"PRAGMA user_version = {VERSION}",
)


def create(connection: sqlite3.Connection) -> None:
    for statement in SCHEMA:
        connection.execute(statement)


def is_new(connection: sqlite3.Connection) -> bool:
    return not _number(connection, "application_id") and not _number(connection, "schema_version")


def check_ours(connection: sqlite3.Connection, path: Path) -> None:
    """Before any query: a view, a trigger or a column of a stranger's would run when the table is asked."""
    if _number(connection, "application_id") != APPLICATION:
        raise WrongUseError(f"{path}: an SQLite database, but not a label log; choose another file")
    version = _number(connection, "user_version")
    if version != VERSION:
        raise WrongUseError(f"{path}: labels in format {version}; this rarespec reads {VERSION}, use a newer one")
    odd = _described(connection) ^ _ours()
    if odd:
        kind, name, *_ = min(odd, key=repr)
        raise WrongUseError(
            f"{path}: its {kind} {name!r} was not made by rarespec; do not use this file, and ask who made it"
        )


def _ours() -> set[tuple[object, ...]]:
    with sqlite3.connect(":memory:") as empty:
        create(empty)
        found = _described(empty)
    empty.close()
    return found


def _described(connection: sqlite3.Connection) -> set[tuple[object, ...]]:
    return set(connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master").fetchall())


def _number(connection: sqlite3.Connection, pragma: str) -> int:
    return int(connection.execute(f"PRAGMA {pragma}").fetchone()[0])
