"""Draws the pictures of the inspector: a mock survey, an inspector that runs, and a browser that looks at it.

python docs/inspector_pictures.py

It needs Playwright and Chromium, as the tests of the page do.
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread

from playwright.sync_api import Page, expect, sync_playwright

from rarespec.inspector.app import app_for
from rarespec.inspector.gate import Secrets
from rarespec.inspector.page_options import PageOptions
from rarespec.inspector.server import address, listening, server_for
from rarespec.labels import Campaign, LabelLog
from rarespec.mock import SkyChoice, simulate_survey
from rarespec.survey import Survey

HERE = Path(__file__).parent
SIZE = {"width": 1280, "height": 720}
N_KNOWN = 3
N_LABELS = 12
PATIENCE_MS = 120_000
"""On a busy machine a page takes its time."""
SETTLED_MS = 500
"""After which the page has taken on the colours of the other scheme."""
LAST_CARD_IS_DRAWN = """() => {
  const last = [...document.querySelectorAll(".card canvas")].at(-1);
  return last.getContext("2d").getImageData(0, 0, last.width, last.height).data.some(Boolean);
}"""
SOME_SPECIES = ("C₂", "CN", "CH", "H", "Na I", "Ca II")


def main() -> None:
    expect.set_options(timeout=PATIENCE_MS)
    with TemporaryDirectory() as folder:
        survey = simulate_survey(SkyChoice(2940, (("carbon", 60),), seed=3), Path(folder) / "mock.survey")
        with inspected(survey, Path(folder)) as place, sync_playwright() as starter:
            browser = starter.chromium.launch(executable_path=shutil.which("chromium"))
            page = browser.new_page(viewport=SIZE, color_scheme="light")
            page.set_default_timeout(PATIENCE_MS)
            page.goto(place)
            page.wait_for_selector("body[data-ready=true]")
            draw(page, survey)
            browser.close()


def draw(page: Page, survey: Survey) -> None:
    """Somebody has labelled the first ones and let the ranking learn."""
    classes = dict(zip(survey.ids.tolist(), survey.catalogue["class"].tolist(), strict=True))
    page.keyboard.press("Enter")
    choose_species(page)
    for _ in range(N_LABELS):
        page.keyboard.press("y" if classes[page.text_content("#object-id")] == "CARBON" else "n")
    page.keyboard.press("r")
    expect(page.locator("#change")).to_contain_text("Re-ranked")
    page.keyboard.press("j")
    expect(page.locator("#plot")).to_have_attribute("data-shown", page.text_content("#object-id") or "")
    for scheme, name in (("dark", "inspector-detail-dark.png"), ("light", "inspector-detail.png")):
        page.emulate_media(color_scheme=scheme)
        page.wait_for_load_state("networkidle")
        page.wait_for_timeout(SETTLED_MS)
        page.screenshot(path=HERE / name)
    page.keyboard.press("g")
    while not page.evaluate(LAST_CARD_IS_DRAWN):
        page.wait_for_timeout(SETTLED_MS)
    page.screenshot(path=HERE / "inspector-grid.png")


def choose_species(page: Page) -> None:
    page.keyboard.press("Shift+L")
    page.click("#species-none")
    for name in SOME_SPECIES:
        page.get_by_label(name, exact=True).check()
    page.keyboard.press("Escape")


@contextmanager
def inspected(survey: Survey, folder: Path) -> Iterator[str]:
    """The address of an inspector that runs."""
    known = survey.ids[survey.catalogue["class"] == "CARBON"][:N_KNOWN].tolist()
    secrets = Secrets.new()
    with listening(0) as listener, LabelLog(folder / "labels.sqlite") as log:
        port = listener.getsockname()[1]
        app = app_for(Campaign.start(survey, known), log, "Ada", secrets, port, PageOptions(relearn_every=0))
        server = server_for(app)
        thread = Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield address(port, secrets.token)
        finally:
            server.should_exit = True
            thread.join()
            app.state.inspection.close()


if __name__ == "__main__":
    main()
