"""A whole experiment on a small mock survey: repeatable, resumable, the same with one process and with two."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from rarespec.errors import UsageError
from rarespec.evaluation.experiment.journal import NAME
from rarespec.evaluation.experiment.run import run_experiment
from rarespec.evaluation.experiment.setting import Setting
from rarespec.evaluation.experiment.task_runner import label_survey
from rarespec.mock.simulate import SkyChoice, simulate_survey
from rarespec.spectrum import WavelengthGrid
from rarespec.survey import Survey

COARSE = WavelengthGrid("log", 3.593, 4e-4, 900)
SETTING = Setting("carbon", ("lda", "emr", "bagging_svm"), (1, 3), trials=3, tuning_draws=1, sensitivity_draws=0)
STUDY = replace(SETTING, methods=("bagging_top_push",), n_known=(3,), trials=1, tuning_draws=0, sensitivity_draws=1)
"""BaggingTopPush, whose studies of parameters take longer than all the rest."""


@pytest.fixture(scope="module")
def survey(tmp_path_factory):
    return simulate_survey(
        SkyChoice(400, (("carbon", 20),), seed=5, grid=COARSE), tmp_path_factory.mktemp("run") / "mock.survey"
    )


@pytest.fixture(scope="module")
def labelled(survey):
    return label_survey(survey, "carbon")


@pytest.fixture(scope="module")
def finished(labelled, tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    return run_experiment(labelled, SETTING, folder, jobs=2), folder


def outcomes_in(folder: Path) -> dict:
    """Key -> outcome without times, as the journal has them; fails if a task is there twice."""
    lines = (folder / NAME).read_bytes().splitlines()[1:]
    records = [json.loads(line) for line in lines]
    assert max(Counter(record["key"] for record in records).values()) == 1
    return {record["key"]: record["outcome"] for record in records if not record["key"].startswith("timing")}


def test_results_are_complete_and_found_what_is_to_be_found(finished):
    results = finished[0].results
    assert set(results.trials) == {(name, n) for name in SETTING.methods for n in (1, 3)}
    assert all(len(trials.auc) == 3 for trials in results.trials.values())
    assert results.trials["lda", 3].auc.mean() > 0.9
    assert {name for name, _ in results.timings} == set(SETTING.methods)
    assert results.facts.n_rare == 20 and results.facts.n_spectra + results.facts.n_unusable == 420


@pytest.mark.exhaustive
def test_the_parameters_of_bagging_top_push_are_studied(tmp_path):
    """By default `cli/test_experiment.py` does the same study, and draws it."""
    choice = SkyChoice(100, (("carbon", 12),), seed=5, grid=COARSE)
    labelled = label_survey(simulate_survey(choice, tmp_path / "mock.survey"), "carbon")
    results = run_experiment(labelled, STUDY, tmp_path / "study", jobs=1).results
    assert set(results.bags) == {3} and results.bags[3].auc.shape == (8, 9, 1)
    assert set(results.strengths) == {3} and results.strengths[3].auc.shape == (7, 1)
    assert np.nanmax(results.bags[3].auc) > 0.9 and set(results.trials) == {("bagging_top_push", 3)}


def test_the_components_are_the_exact_ones(labelled):
    assert labelled.features.recipe.steps_[-1].solver_ == "exact"


def test_parquet_holds_every_trial_and_where_it_came_from(finished, labelled):
    table = pq.read_table(finished[1] / "results.parquet")
    assert table.num_rows == 3 * 2 * 3
    provenance = json.loads(table.schema.metadata[b"rarespec"])
    assert provenance["setting"]["seed"] == 0 and "numpy" in provenance["versions"]
    rare_ids = set(labelled.ids[labelled.rare])
    for row in table.to_pylist():
        assert len(row["known_ids"]) == row["n_known"] and set(row["known_ids"]) <= rare_ids
        assert len(row["places"]) == 20 - row["n_known"]
        before_all = np.array(row["places"]) == np.arange(1, len(row["places"]) + 1)
        assert row["top_loss"] == pytest.approx(1 - before_all.mean())
        assert (row["top_ids"] is not None) == (row["draw"] == 0)
    trials = [row["average_precision"] for row in table.to_pylist() if (row["method"], row["n_known"]) == ("lda", 3)]
    assert trials == finished[0].results.trials["lda", 3].average_precision.tolist()


def test_one_process_finds_what_two_find(finished, labelled, tmp_path):
    run_experiment(labelled, SETTING, tmp_path, jobs=1)
    assert outcomes_in(tmp_path) == outcomes_in(finished[1])


def test_more_trials_keep_the_first_ones(finished, labelled, tmp_path):
    fewer = run_experiment(labelled, replace(SETTING, trials=1, methods=("lda",)), tmp_path, jobs=1)
    before = (tmp_path / NAME).read_bytes()
    more = run_experiment(labelled, replace(SETTING, methods=("lda", "emr")), tmp_path, jobs=1)
    assert (tmp_path / NAME).read_bytes().startswith(before)
    assert more.results.trials["lda", 3].auc[0] == fewer.results.trials["lda", 3].auc[0]
    whole = finished[0].results.trials
    np.testing.assert_array_equal(more.results.trials["emr", 3].auc, whole["emr", 3].auc)
    outcomes_in(tmp_path)


def test_too_many_known_are_left_out_and_told(labelled, tmp_path):
    small = replace(SETTING, methods=("lda",), n_known=(3, 20, 50), trials=1, tuning_draws=0)
    experiment = run_experiment(labelled, small, tmp_path, jobs=1)
    assert set(experiment.results.trials) == {("lda", 3)}
    assert experiment.left_out == ["NP = 20, 50 left out: only 20 usable spectra are carbon"]
    with pytest.raises(UsageError, match="20 usable spectra are carbon"):
        run_experiment(labelled, replace(small, n_known=(20,)), tmp_path, jobs=1)


def test_another_seed_does_not_mix(finished, labelled):
    with pytest.raises(UsageError, match="different seed"):
        run_experiment(labelled, replace(SETTING, seed=1), finished[1], jobs=1)


SCRIPT = """
import sys
from pathlib import Path
from rarespec.evaluation.experiment.task_runner import label_survey
from rarespec.evaluation.experiment.run import run_experiment
from rarespec.survey import Survey
sys.path.insert(0, sys.argv[3])
from test_run import SETTING
run_experiment(label_survey(Survey.open(sys.argv[1]), "carbon"), SETTING, Path(sys.argv[2]), jobs=2)
"""


def killed_after(n_lines: int, survey: Survey, folder: Path) -> None:
    """Start the experiment, and kill it without warning as soon as its journal has grown by this many lines."""
    words = [sys.executable, "-c", SCRIPT, str(survey.path), str(folder), str(Path(__file__).parent)]
    process = subprocess.Popen(words, start_new_session=True, cwd=Path(__file__).parents[2])
    journal = folder / NAME
    n_before = n_now = journal.read_bytes().count(b"\n") if journal.exists() else 0
    while process.poll() is None and n_now < n_before + n_lines:
        time.sleep(0.005)
        n_now = journal.read_bytes().count(b"\n") if journal.exists() else 0
    with suppress(ProcessLookupError):  # it may have been quicker, and be done
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def resumed_as_if_never_killed(survey, labelled, whole: Path, folder: Path, kills: list[int]) -> None:
    for n_lines in kills:
        killed_after(n_lines, survey, folder)
    run_experiment(labelled, SETTING, folder, jobs=2)
    assert outcomes_in(folder) == outcomes_in(whole)


def test_a_killed_experiment_goes_on_without_repeating_anything(survey, labelled, finished, tmp_path):
    resumed_as_if_never_killed(survey, labelled, finished[1], tmp_path, [12])


@pytest.mark.exhaustive
def test_thirty_kills(survey, labelled, finished, tmp_path):
    kills = np.random.default_rng(0).integers(1, 6, 30).tolist()
    resumed_as_if_never_killed(survey, labelled, finished[1], tmp_path, kills)
