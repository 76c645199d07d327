"""Behind a real JupyterHub, from its login page: the tile and `rarespec inspect` label as the user of the hub."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, sleep
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from inspector.browser.visiting import SMALL, Visit, note_complaints
from inspector.jupyter import BASE
from rarespec.inspector.server import listening
from rarespec.labels.kinds import path_beside
from rarespec.labels.log import LabelLog
from rarespec.survey import Survey

PROXY = "configurable-http-proxy"
USER = BASE.strip("/").split("/")[-1]
SECONDS_TO_START = 300
"""On a busy machine the user's server needs more than the half minute that a hub gives it."""
CONFIG = """
c.JupyterHub.bind_url = c.JupyterHub.public_url = "http://127.0.0.1:{public}/"
c.JupyterHub.hub_bind_url = "http://127.0.0.1:{hub}"
c.JupyterHub.db_url = "sqlite:///hub.sqlite"
c.JupyterHub.authenticator_class = "dummy"
c.Authenticator.allowed_users = {{"{user}"}}
c.JupyterHub.spawner_class = "simple"
c.SimpleLocalProcessSpawner.home_dir_template = "{folder}/{{username}}"
c.Spawner.cmd = ["{python}", "-m", "jupyterhub.singleuser"]
c.Spawner.args = ["--allow-root"]
c.Spawner.environment = {{"JUPYTERHUB_SINGLEUSER_APP": "jupyter_server.serverapp.ServerApp"}}
c.Spawner.start_timeout = c.Spawner.http_timeout = {seconds}
c.ConfigurableHTTPProxy.command = ["{proxy}"]
c.ConfigurableHTTPProxy.api_url = "http://127.0.0.1:{api}"
"""


@dataclass(frozen=True)
class Hub:
    """A hub that runs; it tells its users' servers the address that browsers see."""

    port: int
    home: Path

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        """Of the user's own server."""
        return f"{self.origin}{BASE}"


