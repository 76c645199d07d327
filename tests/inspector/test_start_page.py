"""The start page: which surveys it lists, what it opens, and which requests it refuses."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from threading import Thread
from time import sleep
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.routing import Route
from typer.testing import CliRunner

from inspector.running_inspector import PATIENCE, Answer, Call, Running, campaign_of, exchanged, label_of
from inspector.test_gate import FAULTS_IN_A_CHANGE, FAULTS_IN_READING, HUB, SITE, WAYS
from rarespec.cli.app import app
from rarespec.errors import UsageError
from rarespec.inspector.answers import SECURITY_HEADERS
from rarespec.inspector.chosen_campaign import Choice, ids_in, open_chosen
from rarespec.inspector.entrance import find_entrance_of_tile
from rarespec.inspector.launcher import KEY, describe_tile
from rarespec.inspector.server import listening, server_for
from rarespec.inspector.start_page import StartPage, sentence_app
from rarespec.inspector.surveys_below import FoundCampaign, find_surveys
from rarespec.labels.event import Label, LabelEvent, new_event_id
from rarespec.labels.kinds import path_beside, start_of_log
from rarespec.labels.log import LabelLog
from rarespec.survey import Survey


@pytest.fixture(scope="module")
def folder(survey: Survey, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two surveys of the same name, both with a campaign, and some that cannot be opened or must not be found."""
    top = tmp_path_factory.mktemp("start")
    for path in (top / "one" / "a.survey", top / "two" / "a.survey"):
        shutil.copytree(survey.path, path)
        campaign_of(Survey.open(path)).keep(start_of_log(path_beside(path, "carbon")))
        LabelLog(path_beside(path, "carbon")).close()
    (top / "broken").mkdir()
    (top / "broken" / "manifest.json").write_text('{"format": "rarespec-survey", "version": 1')
    (top / "page").mkdir()
    (top / "page" / "manifest.json").write_text('{"name": "a web page"}')
    (top / "link").symlink_to(survey.path)
    shutil.copytree(survey.path, top / ".hidden" / "a.survey")
    shutil.copytree(survey.path, top / "1" / "2" / "3" / "4" / "deep.survey")
    return top


# ---- The list.


def test_surveys_are_found_with_their_campaigns(folder: Path) -> None:
    found = find_surveys(folder)
    assert [one.name for one in found.surveys] == ["broken", "one/a.survey", "two/a.survey"] and not found.note
    broken, one, _ = found.surveys
    assert "the manifest is damaged" in broken.problem and one.problem == ""
    assert one.n_spectra == 200 and one.campaigns == (FoundCampaign("carbon", 0, True),)


def test_labels_are_counted_and_links_beside_a_survey_are_left_out(survey: Survey, tmp_path: Path) -> None:
    path = tmp_path / "a.survey"
    shutil.copytree(survey.path, path)
    with LabelLog(path_beside(path)) as log:
        for id, person in (("s030", "Ada"), ("s030", "Bea"), ("s031", "Ada")):
            log.append(LabelEvent(new_event_id(), id, Label.NO, person=person))
    path_beside(path, "evil").symlink_to(path_beside(path))
    path_beside(path, "damaged").write_text("no log")
    (found,) = find_surveys(tmp_path).surveys
    assert found.campaigns == (FoundCampaign(None, 2, False), FoundCampaign("damaged", None, False))
    assert find_surveys(path).surveys[0].name == "a.survey"  # who starts Jupyter inside a survey sees it too


def test_the_search_stops_and_says_so(folder: Path, tmp_path: Path) -> None:
    few = find_surveys(folder, most_surveys=1)
    assert len(few.surveys) == 1 and few.note.startswith("Only the first 1 surveys")
    near = find_surveys(folder, most_folders=3)
    assert near.note.startswith("Only the first 3 folders")
    assert find_surveys(tmp_path / "nowhere").surveys == ()


# ---- What is opened.


def test_a_search_is_started_from_ids_of_the_survey_alone(survey: Survey, tmp_path: Path) -> None:
    path = tmp_path / "a.survey"
    shutil.copytree(survey.path, path)
    own = tmp_path / "ids.csv"
    own.write_text("s000\n")
    for known, why in (((str(own),), "no spectrum has the id"), (("s000", "x", "y"), "the id 'x', nor 1 more")):
        with pytest.raises(UsageError, match=why):
            open_chosen(Choice(path, None, known), print)
    with pytest.raises(UsageError, match="at most 1000"):
        open_chosen(Choice(path, None, tuple(map(str, range(1001)))), print)
    with pytest.raises(UsageError, match="there is no campaign to continue"):
        open_chosen(Choice(path), print)
    with pytest.raises(UsageError, match="must have 1 to 40 letters"):
        open_chosen(Choice(path, "../x", ("s000",)), print)
    campaign_of(Survey.open(path)).keep(start_of_log(path_beside(path)))
    with pytest.raises(UsageError, match="there is a campaign of this kind already"):
        open_chosen(Choice(path, None, ("s000",)), print)
    (tmp_path / "link.survey").symlink_to(path)
    with pytest.raises(UsageError, match="a link has taken the place"):
        open_chosen(Choice(tmp_path / "link.survey"), print)
    assert ids_in(" s000,s001\n, s000,") == ("s000", "s001")


