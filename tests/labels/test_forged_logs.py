"""Logs of labels that a stranger made: each is read or refused in words, at once, and nothing beside it is touched."""

import os
import random
import shutil
import sqlite3
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from rarespec.errors import RarespecError, UsageError
from rarespec.labels.database import COLUMNS, FIRST_SCHEMA, create
from rarespec.labels.event import Label, LabelEvent, new_event_id
from rarespec.labels.log import LabelLog, LabelLogError
from rarespec.labels.merging import find_standing_labels, merge_labels


def made(path: Path, n: int = 3) -> Path:
    with LabelLog(path) as log:
        for i in range(n):
            log.append(LabelEvent(new_event_id(), f"s{i}", Label.YES, person="Ada", rank=i, score=0.5, comment="fine"))
    return path


@pytest.fixture
def good(tmp_path):
    return made(tmp_path / "a.labels.sqlite")


def read(path: Path) -> list[LabelEvent]:
    """As every verb reads it, with what is done to the events afterwards."""
    with LabelLog(path, read_only=True) as log:
        events = [event for _, event in log.events()]
    merge_labels(events)
    return events


def refused(path: Path) -> str:
    """How reading and writing are refused: both, in the same words, naming the file."""
    with pytest.raises(RarespecError) as to_read:
        read(path)
    with pytest.raises(RarespecError) as to_write, LabelLog(path) as log:
        log.events()
    assert str(path) in str(to_read.value) and str(path) in str(to_write.value)
    return str(to_read.value)


# --- what is in the database beside, or instead of, our table

ENDLESS = "WITH RECURSIVE more(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM more) SELECT n FROM more"
AS_EVENT = ", ".join(f"'x' AS {name}" for name in COLUMNS)

STRANGE = {
    "an endless view instead of the table": [
        "ALTER TABLE events RENAME TO old",
        f"CREATE VIEW events AS SELECT n AS sequence, {AS_EVENT} FROM ({ENDLESS})",
    ],
    "an endless view beside the table": [f"CREATE VIEW more AS {ENDLESS}"],
    "a trigger of another kind": [
        "CREATE TRIGGER twice AFTER INSERT ON events BEGIN INSERT INTO events SELECT * FROM events; END"
    ],
    "a trigger taken away": ["DROP TRIGGER never_deleted"],
    "a trigger that lets through": [
        "DROP TRIGGER never_changed",
        "CREATE TRIGGER never_changed BEFORE UPDATE ON events BEGIN SELECT 1; END",
    ],
    "a generated column": ["ALTER TABLE events ADD COLUMN late TEXT AS (upper(comment))"],
    "one column more": ["ALTER TABLE events ADD COLUMN more TEXT"],
    "another name of a column": ["ALTER TABLE events RENAME COLUMN comment TO remark"],
    "a table of full-text search": ["DROP TABLE events", "CREATE VIRTUAL TABLE events USING fts5(sequence, comment)"],
    "a table that reads the schema": ["DROP TABLE events", "CREATE VIRTUAL TABLE events USING dbstat"],
    "an index of an expression": ["CREATE INDEX odd ON events (abs(rank))"],
    "another table": ["CREATE TABLE more (x)"],
    "no table": ["DROP TABLE events"],
}


@pytest.mark.parametrize("strange", STRANGE)
def test_a_schema_that_is_not_ours_is_refused_before_any_query(good, strange):
    with sqlite3.connect(good) as connection:
        for statement in STRANGE[strange]:
            try:
                connection.execute(statement)
            except sqlite3.OperationalError as error:
                if "no such module" in str(error):
                    pytest.skip(f"this SQLite has no such tables: {error}")
                raise
    connection.close()
    assert "was not made by rarespec" in refused(good)


