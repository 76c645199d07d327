"""Promise: on a Dask cluster a survey gives what it gives here, to the last bit; lost workers change nothing."""

import json
import shutil
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import engine_functions as run
import rarespec as rs
from conftest import small_survey_files
from dask_clusters import Disturbed, cluster_here, kill_a_worker
from rarespec.engines.dask_cluster import DaskCluster
from rarespec.features import MedianFilter, PaperFeatures, Recipe, SkyFeatures, StreamingPCA, UnitNorm
from rarespec.mock.damage import damage
from rarespec.mock.simulate import SkyChoice, simulate_survey
from rarespec.spectrum import Reason
from rarespec.survey import Precision, Survey
from rarespec.survey.features.computing import features_of
from rarespec.survey.ingest.reading import IngestOptions
from rarespec.survey.ingest.run import run_ingest
from rarespec.survey.store.writer import SurveyWriter

BLOCK_ROWS = 25
BLOCKS = 13


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A mock survey of 13 small blocks; a few spectra cannot be used."""
    folder = tmp_path_factory.mktemp("cluster")
    simulate_survey(SkyChoice(300, (("carbon", 20),), seed=5), folder / "whole.survey")
    whole = Survey.open(folder / "whole.survey")
    spectra = whole.at(np.arange(len(whole)))
    spectra.bad[[30, 31, 200], :3000] = True
    with SurveyWriter(folder / "a.survey", whole.grid, block_rows=BLOCK_ROWS, precision=Precision(None)) as writer:
        writer.add(spectra)
        writer.commit()
    return Survey.open(folder / "a.survey")


@pytest.fixture
def survey(made, tmp_path):
    return fresh(made, tmp_path / "b.survey")


def fresh(made, path):
    shutil.copytree(made.path, path)
    return Survey.open(path)


@pytest.fixture(scope="module")
def local(made, tmp_path_factory):
    """The search here, which keeps its features in a copy of the survey."""
    survey = fresh(made, tmp_path_factory.mktemp("local") / "a.survey")
    return rs.search(survey, carbon_of(survey)[:4], top=50, method="bagging_top_push", recipe="paper")


def carbon_of(survey):
    return survey.ids[survey.catalogue["class"] == "CARBON"].tolist()


def feature_files(survey):
    return {path.name: path.read_bytes() for path in sorted((survey.path / "features").rglob("*")) if path.is_file()}


def assert_same(ranking, other):
    assert list(ranking.table["id"]) == list(other.table["id"])
    assert np.array_equal(ranking.scores, other.scores)
    assert feature_files(ranking.survey) == feature_files(other.survey)


def test_a_search_on_a_cluster_is_that_of_this_machine(survey, local, cluster):
    assert survey.n_blocks == BLOCKS
    done = []
    ranking = rs.search(
        survey,
        carbon_of(survey)[:4],
        top=50,
        method="bagging_top_push",
        recipe="paper",
        engine=cluster.scheduler_address,
        progress=lambda n, total: done.append((n, total)),
    )
    assert done == [(n + 1, BLOCKS) for n in range(BLOCKS)]
    assert_same(ranking, local)
    assert survey.verify().sound


RECIPES = [
    PaperFeatures(8, solver="exact"),
    Recipe([MedianFilter(width_angstrom=40), StreamingPCA(6), UnitNorm(), StreamingPCA(3)]),
    SkyFeatures(8, 20, solver="exact"),
]


@pytest.mark.parametrize("recipe", RECIPES, ids=["exact", "two that learn", "sky"])
def test_other_recipes_give_the_same_too(made, tmp_path, engine, recipe):
    narrow = made.at(np.arange(0, len(made), 4))
    grid = rs.WavelengthGrid("log", 3.6, 1e-3, 250)
    for name in ("here", "there"):
        Survey.create(tmp_path / name, grid).append(narrow)
    here = features_of(Survey.open(tmp_path / "here"), recipe)
    there = features_of(Survey.open(tmp_path / "there"), recipe, engine=engine)
    assert np.array_equal(here.values, there.values, equal_nan=True) and here.usable.any()
    assert feature_files(here.survey) == feature_files(there.survey)


def test_a_model_ranks_another_survey_the_same_here_and_there(made, local, tmp_path, engine):
    model = local.save(tmp_path / "carbon.safetensors")
    here = rs.search_with_model(fresh(made, tmp_path / "here.survey"), model, top=30)
    there = rs.search_with_model(fresh(made, tmp_path / "there.survey"), model, top=30, engine=engine)
    assert_same(there, here)
    assert np.allclose(here.scores, there.ranker.decision_function(here.rows.X), rtol=1e-6)


def test_a_survey_that_grew_is_completed_there(survey, made, engine):
    features_of(survey, PaperFeatures(8), engine=engine)
    later = made.at(np.arange(40))
    later.catalogue["id"] = [f"later-{id}" for id in later.ids]
    survey.append(later)
    grown = features_of(survey, PaperFeatures(8), engine=engine)
    # single precision: blocks of other sizes add up in another order
    np.testing.assert_allclose(grown.values[len(made) :], grown.values[:40], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "once", [True, pytest.param(False, marks=pytest.mark.exhaustive)], ids=["each stage", "each pass"]
)
def test_killed_workers_change_nothing(survey, local, engine, cluster, once):
    killing = Disturbed(engine, partial(kill_a_worker, cluster), after=(BLOCKS // 2,), once=once)
    ranking = rs.search(
        survey, carbon_of(survey)[:4], top=50, method="bagging_top_push", recipe="paper", engine=killing
    )
    assert set(killing.disturbed) == {"learning", "features"}
    assert killing.disturbed == (["learning", "features"] if once else killing.stages)
    assert_same(ranking, local)
    assert not list(survey.path.rglob("*.tmp"))
    assert survey.verify().sound


@pytest.mark.exhaustive
def test_workers_killed_while_a_model_is_applied_change_nothing(made, local, tmp_path, engine, cluster):
    model = local.save(tmp_path / "carbon.safetensors")
    here = rs.search_with_model(fresh(made, tmp_path / "here.survey"), model, top=30)
    killing = Disturbed(engine, partial(kill_a_worker, cluster), after=(2, 5, 9))
    there = rs.search_with_model(fresh(made, tmp_path / "there.survey"), model, top=30, engine=killing)
    assert killing.disturbed == ["features"] * 3 + ["scores"] * 3
    assert_same(there, here)
    assert not list(there.survey.path.rglob("*.tmp")) and there.survey.verify().sound


@pytest.mark.exhaustive
def test_eight_workers_answer_as_two(made, local, files, tmp_path, engine):
    """To the last bit: ingest, features, ranking and the scores of a model."""
    model = local.save(tmp_path / "carbon.safetensors")
    two, of_two = run_ingest([files], tmp_path / "two.survey", IngestOptions(), engine=engine)
    by_two = rs.search_with_model(fresh(made, tmp_path / "two-model.survey"), model, top=30, engine=engine)
    with cluster_here(n_workers=8) as wide, DaskCluster(wide.scheduler_address) as eight:
        wide.wait_for_workers(8)
        n_at_work = len(set(eight.map(run.process, None, range(64))))
        ranking = rs.search(
            fresh(made, tmp_path / "eight-search.survey"),
            carbon_of(made)[:4],
            top=50,
            method="bagging_top_push",
            recipe="paper",
            engine=eight,
        )
        by_eight = rs.search_with_model(fresh(made, tmp_path / "eight-model.survey"), model, top=30, engine=eight)
        survey, report = run_ingest([files], tmp_path / "eight.survey", IngestOptions(), engine=eight)
    assert n_at_work > 2
    assert_same(ranking, local)
    assert_same(by_eight, by_two)
    assert report.to_json() == of_two.to_json() and survey.manifest.blocks == two.manifest.blocks


def test_what_a_dead_worker_left_half_written_is_cleared_away(survey, engine):
    found = features_of(survey, PaperFeatures(8), engine=engine)
    half, other = found.file(3), found.file(4)
    remains = [half.with_name(f"{half.name}.0123.tmp"), found.folder / "somebody-elses.npz.4567.tmp"]
    for path in remains:
        path.write_bytes(other.read_bytes()[:100])
    half.unlink()
    again = features_of(survey, PaperFeatures(8), engine=engine)
    assert np.array_equal(again.values, found.values, equal_nan=True) and half.exists()
    assert [path.exists() for path in remains] == [False, True]


def test_features_that_workers_could_not_write_are_told_and_still_right(survey, engine, monkeypatch):
    kept = features_of(survey, PaperFeatures(8))
    for i in range(3):
        kept.file(i).unlink()
    monkeypatch.setattr("rarespec.survey.features.computing._compute_block", run.has_its_file)
    with pytest.warns(UserWarning, match=f"3 of {BLOCKS} blocks could not be saved"):
        found = features_of(survey, PaperFeatures(8), engine=engine)
    assert np.array_equal(found.values, kept.values, equal_nan=True)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Good files and damaged ones."""
    folder, rng = tmp_path_factory.mktemp("files"), np.random.default_rng(3)
    good = small_survey_files(folder, 70)
    for kind in ("truncated-data", "bit-flip-header", "missing-column", "nan-everywhere", "empty", "dangling-link"):
        damage(good[0], kind, folder / f"bad-{kind}.fits", rng)
    return folder


