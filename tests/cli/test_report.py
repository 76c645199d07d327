"""`rarespec report` as a user meets it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from rarespec.cli.app import app
from rarespec.survey import Survey
from search_rankings import survey_with_bands


@pytest.fixture(scope="module")
def survey(tmp_path_factory: pytest.TempPathFactory) -> Survey:
    return survey_with_bands(tmp_path_factory.mktemp("cli") / "a.survey")


def report(survey: Survey, *words: object) -> Any:
    fixed = ["report", str(survey.path), "--method", "matched_filter", "--n", "3"]
    return CliRunner().invoke(app, [*fixed, *map(str, words)])


def test_help_has_an_example() -> None:
    result = CliRunner().invoke(app, ["report", "--help"])
    assert result.exit_code == 0 and "Example: rarespec report" in result.stdout


def test_the_files_are_written_and_named(survey: Survey, tmp_path: Path) -> None:
    result = report(survey, "--known", "s000,s001,s002", "--out", tmp_path / "r", "--top", 2)
    assert result.exit_code == 0, result.output
    assert "report: 2 of 2 pages" in result.stderr
    named = [Path(line) for line in result.stdout.split()]
    assert named == [tmp_path / "r" / "report.html", tmp_path / "r" / "contact-sheet.pdf"]
    assert named[0].read_text().count("<article") == 3  # three are asked for, though the list is of two


def test_lost_examples_are_told_and_set_the_exit_code(survey: Survey, tmp_path: Path) -> None:
    result = report(survey, "--known", "s000,s001,nobody", "--out", tmp_path)
    assert result.exit_code == 1 and "nobody" in result.stderr
    assert "nobody" in (tmp_path / "report.html").read_text()


def test_wrong_use_is_told_in_one_line(survey: Survey, tmp_path: Path) -> None:
    result = report(survey, "--out", tmp_path)
    assert result.exit_code == 2 and "--known" in result.stderr and "Traceback" not in result.output
    assert not list(tmp_path.iterdir())
