"""A browser, a small campaign, and somebody who inspects it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from inspector.browser.visiting import Visit, inspecting, opened_browser
from inspector.running_inspector import Running, campaign_of
from rarespec.labels.campaign import Campaign
from rarespec.survey import Survey
from search_rankings import survey_with_bands


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with opened_browser() as browser:
        yield browser


@pytest.fixture(scope="session")
def survey(tmp_path_factory: pytest.TempPathFactory) -> Survey:
    return survey_with_bands(tmp_path_factory.mktemp("browser") / "a.survey")


@pytest.fixture(scope="session")
def campaign(survey: Survey) -> Campaign:
    """A page of the grid and a little more. Tests that share it must not let it learn."""
    return campaign_of(survey, top=70)


@pytest.fixture
def inspected(browser: Any, campaign: Campaign, tmp_path: Path) -> Iterator[tuple[Running, Visit]]:
    with inspecting(browser, campaign, tmp_path, relearn_every=0) as both:
        yield both


@pytest.fixture
def visit(inspected: tuple[Running, Visit]) -> Visit:
    return inspected[1]