def test_a_file_that_pretends_to_be_new_is_not_filled(tmp_path):
    path = tmp_path / "x.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute(f"CREATE VIEW more AS {ENDLESS}")
        connection.execute("PRAGMA schema_version = 0")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(RarespecError, match=r"x\.sqlite"):
        LabelLog(path)
    with sqlite3.connect(path) as connection:
        assert [name for (name,) in connection.execute("SELECT name FROM sqlite_master")] == ["more"]
    connection.close()
    assert len(path.read_bytes()) == len(before)


@pytest.mark.parametrize("pragma", ["application_id = 7", "user_version = 9", "user_version = -1"])
def test_marks_of_another_program_or_version_are_refused(good, pragma):
    with sqlite3.connect(good) as connection:
        connection.execute(f"PRAGMA {pragma}")
    connection.close()
    refused(good)


# --- values that no event has

VALUES = [
    None,
    0,
    -1,
    2**63 - 1,
    float("inf"),
    -float("inf"),
    1e300,
    "",
    "x",
    "YES",
    "\x1b[31m",
    "a\0b",
    "x" * 100_000,
    "9" * 5000,
    "2025-03-01",
    "10000-01-01T00:00:00Z",
    "0001-01-01T00:00:00.000000Z",
    b"",
    b"\xff\xfe",
    b"x" * 100_000,
    new_event_id(),
]


def forged(path: Path, statement: str, values: tuple = ()) -> None:
    """Changed as no writer of ours could, with the schema as it was."""
    connection = sqlite3.connect(path)
    triggers = [sql for (sql,) in connection.execute("SELECT sql FROM sqlite_master WHERE type = 'trigger'")]
    (table,) = connection.execute("SELECT sql FROM sqlite_master WHERE type = 'table'").fetchone()
    for name in ("never_changed", "never_deleted", "never_replaced"):
        connection.execute(f"DROP TRIGGER {name}")
    _rewritten(connection, table.replace("NOT NULL", ""))
    connection.commit()
    connection.close()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA ignore_check_constraints = ON")
    connection.execute(statement, values)
    for sql in triggers:
        connection.execute(sql)
    _rewritten(connection, table)
    connection.commit()
    connection.close()


def _rewritten(connection: sqlite3.Connection, table: str) -> None:
    connection.execute("PRAGMA writable_schema = ON")
    connection.execute("UPDATE sqlite_master SET sql = ? WHERE type = 'table'", (table,))


@pytest.mark.parametrize("column", ["sequence", *COLUMNS])
def test_any_value_in_any_column_is_read_or_refused(tmp_path, column):
    outcomes = set()
    for number, value in enumerate(VALUES):
        path = made(tmp_path / f"{number}.sqlite")
        try:
            forged(path, f"UPDATE events SET {column} = ? WHERE sequence = 2", (value,))
        except sqlite3.IntegrityError:
            continue  # SQLite itself: two rows of one number, or text for one
        try:
            events = read(path)
        except RarespecError as error:
            assert str(path) in str(error)
            outcomes.add("refused")
        else:
            for event in events:
                assert all(isinstance(getattr(event, name), str) for name in ("event_id", "person", "at", "comment"))
                assert event.spectrum and event.at and (event.label is None) != (event.undoes is None)
            outcomes.add("read")
    assert outcomes  # at least one value could be put there


def test_two_rows_that_undo_each_other_are_no_endless_work(good):
    first, second, _ = read(good)
    forged(good, "UPDATE events SET label = NULL, undoes = ? WHERE sequence = 1", (second.event_id,))
    forged(good, "UPDATE events SET label = NULL, undoes = ? WHERE sequence = 2", (first.event_id,))
    assert len(find_standing_labels(read(good))) == 1


def test_a_text_of_gigabytes_is_not_taken_into_memory(good):
    forged(good, "UPDATE events SET comment = zeroblob(300000000) WHERE sequence = 2")
    with pytest.raises(LabelLogError, match=r"a\.labels\.sqlite"):
        read(good)


# --- damaged bytes


