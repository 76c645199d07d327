"""A survey that someone else made: whatever its journal, lock and staging area are, nothing outside it is touched."""

import errno
import json
import os
import shutil
import threading
from pathlib import Path

import pytest

from conftest import SMALL_GRID, make_spectra
from rarespec.errors import SurveyError
from rarespec.survey import Survey
from rarespec.survey.store.commit import JOURNAL, LOCK, STAGING
from rarespec.survey.store.manifest import NAME
from rarespec.survey.store.writer import SurveyWriter
from rarespec.survey.verify import verify

BEFORE = "what the user had"


@pytest.fixture
def victim(tmp_path):
    """A file of the user outside the survey."""
    path = tmp_path / "home" / ".bashrc"
    path.parent.mkdir()
    path.write_text(BEFORE)
    return path


@pytest.fixture
def survey(tmp_path, monkeypatch):
    monkeypatch.setattr(SurveyWriter.__init__, "__defaults__", (False, 50, None))
    survey = Survey.create(tmp_path / "a.survey", SMALL_GRID)
    survey.append(make_spectra(60, SMALL_GRID))
    return survey


def everything_in(folder: Path):
    """Names, links and contents, of all that is there but the lock, which is empty and may come at any time."""
    return {
        str(path.relative_to(folder)): os.readlink(path)
        if path.is_symlink()
        else path.read_bytes()
        if path.is_file()
        else None
        for path in sorted(folder.rglob("*"))
        if path.name != LOCK
    }


def forge(survey, moves, manifest=None):
    """As an interrupted writer would have left it, but with these moves."""
    (survey.path / STAGING).mkdir(exist_ok=True)
    text = survey.manifest.to_bytes().decode() if manifest is None else manifest
    (survey.path / JOURNAL).write_text(json.dumps({"moves": moves, "manifest": text}))


def stage(survey, name, content=b"alias ls='rm -rf'\n"):
    path = Path(os.path.normpath(survey.path / STAGING / name))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def assert_refused(survey, naming):
    """By every way in, with a message that names the path; and nothing has moved."""
    around = survey.path.parent
    before = everything_in(around)
    ways_in = (Survey.open, verify, lambda path: SurveyWriter(path, SMALL_GRID))
    for way_in in ways_in:
        with pytest.raises(SurveyError) as refusal:
            way_in(survey.path)
        assert naming in str(refusal.value)
    assert everything_in(around) == before


@pytest.mark.parametrize(
    "name",
    [
        "../home/.bashrc",
        "flux/../../home/.bashrc",
        "flux/c/0/../../../../home/.bashrc",
        "./flux/c/0/0",
        "flux//c/0/0",
        "flux/c/0/0/",
        "",
        ".",
        "..",
        "flux/c/9/0",
        "flux/c/00/0",
        "flux",
        "features/x/current.json",
        "manifest.json",
        JOURNAL,
        LOCK,
        "a\0b",
        "x\ud800",
        "défauts.csv",
    ],
)
def test_a_journal_may_only_name_files_of_its_manifest(survey, victim, name):
    if name and "\0" not in name and "\ud800" not in name and not name.startswith((".rarespec", ".")):
        stage(survey, "evil")
    forge(survey, [*survey.manifest.digests(), name])
    assert_refused(survey, JOURNAL)
    assert victim.read_text() == BEFORE


def test_an_absolute_path_moves_nothing(survey, victim):
    stage(survey, "evil")
    for name in (str(victim), f"/{victim}", f"{survey.path}/flux/c/0/0"):
        forge(survey, [name])
        assert_refused(survey, name)
    assert victim.read_text() == BEFORE


def test_the_first_moves_wait_for_the_last_to_be_checked(survey, victim):
    old = (survey.path / "flux/c/0/0").read_bytes()
    stage(survey, "flux/c/0/0", old)
    forge(survey, ["flux/c/0/0", "../home/.bashrc"])
    assert_refused(survey, "../home/.bashrc")
    assert (survey.path / STAGING / "flux/c/0/0").exists()


@pytest.mark.parametrize("where", ["flux", "flux/c", "flux/c/0"])
@pytest.mark.parametrize("side", [".", STAGING])
def test_no_link_on_the_way(survey, victim, where, side):
    """Files would be moved from, or to, wherever the link leads."""
    content = (survey.path / "flux/c/0/0").read_bytes()
    if side == STAGING:
        stage(survey, "flux/c/0/0", content)
    folder = survey.path / side / where
    away = victim.parent / "away"
    folder.rename(away)
    folder.symlink_to(away)
    forge(survey, ["flux/c/0/0"])
    assert_refused(survey, str(folder))


