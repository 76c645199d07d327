"""A browser, a small campaign, and somebody who inspects it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from inspector.browser.visiting import Visit, inspecting
from inspector.running_inspector import Running, campaign_of
from rarespec.labels.campaign import Campaign
from rarespec.survey import Survey


@pytest.fixture(scope="session")
def campaign(survey: Survey) -> Campaign:
    """A page of the grid and a little more. Tests that share it must not let it learn."""
    return campaign_of(survey, top=70)


@pytest.fixture
def inspected(browser: Any, campaign: Campaign, tmp_path: Path) -> Iterator[tuple[Running, Visit]]:
    with inspecting(browser, campaign, tmp_path, relearn_every=0) as both:
        yield both


@pytest.fixture(scope="module")
def shared(
    browser: Any, campaign: Campaign, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Running, Visit]]:
    """One server and one page for all tests of a module that leave settings as they were."""
    with inspecting(browser, campaign, tmp_path_factory.mktemp("shared"), relearn_every=0) as both:
        yield both


@pytest.fixture
def looked_at(shared: tuple[Running, Visit]) -> tuple[Running, Visit]:
    """The same, with the first candidate selected in the grid."""
    visit = shared[1]
    visit.press("Escape", "g")
    visit.page.click("[data-action=first-page]")
    return shared


@pytest.fixture
def labeller(shared: tuple[Running, Visit]) -> Visit:
    """The same, with the best candidate selected that has no label yet."""
    visit = shared[1]
    visit.press("Escape", "g", "Shift+I")
    visit.n_before = len(visit.log.events())
    return visit


@pytest.fixture
def looker(looked_at: tuple[Running, Visit]) -> Visit:
    return looked_at[1]


@pytest.fixture
def visit(inspected: tuple[Running, Visit]) -> Visit:
    return inspected[1]
