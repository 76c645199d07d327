"""Who is where: told in files beside the labels, forgotten soon, and never in the way of a label."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from inspector.running_inspector import campaign_of, label_of, running
from rarespec.inspector.whereabouts import FORGOTTEN_AFTER, SECONDS_APART, Whereabouts
from rarespec.survey import Survey


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.time = 1e9

    def __call__(self) -> float:
        return self.time


@contextmanager
def looking(log: Path, *people: str) -> Iterator[tuple[Clock, list[Whereabouts]]]:
    clock = Clock()
    log.touch(0o600)
    with ExitStack() as stack:
        someone = [Whereabouts(log, person, clock) for person in people]
        for one in someone:
            stack.callback(one.close)
        yield clock, someone


def seen_by(one: Whereabouts) -> dict[str, str]:
    return {place.person: place.spectrum for place in one.others()}


def wait(one: Whereabouts) -> None:
    one._worker.submit(int).result()


def test_each_sees_the_others_and_not_themselves(tmp_path: Path) -> None:
    with looking(tmp_path / "a.sqlite", "Ada", "Bob", "Cleo") as (_, (ada, bob, cleo)):
        ada.tell("s001")
        bob.tell("s002")
        wait(ada)
        wait(bob)
        assert seen_by(ada) == {"Bob": "s002"} and seen_by(cleo) == {"Ada": "s001", "Bob": "s002"}
        folder = tmp_path / "a.sqlite.people"
        assert folder.stat().st_mode & 0o777 == 0o700 and len(list(folder.iterdir())) == 2
    assert not folder.exists()  # the last one takes it away


def test_a_place_is_written_seldom_and_forgotten_soon(tmp_path: Path) -> None:
    with looking(tmp_path / "a.sqlite", "Ada", "Bob") as (clock, (ada, bob)):
        for spectrum in ("s001", "s002", "s003"):
            ada.tell(spectrum)
            wait(ada)
        assert seen_by(bob) == {"Ada": "s001"}
        clock.time += SECONDS_APART
        ada.tell("s004")
        wait(ada)
        assert seen_by(bob) == {"Ada": "s004"}
        clock.time += FORGOTTEN_AFTER
        assert seen_by(bob) == {}


def test_a_group_that_shares_the_labels_shares_this_too(tmp_path: Path) -> None:
    log = tmp_path / "a.sqlite"
    with looking(log, "Ada") as (_, (ada,)):
        log.chmod(0o660)
        ada.tell("s001")
        wait(ada)
        folder = tmp_path / "a.sqlite.people"
        assert folder.stat().st_mode & 0o777 == 0o770
        assert [file.stat().st_mode & 0o777 for file in folder.iterdir()] == [0o660]


FORGED = (
    b"",
    b"{",
    b"[]",
    b"[" * 8000,
    b"\xff\xfe",
    b'{"person": "Eve"}',
    b'{"person": 1, "spectrum": "s001", "at": 1e9}',
    b'{"person": "Eve\\n", "spectrum": "s001", "at": 1e9}',
    b'{"person": "Eve", "spectrum": "s001", "at": NaN}',
    b'{"person": "Eve", "spectrum": "s001", "at": "x"}',
    b'{"person": "Eve", "spectrum": "s001", "at": 1e10}',
    json.dumps({"person": "Eve", "spectrum": "s" * 1001, "at": 1e9}).encode(),
    json.dumps({"person": "E" * 101, "spectrum": "s", "at": 1e9}).encode(),
    json.dumps({"person": "Eve", "spectrum": "s", "at": 1e9, "more": "x" * 10_000}).encode(),
)


def test_forged_files_tell_nothing(tmp_path: Path) -> None:
    with looking(tmp_path / "a.sqlite", "Ada", "Bob") as (_, (ada, bob)):
        ada.tell("s001")
        wait(ada)
        folder = tmp_path / "a.sqlite.people"
        for i, content in enumerate(FORGED):
            (folder / f"{i}.json").write_bytes(content)
        os.mkfifo(folder / "pipe.json")
        (folder / "folder.json").mkdir()
        (tmp_path / "elsewhere.json").write_text('{"person": "Eve", "spectrum": "s001", "at": 1e9}')
        (folder / "link.json").symlink_to(tmp_path / "elsewhere.json")
        assert seen_by(bob) == {"Ada": "s001"}


def test_a_link_in_place_of_the_folder_is_not_followed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "a.sqlite.people").symlink_to(tmp_path / "elsewhere")
    with looking(tmp_path / "a.sqlite", "Ada") as (clock, (ada,)):
        for _ in range(3):
            ada.tell("s001")
            wait(ada)
            clock.time += SECONDS_APART
        assert ada.others() == []
    assert list((tmp_path / "elsewhere").iterdir()) == []
    assert [record.message.count("labels are not affected") for record in caplog.records] == [1]


def test_labels_go_on_where_it_fails(survey: Survey, tmp_path: Path) -> None:
    (tmp_path / "labels.sqlite.people").write_text("in the way")
    with running(campaign_of(survey), tmp_path / "labels.sqlite") as server:
        assert server.post("/api/place", {"id": "s012"}).status == 200
        assert server.get("/api/places").json == []
        assert server.post("/api/labels", label_of("s012")).status == 200
    assert (tmp_path / "labels.sqlite.people").read_text() == "in the way"


def test_two_inspectors_on_one_log(survey: Survey, tmp_path: Path) -> None:
    log, campaign = tmp_path / "labels.sqlite", campaign_of(survey)
    with running(campaign, log) as ada, running(campaign, log, "Bob") as bob, running(campaign, log, "Cleo") as cleo:
        assert ada.post("/api/place", {"id": "s012"}).status == 200
        assert ada.post("/api/place", {"id": "no-such-id"}).status == 404
        assert ada.post("/api/place", {"id": "s012", "person": "Bob"}).status == 400
        ada.get("/api/places")
        assert bob.get("/api/places").json == cleo.get("/api/places").json == [{"person": "Ada", "id": "s012"}]
    assert [path.name for path in tmp_path.iterdir()] == ["labels.sqlite"]


def test_who_is_blind_neither_tells_nor_sees(survey: Survey, tmp_path: Path) -> None:
    log, campaign = tmp_path / "labels.sqlite", campaign_of(survey)
    with running(campaign, log) as ada, running(campaign, log, "Bob", blind=True) as bob:
        ada.post("/api/place", {"id": "s012"})
        bob.post("/api/place", {"id": "s013"})
        assert ada.get("/api/places").json == bob.get("/api/places").json == []
