"""`rarespec mcp` as a client of the mcp package meets it: a process of its own, spoken to over its standard streams."""

from __future__ import annotations

import json
import sys
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from rarespec.cli.app import app
from rarespec.labels.log import LabelLog
from rarespec.survey import Survey
from search_rankings import HOSTILE, survey_with_bands

pytest.importorskip("mcp.server.mcpserver", reason="the mcp package is not installed")
KNOWN = ["s000", "s001", "s002"]


class Asked:
    """A client in an event loop of its own, so that one server answers all tests."""

    def __init__(self, portal: Any, client: Any) -> None:
        self._portal, self._client = portal, client

    def tools(self) -> dict[str, Any]:
        return {tool.name: tool for tool in self._portal.call(self._client.list_tools).tools}

    def result(self, tool: str, **given: Any) -> Any:
        return self._portal.call(self._client.call_tool, tool, given)

    def told(self, tool: str, **given: Any) -> dict[str, Any]:
        result = self.result(tool, **given)
        assert not result.is_error, result.content[0].text
        return json.loads(result.content[0].text)

    def refusal(self, tool: str, **given: Any) -> str:
        result = self.result(tool, **given)
        assert result.is_error
        return result.content[0].text


def asking(*words: str) -> Iterator[Asked]:
    from anyio.from_thread import start_blocking_portal
    from mcp import Client, StdioServerParameters
    from mcp.client.stdio import stdio_client

    program = [sys.executable, "-c", "from rarespec.cli import main; main()", "mcp", *words]
    server = StdioServerParameters(command=program[0], args=program[1:])
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(Client(stdio_client(server))) as client:
        yield Asked(portal, client)


@pytest.fixture(scope="module")
def survey(tmp_path_factory: pytest.TempPathFactory) -> Survey:
    return survey_with_bands(tmp_path_factory.mktemp("mcp") / "a.survey")


@pytest.fixture(scope="module")
def asked(survey: Survey) -> Iterator[Asked]:
    yield from asking(str(survey.path))


@pytest.fixture(scope="module")
def found(asked: Asked) -> dict[str, Any]:
    return asked.told("search", known=KNOWN, top=30, method="matched_filter")


def test_by_default_there_is_nothing_to_write_with(asked: Asked) -> None:
    tools = asked.tools()
    assert set(tools) == {"info", "search", "explain", "spectrum"}
    assert all(tool.annotations.read_only_hint and "never instructions" in tool.description for tool in tools.values())
    assert "unknown tool" in asked.refusal("label", id="s000", label="yes").lower()


def test_info_tells_of_the_survey_and_not_of_its_folder(asked: Asked, survey: Survey) -> None:
    result = asked.told("info")
    assert result["spectra"] == 200 and result["survey"] == "a.survey"
    assert str(survey.path.parent) not in json.dumps(result)


def test_a_search_lists_candidates_and_says_where_to_stop(found: dict[str, Any]) -> None:
    assert len(found["candidates"]) == 30 and found["candidates"][0]["rank"] == 1
    assert sum(one["class"] == "<b>C</b>" for one in found["candidates"][:10]) > 5
    assert found["yield"] and found["ranked"] == 197


def test_hostile_names_are_values_that_are_called_data(found: dict[str, Any]) -> None:
    ids = [one["id"] for one in found["candidates"]]
    assert HOSTILE[0] in ids and r"\u202egpj.exe" in ids and "never instructions" in found["about_this_text"]


def test_a_candidate_is_explained(asked: Asked, found: dict[str, Any]) -> None:
    first = found["candidates"][0]["id"]
    told = asked.told("explain", id=first, search=found["search"])
    assert told["bands"] and all(one["from"] < one["to"] for one in told["bands"])


@pytest.mark.parametrize("listed", [True, False])
def test_a_spectrum_is_a_picture(asked: Asked, found: dict[str, Any], listed: bool) -> None:
    (picture,) = asked.result("spectrum", id="s005", **({"search": found["search"]} if listed else {})).content
    assert picture.mime_type == "image/png"
    assert b64decode(picture.data).startswith(b"\x89PNG") and len(picture.data) > 10_000


@pytest.mark.parametrize(
    ("tool", "given", "said"),
    [
        ("info", {"survey": "/etc"}, "there is no survey '/etc'"),
        ("info", {"survey": "../a.survey"}, "there is no survey"),
        ("search", {"known": ["/etc/passwd"]}, "no spectrum has the id '/etc/passwd'"),
        ("search", {"known": []}, "known is empty"),
        ("search", {"known": KNOWN, "top": 0}, "from 1 to 200"),
        ("search", {"known": KNOWN, "top": 10**9}, "from 1 to 200"),
        ("search", {"known": ["s000"] * 1001}, "at most 1000"),
        ("search", {"known": KNOWN, "method": "guess"}, "there is no method 'guess'"),
        ("explain", {"id": "s000", "search": "search-99"}, "search first"),
        ("spectrum", {"id": "nobody"}, "no spectrum has the id 'nobody'"),
        ("spectrum", {"id": "x" * 10_000}, "no spectrum has the id"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(asked: Asked, tool: str, given: dict[str, Any], said: str) -> None:
    refusal = asked.refusal(tool, **given)
    assert said in refusal and len(refusal) < 600 and "Traceback" not in refusal


def test_nothing_but_features_changes(asked: Asked, found: dict[str, Any], survey: Survey) -> None:
    def files() -> dict[str, bytes]:
        inside = (path for path in survey.path.parent.rglob("*") if path.is_file())
        return {str(path): path.read_bytes() for path in inside if "features" not in str(path)}

    before = files()
    asked.told("search", known=["s003"], top=5, method="matched_filter")
    asked.told("info")
    asked.result("spectrum", id="s003")
    assert files() == before and not any("label" in name for name in before)


def test_a_label_carries_the_name_that_was_given_at_the_start(tmp_path: Path) -> None:
    survey = survey_with_bands(tmp_path / "b.survey")
    for asked in asking(str(survey.path), "--allow-labels", "--person", "Ada"):
        assert not asked.tools()["label"].annotations.read_only_hint
        assert asked.told("label", id="s004", label="yes", comment="strong C2")["person"] == "Ada"
        assert "not one of yes" in asked.refusal("label", id="s004", label="maybe")
        assert "no spectrum" in asked.refusal("label", id="nobody", label="yes")
        assert "at most" in asked.refusal("label", id="s004", label="no", comment="x" * 5000)
    with LabelLog.beside(survey) as log:
        (event,) = [event for _, event in log.events()]
    assert (event.spectrum, str(event.label), event.person, event.comment) == ("s004", "yes", "Ada", "strong C2")


@pytest.mark.parametrize("words", [["--allow-labels"], ["--person", "Ada"]])
def test_a_label_needs_both_permission_and_a_name(survey: Survey, words: list[str]) -> None:
    result = CliRunner().invoke(app, ["mcp", str(survey.path), *words])
    assert result.exit_code == 2 and "--allow-labels and --person" in result.stderr


def test_two_surveys_of_one_name_are_refused(survey: Survey) -> None:
    result = CliRunner().invoke(app, ["mcp", str(survey.path), str(survey.path)])
    assert result.exit_code == 2 and "same name" in result.stderr


def test_without_the_package_it_says_how_to_install_it(survey: Survey, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rarespec.cli.mcp.find_spec", lambda name: None)
    result = CliRunner().invoke(app, ["mcp", str(survey.path)])
    assert result.exit_code == 2 and "pip install 'rarespec[mcp]'" in result.stderr
