"""Catalogue columns of a survey: as many as people use, whatever files bring."""

import numpy as np

from conftest import make_spectra
from rarespec.cli.ingest import account
from rarespec.survey.ingest.reading import IngestOptions
from rarespec.survey.ingest.run import run_ingest
from rarespec.survey.store import intake as column_limit


def write(path, first, n_columns, seed):
    spectra = make_spectra(2, seed=seed)
    arrays = {"flux": spectra.flux, "wavelength": spectra.wavelength, "id": [f"{path.stem}-{i}" for i in range(2)]}
    arrays |= {f"c{i}": np.arange(2) for i in range(first, first + n_columns)}
    np.savez(path, **arrays)


def test_a_file_of_many_columns_keeps_its_spectra_and_the_first_columns(tmp_path):
    write(tmp_path / "a.npz", 0, 1500, 1)
    survey, report = run_ingest([tmp_path / "a.npz"], tmp_path / "s.survey", IngestOptions())
    assert len(survey) == 2 and report.files == {"stored": 1}
    kept = [name for name in survey.catalogue.columns if name.startswith("c") and name[1:].isdigit()]
    assert kept == [f"c{i}" for i in range(1000)]
    assert report.columns_left_out == report.to_json()["columns left out"] == 500
    assert any("500  left out" in line for line in account(survey, report))


def test_many_files_cannot_fill_a_survey_with_columns(tmp_path, monkeypatch):
    monkeypatch.setattr(column_limit, "OF_A_FILE", 20)
    monkeypatch.setattr(column_limit, "OF_A_SURVEY", 50)
    for i in range(5):
        write(tmp_path / f"{i}.npz", 15 * i, 15, i)
    survey, report = run_ingest([tmp_path / f"{i}.npz" for i in range(3)], tmp_path / "s.survey", IngestOptions())
    assert report.columns_left_out == 3 * 15 - (50 - 12)
    survey, report = run_ingest([tmp_path / f"{i}.npz" for i in range(5)], tmp_path / "s.survey", IngestOptions())
    assert report.columns_left_out == 30 and len(survey) == 10
    assert len(survey.catalogue.columns) == 50


def test_a_survey_that_grew_in_two_runs_has_the_columns_of_one(tmp_path, monkeypatch):
    monkeypatch.setattr(column_limit, "OF_A_FILE", 10)
    for i in range(2):
        write(tmp_path / f"{i}.npz", 8 * i, 16, i)
    both = [tmp_path / "0.npz", tmp_path / "1.npz"]
    at_once, _ = run_ingest(both, tmp_path / "one.survey", IngestOptions())
    run_ingest(both[:1], tmp_path / "two.survey", IngestOptions())
    in_two, _ = run_ingest(both, tmp_path / "two.survey", IngestOptions())
    assert at_once.catalogue.columns == in_two.catalogue.columns
