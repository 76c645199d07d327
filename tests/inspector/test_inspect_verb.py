"""`rarespec inspect`: what it leaves behind when it is refused, and that a blind campaign stays one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

from rarespec.cli.inspect import command
from rarespec.inspector.page_options import PageOptions
from rarespec.labels.campaign_start import CampaignStart
from rarespec.labels.event import Label, LabelEvent, new_event_id
from rarespec.labels.kinds import path_beside
from rarespec.labels.log import LabelLog
from rarespec.survey import Survey
from search_rankings import survey_with_bands

QUICK = ("--method", "matched_filter", "--top", "20", "--no-browser", "--person", "Ada")


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """How it would have been served, instead of a server."""
    calls: list[dict[str, Any]] = []
    monkeypatch.setattr("rarespec.inspector.server.serve", lambda *given, **how: calls.append(_asked(given, how)))
    return calls


def _asked(given: tuple[Any, ...], how: dict[str, Any]) -> dict[str, Any]:
    options = next(value for value in (*given, *how.values()) if isinstance(value, PageOptions))
    return vars(options) | how


def inspect(survey: Survey, *arguments: str) -> Result:
    app = typer.Typer()
    app.command()(command)
    return CliRunner().invoke(app, [str(survey.path), *arguments])


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--known", "no-such-id"), "no-such-id"),
        (("--known", "s000,s001", "--method", "no_such_method"), "no_such_method"),
        ((), "there is no campaign to continue"),
    ],
)
def test_a_start_that_is_refused_leaves_nothing_behind(
    survey: Survey, tmp_path: Path, arguments: tuple[str, ...], told: str
) -> None:
    folder = tmp_path / "labels"
    folder.mkdir()
    result = inspect(survey, "--log", str(folder / "a.sqlite"), *arguments)
    assert result.exit_code == 2 and told in result.output, result.output
    assert list(folder.iterdir()) == []


def test_a_place_where_no_label_can_be_kept_is_told_before_the_search(survey: Survey, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("no database, but long enough to be taken for one, by its name alone\n" * 9)
    for place, told in (("none/a.sqlite", "does not exist; create it first"), ("notes.txt", "not a label log")):
        result = inspect(survey, "--known", "no-such-id", "--log", str(tmp_path / place))
        assert result.exit_code == 2 and told in result.output, result.output
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_a_blind_campaign_stays_blind_until_it_is_told_otherwise(
    survey: Survey, tmp_path: Path, served: list[dict[str, Any]]
) -> None:
    labels = ("--log", str(tmp_path / "a.sqlite"))
    steps = [
        (("--known", "s000,s001,s002", *QUICK, "--blind"), True),
        (("--person", "Bob"), True),
        (("--no-blind",), False),
        ((), False),
        (("--blind",), True),
        ((), True),
        (("--known", "s000,s001,s002", *QUICK), False),
    ]
    for arguments, is_blind in steps:
        result = inspect(survey, *labels, *arguments)
        assert result.exit_code == 0, result.output
        assert served[-1]["blind"] is is_blind, arguments
        assert ("blind: other people's labels" in result.output) is is_blind
        assert CampaignStart.read(tmp_path / "a.sqlite.campaign.json").blind is is_blind


def test_blind_the_terminal_counts_ones_own_labels_alone(
    survey: Survey, tmp_path: Path, served: list[dict[str, Any]]
) -> None:
    with LabelLog(tmp_path / "a.sqlite") as log:
        for person, id in (("Ada", "s012"), ("Bob", "s013"), ("Bob", "s014")):
            log.append(LabelEvent(new_event_id(), id, Label.YES, person=person))
    labels = ("--known", "s000,s001,s002", "--log", str(tmp_path / "a.sqlite"), *QUICK)
    assert "already there: 3 yes" in inspect(survey, *labels).output
    assert "already there: 1 yes" in inspect(survey, *labels, "--blind").output


def test_a_proxy_is_allowed_by_name(survey: Survey, tmp_path: Path, served: list[dict[str, Any]]) -> None:
    start = ("--log", str(tmp_path / "a.sqlite"), "--known", "s000,s001,s002", *QUICK[:-3], "--person", "Ada")
    assert inspect(survey, *start, "--no-browser").exit_code == 0 and served[-1]["entrance"] is None
    result = inspect(survey, *start, "--allow-host", "hub.example.org", "--base-url", "/user/ada/proxy/8931/")
    assert result.exit_code == 0, result.output
    assert served[-1]["open_browser"] is False  # no browser on the machine behind the proxy
    assert served[-1]["entrance"].origins == {"hub.example.org": "https://hub.example.org"}
    assert served[-1]["entrance"].path == "/user/ada/proxy/8931/" and not served[-1]["entrance"].is_framed
    for wrong, told in ((("--allow-host", "*"), "give one host"), (("--base-url", "/x/"), "give the host too")):
        result = inspect(survey, *start, *wrong)
        assert result.exit_code == 2 and told in result.output, result.output


def test_a_tag_becomes_a_kind_with_known_examples_and_a_log_of_its_own(
    tmp_path: Path, served: list[dict[str, Any]]
) -> None:
    survey = survey_with_bands(tmp_path / "a.survey")
    with LabelLog(path_beside(survey.path)) as log:
        for id, label, tags in (("s003", "yes", ("dC",)), ("s004", "yes", ()), ("s050", "no", ())):
            log.append(LabelEvent(new_event_id(), id, Label(label), person="Ada", tags=tags))
    result = inspect(survey, "--tag", "dC", *QUICK)
    assert result.exit_code == 0, result.output
    assert "1 yes with the tag dC known, 1 no refused; left out: 1 yes without the tag dC" in result.output
    start = CampaignStart.read(tmp_path / "a.survey.dC.campaign.json")
    assert start.request.known == ["s003"] and start.request.non_members == ["s050"]
    assert (tmp_path / "a.survey.dC.labels.sqlite").exists()
    result = inspect(survey, "--tag", "CH", *QUICK)
    assert result.exit_code == 2 and "has the tag CH" in result.output


def test_labels_given_for_other_examples_are_doubted(
    survey: Survey, tmp_path: Path, served: list[dict[str, Any]]
) -> None:
    log = ("--log", str(tmp_path / "a.sqlite"))
    assert inspect(survey, *log, "--known", "s000,s001,s002", *QUICK).exit_code == 0
    with LabelLog(tmp_path / "a.sqlite") as labels:
        labels.append(LabelEvent(new_event_id(), "s005", Label.YES, person="Ada"))
    assert "in a search for other examples" not in inspect(survey, *log, "--known", "s000,s001", *QUICK).output
    assert "in a search for other examples" in inspect(survey, *log, "--known", "s100,s101", *QUICK).output