def test_a_staging_area_that_is_a_link_is_refused_and_not_emptied(survey, victim):
    (survey.path / STAGING).symlink_to(victim.parent)
    assert_refused(survey, STAGING)
    assert victim.read_text() == BEFORE
    forge_through = {"moves": [], "manifest": survey.manifest.to_bytes().decode()}
    (survey.path / JOURNAL).write_text(json.dumps(forge_through))
    assert_refused(survey, STAGING)
    assert sorted(path.name for path in victim.parent.iterdir()) == [".bashrc"]


def test_a_staged_file_that_is_a_link_is_refused(survey, victim):
    """Otherwise the survey would hold, and pass on, whatever it leads to."""
    stage(survey, "defects.csv")
    (survey.path / STAGING / "defects.csv").unlink()
    (survey.path / STAGING / "flux/c/0").mkdir(parents=True)
    (survey.path / STAGING / "flux/c/0/0").symlink_to(survey.path / "flux/c/0/0")
    forge(survey, ["flux/c/0/0"])
    assert_refused(survey, str(survey.path / STAGING / "flux/c/0/0"))


@pytest.mark.parametrize("name", [NAME, JOURNAL])
def test_nothing_is_written_through_a_link_in_the_staging_area(survey, victim, name):
    """The new manifest is first written there: a link of its name led it over the user's file."""
    forge(survey, [])
    (survey.path / STAGING / name).symlink_to(victim)
    assert len(Survey.open(survey.path)) == 60
    survey.append(make_spectra(3, SMALL_GRID, prefix="t"))
    assert victim.read_text() == BEFORE


def test_what_is_staged_must_be_what_the_manifest_says(survey):
    stage(survey, "flux/c/0/0", b"something else")
    forge(survey, ["flux/c/0/0"])
    assert_refused(survey, str(survey.path / STAGING / "flux/c/0/0"))


def test_what_was_moved_before_must_be_what_the_manifest_says(survey):
    (survey.path / "flux/c/0/0").write_bytes(b"something else")
    forge(survey, ["flux/c/0/0"])
    assert_refused(survey, str(survey.path / "flux/c/0/0"))
    (survey.path / "flux/c/0/0").unlink()
    assert_refused(survey, str(survey.path / "flux/c/0/0"))


@pytest.mark.parametrize("where", ["flux", "flux/c", "flux/c/0", "flux/c/0/0"])
def test_a_place_that_is_taken_is_told_before_anything_moves(survey, where):
    """A file where a directory should be, or a directory where a file should be."""
    stage(survey, "flux/c/0/0", (survey.path / "flux/c/0/0").read_bytes())
    shutil.rmtree(survey.path / "flux")
    place = survey.path / where
    place.parent.mkdir(parents=True, exist_ok=True)
    if where == "flux/c/0/0":
        place.mkdir()
    else:
        place.write_text("a file")
    forge(survey, ["flux/c/0/0"])
    assert_refused(survey, where)


def damaged_journals():
    yield "empty", b""
    yield "cut", b"{"
    yield "no manifest", b'{"moves": []}'
    yield "a list", b"[]"
    yield "a number", b"1"
    yield "not UTF-8", b'{"moves": ["\xff"], "manifest": ""}'
    yield "not a number", b'{"moves": NaN, "manifest": "x"}'
    yield "deep", b"[" * 200_000 + b"]" * 200_000
    yield "deep moves", b'{"manifest": "x", "moves": ' + b"[" * 200_000 + b"]" * 200_000 + b"}"


@pytest.mark.parametrize(
    ("how", "journal"), list(damaged_journals()), ids=lambda value: value if type(value) is str else ""
)
def test_a_damaged_journal_is_named(survey, how, journal):
    (survey.path / JOURNAL).write_bytes(journal)
    assert_refused(survey, JOURNAL)


@pytest.mark.parametrize("moves", [None, {"a": 1}, "flux/c/0/0", [1], [None], [["flux/c/0/0"]], [{}], 3, True])
def test_moves_of_another_type_are_refused(survey, moves):
    forge(survey, moves)
    assert_refused(survey, JOURNAL)


@pytest.mark.parametrize("manifest", [None, 1, {}, [], "", "{}", "x" * 10, "\ud800"])
def test_a_journal_with_another_manifest_is_refused(survey, manifest):
    journal = {"moves": [], "manifest": manifest}
    (survey.path / JOURNAL).write_text(json.dumps(journal))
    assert_refused(survey, JOURNAL)


