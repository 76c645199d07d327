"""`rarespec doctor` as a user meets it."""

from __future__ import annotations

import getpass
import json
import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from conftest import SMALL_GRID, make_spectra
from rarespec.cli.app import app
from rarespec.doctor import checkup
from rarespec.doctor.checkup import SelfTest
from rarespec.survey import Survey


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes seconds has tests of its own."""
    monkeypatch.setattr(checkup, "self_test", lambda: SelfTest(True, 1.0, "found"))
    monkeypatch.setattr(checkup, "optional_packages", lambda: {})


def doctor(*words: object):
    return CliRunner().invoke(app, ["doctor", *map(str, words)])


def test_all_is_well() -> None:
    done = doctor()
    assert done.exit_code == 0 and "numpy" in done.stdout and "No problems found." in done.stdout


def test_a_problem_sets_the_exit_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkup, "self_test", lambda: SelfTest(False, 1.0, "nothing was found"))
    done = doctor()
    assert done.exit_code == 1 and "- self-test: nothing was found" in done.stdout
    assert json.loads(doctor("--json").stdout)["problems"] == ["self-test: nothing was found"]


def test_a_survey_is_looked_at(tmp_path: Path) -> None:
    Survey.create(tmp_path / "a.survey", SMALL_GRID).append(make_spectra(7, SMALL_GRID))
    before = sorted(tmp_path.rglob("*"))
    done = doctor(tmp_path / "a.survey")
    assert done.exit_code == 0 and "7 spectra of 300 pixels" in done.stdout
    assert sorted(tmp_path.rglob("*")) == before
    (tmp_path / "a.survey/manifest.json").write_text("{")
    damaged = doctor(tmp_path / "a.survey")
    assert damaged.exit_code == 1 and "the manifest is damaged" in " ".join(damaged.stdout.split())


def test_no_such_survey_is_wrong_use(tmp_path: Path) -> None:
    done = doctor(tmp_path / "none.survey")
    assert done.exit_code == 2 and "not a survey" in done.stderr and not done.stdout


def test_nothing_private_is_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home" / "jdoe"
    Survey.create(home / "a.survey", SMALL_GRID)
    monkeypatch.setattr(Path, "home", lambda: home)
    monkeypatch.setattr(getpass, "getuser", lambda: "jdoe")
    monkeypatch.setenv("ARCHIVE_TOKEN", "s3cr3t-token")
    monkeypatch.chdir(home)
    for said in (doctor(home / "a.survey").stdout, doctor(home / "a.survey", "--json").stdout):
        assert "~/a.survey" in said
        for private in ("jdoe", "s3cr3t-token", str(home), os.uname().nodename):
            assert private not in said


def test_licences() -> None:
    assert "| numpy |" in doctor("--licences").stdout
    assert any(one["name"] == "numpy" for one in json.loads(doctor("--licences", "--json").stdout))
