"""Labels over SAMP, from the page and from the terminal, to a program on a hub that only this test knows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from inspector.running_inspector import campaign_of, label_of, running
from rarespec.cli.app import app
from rarespec.survey import Survey
from search_rankings import survey_with_bands
from searching.test_samp import _only_this_computer, hub, program

__all__ = ["_only_this_computer", "hub"]


@pytest.fixture(scope="module")
def survey(tmp_path_factory: pytest.TempPathFactory) -> Survey:
    return survey_with_bands(tmp_path_factory.mktemp("sending") / "a.survey")


@pytest.fixture
def labelled(survey: Survey, tmp_path: Path) -> Iterator[Path]:
    """A log with a yes and a no, and the page that wrote it."""
    with running(campaign_of(survey), tmp_path / "a.sqlite") as server:
        for id, label in (("s050", "yes"), ("s051", "no")):
            assert server.post("/api/labels", label_of(id, label)).status == 200
        yield server


def test_labels_reach_a_program_from_the_page(labelled, hub: Any) -> None:
    with program(hub, "TOPCAT") as topcat:
        answer = labelled.post("/api/send", {"only": "yes", "tag": ""})
    assert answer.json == {"n": 1, "sent": ["TOPCAT"], "problems": []}
    (table,) = topcat.tables
    assert table["id"].tolist() == ["s050"] and {"ra", "dec", "z", "class", "rank", "chance"} <= set(table.colnames)


def test_labels_reach_a_program_from_the_terminal(labelled, survey: Survey, hub: Any) -> None:
    with program(hub, "TOPCAT") as topcat:
        words = ["labels", str(survey.path), "--log", str(labelled.log.path), "--send"]
        result = CliRunner().invoke(app, words)
    assert result.exit_code == 0 and "sent to TOPCAT" in result.output, result.output
    assert topcat.tables[0]["id"].tolist() == ["s050", "s051"]
