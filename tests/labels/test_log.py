"""The log of labels: adds, never changes, says what is wrong."""

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rarespec.errors import DifferentEventError, UsageError
from rarespec.labels import database
from rarespec.labels.event import MAX_COMMENT, Label, LabelEvent, new_event_id
from rarespec.labels.log import LabelLog, LabelLogError, check_place, path_beside
from rarespec.labels.merging import find_standing_labels
from rarespec.survey import Survey


def label(spectrum="s1", said=Label.YES, person="Ada", **more):
    return LabelEvent(new_event_id(), spectrum, said, person=person, **more)


def undo(event, person=None, spectrum=""):
    return LabelEvent(new_event_id(), spectrum, None, event.event_id, person or event.person)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "a.labels.sqlite"


@pytest.fixture
def log(path):
    with LabelLog(path) as log:
        yield log


def events_in(path):
    with LabelLog(path, read_only=True) as log:
        return [event for _, event in log.events()]


# --- adding


def test_what_was_appended_is_there_when_opened_again(path):
    with LabelLog(path) as log:
        event = log.append(label(rank=3, score=0.25, revision=2, comment="C2 bands"))
    assert events_in(path) == [event]
    assert (event.rank, event.score, event.revision, event.comment) == (3, 0.25, 2, "C2 bands")
    assert isinstance(events_in(path)[0].label, Label)


def test_sequence_numbers_let_one_read_on(log):
    stored = [log.append(label(f"s{i}")) for i in range(5)]
    assert log.events() == list(enumerate(stored, 1))
    assert log.events(after=3) == list(enumerate(stored, 1))[3:] and log.events(after=5) == []


def test_the_same_event_again_is_answered_the_same(log):
    event = label(comment="x")
    first = log.append(event)
    assert log.append(event) == log.append(first) == first and len(log.events()) == 1


@pytest.mark.parametrize(
    "change", [{"label": Label.NO}, {"spectrum": "s2"}, {"comment": "y"}, {"rank": 1}, {"at": "2025-03-01T20:15:00Z"}]
)
def test_other_content_under_the_same_id_is_refused(log, change):
    event = log.append(label())
    with pytest.raises(DifferentEventError, match=event.event_id):
        log.append(replace(event, **change))
    assert [found for _, found in log.events()] == [event]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(spectrum=st.text(min_size=1, max_size=50), comment=st.text(max_size=200))
def test_any_text_comes_back_as_it_was(log, spectrum, comment):
    stored = log.append(label(spectrum, comment=comment))
    assert log.events()[-1][1] == stored and (stored.spectrum, stored.comment) == (spectrum, comment)


@pytest.mark.parametrize(
    "spectrum", ["a/b", "a'b", 'a"; DROP TABLE events; --', "\0", "é\u0301", "  x ", "%00", "\u202e1"]
)
def test_odd_ids_are_kept_apart(log, spectrum):
    log.append(label(spectrum))
    log.append(label("other", Label.NO))
    assert find_standing_labels(log.events())[spectrum, "Ada"].label == Label.YES


def test_the_longest_comment_fits_and_one_character_more_is_refused(log):
    log.append(label(comment="é" * MAX_COMMENT))
    with pytest.raises(UsageError, match="4001"):
        log.append(label(comment="é" * (MAX_COMMENT + 1)))
    assert len(log.events()) == 1


def test_all_are_added_or_none(log):
    known = log.append(label())
    with pytest.raises(DifferentEventError):
        log.add([label("s2"), replace(known, label=Label.NO)])
    assert len(log.events()) == 1
    assert log.add([label("s2"), known, label("s3")]) == 2 and len(log.events()) == 3


def test_logs_are_merged_by_adding_and_a_second_time_nothing_is_new(tmp_path):
    with LabelLog(tmp_path / "a") as one, LabelLog(tmp_path / "b") as other:
        first = one.append(label())
        second = other.append(label(person="Bea"))
        other.append(undo(second))
        theirs = [event for _, event in other.events()]
        assert [one.add(theirs), one.add(theirs)] == [2, 0]
        assert [event for _, event in one.events()] == [first, *theirs]


# --- undo


def test_an_undo_is_an_event_about_the_same_spectrum(log):
    event = log.append(label())
    taken_back = log.append(undo(event))
    assert (taken_back.spectrum, taken_back.label, taken_back.undoes) == ("s1", None, event.event_id)
    assert len(log.events()) == 2 and find_standing_labels(log.events()) == {}
    assert log.append(replace(taken_back, spectrum="", at="")) == taken_back


def test_an_undo_of_an_undo(log):
    event = log.append(label())
    log.append(undo(log.append(undo(event))))
    assert find_standing_labels(log.events()) == {("s1", "Ada"): event}


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"person": "Bea"}, "made by Ada; Bea cannot"),
        ({"spectrum": "s2"}, "about s1"),
        ({"undoes": new_event_id()}, "no event"),
    ],
)
def test_what_cannot_be_undone_is_refused(log, wrong, said):
    event = log.append(label())
    with pytest.raises(UsageError, match=said):
        log.append(replace(undo(event), **wrong))
    assert len(log.events()) == 1