def test_ingest_on_a_cluster_is_that_of_this_machine(files, tmp_path, engine):
    import pandas

    ids = [f"1000-55000-{i:04d}" for i in range(1, 50)]
    pandas.DataFrame({"id": ids, "teff": np.arange(49.0)}).to_csv(tmp_path / "more.csv", index=False)
    (tmp_path / "there").mkdir()
    paths, join = [files, files / "missing.fits"], [tmp_path / "more.csv"]
    here, report = run_ingest(paths, tmp_path / "here" / "a.survey", IngestOptions(), join)
    there, same = run_ingest(paths, tmp_path / "there" / "a.survey", IngestOptions(), join, engine=engine)
    assert same.to_json() == report.to_json() and report.files["defective"] == 7
    assert there.defects == here.defects
    assert there.manifest.blocks == here.manifest.blocks and there.verify().sound
    assert [path.name for path in (tmp_path / "there").iterdir()] == ["a.survey"]


@pytest.mark.exhaustive
def test_workers_killed_during_ingest_mark_no_file(files, tmp_path, engine, cluster):
    here, report = run_ingest([files], tmp_path / "here.survey", IngestOptions())
    killing = Disturbed(engine, partial(kill_a_worker, cluster), after=(1, 2, 3))
    there, same = run_ingest([files], tmp_path / "there.survey", IngestOptions(), engine=killing)
    assert killing.disturbed == ["ingest"] * 3
    assert same.to_json() == report.to_json() and there.defects == here.defects
    assert there.manifest.blocks == here.manifest.blocks