def damaged_one_by_one(path: Path, n: int, seed: int) -> dict[str, int]:
    """n files with bytes changed, cut short or drawn out, or pages in each other's place -> how each was answered."""
    content, random_ = path.read_bytes(), random.Random(seed)
    counts = {"read": 0, "refused": 0}
    for number in range(n):
        target = path.with_name(f"{number}.damaged")
        target.write_bytes(_damaged(content, random_))
        try:
            read(target)
            counts["read"] += 1
        except RarespecError as error:
            assert str(target) in str(error)
            counts["refused"] += 1
        target.unlink()
    return counts


def _damaged(content: bytes, random_: random.Random) -> bytes:
    kind, place, page = random_.randrange(4), random_.randrange(len(content)), 4096
    if kind == 0:
        return content[:place]
    changed = bytearray(content)
    if kind == 1:
        changed[place] ^= 1 << random_.randrange(8)
    elif kind == 2:
        changed[place : place + 8] = random_.randbytes(8)
        changed[random_.randrange(200)] = random_.randrange(256)  # the header and the first b-tree
    else:
        one, other = (random_.randrange(len(content) // page) * page for _ in range(2))
        changed[one : one + page] = content[other : other + page]
    return bytes(changed)


def test_damaged_files_are_read_or_refused(tmp_path):
    counts = damaged_one_by_one(made(tmp_path / "a.sqlite", 80), 400, seed=1)
    assert counts["refused"] > 100


@pytest.mark.exhaustive
def test_damaged_files_are_read_or_refused_at_full_size(tmp_path):
    counts = damaged_one_by_one(made(tmp_path / "a.sqlite", 300), 50_000, seed=2)
    assert counts["refused"] > 10_000


def test_a_tree_of_pages_that_leads_back_into_itself_ends(tmp_path):
    """Pages of which each names the same page many times are as long to walk through as one likes."""
    path = made(tmp_path / "a.sqlite", 400)
    connection = sqlite3.connect(path)
    (root,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'events'").fetchone()
    connection.close()
    content = bytearray(path.read_bytes())
    start = (root - 1) * 4096
    assert content[start] == 5  # an inner page of a table
    n_cells = int.from_bytes(content[start + 3 : start + 5], "big")
    places = [int.from_bytes(content[start + 12 + 2 * i :][:2], "big") for i in range(n_cells)]
    first = content[start + places[0] : start + places[0] + 4]
    for place in places:
        content[start + place : start + place + 4] = first
    path.write_bytes(content)
    assert "damaged" in refused(path)


# --- what lies beside the file, and what it may be


@pytest.mark.parametrize("ending", ["-wal", "-shm", "-journal"])
def test_a_link_beside_the_log_leads_nowhere(tmp_path, ending):
    """SQLite would write its pages into the file that the link names."""
    (tmp_path / "home").mkdir()
    (tmp_path / "mine").mkdir()
    precious = tmp_path / "home" / ".bashrc"
    precious.write_text("export PATH\n" * 5000)
    path = made(tmp_path / "mine" / "a.sqlite")
    path.with_name(path.name + ending).symlink_to(precious)
    before = precious.read_bytes()
    with pytest.raises(UsageError, match=f"a.sqlite{ending}.*link"), LabelLog(path) as log:
        log.append(LabelEvent(new_event_id(), "s9", Label.NO, person="Ada"))
    with pytest.raises(UsageError, match=f"a.sqlite{ending}.*link"):
        read(path)
    assert precious.read_bytes() == before


def test_a_link_that_leads_nowhere_makes_no_file_elsewhere(tmp_path):
    (tmp_path / "a.sqlite").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match="a link"):
        LabelLog(tmp_path / "a.sqlite")
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir], ids=["fifo", "folder"])
def test_what_is_no_file_is_refused_at_once(tmp_path, make: Callable[[Path], None]):
    make(tmp_path / "a.sqlite")
    refused(tmp_path / "a.sqlite")


def test_a_device_is_refused(tmp_path):
    (tmp_path / "a.sqlite").symlink_to("/dev/zero")
    refused(tmp_path / "a.sqlite")


