"""The sky beside the spectrum, from a service on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fetching.archive_server import Answer, ArchiveServer, serving
from inspector.browser.visiting import inspecting
from inspector.running_inspector import campaign_of
from rarespec.fetching.pictures import service_named
from rarespec.inspector.cutouts import Cutouts
from rarespec.survey import Survey
from sky_pictures import PNG, png

GREYS = "one => new Set(one.getContext('2d').getImageData(0, 0, one.width, one.height).data).size"


def cutouts_of(sky: ArchiveServer) -> Cutouts:
    return Cutouts(service_named(f"{sky.base}/cut?ra={{ra}}&dec={{dec}}"), None)


def test_a_picture_with_scale_and_orientation(browser: Any, survey: Survey, tmp_path: Path) -> None:
    with serving() as sky:
        sky.replies["/cut"] = Answer(PNG, headers={"Content-Type": "image/png"})
        options = {"cutouts": cutouts_of(sky), "relearn_every": 0}
        with inspecting(browser, campaign_of(survey, top=5), tmp_path, **options) as (_, visit):
            visit.see("#cutout").to_be_hidden()
            assert sky.requests == [], "in the grid nothing is fetched"
            visit.open_detail()
            visit.see("#cutout").to_have_attribute("data-shown", visit.selected)
            visit.see("#cutout-words").to_have_text("60″ across, N up, E left; from 127.0.0.1")
            visit.see("#cutout-note").to_be_hidden()
            assert "north up" in visit.page.get_attribute("#cutout-picture", "aria-label")
            assert visit.page.locator("#cutout-picture").evaluate(GREYS) > 3, "nothing is drawn on the picture"


def test_without_a_picture_there_is_a_sentence_and_no_error(browser: Any, survey: Survey, tmp_path: Path) -> None:
    with serving() as sky:
        sky.replies["/cut"] = Answer(b"", 500)
        options = {"cutouts": cutouts_of(sky), "relearn_every": 0}
        with inspecting(browser, campaign_of(survey, top=5), tmp_path, **options) as (_, visit):
            visit.open_detail()
            visit.see("#cutout-note").to_contain_text("gives no picture")
            sky.replies["/cut"] = Answer(png(8, 8)[:40], headers={"Content-Type": "image/png"})  # cut off
            visit.press("j")
            visit.see("#cutout-note").to_have_text("This picture cannot be drawn.")
            visit.press("y")
            visit.wait_until_saved(1)
            assert visit.page.is_hidden("#notice") and visit.page.is_hidden("#warning")


def test_without_being_asked_for_there_is_no_place_for_it(browser: Any, survey: Survey, tmp_path: Path) -> None:
    with inspecting(browser, campaign_of(survey, top=5), tmp_path, relearn_every=0) as (_, visit):
        visit.open_detail()
        visit.see("#cutout").to_be_hidden()
        assert not [url for url in visit.requests if "/api/cutout" in url]