# --- time


def test_times_are_utc_and_follow_each_other_though_the_clock_is_set_back(log, monkeypatch):
    monkeypatch.setattr("rarespec.labels.log.now", lambda: "2025-03-01T20:15:00.000000Z")
    first = log.append(label())
    monkeypatch.setattr("rarespec.labels.log.now", lambda: "2025-03-01T19:00:00.000000Z")
    second, other = log.append(label(said=Label.NO)), log.append(label(person="Bea"))
    assert first.at == second.at == "2025-03-01T20:15:00.000000Z" and other.at == "2025-03-01T19:00:00.000000Z"
    assert find_standing_labels(log.events())["s1", "Ada"] == second


def test_a_time_of_another_zone_is_kept_in_utc(log):
    assert log.append(label(at="2025-03-01T21:15:00+01:00")).at == "2025-03-01T20:15:00.000000Z"


# --- nothing is ever changed

REST = "person, at, 0, 0, 0, '', '', NULL FROM events"


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE events SET label = 'no'",
        "DELETE FROM events",
        f"INSERT OR REPLACE INTO events SELECT sequence, event_id, spectrum, 'no', undoes, {REST}",
        f"INSERT OR REPLACE INTO events SELECT sequence, 'new', spectrum, 'no', undoes, {REST}",
        f"REPLACE INTO events SELECT 7, event_id, spectrum, 'no', undoes, {REST}",
        f"INSERT INTO events SELECT 7, 'new', spectrum, 'maybe', undoes, {REST}",
        f"INSERT INTO events SELECT 7, 'new', spectrum, NULL, NULL, {REST}",
    ],
)
def test_sqlite_itself_refuses_changes(log, path, statement):
    event = log.append(label())
    other = sqlite3.connect(path)
    with pytest.raises(sqlite3.IntegrityError):
        other.execute(statement)
    other.close()
    assert [found for _, found in log.events()] == [event]


# --- where, and of what kind


def test_beside_the_survey_whatever_path_leads_there(tmp_path, monkeypatch):
    survey = Survey.create(tmp_path / "a.survey")
    with LabelLog.beside(survey) as log:
        assert log.path == tmp_path / "a.survey.labels.sqlite" and log.path.exists()
    (tmp_path / "link").symlink_to("a.survey")
    monkeypatch.chdir(tmp_path / "a.survey")
    assert {path_beside(p) for p in (".", f"{tmp_path}/link/", tmp_path / "a.survey", "../a.survey")} == {log.path}


def test_local_disks_get_a_write_ahead_log_and_network_ones_a_rollback_journal(tmp_path):
    for kind, journal in (("ext4", "wal"), ("nfs4", "delete")):
        with LabelLog(tmp_path / kind, file_system=lambda path, kind=kind: kind) as log:
            assert log.journal == journal
            assert log._connection.execute("PRAGMA synchronous").fetchone() == (2,)
            log.append(label())
            assert (tmp_path / f"{kind}-wal").exists() == (journal == "wal")


def test_a_log_copied_to_a_network_file_system_loses_its_write_ahead_log_and_no_label(tmp_path):
    here, there = tmp_path / "here", tmp_path / "there"
    with LabelLog(here, file_system=lambda path: "ext4") as log:
        event = log.append(label())
        for end in ("", "-wal"):
            shutil.copy(f"{here}{end}", f"{there}{end}")
    (tmp_path / "there-shm").mkdir()  # no memory can be shared there
    with (
        LabelLog(there, file_system=lambda path: "nfs") as log,
        LabelLog(there, file_system=lambda path: "nfs") as other,
    ):
        assert log.journal == other.journal == "delete"
        assert [found for _, found in log.events()] == [event] and other.append(label()) != event
    with LabelLog(there, file_system=lambda path: "ext4") as log:
        assert log.journal == "delete" and len(log.events()) == 2


def test_one_that_others_use_with_a_write_ahead_log_is_refused_on_a_network_file_system(tmp_path, monkeypatch):
    monkeypatch.setattr(database, "WAIT_S", 0.1)
    with LabelLog(tmp_path / "a", file_system=lambda path: "ext4") as log:
        log.append(label())
        with pytest.raises(LabelLogError, match=r"another process|close that first"):
            LabelLog(tmp_path / "a", file_system=lambda path: "nfs")
        log.append(label())
        assert len(log.events()) == 2


def test_paths_with_odd_characters(tmp_path):
    for name in ("a b.sqlite", "50%.sqlite", "a?mode=ro.sqlite", "a#b.sqlite", "é.sqlite"):
        with LabelLog(tmp_path / name) as log:
            log.append(label())
        assert (tmp_path / name).exists() and len(events_in(tmp_path / name)) == 1


# --- what is wrong is said


def test_a_file_that_is_no_database_is_named(path):
    path.write_text("id,label\n" * 300)
    for read_only in (False, True):
        with pytest.raises(UsageError, match=rf"{path.name}: this is not a label log"):
            LabelLog(path, read_only)
    assert path.read_text() == "id,label\n" * 300


