"""Behind a real jupyter-server-proxy, below a path as on a hub: the page works, and the gate is as strict."""

from __future__ import annotations

import json
import re
import shutil
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from time import sleep
from typing import Any
from urllib.request import Request, urlopen

import pytest

from inspector.browser.visiting import PATIENCE_MS, SMALL, Visit, note_complaints
from inspector.jupyter import BASE, TOKEN, Jupyter, running_jupyter
from inspector.running_inspector import PATIENCE, Answer, Call, Running, campaign_of, exchanged, running
from rarespec.inspector.entrance import Entrance, origins_of
from rarespec.inspector.server import address, listening
from rarespec.labels.event import Label, LabelEvent, new_event_id, person_named
from rarespec.labels.kinds import path_beside, start_of_log
from rarespec.labels.log import LabelLog
from rarespec.survey import Survey


@pytest.fixture(scope="module")
def jupyter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Jupyter]:
    with running_jupyter(tmp_path_factory.mktemp("jupyter")) as jupyter:
        yield jupyter


@pytest.fixture(scope="module")
def proxied(jupyter: Jupyter, survey: Survey, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """An inspector that Jupyter shows, and that a page of Jupyter may frame."""
    with listening(0) as free:
        port = free.getsockname()[1]
    entrance = Entrance(origins_of(jupyter.host), f"{BASE}proxy/{port}/").framed()
    log = tmp_path_factory.mktemp("proxied") / "labels.sqlite"
    with running(campaign_of(survey), log, port=port, entrance=entrance, relearn_every=0) as server:
        yield server


@pytest.fixture(scope="module")
def visit(browser: Any, jupyter: Jupyter, proxied: Running) -> Iterator[Visit]:
    """Somebody who is known to Jupyter and opens the address that `rarespec inspect` prints."""
    with browser.new_context(viewport=SMALL) as window:
        window.set_default_timeout(PATIENCE_MS)
        visit = Visit(window.new_page(), jupyter.port, proxied.log)
        note_complaints(visit)
        visit.page.goto(jupyter.entry)
        visit.page.goto(address(proxied.port, proxied.secrets.token, proxied.entrance))
        visit.ready()
        yield visit
    assert visit.complaints == [] and visit.outside() == []


def test_the_page_works_below_the_path_of_the_proxy(visit: Visit, jupyter: Jupyter, proxied: Running) -> None:
    assert visit.page.url.startswith(f"{jupyter.url}proxy/{proxied.port}/#") and TOKEN not in visit.page.url
    visit.open_detail()
    first = visit.selected
    visit.press("y", "n")
    events = visit.wait_until_saved(2)
    assert (events[0].spectrum, str(events[0].label)) == (first, "yes")
    visit.press("r")
    visit.see("#change").not_to_be_empty()
    visit.reload()
    assert proxied.inspection.listing.revision == 1
    visit.see(".rank-row .mark.yes").to_have_count(1)


def test_the_cookie_is_for_this_path_alone(visit: Visit, proxied: Running) -> None:
    cookies = visit.page.context.cookies()
    (ours,) = [one for one in cookies if one["name"].startswith("rarespec")]
    assert ours["name"] == f"rarespec-proxied-{proxied.port}" and ours["path"] == f"{BASE}proxy/{proxied.port}/"
    assert ours["httpOnly"] and ours["sameSite"] == "Strict" and not ours["secure"]  # Jupyter has no https here


# ---- The tile of the launcher, which every test below finds as JupyterLab does.


def tile_of(jupyter: Jupyter) -> dict[str, Any]:
    with urlopen(f"{jupyter.url}server-proxy/servers-info?token={TOKEN}") as answer:
        (tile,) = [one for one in json.load(answer)["server_processes"] if one["name"] == "rarespec"]
    return tile["launcher_entry"]


@pytest.fixture(scope="module")
def folder(jupyter: Jupyter, survey: Survey) -> Path:
    """A survey in the folder of the notebooks, with a campaign for carbon."""
    copy = jupyter.folder / "sky" / "b.survey"
    shutil.copytree(survey.path, copy)
    campaign_of(Survey.open(copy)).keep(start_of_log(path_beside(copy, "carbon")))
    with LabelLog(path_beside(copy, "carbon")) as log:
        log.append(LabelEvent(new_event_id(), "s030", Label.NO, person=person_named()))
    return copy


def test_the_tile_leads_to_a_survey_to_labels_and_back(browser: Any, jupyter: Jupyter, folder: Path) -> None:
    tile = tile_of(jupyter)
    assert tile["title"] == "rarespec" and tile["path_info"].startswith("rarespec/?key=")
    with LabelLog(path_beside(folder, "carbon")) as log, browser.new_context(viewport=SMALL) as window:
        window.set_default_timeout(PATIENCE_MS)
        visit = Visit(window.new_page(), jupyter.port, log, n_before=1)
        note_complaints(visit)
        visit.page.goto(jupyter.entry)
        visit.page.goto(f"{jupyter.url}{tile['path_info']}")
        visit.ready()
        assert visit.page.url == f"{jupyter.url}rarespec/"
        visit.see(".survey h3").to_have_text(["sky/b.survey"])
        visit.page.click("text=Continue: carbon, 1 label")
        visit.see("#survey").to_have_text("b.survey (carbon)")
        visit.ready()
        visit.open_detail()
        first = visit.selected
        visit.press("y")
        assert [(one.spectrum, str(one.label)) for one in visit.wait_until_saved(1)] == [(first, "yes")]
        visit.page.click("#leave")
        visit.see("button.continue").to_have_text("Continue: carbon, 2 labels")
        visit.page.click("summary")
        visit.page.get_by_label("Known ids").fill("s000, nobody")
        visit.page.get_by_label("Kind").fill("other")
        visit.page.click("text=Start")
        visit.see("#error").to_contain_text("no spectrum has the id 'nobody'")
        assert [text for text in visit.complaints if "favicon" not in text] == [] and visit.outside() == []


# ---- Hostile requests that Jupyter lets through, as it knows who sends them.


def through(jupyter: Jupyter, proxied: Running, call: Call) -> Answer:
    """Send a request to the inspector by way of Jupyter, which is shown its own token."""
    target = f"{BASE}proxy/{proxied.port}{call.target}"
    with socket.create_connection(("127.0.0.1", jupyter.port), PATIENCE) as connection:
        return exchanged(connection, replace(call, target=target).having("Authorization", f"token {TOKEN}"))


FAULTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "no cookie": ("Cookie", ()),
    "the cookie of the other way": ("Cookie", ("rarespec-{port}={token}",)),
    "another's cookie": ("Cookie", ("rarespec-proxied-{port}={xsrf}",)),
    "another page": ("Origin", ("https://evil.example",)),
    "the inspector's own port": ("Origin", ("http://127.0.0.1:{port}",)),
    "https": ("Origin", ("https://127.0.0.1:{jupyter}",)),
    "another site": ("Sec-Fetch-Site", ("cross-site",)),
    "another user's host": ("Host", ("localhost.:{jupyter}",)),
}
FAULTS_IN_A_CHANGE: dict[str, tuple[str, tuple[str, ...]]] = {
    "no Origin": ("Origin", ()),
    "no second secret": ("X-Rarespec-Xsrf", ()),
    "Jupyter's second secret": ("X-Rarespec-Xsrf", ("{jupyters}",)),
    "a form": ("Content-Type", ("application/x-www-form-urlencoded",)),
}


