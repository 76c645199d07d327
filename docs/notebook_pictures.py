"""Draws what a survey, a spectrum and a ranking show of themselves in a notebook, from a mock survey.

python docs/notebook_pictures.py

It needs Playwright and Chromium, as the tests of the inspector do.
"""

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import sync_playwright

from rarespec import search
from rarespec.mock import SkyChoice, simulate_survey

HERE = Path(__file__).parent
WIDTH = 900
STYLE = """
body { font: 13px/1.4 system-ui, sans-serif; margin: 12px; } table { font-size: 12px; }
pre { background: #f5f5f5; border: 1px solid #ddd; padding: 6px; margin: 14px 0 6px; }
td, th { padding: 3px 8px; } tbody tr:nth-child(odd) { background: #f5f5f5; }
"""
"""About what notebooks do."""


def main() -> None:
    with TemporaryDirectory() as folder:
        survey = simulate_survey(SkyChoice(2940, (("carbon", 60),), seed=3), Path(folder) / "mock.survey")
        carbon = survey.ids[survey.catalogue["class"] == "CARBON"].tolist()
        bright = next(id for id in carbon if survey[id].catalogue["snr"] > 12)
        cells = {
            "survey": survey,
            f'survey["{bright}"]': survey[bright],
            "rs.search(survey, known=carbon_stars[:5])": search(survey, carbon[:5]),
        }
        shown = "".join(f"<pre>{cell}</pre>{value._repr_html_()}" for cell, value in cells.items())
        draw(f"<!DOCTYPE html><meta charset=utf-8><style>{STYLE}</style>{shown.replace(folder, '~')}")


def draw(page: str) -> None:
    with sync_playwright() as starter:
        browser = starter.chromium.launch(executable_path=shutil.which("chromium"))
        tab = browser.new_page(viewport={"width": WIDTH, "height": 100}, color_scheme="light")
        tab.set_content(page)
        tab.screenshot(path=HERE / "notebook.png", full_page=True)
        browser.close()


if __name__ == "__main__":
    main()