def test_a_database_of_something_else_is_left_alone(path):
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE mine (x)")
    other.close()
    before = path.read_bytes()
    for read_only in (False, True):
        with pytest.raises(UsageError, match="not a label log"):
            LabelLog(path, read_only)
    assert path.read_bytes() == before


def test_labels_of_a_newer_version_are_left_alone(path):
    with LabelLog(path) as log:
        log.append(label())
        log._connection.execute("PRAGMA user_version = 7")
    for read_only in (False, True):
        with pytest.raises(UsageError, match="format 7; this rarespec reads 2, use a newer one"):
            LabelLog(path, read_only)


def test_a_damaged_log_is_told(path):
    with LabelLog(path) as log:
        log.add([label(f"s{i}", comment="x" * 500) for i in range(200)])
    content = bytearray(path.read_bytes())
    content[4096 * 3 : 4096 * 12] = b"\xff" * 4096 * 9
    path.write_bytes(content)
    with pytest.raises(LabelLogError, match="damaged"):
        events_in(path)


def test_folders_that_are_not_there_or_no_files(tmp_path):
    with pytest.raises(UsageError, match="create it first"):
        LabelLog(tmp_path / "no" / "a.sqlite")
    with pytest.raises(UsageError, match="this is a directory"):
        LabelLog(tmp_path)
    with pytest.raises(UsageError, match="there is no label log here"):
        LabelLog(tmp_path / "a.sqlite", read_only=True)
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def foreign_folder():
    """A folder of somebody else's; root may write everywhere, so it becomes nobody for a while."""
    folder = Path(tempfile.mkdtemp())
    yield folder
    os.seteuid(os.getuid())
    folder.chmod(0o700)
    shutil.rmtree(folder)


def become_a_stranger(folder):
    for path in folder.iterdir():
        path.chmod(0o444)
    folder.chmod(0o555)
    if os.getuid() == 0:
        os.seteuid(65534)


def test_in_a_folder_of_others_one_may_read_but_not_label(foreign_folder):
    path = foreign_folder / "a.sqlite"
    with LabelLog(path) as log:
        event = log.append(label())
    become_a_stranger(foreign_folder)
    with pytest.raises(UsageError, match=r"you cannot write here; save the labels in another file"):
        LabelLog(path)
    with pytest.raises(UsageError, match=r"you cannot write here"):
        LabelLog(foreign_folder / "new.sqlite")
    assert events_in(path) == [event]


def test_in_a_folder_of_others_what_is_still_in_the_write_ahead_log_is_read_too(foreign_folder):
    path = foreign_folder / "a.sqlite"
    with LabelLog(path, file_system=lambda path: "ext4") as log:
        event = log.append(label())
        become_a_stranger(foreign_folder)
        assert events_in(path) == [event]
        os.seteuid(os.getuid())
        foreign_folder.chmod(0o700)


def test_a_place_is_looked_at_without_making_a_log(path, tmp_path):
    check_place(path)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(UsageError, match="does not exist; create it first"):
        check_place(tmp_path / "none" / "a.sqlite")
    path.write_text("something else " * 100)
    with pytest.raises(UsageError, match="not a label log"):
        check_place(path)


def test_a_log_opened_to_be_read_takes_no_label(path):
    LabelLog(path).close()
    with LabelLog(path, read_only=True) as log, pytest.raises(UsageError, match="read-only"):
        log.append(label())


def test_a_closed_log_says_so(path):
    log = LabelLog(path)
    log.close()
    log.close()
    with pytest.raises(LabelLogError, match="closed"):
        log.append(label())


def test_who_waits_too_long_is_told_and_nothing_is_stored(path, monkeypatch):
    monkeypatch.setattr(database, "WAIT_S", 0.05)
    with LabelLog(path) as log:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LabelLogError, match="another process has locked the log"):
            log.append(label())
        other.execute("ROLLBACK")
        other.close()
        log.append(label())
        assert len(log.events()) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_log_is_not_carried_into_another_process(log):
    child = os.fork()
    if not child:
        try:
            log.append(label())
        except UsageError as error:
            os._exit("after a fork" in str(error))
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
    assert log.events() == []


FULL_DISK = """
import resource, sys
from rarespec.labels.event import LabelEvent, new_event_id
from rarespec.labels.event import Label
from rarespec.labels.log import LabelLog, LabelLogError
log = LabelLog(sys.argv[1], file_system=lambda path: sys.argv[2])
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
stored = 0
try:
    while stored < 1000:
        log.append(LabelEvent(new_event_id(), "s", Label.NO, person="Ada", comment="x" * 900))
        stored += 1
except LabelLogError as error:
    print(stored, error)
    assert len(log.events()) == stored
"""


@pytest.mark.parametrize("file_system", ["ext4", "nfs4"])
def test_a_full_disk_is_told_and_nothing_is_half_stored(path, file_system):
    """The size limit of the operating system stands in for the disk: a write fails in the middle of a file."""
    command = [sys.executable, "-c", FULL_DISK, path, file_system]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    stored = int(said.split()[0])
    assert stored > 5 and "full; nothing was saved" in said
    assert len(events_in(path)) == stored
    with LabelLog(path) as log:
        log.append(label())
        assert len(log.events()) == stored + 1