# ---- Requests.


class Started(Running):
    """The start page, as who has opened it talks to it; `page.shown` is what answers."""

    page: StartPage

    def wait(self) -> dict[str, Any]:
        """Until nothing is being opened."""
        for _ in range(int(PATIENCE / 0.05)):
            told = self.get("/api/start").json
            if not told.get("doing"):
                return told
            sleep(0.05)
        raise AssertionError("it is still being opened")

    def state(self) -> tuple[Any, ...]:
        return self.page._list, self.page._found, self.page._doing, self.page._error, self.page.shown


@contextmanager
def started(folder: Path) -> Iterator[Started]:
    with listening(0) as listener:
        port = listener.getsockname()[1]
        page = StartPage(folder, "Ada", "t" * 43, port, HUB)
        server = server_for(page)
        thread = Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        assert isinstance(page.start.app, Starlette)
        routes = tuple(route for route in page.start.app.routes if isinstance(route, Route))
        try:
            nothing: Any = None
            both = Started(port, page.secrets, nothing, nothing, entrance=HUB, routes=routes)
            both.page = page
            yield both
        finally:
            server.should_exit = True
            thread.join()
            page.close()


@pytest.fixture(scope="module")
def start(folder: Path) -> Iterator[Started]:
    with started(folder) as start:
        yield start


def refused(start: Started, call: Call) -> Answer:
    answer = start.send(call)
    assert 400 <= answer.status < 500, (answer, call)
    assert start.secrets.xsrf.encode() not in answer.body and start.secrets.token.encode() not in answer.body
    return answer


@WAYS
def test_one_thing_wrong_is_enough(start: Started, proxied: bool) -> None:
    start.post("/api/look", {})
    before, n = start.state(), 0
    choice = {"list": start.page._list, "survey": 1, "campaign": 0}
    for target in start.paths("POST"):
        for fault in chain(*FAULTS_IN_A_CHANGE[proxied]):
            body = choice if target == "/api/choose" else {}
            refused(start, fault(start, start.post_call(target, body, proxied)))
            n += 1
    for target in [path.replace("{name}", "start_page.js") for path in start.paths("GET")]:
        for faults in FAULTS_IN_READING[proxied]:
            for fault in faults if target != "/" or faults is not SITE else ():
                refused(start, fault(start, start.get_call(target, proxied)))
                n += 1
        answer = start.send(start.get_call(target, proxied))
        assert answer.status == 200  # or all this would show nothing
        assert SECURITY_HEADERS.items() <= {name: answer.headers.get(name.lower()) for name in SECURITY_HEADERS}.items()
    for method in ("PUT", "DELETE", "PATCH", "OPTIONS", "HEAD"):
        call = replace(start.post_call("/api/choose", choice, proxied), method=method)
        assert start.send(call).status == 405
    assert n > 100 and start.state() == before


WRONG_CHOICES: dict[str, tuple[dict[str, Any], int]] = {
    "a path": ({"survey": "/etc"}, 400),
    "a negative place": ({"survey": -1, "campaign": 0}, 400),
    "no survey": ({"campaign": 0}, 404),
    "beyond the list": ({"survey": 3, "campaign": 0}, 404),
    "no such campaign": ({"survey": 1, "campaign": 1}, 404),
    "neither campaign nor ids": ({"survey": 1}, 400),
    "only commas": ({"survey": 1, "known": " , ,"}, 400),
    "ids that are no text": ({"survey": 1, "known": ["s000"]}, 400),
    "too many letters": ({"survey": 1, "known": "s" * 20_001}, 400),
    "a kind that is no text": ({"survey": 1, "known": "s000", "kind": 1}, 400),
    "another field": ({"survey": 1, "campaign": 0, "path": "/etc"}, 400),
    "an older list": ({"survey": 1, "campaign": 0, "list": 0}, 409),
}


@pytest.mark.parametrize("wrong", WRONG_CHOICES)
def test_a_choice_is_a_place_in_the_list_and_nothing_else(start: Started, wrong: str) -> None:
    start.post("/api/look", {})
    before = start.state()
    body, status = WRONG_CHOICES[wrong]
    assert start.post("/api/choose", {"list": start.page._list} | body).status == status
    assert start.state() == before