def test_what_jupyter_lets_through_the_gate_refuses(jupyter: Jupyter, proxied: Running) -> None:
    secrets = proxied.secrets
    words = {"port": proxied.port, "token": secrets.token, "xsrf": secrets.xsrf, "jupyter": jupyter.port}
    reads = [proxied.get_call(path, proxied=True) for path in proxied.paths("GET") if path != "/"]
    changes = [proxied.post_call(path, {}, proxied=True) for path in proxied.paths("POST")]
    before = proxied.state()[:-1]  # without the place that a page in the browser tells meanwhile
    for calls, faults in ((reads, FAULTS), (changes, FAULTS | FAULTS_IN_A_CHANGE)):
        for call in calls:
            for fault, (name, values) in faults.items():
                wrong = call.having(name, *(value.format(**words, jupyters=TOKEN) for value in values))
                answer = through(jupyter, proxied, wrong)
                assert 400 <= answer.status < 500, (fault, call.target, answer)
                assert secrets.xsrf.encode() not in answer.body and secrets.token.encode() not in answer.body
    for method, call in {"PUT": changes[0], "PATCH": changes[0], "DELETE": reads[0], "OPTIONS": reads[0]}.items():
        assert through(jupyter, proxied, replace(call, method=method)).status == 405
    assert proxied.state()[:-1] == before
    assert through(jupyter, proxied, reads[1]).status == 200  # or all this would show nothing


def test_the_token_of_jupyter_does_not_open_the_page(jupyter: Jupyter, proxied: Running) -> None:
    call = proxied.get_call(f"/?token={TOKEN}", proxied=True).having("Cookie")
    assert through(jupyter, proxied, call).status == 401
    assert through(jupyter, proxied, replace(call, target=f"/?key={TOKEN}")).status == 401
    opened = through(jupyter, proxied, replace(call, target=f"/?key={proxied.secrets.ticket()}"))
    assert opened.status == 303 and opened.headers["location"] == "./"


