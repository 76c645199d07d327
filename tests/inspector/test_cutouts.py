"""Pictures of the sky in the inspector: kept beside the survey, and never in the way of anything else."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event

import pytest

import rarespec.inspector.cutouts as cutouts_module
from fetching.archive_server import Answer, ArchiveServer, serving
from inspector.running_inspector import PATIENCE, campaign_of, label_of, running
from rarespec.fetching.pictures import service_named
from rarespec.inspector.cutouts import MOST_WAITING, RETRY_SECONDS, THREADS, Cutouts, KeptPictures, folder_beside
from rarespec.survey import Survey
from sky_pictures import JPEG, PNG

PICTURE = Answer(PNG, headers={"Content-Type": "image/png"})
Make = Callable[..., Cutouts]


@pytest.fixture
def sky() -> Iterator[ArchiveServer]:
    with serving() as server:
        server.replies["/cut"] = PICTURE
        yield server


@pytest.fixture
def make(sky: ArchiveServer, tmp_path: Path) -> Iterator[Make]:
    made: list[Cutouts] = []

    def make(**more: object) -> Cutouts:
        service = service_named(f"{sky.base}/cut?ra={{ra}}&dec={{dec}}")
        made.append(Cutouts(service, tmp_path / "a.survey.cutouts", **more))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for cutouts in made:
        cutouts.close()


def test_a_picture_is_asked_for_once_and_kept(sky: ArchiveServer, make: Make, tmp_path: Path) -> None:
    for cutouts in (make(), make()):
        assert cutouts.picture(10, 20).result(PATIENCE).content == PNG
    assert len(sky.requests) == 1 and sky.requests[0].query == "ra=10.000000&dec=20.000000"
    (kept,) = (tmp_path / "a.survey.cutouts").iterdir()
    assert kept.read_bytes() == PNG and len(kept.stem) == 64


def test_what_is_damaged_on_disk_is_fetched_again(sky: ArchiveServer, make: Make, tmp_path: Path) -> None:
    make().picture(10, 20).result(PATIENCE)
    (kept,) = (tmp_path / "a.survey.cutouts").iterdir()
    kept.write_bytes(b"<html><script>alert(1)</script>")
    assert make().picture(10, 20).result(PATIENCE).content == PNG
    assert len(sky.requests) == 2 and kept.read_bytes() == PNG


def test_a_failure_is_a_sentence_and_is_tried_again_later(sky: ArchiveServer, make: Make) -> None:
    now = [0.0]
    cutouts = make(now=lambda: now[0])
    sky.replies["/cut"] = Answer(b"", 503)
    said = cutouts.picture(1, 2).result(PATIENCE)
    assert not said.content and said.why.startswith(f"{sky.base.removeprefix('http://')} gives no picture: ")
    sky.replies["/cut"] = PICTURE
    assert cutouts.picture(1, 2).result(PATIENCE) == said and len(sky.requests) == 1
    now[0] = RETRY_SECONDS + 1
    assert cutouts.picture(1, 2).result(PATIENCE).content == PNG


def test_without_a_network_it_is_a_sentence_too() -> None:
    gone = Cutouts(service_named("http://127.0.0.1:1/{ra}/{dec}"), None)
    assert "gives no picture" in gone.picture(1, 2).result(PATIENCE).why
    gone.close()


def test_those_that_wait_longest_are_given_up(sky: ArchiveServer, make: Make) -> None:
    stall = Event()
    sky.replies["/cut"] = Answer(JPEG, headers={"Content-Type": "image/jpeg"}, length=len(JPEG) + 1, stall=stall)
    cutouts = make()
    asked = [cutouts.picture(i, 0) for i in range(THREADS + MOST_WAITING + 3)]
    given_up = [future for future in asked if future.done()]
    assert given_up and "others were asked for since" in given_up[0].result().why
    assert cutouts.picture(len(asked) - 1, 0) is asked[-1]  # the same one, asked for again
    cutouts.close()
    stall.set()


def test_the_oldest_are_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cutouts_module, "MOST_KEPT", 3)
    kept = KeptPictures(tmp_path)
    for i in range(5):
        kept.keep(str(i), PNG)
        os.utime(kept._path(str(i)), (i, i))
    (tmp_path / "other").touch()
    again = KeptPictures(tmp_path)
    assert [again.read(str(i)) is not None for i in range(5)] == [False, False, True, True, True]
    assert (tmp_path / "other").exists()


def test_a_folder_that_is_a_link_or_cannot_be_written_keeps_nothing(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "file").touch()
    for name in ("link", "file"):
        kept = KeptPictures(tmp_path / name)
        kept.keep("a", PNG)
        assert kept.read("a") is None
    assert not list((tmp_path / "elsewhere").iterdir())


def test_it_lies_beside_the_survey(tmp_path: Path) -> None:
    assert folder_beside(tmp_path / "dr17.survey") == tmp_path / "dr17.survey.cutouts"


# ---- Through the server.


def test_the_server_answers_with_the_picture(survey: Survey, sky: ArchiveServer, make: Make, tmp_path: Path) -> None:
    with running(campaign_of(survey), tmp_path / "labels.sqlite", cutouts=make()) as server:
        assert server.get("/api/session").json["cutouts"] == {"credit": "from 127.0.0.1", "size": 60.0}
        one, other = [id for id in server.inspection.listing.ids if id.startswith("s")][:2]
        answer = server.get(f"/api/cutout?id={one}")
        assert (answer.status, answer.headers["content-type"], answer.body) == (200, "image/png", PNG)
        assert answer.headers["x-content-type-options"] == "nosniff"
        facts = server.inspection.listing.facts[one]
        assert sky.requests[0].query == f"ra={facts['ra']:.6f}&dec={facts['dec']:.6f}"
        assert server.get("/api/cutout?id=nobody").status == 404
        assert server.get("/api/cutout").status == server.get("/api/cutout?id=a&id=b").status == 400
        assert server.get("/api/cutout?id=s001").body == PNG  # a known example is not on the list
        sky.replies["/cut"] = Answer(b"<script>", headers={"Content-Type": "image/png"})
        failed = server.get(f"/api/cutout?id={other}")
        assert failed.status == 200 and "not a JPEG or PNG" in failed.json["why"]


def test_a_service_that_hangs_holds_up_nothing(
    survey: Survey, sky: ArchiveServer, make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rarespec.inspector.api.CUTOUT_SECONDS", 0.05)
    stall = Event()
    sky.replies["/cut"] = Answer(PNG, headers={"Content-Type": "image/png"}, length=len(PNG) + 1, stall=stall)
    with running(campaign_of(survey), tmp_path / "labels.sqlite", cutouts=make()) as server:
        ids = [id for id in server.inspection.listing.ids if id.startswith("s")][:8]
        for id in ids:
            assert server.get(f"/api/cutout?id={id}").json["why"].endswith(" is slow.")
        assert server.post("/api/labels", label_of(ids[0])).status == 200
        assert server.get(f"/api/spectrum?id={ids[0]}").status == 200
    stall.set()


def test_without_being_asked_to_nothing_is_fetched(survey: Survey, tmp_path: Path) -> None:
    with running(campaign_of(survey, top=3), tmp_path / "labels.sqlite") as server:
        assert server.get("/api/session").json["cutouts"] is None
        assert "--cutouts" in server.get("/api/cutout?id=s012").json["why"]


def test_an_id_that_is_not_listed_is_found(survey: Survey, tmp_path: Path) -> None:
    with running(campaign_of(survey, top=3), tmp_path / "labels.sqlite") as server:
        for id, told in {"s000": (True, True), "s150": (True, False), "nobody": (False, False)}.items():
            answer = server.get(f"/api/find?id={id}").json
            assert (answer["in_survey"], answer["known"]) == told
        assert server.get("/api/find").status == 400
