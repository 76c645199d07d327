"""A survey shows itself from its manifest and the first rows of its catalogue."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from astropy.table import Table

from conftest import SMALL_GRID, make_spectra
from rarespec.survey import Survey
from rarespec.survey.store import arrays as survey_arrays
from rarespec.survey.store.catalogue import Catalogue

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture
def survey(tmp_path: Path) -> Survey:
    made = Survey.create(tmp_path / "<b>.survey", SMALL_GRID)
    kinds = [HOSTILE, None, *["STAR"] * 6]
    made.append(make_spectra(8, SMALL_GRID, **{"class": kinds, "<i>column": [1] * 8}))
    return made


def test_facts_and_the_first_few(survey: Survey) -> None:
    shown = survey._repr_html_()
    assert f"{SMALL_GRID.n_pixels} pixels" in shown and "observed frame" in shown and "and 3 more" in shown
    assert "s00004" in shown and "s00005" not in shown
    assert "defects" not in shown


def test_names_of_files_are_no_markup(survey: Survey) -> None:
    shown = survey._repr_html_()
    for markup in ("<script", "<i>", "<b>.survey"):
        assert markup not in shown
    assert "&lt;script&gt;" in shown and "&lt;i&gt;column" in shown and "&lt;b&gt;.survey" in shown


def test_no_flux_and_one_block_of_the_catalogue_are_read(survey: Survey, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    block = Catalogue.block
    monkeypatch.setattr(Catalogue, "block", lambda self, i, columns=None: read.append(i) or block(self, i, columns))
    for name in ("stored_rows", "stored_block"):
        monkeypatch.setattr(survey_arrays, name, None)
    survey._repr_html_()
    assert read == [0]


def test_an_empty_survey_says_so(tmp_path: Path) -> None:
    assert "empty" in Survey.create(tmp_path / "e.survey", SMALL_GRID)._repr_html_()


def test_the_catalogue_as_a_table_that_can_be_written(survey: Survey, tmp_path: Path) -> None:
    table = survey.to_table()
    assert table["id"].tolist() == survey.ids.tolist() and table["class"].tolist()[:2] == [HOSTILE, ""]
    assert np.array_equal(table["z"], survey.catalogue["z"])
    assert survey.to_table(["z", "id"]).colnames == ["z", "id"]
    for name in ("t.fits", "t.ecsv", "t.vot"):
        options = {"format": "votable"} if name.endswith("vot") else {}
        survey.to_table(["id", "z", "class"]).write(tmp_path / name, **options)
        assert Table.read(tmp_path / name)["id"].astype(str).tolist() == survey.ids.tolist()
