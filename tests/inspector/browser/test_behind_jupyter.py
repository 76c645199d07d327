"""Behind a real jupyter-server-proxy, below a path as on a hub: the page works, and the gate is as strict."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from inspector.browser.visiting import PATIENCE_MS, SMALL, Visit, _listen
from inspector.jupyter import BASE, TOKEN, Jupyter, running_jupyter
from inspector.running_inspector import Running, campaign_of, running
from rarespec.inspector.entrance import Entrance, origins_of
from rarespec.inspector.server import address, listening
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
        _listen(visit)
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