# ---- In a cell of a notebook.


def framing(visit: Visit, origin: str, source: str) -> Any:
    """A page of this origin that shows the address in a frame; the frame."""
    url = f"{origin}/notebook.html"
    content = f'<!doctype html><iframe src="{source}" width="1200" height="700"></iframe>'
    visit.page.route(url, lambda route: route.fulfill(body=content, content_type="text/html"))
    visit.page.goto(url)
    return visit.page.frame_locator("iframe")


def test_a_page_of_jupyter_may_frame_it_and_no_other(visit: Visit, jupyter: Jupyter, proxied: Running) -> None:
    source = f"{jupyter.url}proxy/{proxied.port}/"
    framing(visit, f"http://{jupyter.host}", source).locator("body[data-ready=true]").wait_for()
    framing(visit, f"http://127.0.0.1:{proxied.port + 1}", source)
    (framed,) = visit.page.main_frame.child_frames
    assert framed.url.startswith("chrome-error:")
    visit.complaints.clear()
    visit.requests.clear()


CELLS = """
import sys
sys.path.insert(0, {tests!r})
import rarespec
from search_rankings import ranking_of
page = ranking_of(rarespec.Survey.open({survey!r})).inspect("Ada", log={labels!r})
page
"""


def test_a_notebook_shows_the_page_and_gets_the_labels_back(
    visit: Visit, jupyter: Jupyter, survey: Survey, tmp_path: Path
) -> None:
    with kernel_of(jupyter) as run:
        places = {"tests": str(Path(__file__).parents[2]), "survey": str(survey.path)}
        shown = run(CELLS.format(**places, labels=str(tmp_path / "a.sqlite")))
        assert set(shown) == {"text/plain", "text/html"}
        assert "in this notebook" in shown["text/plain"] and "key=" not in shown["text/plain"]
        (source,) = re.findall(r'<iframe src="([^"]*)"', shown["text/html"])
        assert re.fullmatch(rf"{BASE}proxy/\d+/\?key=[\w-]{{43}}", source)
        token = run("page._secrets.token")["text/plain"].strip("'")
        assert token not in str(shown)
        frame = framing(visit, f"http://{jupyter.host}", source)
        frame.locator("body[data-ready=true]").wait_for()
        frame.locator("#to-detail").click()
        frame.locator("button[data-action=yes]").click()
        frame.locator("#saved").filter(has_text="saved: yes").wait_for(state="attached")
        labels = run("[tuple(row) for row in page.labels['label', 'person']]")
        assert labels["text/plain"] == "[('yes', 'Ada')]"
        visit.page.goto("about:blank")
        saved = Call("GET", source, (("Host", jupyter.host), ("Authorization", f"token {TOKEN}")))
        with socket.create_connection(("127.0.0.1", jupyter.port), PATIENCE) as connection:
            assert exchanged(connection, saved).status == 401  # what a saved notebook holds opens nothing
        assert run("page.close(), len(page.labels)")["text/plain"] == "(None, 1)"


@contextmanager
def kernel_of(jupyter: Jupyter) -> Iterator[Callable[[str], dict[str, str]]]:
    """A kernel that this Jupyter server has started; runs code and gives what the last line shows."""
    pytest.importorskip("ipykernel", reason="ipykernel is not installed")
    from jupyter_client import BlockingKernelClient

    request = Request(f"{jupyter.url}api/kernels?token={TOKEN}", b"{}", method="POST")
    with urlopen(request) as answer:
        id = json.load(answer)["id"]
    client = BlockingKernelClient(connection_file=str(jupyter.runtime / f"kernel-{id}.json"))
    client.load_connection_file()
    client.start_channels()

    def run(code: str) -> dict[str, str]:
        shown: dict[str, str] = {}

        def note(message: dict[str, Any]) -> None:
            assert message["msg_type"] != "error", "\n".join(message["content"]["traceback"])
            if message["msg_type"] == "execute_result":
                shown.update(message["content"]["data"])

        client.execute_interactive(code, timeout=PATIENCE, output_hook=note)
        return shown

    try:
        _wait_until_ready(client)
        yield run
    finally:
        client.stop_channels()
        urlopen(Request(f"{jupyter.url}api/kernels/{id}?token={TOKEN}", method="DELETE")).close()


def _wait_until_ready(client: Any) -> None:
    """On a busy machine the client takes a kernel for dead that has not begun to live."""
    for _ in range(60):
        with suppress(RuntimeError):
            return client.wait_for_ready(timeout=PATIENCE)
        sleep(0.5)
    raise AssertionError("the kernel did not start")