def test_a_survey_is_opened_left_and_another_opened(folder: Path) -> None:
    with started(folder) as start:
        told = start.post("/api/look", {}).json
        assert [one["name"] for one in told["surveys"]] == ["broken", "one/a.survey", "two/a.survey"]
        assert start.post("/api/choose", {"list": told["list"], "survey": 0, "known": "s000"}).status == 200
        assert "the manifest is damaged" in start.wait()["error"]
        first = chosen(start, told["list"], 1)
        inspection = start.page.shown.app.state.inspection  # type: ignore[attr-defined]
        stale = replace(start, secrets=replace(start.secrets, xsrf=first["xsrf"]))
        assert stale.post("/api/labels", label_of("s030")).status == 200
        assert start.post("/api/choose", {"list": told["list"], "survey": 2, "campaign": 0}).status == 403
        assert stale.get("/api/leave").status == 405 and stale.post("/api/leave", {"now": 1}).status == 400
        assert stale.post("/api/leave", {}).status == 200
        assert start.get("/api/session").status == 404 and stale.post("/api/labels", label_of("s031")).status == 403
        second = chosen(start, told["list"], 2)
        assert second["survey"] == first["survey"] and second["home"] != first["home"]
        assert stale.post("/api/labels", label_of("s031")).status == 403  # it belongs to the first
        with pytest.raises(RuntimeError):
            inspection.relearn()  # as it is closed
    logs = [path_beside(folder / name / "a.survey", "carbon") for name in ("one", "two")]
    counts = []
    for path in logs:
        with LabelLog(path) as log:
            counts.append(len(log.events()))
    assert counts == [1, 0]


def chosen(start: Started, number: int, survey: int) -> dict[str, Any]:
    """What the inspection of this survey says of itself."""
    assert start.post("/api/choose", {"list": number, "survey": survey, "campaign": 0}).status == 200
    assert start.wait() == {"open": True}
    return start.get("/api/session").json


# ---- The tile.


def test_the_tile_hands_the_key_over_in_the_environment() -> None:
    one, other = describe_tile(), describe_tile()
    key = one["environment"][KEY]
    assert len(key) == 43 and key != other["environment"][KEY] and key not in " ".join(one["command"])
    assert one["launcher_entry"]["path_info"] == f"rarespec/?key={key}"
    assert Path(one["launcher_entry"]["icon_path"]).read_text().startswith("<svg")


def test_what_runs_inside_jupyter_imports_little() -> None:
    code = "import sys, rarespec.inspector.launcher as one; one.describe_tile(); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"numpy", "astropy", "starlette", "uvicorn", "typer"} & set(loaded)


def test_the_host_of_the_tile_is_found_or_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RARESPEC_ALLOW_HOST", "JUPYTERHUB_SERVICE_PREFIX", "JUPYTERHUB_PUBLIC_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("rarespec.inspector.entrance.address_of_jupyter", lambda: "http://localhost:8888/user/ada/")
    own = find_entrance_of_tile("/user/ada/rarespec/", 8931)
    assert own.path == "/user/ada/rarespec/" and list(own.origins) == ["localhost:8888", "127.0.0.1:8888"]
    monkeypatch.setenv("JUPYTERHUB_SERVICE_PREFIX", "/user/ada/")  # then nobody's browser uses that address
    with pytest.raises(UsageError, match="set RARESPEC_ALLOW_HOST to it"):
        find_entrance_of_tile("/user/ada/rarespec/", 8931)
    monkeypatch.setenv("JUPYTERHUB_PUBLIC_URL", "https://hub.example.org/user/ada/")
    assert find_entrance_of_tile("/user/ada/rarespec/", 8931).origin == "https://hub.example.org"


def test_the_verb_of_the_tile_needs_its_key_and_says_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    with listening(0) as free:
        port = str(free.getsockname()[1])
    said: list[str] = []
    monkeypatch.setattr("rarespec.inspector.start_page.serve_sentence", lambda why, listener: said.append(why))
    monkeypatch.setenv("JUPYTERHUB_SERVICE_PREFIX", "/user/ada/")
    words = ["launcher", "--port", port, "--base-url", "/user/ada/rarespec/"]
    without = CliRunner().invoke(app, words)
    assert without.exit_code == 2 and "call `rarespec inspect SURVEY` instead" in without.output and not said
    monkeypatch.setenv(KEY, "k" * 43)
    assert CliRunner().invoke(app, words).exit_code == 0 and KEY not in os.environ
    monkeypatch.setenv(KEY, "k" * 43)
    monkeypatch.setenv("RARESPEC_ALLOW_HOST", "*")
    assert CliRunner().invoke(app, words).exit_code == 0
    assert "set RARESPEC_ALLOW_HOST to it" in said[0] and "give one host" in said[1]


def test_a_sentence_is_answered_to_everybody() -> None:
    with listening(0) as listener:
        server = server_for(sentence_app("set this"))
        thread = Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        with socket.create_connection(listener.getsockname(), PATIENCE) as connection:
            answer = exchanged(connection, Call("GET", "/?key=x", (("Host", "hub.example.org"),)))
        server.should_exit = True
        thread.join()
    assert answer.status == 503 and answer.body == b"set this."
    assert {name.lower() for name in SECURITY_HEADERS} <= answer.headers.keys()
