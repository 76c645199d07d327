"""What axe-core finds in the page: nothing serious, in every view and dialog, at three sizes, in light and dark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fetching.archive_server import Answer, serving
from inspector.browser.visiting import NARROW, PHONE, SMALL, Visit, inspecting
from inspector.running_inspector import campaign_of
from rarespec.fetching.pictures import service_named
from rarespec.inspector.cutouts import Cutouts
from rarespec.labels.campaign import Campaign
from rarespec.survey import Survey
from sky_pictures import PNG

VIEWS = {"grid": "g", "detail": "Enter"}
DIALOGS = {
    "help": "?",
    "species": "Shift+L",
    "disagreements": "d",
    "go-to": "a",
    "export": "Shift+E",
    "save-plot": "Shift+S",
}
"""Id of each dialog -> the key that opens it; the test fails for a dialog of the page that is not here."""
SERIOUS = ("serious", "critical")
RUN = "(where) => axe.run(where, { resultTypes: ['violations'], preload: false })"

LOOKS = [
    pytest.param(SMALL, "light", id="small-light"),
    pytest.param(NARROW, "dark", id="narrow-dark"),
    pytest.param(PHONE, "light", id="phone-light"),
    pytest.param(SMALL, "dark", id="small-dark", marks=pytest.mark.exhaustive),
    pytest.param(NARROW, "light", id="narrow-light", marks=pytest.mark.exhaustive),
    pytest.param(PHONE, "dark", id="phone-dark", marks=pytest.mark.exhaustive),
]


def serious_findings(visit: Visit, where: str) -> list[str]:
    """As sentences that say what is wrong and where."""
    answer = visit.page.evaluate(RUN, "body" if where in VIEWS else f"#{where}")
    return [
        f"{where}: {found['id']}: {found['help']}: {node['html'][:120]}"
        for found in answer["violations"]
        if found["impact"] in SERIOUS
        for node in found["nodes"]
    ]


@pytest.fixture(scope="module")
def campaign(survey: Survey) -> Campaign:
    """Few candidates, to be quick: each card is looked at in all its parts."""
    return campaign_of(survey, top=6)


@pytest.mark.parametrize(("size", "scheme"), LOOKS)
def test_nothing_serious_is_found(
    browser: Any, campaign: Campaign, tmp_path: Path, size: dict[str, int], scheme: str
) -> None:
    axe = pytest.importorskip("axe_playwright_python", reason="axe-playwright-python is not installed")
    script = (Path(axe.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
    with serving() as sky:
        sky.replies["/cut"] = Answer(PNG, headers={"Content-Type": "image/png"})
        look = {"viewport": size, "color_scheme": scheme}
        cutouts = Cutouts(service_named(f"{sky.base}/cut?ra={{ra}}&dec={{dec}}"), None)
        with inspecting(browser, campaign, tmp_path, relearn_every=0, cutouts=cutouts, **look) as (_, visit):
            visit.page.evaluate(script)  # in the page's own world, where its policy lets no script tag in
            visit.press(*"ynub")
            visit.wait_until_saved(4)
            found = []
            assert set(DIALOGS) == set(visit.page.locator("dialog").evaluate_all("all => all.map(one => one.id)"))
            for view, key in VIEWS.items():
                visit.press(key)
                if view == "detail":
                    visit.drawn()
                found += serious_findings(visit, view)
            for dialog, key in DIALOGS.items():
                visit.press(key)
                visit.see(f"#{dialog}").to_be_visible()
                found += serious_findings(visit, dialog)
                visit.press("Escape")
                visit.see(f"#{dialog}").to_be_hidden()  # a key pressed before would be typed into it
            assert found == []
