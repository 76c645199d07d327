"""Somebody who has the inspector open in a browser, and what their browser complains about."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

import pytest

from inspector.running_inspector import Running, running
from rarespec.inspector.app import app_for
from rarespec.inspector.gate import Secrets
from rarespec.inspector.server import address, listening, server_for
from rarespec.labels.campaign import Campaign
from rarespec.labels.event import LabelEvent
from rarespec.labels.log import LabelLog

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
SMALL, LARGE = {"width": 1280, "height": 720}, {"width": 1920, "height": 1080}
NARROW, TABLET, PHONE = {"width": 1024, "height": 700}, {"width": 768, "height": 1024}, {"width": 390, "height": 844}
LOOK = ("viewport", "color_scheme", "device_scale_factor", "has_touch", "permissions")
"""Options of the window; the others are those of the server."""
PATIENCE_MS = 60_000
"""After which a test that waits for the page fails instead."""


@contextmanager
def opened_browser() -> Iterator[Any]:
    """Headless Chromium; skips the test where there is none."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    playwright.expect.set_options(timeout=PATIENCE_MS)
    with playwright.sync_playwright() as starter:
        try:
            browser = starter.chromium.launch(executable_path=path)
        except playwright.Error as error:
            if path is not None:
                raise
            pytest.skip(f"no browser is installed: {str(error).splitlines()[0]}")
        with browser:
            yield browser


@dataclass
class Visit:
    """A page of the inspector.

    complaints : what its console and its errors said, dialogs it opened
    n_before : events in the log that are not of this test
    """

    page: Any
    port: int
    log: LabelLog
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    n_before: int = 0

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def see(self, selector: str) -> Any:
        """To be asked what is expected of it."""
        from playwright.sync_api import expect

        return expect(self.page.locator(selector))

    def text(self, selector: str) -> str:
        return self.page.locator(selector).text_content()

    @property
    def selected(self) -> str:
        return self.text("#object-id")

    def open_detail(self) -> None:
        self.press("Enter")
        self.see("#plot").to_have_attribute("data-shown", self.selected)

    def drawn(self) -> None:
        """Waits until the spectrum of the selected candidate is on the screen."""
        self.see("#plot").to_have_attribute("data-shown", self.selected)

    def described(self) -> str:
        """The drawing in words."""
        return self.page.get_attribute("#spectrum", "aria-label")

    def picture(self, canvas: str = "#spectrum") -> str:
        """All that is drawn there."""
        return self.page.locator(canvas).evaluate("canvas => canvas.toDataURL()")

    def answer(self, pattern: str, handler: Callable[[Any], Any]) -> None:
        """Let the test answer such requests, once the browser asks it; on a busy machine some slip through."""
        self.page.route("**/is-it-asked", lambda route: route.fulfill(status=204))
        self.page.route(pattern, handler)
        while self.page.evaluate("async () => (await fetch('/is-it-asked')).status") != 204:
            self.complaints.clear()

    def reload(self) -> None:
        """The browser learns of a new address a moment after the page has set it, and would load the one before."""
        address = self.page.evaluate("location.href")
        self.page.wait_for_url(lambda url: url == address)
        self.page.reload()
        self.ready()

    def ready(self) -> None:
        self.see("body").to_have_attribute("data-ready", "true")

    def wait_until_saved(self, n: int) -> list[LabelEvent]:
        """Until the log holds n more events and the page knows it."""
        while len(self.log.events()) < self.n_before + n:
            with self.page.expect_response(lambda answer: answer.request.method == "POST", timeout=PATIENCE_MS):
                pass
        self.see(".saving").to_have_count(0)
        return [event for _, event in self.log.events()[self.n_before :]]

    def outside(self) -> list[str]:
        """Requests to anywhere but the inspector."""
        inside = f"127.0.0.1:{self.port}"
        return [url for url in self.requests if urlsplit(url).netloc != inside and not url.startswith("data:")]


@contextmanager
def visiting(browser: Any, port: int, token: str, log: LabelLog, **look: Any) -> Iterator[Visit]:
    """A page in a window of its own; look: its size, colour scheme ..."""
    with _window(browser, look) as window:
        visit = Visit(window.new_page(), port, log)
        note_complaints(visit)
        visit.page.goto(address(port, token))
        visit.ready()
        yield visit
    assert visit.outside() == [], visit.outside()


@contextmanager
def _window(browser: Any, look: dict[str, Any]) -> Iterator[Any]:
    """The usual one serves again, to be quick: what a browser keeps, it keeps for one port."""
    usual = not look and next(iter(browser.contexts), None)
    window = usual or browser.new_context(**{"viewport": SMALL} | look)
    window.set_default_timeout(PATIENCE_MS)
    already = set(window.pages)
    try:
        yield window
    finally:
        for page in set(window.pages) - already:
            page.close()
        if look:
            window.close()


def note_complaints(visit: Visit) -> None:
    def close(dialog: Any) -> None:
        visit.complaints.append(f"dialog: {dialog.type} {dialog.message}".strip())
        dialog.accept()

    page, complaints = visit.page, visit.complaints
    page.on("dialog", close)
    page.on("pageerror", lambda error: complaints.append(f"error: {error}"))
    page.on("console", lambda said: said.type in ("error", "warning") and complaints.append(f"console: {said.text}"))
    page.on("request", lambda request: visit.requests.append(request.url))


@contextmanager
def inspecting(browser: Any, campaign: Campaign, folder: Path, **options: Any) -> Iterator[tuple[Running, Visit]]:
    """A server and its visitor, whose browser must not complain about anything."""
    look = {name: options.pop(name) for name in LOOK if name in options}
    with running(campaign, folder / "labels.sqlite", **options) as server:
        with visiting(browser, server.port, server.secrets.token, server.log, **look) as visit:
            yield server, visit
        assert visit.complaints == [], visit.complaints


@contextmanager
def serving(campaign: Campaign, log: LabelLog, port: int, person: str = "Ada") -> Iterator[tuple[int, Secrets]]:
    """A server on this port, as it is after a restart: with secrets of its own. 0 for any port."""
    secrets = Secrets.new()
    with listening(port) as listener:
        taken = listener.getsockname()[1]
        app = app_for(campaign, log, person, secrets, taken)
        server = server_for(app)
        thread = Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield taken, secrets
        finally:
            server.should_exit = True
            thread.join()
            app.state.inspection.close()