def within_seconds(action):
    """What hangs fails the test instead of stopping it."""
    result = []
    thread = threading.Thread(target=lambda: result.append(action()), daemon=True)
    thread.start()
    thread.join(60)
    assert result, "it hangs"
    return result[0]


def refusal_of(action):
    def attempt():
        try:
            action()
        except SurveyError as error:
            return str(error)
        return "nothing was refused"

    return within_seconds(attempt)


@pytest.mark.parametrize("name", [JOURNAL, NAME, LOCK])
@pytest.mark.parametrize("kind", ["fifo", "directory", "endless"])
def test_what_is_not_a_file_is_refused(survey, name, kind):
    path = survey.path / name
    path.unlink(missing_ok=True)
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "directory":
        path.mkdir()
    else:
        path.symlink_to("/dev/zero")
    (survey.path / STAGING).mkdir()
    assert name in refusal_of(lambda: survey.append(make_spectra(1, SMALL_GRID, prefix="t")))
    assert name in refusal_of(lambda: Survey.open(survey.path))


@pytest.mark.parametrize("name", [JOURNAL, NAME])
def test_a_file_larger_than_any_survey_needs_is_not_read(survey, name):
    with open(survey.path / name, "wb") as file:
        file.truncate(10**12)  # takes no room on the disk
    assert name in refusal_of(lambda: Survey.open(survey.path))


def test_the_lock_is_not_taken_through_a_link(survey, victim):
    """Neither created where the link leads, nor held there."""
    (survey.path / LOCK).unlink()
    (survey.path / LOCK).symlink_to(victim.parent / "new")
    assert LOCK in refusal_of(lambda: survey.append(make_spectra(1, SMALL_GRID, prefix="t")))
    assert not (victim.parent / "new").exists()


@pytest.mark.parametrize("where", ["flux", "flux/c", "mask/c", "catalogue"])
def test_a_survey_whose_arrays_lie_elsewhere_is_read_and_not_written(survey, victim, where):
    """One that its user linked together is fine to read; a change would leave the survey."""
    away = victim.parent / "away"
    (survey.path / where).rename(away)
    (survey.path / where).symlink_to(away)
    before = everything_in(survey.path.parent)
    opened = Survey.open(survey.path)
    assert opened.verify().sound and len(opened.select(["s00000"])) == 1
    with pytest.raises(SurveyError, match=f"{where}: is a symbolic link"):
        opened.append(make_spectra(3, SMALL_GRID, prefix="t"))
    assert everything_in(survey.path.parent) == before


def test_the_way_to_a_survey_may_be_a_link(survey, tmp_path):
    link = tmp_path / "link.survey"
    link.symlink_to(survey.path)
    Survey.open(link).append(make_spectra(3, SMALL_GRID, prefix="t"))
    assert len(Survey.open(survey.path)) == 63 and Survey.open(link).verify().sound


def test_who_cannot_carry_out_a_journal_reads_the_old_state(survey, monkeypatch):
    """On a full disk, or in the directory of someone else."""
    from rarespec.survey.store import commit

    def refuse(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(commit, "_carry_out", refuse)
        with pytest.raises(OSError, match="No space"):
            survey.append(make_spectra(4, SMALL_GRID, prefix="t"))
        opened = Survey.open(survey.path)
        assert len(opened) == 60 and opened.verify().sound and len(opened.select(["s00059"])) == 1
        with pytest.raises(OSError, match="No space"):
            opened.append(make_spectra(4, SMALL_GRID, prefix="t"))
    assert len(Survey.open(survey.path)) == 64


def test_a_true_journal_is_carried_out(survey, monkeypatch):
    """The checks refuse nothing that a writer leaves: a state after each move."""
    from rarespec.survey.store import commit

    class Stop(Exception):
        pass

    n_moves = n_carried_out = 0
    while True:
        left = [n_moves]

        def replace(source, target, left=left, move=os.replace):
            if left[0] == 0:
                raise Stop
            left[0] -= 1
            move(source, target)

        with monkeypatch.context() as patched:
            patched.setattr(commit.os, "replace", replace)
            try:
                Survey.open(survey.path).append(make_spectra(4, SMALL_GRID, prefix=f"t{n_moves}-"))
                break
            except Stop:
                pass
        found = Survey.open(survey.path)
        assert found.verify().sound and len(found) - len(survey) in (0, 4)
        n_carried_out += len(found) > len(survey)
        survey, n_moves = found, n_moves + 1
    assert n_carried_out >= 8
