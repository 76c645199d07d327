"""`ranking.inspect()`: the page really runs, in a thread of its own, and leaves its port and its labels behind."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from queue import Queue
from typing import Any

import pytest

from inspector.running_inspector import PATIENCE, Answer, Call, Running, label_of, labels_in
from rarespec import load_model
from rarespec.errors import UsageError
from rarespec.inspector import InspectionPage
from rarespec.inspector.gate import Secrets
from rarespec.inspector.server import listening
from rarespec.labels.campaign_start import CampaignStart
from rarespec.labels.log import LabelLog
from rarespec.searching.ranking import Ranking
from rarespec.survey import Survey
from search_rankings import ranking_of, spectra_with_bands

AWAY: dict[str, Any] = {"block": False, "open_browser": False}


@pytest.fixture(scope="module")
def ranking(survey: Survey) -> Ranking:
    return ranking_of(survey)


@pytest.fixture
def labels(tmp_path: Path) -> Path:
    return tmp_path / "a.sqlite"


def visit(page: InspectionPage) -> Running:
    """Come in by the address alone, as a browser does."""
    host, _, token = page.url.removeprefix("http://").partition("/?token=")
    port = int(host.rpartition(":")[2])
    visitor = Running(port, Secrets(token, ""), page._inspection, page.log)
    opened = visitor.send(Call("GET", f"/?token={token}", (("Host", host),)))
    assert opened.status == 303 and f"rarespec-{port}={token}" in opened.headers["set-cookie"]
    return replace(visitor, secrets=Secrets(token, visitor.get("/api/session").json["xsrf"]))


def label_first(page: InspectionPage) -> str:
    visitor = visit(page)
    assert b"<html" in visitor.get("/").body
    first: str = visitor.get("/api/candidates").json["candidates"][0]["id"]
    answer: Answer = visitor.post("/api/labels", label_of(first))
    assert answer.status in (200, 201), answer.body
    return first


def said_in(path: Path) -> list[tuple[str, str, str]]:
    with LabelLog(path, read_only=True) as log:
        return [(event.spectrum, str(event.label), event.person) for event in labels_in(log)]


def test_the_page_is_served_until_it_is_closed(ranking: Ranking, labels: Path) -> None:
    with ranking.inspect("Ada", log=labels, **AWAY) as page:
        assert page.is_open and page.url in repr(page)
        assert f"labelling as Ada; labels are saved in {labels}" in repr(page)
        listed = visit(page).get("/api/candidates").json["candidates"]
        assert [one["id"] for one in listed] == ranking.table["id"].tolist()
        first = label_first(page)
        port = visit(page).port
    assert not page.is_open and "closed" in repr(page) and "token" not in repr(page)
    page.close()  # once more does no harm
    assert said_in(labels) == [(first, "yes", "Ada")]
    with listening(port) as again:  # the port is free
        assert again.getsockname()[1] == port


def test_in_a_running_event_loop_it_does_not_wait(ranking: Ranking, labels: Path) -> None:
    async def cell() -> InspectionPage:
        page = ranking.inspect("Ada", log=labels, open_browser=False)
        assert isinstance(page, InspectionPage)
        label_first(page)  # without giving the loop a turn: the page does not need it
        return page

    with ThreadPoolExecutor(1) as thread:  # where no test of a browser has left a loop
        page = thread.submit(asyncio.run, cell()).result()
    assert page.is_open  # the end of the loop is not the end of the page
    page.close()
    assert len(said_in(labels)) == 1


def test_labels_that_are_there_count_and_are_told(ranking: Ranking, labels: Path) -> None:
    with ranking.inspect("Ada", log=labels, **AWAY) as page:
        first = label_first(page)
    with ranking.inspect("Bob", log=labels, **AWAY) as page:
        assert "already there: 1 yes" in repr(page)
        assert page.campaign.revision == 1 and first not in page.campaign.ranking.table["id"].tolist()
    with ranking.inspect("Bob", log=labels, blind=True, **AWAY) as page:
        assert "blind: " in repr(page) and "already there" not in repr(page)
        assert page.campaign.revision == 0


def test_the_page_gives_the_labels_back(ranking: Ranking, labels: Path) -> None:
    with ranking.inspect("Ada", log=labels, **AWAY) as page:
        assert page.labels.colnames == ["id", "label", "person", "at", "comment", "tags"] and len(page.labels) == 0
        first = label_first(page)
        assert [*page.labels["id", "label", "person"][0]] == [first, "yes", "Ada"]
    assert page.labels["id"].tolist() == [first]  # also when it is closed
    with ranking.inspect("Bob", log=labels, blind=True, **AWAY) as page:
        assert len(page.labels) == 0


def test_what_a_notebook_saves_has_no_token(ranking: Ranking, labels: Path) -> None:
    with ranking.inspect("Ada", log=labels, **AWAY) as page:
        shown = page._repr_mimebundle_(include=None, exclude=None)
        assert set(shown) == {"text/plain"} and page._secrets.token not in shown["text/plain"]
        assert f"once at http://127.0.0.1:{page._port}/?token=" in shown["text/plain"]
    assert "closed" in page._repr_mimebundle_()["text/plain"]


def test_the_command_can_continue_it(ranking: Ranking, labels: Path) -> None:
    ranking.inspect(log=labels, blind=True, **AWAY).close()
    start = CampaignStart.read(labels.with_name("a.sqlite.campaign.json"))
    assert start.blind and start.request.known == ranking.rows.known_ids and start.request.top == ranking.request.top


def test_known_spectra_from_elsewhere_are_inspected_too(survey: Survey, labels: Path) -> None:
    ranking = ranking_of(survey, known=spectra_with_bands(3))
    with ranking.inspect(log=labels, **AWAY) as page:
        assert page.campaign.ranking.table["id"].tolist() == ranking.table["id"].tolist()
        assert "could not be saved" in repr(page) and "give their files instead" in repr(page)
        label_first(page)


def test_the_browser_gets_an_address_that_opens_once(
    ranking: Ranking, labels: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: Queue[str] = Queue()
    monkeypatch.setattr("webbrowser.open", opened.put)
    with ranking.inspect(log=labels, block=False) as page:
        url = opened.get(timeout=PATIENCE)
        assert url.partition("=")[0] == page.url.partition("=")[0] and url != page.url


def test_a_ranking_by_a_model_is_refused_and_says_what_to_do(ranking: Ranking, survey: Survey, tmp_path: Path) -> None:
    again = load_model(ranking.save(tmp_path / "a.safetensors")).search(survey, top=5)
    with pytest.raises(UsageError, match=r"a model made this ranking.*rarespec inspect SURVEY --known"):
        again.inspect(**AWAY)


def test_what_is_refused_leaves_nothing_open(ranking: Ranking, labels: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with listening(0) as other:
        port = other.getsockname()[1]
        with pytest.raises(UsageError, match=f"port {port}: "):
            ranking.inspect(log=labels, port=port, **AWAY)
    with pytest.raises(UsageError, match="does not exist; create it first"):
        ranking.inspect(log=labels / "none" / "a.sqlite", **AWAY)
    assert not labels.exists()
    monkeypatch.setattr("rarespec.inspector.page.keep_start", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        ranking.inspect(log=labels, port=port, **AWAY)
    listening(port).close()


WAITS = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import rarespec
from search_rankings import ranking_of
found = ranking_of(rarespec.Survey.open(sys.argv[2])).inspect("Ada", open_browser=False, log=sys.argv[3])
print("went on with", found)
"""


@pytest.fixture
def script(survey: Survey, labels: Path) -> Iterator[subprocess.Popen[str]]:
    tests = str(Path(__file__).parents[1])
    arguments = [sys.executable, "-c", WAITS, tests, str(survey.path), str(labels)]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        yield process
        process.kill()


def test_a_script_waits_until_ctrl_c(script: subprocess.Popen[str]) -> None:
    assert script.stdout is not None
    lines = [script.stdout.readline() for _ in range(3)]
    assert "at http://127.0.0.1:" in lines[0] and lines[-1] == "press Ctrl-C to stop\n", lines
    assert script.poll() is None
    script.send_signal(signal.SIGINT)
    rest, errors = script.communicate(timeout=60)
    assert rest == "went on with None\n" and script.returncode == 0, errors
