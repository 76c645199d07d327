"""`rarespec inspect` from the outside: it prints where the page is, serves it, and stops cleanly."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import HTTPCookieProcessor, build_opener

import pytest
import typer
from typer.testing import CliRunner

from rarespec.cli.inspect import command
from rarespec.inspector.server import listening
from rarespec.labels.event import Label, LabelEvent, new_event_id
from rarespec.labels.log import LabelLog
from rarespec.survey import Survey
from search_rankings import survey_with_bands

ALONE = "import typer; from rarespec.cli.inspect import command; typer.run(command)"
KNOWN = "s000,s001,s002,s003"
QUICK = ("--method", "matched_filter", "--top", "20", "--no-browser", "--person", "Ada")


@pytest.fixture(scope="module")
def survey(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return survey_with_bands(tmp_path_factory.mktemp("inspect") / "a.survey").path


@contextmanager
def started(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The command as a process, and the address it prints."""
    command = [sys.executable, "-c", ALONE, *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stderr is not None
        try:
            line = process.stdout.readline()
            assert line.startswith("open http"), process.stderr.read()
            yield process, line.split()[-1]
        finally:
            process.kill()


def test_it_serves_and_stops_cleanly(survey: Path) -> None:
    with started(str(survey), "--known", KNOWN, *QUICK) as (process, address):
        browser = build_opener(HTTPCookieProcessor())
        with browser.open(address) as page:
            assert page.status == 200 and page.url == address.split("?")[0]
        port = address.split(":")[2].split("/")[0]
        assert process.stdout is not None and f"ssh -L {port}:127.0.0.1:{port} " in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        told = process.communicate()[1]
        assert process.returncode == 0 and "stopped; all labels are saved in" in told and "Traceback" not in told
    assert survey.with_name("a.survey.labels.sqlite").is_file()
    with LabelLog.beside(Survey.open(survey)) as log:
        log.append(LabelEvent(new_event_id(), "s012", Label.YES, person="Ada"))
    with started(str(survey), "--no-browser", "--person", "Ada") as (process, address):  # goes on
        process.send_signal(signal.SIGTERM)
        told = process.communicate()[1]
        assert "4 known" in told and "using the labels already there: 1 yes" in told


def _refused(*arguments: str) -> str:
    app = typer.Typer()
    app.command()(command)
    result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code == 2, result.output
    return result.output


def test_wrong_use_is_told_before_anything_is_searched(survey: Path, tmp_path: Path) -> None:
    (tmp_path / "lines.csv").write_text("Li I\n")
    labels = ("--log", str(tmp_path / "labels.sqlite"))
    assert "lines.csv, line 1" in _refused(str(survey), "--known", KNOWN, "--lines", str(tmp_path / "lines.csv"))
    assert "the name" in _refused(str(survey), "--known", KNOWN, "--person", " ")
    assert "not a survey" in _refused(str(tmp_path / "none"), "--known", KNOWN)
    assert not (tmp_path / "none.labels.sqlite").exists()
    assert "there is no campaign to continue" in _refused(str(survey), *labels)
    assert "add --known" in _refused(str(survey), *labels, "--top", "5")
    with listening(0) as taken:
        port = str(taken.getsockname()[1])
        assert f"port {port}: " in _refused(str(survey), "--known", "no such id", "--port", port, *labels)
    assert "write NAME=VALUE" in _refused(str(survey), *labels, "--known", KNOWN, "--param", "x")
