"""Redshifts set by hand: the last value of each person counts, and none is lost or changed."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
import typer
from astropy.table import Table
from typer.testing import CliRunner

from conftest import SMALL_GRID, make_spectra
from rarespec.cli import labels
from rarespec.errors import LabelLogError, UsageError
from rarespec.labels.log import LabelLog
from rarespec.labels.redshifts import RedshiftLog, redshift_table, redshifts_beside
from rarespec.survey import Survey


def test_the_last_value_of_each_person_counts(tmp_path: Path) -> None:
    with RedshiftLog(tmp_path / "a.redshifts.sqlite") as log:
        assert log.current() == [] and not log.path.exists(), "nothing is created by looking"
        for z, person in ((0.1, "Ada"), (0.2, "Grace"), (0.3, "Ada")):
            log.set("s1", z, person)
        log.set("s2", -0.001, "Ada")
        log.set("s2", None, "Ada")
        assert log.of("Ada") == {"s1": 0.3} and log.of("Grace") == {"s1": 0.2}
    table = redshift_table(tmp_path / "a.redshifts.sqlite")
    assert list(zip(table["id"], table["z"], table["who"], strict=True)) == [("s1", 0.2, "Grace"), ("s1", 0.3, "Ada")]
    assert all(when.endswith("Z") or "+" in when for when in table["when"])


def test_two_processes_see_each_other(tmp_path: Path) -> None:
    path = tmp_path / "a.redshifts.sqlite"
    with RedshiftLog(path) as one, RedshiftLog(path) as other:
        one.set("s1", 0.5, "Ada")
        other.set("s1", 0.6, "Ada")
        assert one.of("Ada") == other.of("Ada") == {"s1": 0.6}


@pytest.mark.parametrize("z", [-1.0, 1000.0, float("nan"), float("inf")])
def test_what_is_no_redshift_is_refused(tmp_path: Path, z: float) -> None:
    with RedshiftLog(tmp_path / "a.redshifts.sqlite") as log, pytest.raises(UsageError, match="not a redshift"):
        log.set("s1", z, "Ada")
    assert not log.path.exists()


def test_values_are_only_ever_added(tmp_path: Path) -> None:
    with RedshiftLog(tmp_path / "a.redshifts.sqlite") as log:
        log.set("s1", 0.1, "Ada")
    connection = sqlite3.connect(log.path)
    for change in ("UPDATE redshifts SET z = 1", "DELETE FROM redshifts"):
        with pytest.raises(sqlite3.IntegrityError, match="only ever added"):
            connection.execute(change)
    connection.execute("INSERT INTO redshifts (spectrum, z, person, at) VALUES (x'00', 0.1, 'Ada', '')")
    connection.commit()
    connection.close()
    with pytest.raises(LabelLogError, match="not written by rarespec"):
        redshift_table(log.path)


def test_another_file_is_refused_and_left_alone(tmp_path: Path) -> None:
    LabelLog(tmp_path / "labels.sqlite").close()
    (tmp_path / "text").write_text("no database, but text" * 100)
    for name, words in (("labels.sqlite", "not one of redshifts"), ("text", "not an SQLite database")):
        before = (tmp_path / name).read_bytes()
        with pytest.raises(UsageError, match=words):
            RedshiftLog(tmp_path / name)
        assert (tmp_path / name).read_bytes() == before


def test_they_are_kept_beside_the_labels() -> None:
    assert redshifts_beside("x/dr17.survey.labels.sqlite") == Path("x/dr17.survey.redshifts.sqlite")
    assert redshifts_beside("dz.sqlite") == Path("dz.redshifts.sqlite")
    assert redshifts_beside("dz") == Path("dz.redshifts.sqlite")


def test_the_labels_verb_writes_them_as_a_table(tmp_path: Path) -> None:
    survey = Survey.create(tmp_path / "a.survey", SMALL_GRID)
    survey.append(make_spectra(2, SMALL_GRID))
    with RedshiftLog(tmp_path / "a.survey.redshifts.sqlite") as log:
        log.set("s00000", 0.25, "Ada")
    app = typer.Typer()
    app.command()(labels.command)
    result = CliRunner().invoke(app, [str(survey.path), "--redshifts", str(tmp_path / "z.csv")])
    assert result.exit_code == 0, result.output
    assert "1 redshift written to" in result.output
    table = Table.read(tmp_path / "z.csv", comment="#")
    assert table.colnames == ["id", "z", "who", "when"] and (table["id"][0], table["z"][0]) == ("s00000", 0.25)
