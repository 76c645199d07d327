"""Logs of version 1, which has no tags: read as they are, and brought up to date when somebody writes."""

import sqlite3
from pathlib import Path

import pytest

from rarespec.errors import RarespecError, UsageError
from rarespec.labels.database import FIRST_COLUMNS, create, version_of
from rarespec.labels.event import Label, LabelEvent, new_event_id
from rarespec.labels.log import LabelLog

OLD = (new_event_id(), "s1", "yes", None, "Ada", "2025-03-01T20:15:00.000000Z", 1, 0.5, 0, "C2 bands")


@pytest.fixture
def old(tmp_path: Path) -> Path:
    path = tmp_path / "a.labels.sqlite"
    connection = sqlite3.connect(path)
    create(connection, version=1)
    connection.execute(f"INSERT INTO events ({', '.join(FIRST_COLUMNS)}) VALUES (?,?,?,?,?,?,?,?,?,?)", OLD)
    connection.commit()
    connection.close()
    return path


def test_reading_an_old_log_leaves_it_as_it_is(old):
    before = old.read_bytes()
    with LabelLog(old, read_only=True) as log:
        ((_, event),) = log.events()
    assert (event.label, event.comment, event.tags, event.chance) == (Label.YES, "C2 bands", (), None)
    assert old.read_bytes() == before


def test_an_old_log_takes_tags_once_somebody_writes(old):
    with LabelLog(old) as log:
        log.append(LabelEvent(new_event_id(), "s1", Label.YES, person="Ada", tags=("dC", "CH"), chance=0.5))
        assert version_of(log._connection) == 2
    with LabelLog(old, read_only=True) as log:
        assert [event.tags for _, event in log.events()] == [(), ("dC", "CH")]


def test_an_earlier_rarespec_that_has_the_log_open_can_go_on(old):
    earlier = sqlite3.connect(old)
    with LabelLog(old) as log:
        other = (new_event_id(), *OLD[1:])
        earlier.execute(f"INSERT INTO events ({', '.join(FIRST_COLUMNS)}) VALUES (?,?,?,?,?,?,?,?,?,?)", other)
        earlier.commit()
        assert [event.tags for _, event in log.events()] == [(), ()]
    earlier.close()


@pytest.mark.parametrize("statement", ["ALTER TABLE events ADD COLUMN more TEXT", "CREATE VIEW more AS SELECT 1"])
def test_a_forged_old_log_is_refused_and_not_changed(old, statement):
    connection = sqlite3.connect(old)
    connection.execute(statement)
    connection.close()
    with pytest.raises(RarespecError, match="not made by rarespec"):
        LabelLog(old)
    connection = sqlite3.connect(old)
    assert version_of(connection) == 1
    connection.close()


def test_a_log_that_only_says_that_it_is_newer_is_refused(old):
    connection = sqlite3.connect(old)
    connection.execute("PRAGMA user_version = 2")
    connection.close()
    with pytest.raises(UsageError, match="not made by rarespec"):
        LabelLog(old, read_only=True)


def test_logs_with_and_without_tags_are_merged(old, tmp_path):
    with LabelLog(tmp_path / "b.sqlite") as log:
        log.append(LabelEvent(new_event_id(), "s2", Label.NO, person="Bea", tags=("DZ",)))
        with LabelLog(old, read_only=True) as other:
            assert log.add(event for _, event in other.events()) == 1
        assert [event.tags for _, event in log.events()] == [("DZ",), ()]