@pytest.mark.exhaustive
def test_a_file_that_takes_its_reader_down_costs_no_worker(files, tmp_path, monkeypatch):
    """The workers of the cluster read in processes of their own, too."""
    (tmp_path / "sitecustomize.py").write_text(
        "import rarespec.survey.ingest.reading as reading, process_functions\n"
        "reading.outcomes_of = process_functions.dies_at_42\n"
    )
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{Path(__file__).parents[1]}")
    good = sorted(files.glob("spec-*.fits"))
    with cluster_here(allowed_failures=0) as cluster, DaskCluster(cluster.scheduler_address) as engine:
        survey, report = run_ingest(good, tmp_path / "a.survey", IngestOptions(), engine=engine)
    assert report.files == {"stored": 69, "defective": 1}
    (defect,) = survey.defects
    assert defect.reason == Reason.READER_CRASHED and "0042" in defect.source


def test_the_verbs_take_the_address_of_a_scheduler(survey, local, files, tmp_path, cluster):
    from typer.testing import CliRunner

    from rarespec.cli.app import app

    known, where = ",".join(carbon_of(survey)[:4]), ["--scheduler", cluster.scheduler_address]
    choice = ["--known", known, "--method", "bagging_top_push", "--recipe", "paper", "--top", "50", "--json"]
    done = CliRunner().invoke(app, ["search", str(survey.path), *choice, *where])
    assert done.exit_code == 0
    assert [row["id"] for row in json.loads(done.stdout)["candidates"]] == list(local.table["id"])
    done = CliRunner().invoke(app, ["ingest", str(files), "--into", str(tmp_path / "c.survey"), "--json", *where])
    assert done.exit_code == 1 and json.loads(done.stdout)["files"]["stored"] == 70
    done = CliRunner().invoke(app, ["search", str(survey.path), *choice, "--scheduler", "ftp://nowhere:1"])
    assert done.exit_code == 2 and "ftp://nowhere:1" in done.stderr
    done = CliRunner().invoke(app, ["ingest", str(files), "--into", str(tmp_path / "d.survey"), "--jobs", "2", *where])
    assert done.exit_code == 2 and "jobs" in done.stderr
