"""The recipe for searching again with what was found: the same words on three pages, and it does what it says."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from astropy.table import Table
from typer.testing import CliRunner

from rarespec import MockSky, Survey
from rarespec.cli.app import app
from rarespec.labels import Label, LabelEvent, LabelLog, new_event_id

DOCS = Path(__file__).parents[2] / "docs"
PAGES = ("start.md", "labels.md", "guide.md")
RECIPE = re.compile(r"^Label candidates; search again.*?^```\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def recipe_in(page: str) -> tuple[str, list[str]]:
    """The words and the commands, with one name for the survey."""
    found = RECIPE.findall((DOCS / page).read_text())
    assert len(found) == 1, page
    whole = RECIPE.search((DOCS / page).read_text())
    assert whole is not None
    return re.sub(r"\S+\.survey", "mock.survey", whole[0]), re.sub(r"\S+\.survey", "mock.survey", found[0]).splitlines()


def test_all_pages_teach_the_same_recipe() -> None:
    assert len({recipe_in(page)[0] for page in PAGES}) == 1


def person_who_labels(carbon: set[str], said: dict[str, str]) -> Any:
    """Takes the place of the page: somebody who knows the truth labels a dozen and then stops."""

    def serve(campaign: Any, log: LabelLog, person: str, *_: Any, **__: Any) -> None:
        ids = campaign.list_ids()
        for number, id in enumerate([*ids[:10], *ids[-2:]]):
            label = Label.UNSURE if number == 9 else Label.YES if id in carbon else Label.NO
            log.append(LabelEvent(new_event_id(), id, label, person=person, rank=number + 1))
            said[id] = str(label)

    return serve


def test_the_recipe_keeps_what_was_known_and_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("rarespec.mock.simulate.available_cores", lambda: 1)
    survey = Survey.create("mock.survey")
    survey.append(MockSky(180, {"carbon": 20}, seed=3))
    carbon = survey.ids[survey.catalogue["class"] == "CARBON"].tolist()
    Path("known.csv").write_text("\n".join(["id", *carbon[:3], ""]))
    said: dict[str, str] = {}
    monkeypatch.setattr("rarespec.inspector.server.serve", person_who_labels(set(carbon), said))
    for command in recipe_in("start.md")[1]:
        result = CliRunner().invoke(app, shlex.split(command)[1:], catch_exceptions=False)
        assert result.exit_code == 0, f"{command}\n{result.output}"
    assert set(said.values()) == {"yes", "no", "unsure"}, "not every case is tested"
    listed = Table.read("candidates.ecsv")["id"].tolist()
    assert listed and {*carbon[:3], *said}.isdisjoint(listed)
    found = Table.read("found.vot")
    assert set(found["id"]) == {id for id, label in said.items() if label == "yes"}
    assert {"ra", "dec", "rank"} <= set(found.colnames)
