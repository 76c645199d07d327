"""`rarespec experiment` as a user meets it."""

import json
import re

import pytest
from typer.testing import CliRunner

from rarespec.cli.app import app
from rarespec.mock.simulate import SkyChoice, simulate_survey
from rarespec.plots.experiment import figures
from rarespec.spectrum import WavelengthGrid

COARSE = WavelengthGrid("log", 3.593, 4e-4, 900)
FEW = ("--methods", "lda,bagging_top_push", "--np", "3", "--trials", "2", "--sensitivity-draws", "1", "--jobs", "1")


def rarespec(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture(scope="module")
def survey(tmp_path_factory):
    path = tmp_path_factory.mktemp("experiment") / "mock.survey"
    return simulate_survey(SkyChoice(150, (("qso", 15),), seed=5, grid=COARSE), path).path


@pytest.fixture(scope="module")
def finished(survey, tmp_path_factory):
    out = tmp_path_factory.mktemp("out") / "qso"
    return rarespec("experiment", survey, "--rare", "qso", "--out", out, "--tuning-draws", 0, *FEW), out


def draw_nothing(labelled, results, folder, progress=None):
    return sorted(folder.glob("figure-*"))  # of an earlier run


@pytest.fixture
def no_figures(monkeypatch):
    """Figures take most of the time of a small experiment; where they are not what is tested, none is drawn."""
    monkeypatch.setattr(figures, "draw_figures", draw_nothing)


def test_everything_is_written(finished):
    result, out = finished
    assert result.exit_code == 0, result.output
    assert "Shrinkage LDA" in result.stdout and "index.html" in result.stdout
    names = {path.name for path in out.iterdir()}
    assert {f"figure-{n}.{kind}" for n in range(1, 10) for kind in ("png", "pdf")} <= names
    assert {f"table-{n}.{kind}" for n in range(1, 7) for kind in ("md", "csv", "tex")} <= names
    assert {"results.parquet", "paired-differences.csv", "claims.md", "index.html"} <= names
    page = (out / "index.html").read_text()
    assert all(f'src="figure-{n}.png"' in page for n in range(1, 10))
    assert "--rare qso" in page and "--tuning-draws 0" in page


@pytest.mark.usefixtures("no_figures")
def test_a_second_run_repeats_nothing_and_tells_the_same(finished, survey):
    result, out = finished
    journal = (out / "journal.jsonl").read_bytes()
    again = rarespec("experiment", survey, "--rare", "qso", "--out", out, "--tuning-draws", 0, *FEW)
    told, told_again = (re.sub(r"wrote \d+ files", "wrote files", one.stdout) for one in (result, again))
    assert told == told_again and (out / "journal.jsonl").read_bytes() == journal


@pytest.mark.usefixtures("no_figures")
def test_json_for_programs(finished, survey):
    again = rarespec("experiment", survey, "--rare", "qso", "--out", finished[1], "--tuning-draws", 0, *FEW, "--json")
    summary = json.loads(again.stdout)
    cells = {(cell["method"], cell["n_known"]): cell for cell in summary["trials"]}
    assert cells["lda", 3]["trials"] == 2 and 0 < cells["lda", 3]["average_precision"] <= 1
    assert summary["failures"] == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--rare", "unicorn"), "no spectrum has the class or subclass 'unicorn'"),
        (("--rare", "qso", "--methods", "ldb"), "there is no method 'ldb'"),
        (("--rare", "qso", "--np", "one"), "--np one"),
        (("--rare", "qso", "--np", "99"), "15 usable spectra are qso"),
        (("--rare", "qso,unicorn"), "no spectrum has the class or subclass 'unicorn'"),
        (("--rare", ","), "rare must be the name of a class"),
        (("--rare", "qso", "--tune", "some"), "tune must be one of paper, all, none"),
        (("--rare", "qso", "--method", "lda"), "--method lda: write MODULE:CLASS"),
        (("--rare", "qso", "--method", "collections:Counter"), "it has no fit, decision_function"),
        (("--rare", "qso", "--method", "nowhere_at_all:Mine"), "nowhere_at_all cannot be imported"),
    ],
)
def test_wrong_use_is_told_in_one_line(survey, tmp_path, words, said):
    result = rarespec("experiment", survey, "--out", tmp_path / "x", *words)
    assert result.exit_code == 2 and said in result.output and "Traceback" not in result.output


@pytest.mark.usefixtures("no_figures")
def test_what_was_left_out_sets_the_exit_code(survey, tmp_path):
    words = ("--methods", "lda", "--np", "1,20", "--trials", "1", "--tuning-draws", "0", "--jobs", "1")
    result = rarespec("experiment", survey, "--rare", "qso", "--out", tmp_path / "x", *words)
    assert result.exit_code == 1 and "NP = 20 left out" in result.output
    assert "NP = 20 left out" in (tmp_path / "x" / "index.html").read_text()


def test_a_class_that_the_mock_does_not_have(tmp_path):
    result = rarespec("experiment", "--rare", "unicorn", "--quick", "--out", tmp_path / "x")
    assert result.exit_code == 2 and "unicorn" in result.output and not (tmp_path / "x").exists()


@pytest.mark.usefixtures("no_figures")
def test_numbers_that_nobody_asked_for_may_be_left_out(survey, tmp_path):
    words = ("--methods", "lda", "--trials", "1", "--tuning-draws", "0", "--jobs", "1")
    result = rarespec("experiment", survey, "--rare", "qso", "--out", tmp_path / "x", *words)
    assert result.exit_code == 0 and "NP = 15, 30, 50 left out" in result.output


MINE = """
import numpy as np
from sklearn.base import BaseEstimator

class Nearest(BaseEstimator):
    def fit(self, X, y):
        self.centre_ = X[np.asarray(y) == 1].mean(axis=0)
        return self

    def decision_function(self, X):
        return -np.linalg.norm(X - self.centre_, axis=1)
"""


def test_a_ranker_of_ones_own_has_a_column_in_every_table_and_a_line_in_every_figure(survey, tmp_path, monkeypatch):
    (tmp_path / "of_my_own.py").write_text(MINE)
    monkeypatch.chdir(tmp_path)
    words = ("--methods", "lda,ocsvm", "--np", "1", "--trials", "2", "--tune", "none", "--jobs", "1")
    whole = ("experiment", survey, "--rare", "qso", "--out", tmp_path / "x", "--method", "of_my_own:Nearest", *words)
    result = rarespec(*whole)
    assert result.exit_code == 0, result.output
    header = (tmp_path / "x" / "table-1.md").read_text().splitlines()[2]
    assert header == "| NP | Shrinkage LDA | OCSVM | Nearest |"
    assert "of_my_own:Nearest" in (tmp_path / "x" / "index.html").read_text()
    monkeypatch.setattr(figures, "draw_figures", draw_nothing)
    cells = {row["method"]: row for row in json.loads(rarespec(*whole, "--json").stdout)["trials"]}
    # with one known example OCSVM ranks by the distance to it, as this ranker does
    assert cells["of_my_own:Nearest"]["auc"] == pytest.approx(cells["ocsvm"]["auc"], abs=1e-6)


@pytest.mark.exhaustive
def test_quick_on_the_mock_with_no_survey(tmp_path):
    result = rarespec("experiment", "--quick", "--out", tmp_path / "x")
    assert result.exit_code == 0 and len(list((tmp_path / "x").glob("figure-*.png"))) == 9