SUPER_JOURNAL = bytes.fromhex("d9d505f920a163d7")


def interrupted(folder: Path) -> Path:
    """A log with a rollback journal that was left behind, as by a crash in the middle of writing."""
    path = folder / "a.sqlite"
    with LabelLog(path, file_system=lambda place: "nfs4") as log:
        for i in range(50):
            log.append(LabelEvent(new_event_id(), f"s{i}", Label.YES, person="Ada"))
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA cache_size = 1")
    connection.execute("PRAGMA cache_spill = 1")
    connection.execute("BEGIN IMMEDIATE")
    rows = [(new_event_id(), f"t{i}", "yes", "Ada", "2025-03-01T20:15:00.000000Z", "") for i in range(2000)]
    connection.executemany(
        "INSERT INTO events (event_id, spectrum, label, person, at, comment) VALUES (?, ?, ?, ?, ?, ?)", rows
    )
    left = folder / "left"
    left.mkdir()
    for name in ("a.sqlite", "a.sqlite-journal"):
        shutil.copy(folder / name, left / name)
    connection.execute("ROLLBACK")
    connection.close()
    return left / "a.sqlite"


def test_a_journal_left_behind_is_rolled_back(tmp_path):
    assert len(read(interrupted(tmp_path))) == 50


def test_a_journal_that_names_another_file_is_refused(tmp_path):
    """SQLite deletes the file that a journal names as the one above it. No journal of ours names one."""
    path = interrupted(tmp_path)
    precious = tmp_path / "precious"

    def forge() -> None:
        precious.write_text("mine")
        name = os.fsencode(precious)
        cookie = (0x40000000 // 4096 + 1).to_bytes(4, "big")  # the page that is never used, so no page of the journal
        tail = len(name).to_bytes(4, "big") + (sum(name) % 2**32).to_bytes(4, "big") + SUPER_JOURNAL
        with path.with_name("a.sqlite-journal").open("ab") as journal:
            journal.write(cookie + name + tail)

    forge()
    with pytest.raises(UsageError, match="journal"):
        read(path)
    with pytest.raises(UsageError, match="journal"):
        LabelLog(path)
    assert precious.read_text() == "mine"
    connection = sqlite3.connect(path)  # the control: SQLite alone believes the name
    connection.execute("SELECT count(*) FROM events").fetchall()
    connection.close()
    assert not precious.exists()


def test_the_schema_of_a_new_log_is_what_is_asked_of_others(good):
    connection = sqlite3.connect(good)
    found = [sql for (sql,) in connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")]
    connection.close()
    made_here = sqlite3.connect(":memory:")
    create(made_here)
    assert found == [sql for (sql,) in made_here.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")]
    made_here.close()
    assert found[1:] == [statement for statement in FIRST_SCHEMA if statement.startswith("CREATE")][1:]


# --- whose it is


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def open_umask():
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.mark.parametrize("file_system", ["ext4", "nfs4"])
def test_a_new_log_is_its_makers_alone(tmp_path, open_umask, file_system):
    path = tmp_path / "a.sqlite"
    with LabelLog(path, file_system=lambda place: file_system) as log:
        log.append(LabelEvent(new_event_id(), "s1", Label.YES, person="Ada"))
        assert all(mode_of(entry) == 0o600 for entry in tmp_path.iterdir())


def test_a_log_for_several_people_is_open_to_its_group(tmp_path, open_umask):
    path = tmp_path / "a.sqlite"
    with LabelLog(path, shared=True) as log:
        log.append(LabelEvent(new_event_id(), "s1", Label.YES, person="Ada"))
        assert all(mode_of(entry) == 0o660 for entry in tmp_path.iterdir())


def test_a_log_that_is_there_keeps_its_mode(good):
    good.chmod(0o644)
    with LabelLog(good, shared=True):
        pass
    assert mode_of(good) == 0o644