@pytest.fixture(scope="module")
def hub(survey: Survey, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    with running_hub(tmp_path_factory.mktemp("hub")) as hub:
        shutil.copytree(survey.path, hub.home / "sky" / "b.survey")
        yield hub


@contextmanager
def running_hub(folder: Path) -> Iterator[Hub]:
    for name in ("jupyterhub", "jupyter_server", "jupyter_server_proxy"):
        pytest.importorskip(name, reason=f"{name} is not installed")
    if (proxy := shutil.which(PROXY)) is None:
        pytest.skip(f"{PROXY} is not installed")
    public, hub, api = free_ports()
    words = {"public": public, "hub": hub, "api": api, "folder": folder, "user": USER, "seconds": SECONDS_TO_START}
    (folder / "config.py").write_text(CONFIG.format(**words, proxy=proxy, python=sys.executable))
    with (folder / "hub.txt").open("w") as said:
        process = subprocess.Popen(
            [sys.executable, "-m", "jupyterhub", "-f", "config.py"],
            cwd=folder,
            env=os.environ | {"CONFIGPROXY_AUTH_TOKEN": "known-to-this-test-alone"},
            stdout=said,
            stderr=said,
        )
        try:
            wait_until_it_answers(f"http://127.0.0.1:{public}/hub/health", process)
            yield Hub(public, folder / USER)
        finally:
            process.terminate()  # it stops the proxy and the users' servers
            process.wait()


def free_ports() -> list[int]:
    """Three at once, or one could come twice."""
    with listening(0) as public, listening(0) as hub, listening(0) as api:
        return [one.getsockname()[1] for one in (public, hub, api)]


def wait_until_it_answers(url: str, process: subprocess.Popen[bytes]) -> None:
    end = monotonic() + SECONDS_TO_START
    while process.poll() is None and monotonic() < end:
        try:
            urlopen(url).close()
            return
        except URLError:
            sleep(0.2)
    raise AssertionError("JupyterHub did not start; see hub.txt in its folder")


@pytest.fixture(scope="module")
def page(browser: Any, hub: Hub) -> Iterator[Any]:
    """A page of somebody who has logged in at the hub and whose server runs."""
    with browser.new_context(viewport=SMALL) as window:
        window.set_default_timeout(1000 * SECONDS_TO_START)
        page = window.new_page()
        page.goto(f"{hub.origin}/hub/login?next=%2Fhub%2Fspawn%2F{USER}%3Fnext%3D{BASE}api%2Fstatus")
        page.fill("#username_input", USER)
        page.click("#login_submit")
        page.wait_for_url(re.compile(f"{hub.url}.*"))
        yield page


def check_labels(visit: Visit) -> None:
    """Label two candidates, let the ranking learn, and read the labels from the log."""
    visit.open_detail()
    first = visit.selected
    visit.press("y")
    second = visit.selected
    visit.press("n")
    events = [(one.spectrum, str(one.label), one.person) for one in visit.wait_until_saved(2)]
    assert events == [(first, "yes", USER), (second, "no", USER)]
    visit.press("r")
    visit.see("#change").to_contain_text("Re-ranked", timeout=1000 * SECONDS_TO_START)
    assert [text for text in visit.complaints if "favicon" not in text] == [] and visit.outside() == []


def opened(page: Any, hub: Hub, log: LabelLog, address: str) -> Visit:
    visit = Visit(page, hub.port, log)
    note_complaints(visit)
    page.goto(address)
    visit.ready()
    return visit


def test_the_tile_leads_to_labels(page: Any, hub: Hub) -> None:
    tiles = page.request.get(f"{hub.url}server-proxy/servers-info").json()["server_processes"]
    (tile,) = [one["launcher_entry"] for one in tiles if one["name"] == "rarespec"]
    with LabelLog(path_beside(hub.home / "sky" / "b.survey", "carbon")) as log:
        visit = opened(page, hub, log, f"{hub.url}{tile['path_info']}")
        assert page.url == f"{hub.url}rarespec/"
        visit.see("#person").to_have_text(USER)
        visit.see(".survey h3").to_have_text(["sky/b.survey"])
        page.get_by_label("Known ids").fill("s000, s001, s002, s003")
        page.get_by_label("Kind").fill("carbon")
        page.click("text=Start")
        visit.see("#survey").to_have_text("b.survey (carbon)", timeout=1000 * SECONDS_TO_START)
        visit.ready()
        check_labels(visit)


def test_who_has_not_logged_in_gets_the_login_page(browser: Any, page: Any, hub: Hub) -> None:
    with browser.new_context() as window:
        answer = window.request.get(f"{hub.url}rarespec/?key=x", timeout=1000 * SECONDS_TO_START)
        assert "/hub/login" in answer.url and "start_page.js" not in answer.text()


def test_inspect_in_a_terminal_of_the_hub_leads_to_labels(page: Any, hub: Hub) -> None:
    line = f"{sys.executable} -m rarespec inspect sky/b.survey --known s000,s001,s002,s003 --no-browser --kind hand"
    with terminal(page, hub) as type_line, LabelLog(path_beside(hub.home / "sky" / "b.survey", "hand")) as log:
        address = type_line(line, re.compile(r"open (http://\S+/proxy/\d+/\?key=[\w-]+)[^\w-]"))
        assert address.startswith(f"{hub.url}proxy/")
        visit = opened(page, hub, log, address)
        visit.see("#person").to_have_text(USER)
        check_labels(visit)


@contextmanager
def terminal(page: Any, hub: Hub) -> Iterator[Callable[[str, re.Pattern[str]], str]]:
    """A terminal as JupyterLab opens it: types a line and waits for words. It ends what it has started."""
    websocket = pytest.importorskip("websocket", reason="websocket-client is not installed")
    cookies = {one["name"]: one["value"] for one in page.context.cookies(f"{hub.url}api/terminals")}
    secret = {"X-XSRFToken": cookies["_xsrf"]}
    answer = page.request.post(f"{hub.url}api/terminals", headers=secret)
    assert answer.ok, answer.text()
    name = answer.json()["name"]
    address = f"{hub.url}terminals/websocket/{name}?_xsrf={cookies['_xsrf']}".replace("http:", "ws:", 1)
    written = "; ".join(f"{key}={value}" for key, value in cookies.items())
    socket = websocket.create_connection(address, SECONDS_TO_START, cookie=written, origin=hub.origin)

    def type_line(line: str, awaited: re.Pattern[str]) -> str:
        socket.send(json.dumps(["stdin", f"{line}\r"]))
        said = ""
        while (found := awaited.search(said)) is None:
            said += "".join(map(str, json.loads(socket.recv())[1:2]))
        return found[1]

    try:
        yield type_line
    finally:
        socket.send(json.dumps(["stdin", "\x03"]))
        socket.close()
        page.request.delete(f"{hub.url}api/terminals/{name}", headers=secret)
