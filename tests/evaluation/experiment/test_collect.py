"""From outcomes to results: failures cost as little as they can."""

import numpy as np
import pytest

from rarespec.errors import SurveyError
from rarespec.evaluation.experiment.collect import collect_results
from rarespec.evaluation.experiment.journal import journal_in
from rarespec.evaluation.experiment.plan import cost_tasks, further_tasks, timing_tasks, trial_tasks
from rarespec.evaluation.experiment.results import Facts
from rarespec.evaluation.experiment.setting import Setting
from rarespec.evaluation.experiment.task_runner import TaskRunner, pack_places

SETTING = Setting("carbon", ("lda", "cosine", "emr"), (1, 2), trials=3, tuning_draws=0)
FACTS = Facts("a.survey", 20, 0, 5, "class is carbon")


@pytest.fixture
def runner():
    return TaskRunner(np.zeros((20, 2), "f4"), np.arange(20) < 5, seed=0, trials=3, graph=None)


def outcome(task):
    places = pack_places(np.arange(1, 6 - task.n_known))
    return {"auc": task.draw / 10, "ap": 1.0, "places": places, "top": [9, 8]}


def results_with(failed, runner, folder, setting=SETTING):
    with journal_in(folder, {}) as journal:
        for task in trial_tasks(setting, {}) + further_tasks(setting):
            journal.add(task, {"error": "no"} if failed(task) else outcome(task))
        for task in timing_tasks(setting, {}):
            journal.add(task, {"setup_s": 1.0, "query_s": 2.0})
        return collect_results(setting, FACTS, {}, runner, journal)


def test_a_draw_that_failed_once_is_left_out_for_all_methods(runner, tmp_path):
    results = results_with(lambda task: (task.method, task.n_known, task.draw) == ("emr", 2, 1), runner, tmp_path)
    assert all(results.trials[name, 2].auc.tolist() == [0.0, 0.2] for name in SETTING.methods)
    assert results.trials["lda", 1].auc.tolist() == [0.0, 0.1, 0.2]


def test_a_method_that_always_fails_does_not_take_the_others_with_it(runner, tmp_path):
    results = results_with(lambda task: task.method == "emr", runner, tmp_path)
    assert results.setting.methods == ("lda", "cosine")
    assert results.left_out == ("EMR: failed on every draw for some NP",)
    assert set(results.trials) == {(name, n) for name in ("lda", "cosine") for n in (1, 2)}
    assert all(len(trials.auc) == 3 for trials in results.trials.values())


def test_a_number_of_known_without_a_common_draw_is_left_out(runner, tmp_path):
    one_each = {("lda", 0), ("cosine", 1), ("emr", 2)}
    results = results_with(lambda task: task.n_known == 2 and (task.method, task.draw) in one_each, runner, tmp_path)
    assert results.setting.n_known == (1,) and results.setting.methods == SETTING.methods
    assert results.left_out == ("NP = 2: some method failed on each draw",)


def test_nothing_but_failures_is_told(runner, tmp_path):
    with pytest.raises(SurveyError, match="no method succeeded on any draw"):
        results_with(lambda task: True, runner, tmp_path)


def test_sensitivity_is_in_the_order_of_parameter_and_draw(runner, tmp_path):
    setting = Setting("carbon", ("bagging_top_push",), (1, 2), trials=1, tuning_draws=0, sensitivity_draws=2)
    with journal_in(tmp_path, {}) as journal:
        for task in trial_tasks(setting, {}):
            journal.add(task, outcome(task))
        for task in timing_tasks(setting, {}):
            journal.add(task, {"setup_s": 1.0, "query_s": 2.0})
        for task in cost_tasks(setting):
            journal.add(task, {"setup_s": 1.0, "query_s": next(iter(task.parameters.values())) / 4})
        for task in further_tasks(setting):
            value = next(iter(task.parameters.values())) + task.draw / 8
            values = [value + t / 1024 for t in range(9)] if task.kind == "bags" else value
            journal.add(task, {"auc": values, "ap": values})
        results = collect_results(setting, FACTS, {}, runner, journal)
    assert results.bags[1].auc.shape == (8, 9, 2)
    assert results.bags[1].auc[6, 3, 1] == 200 + 1 / 8 + 3 / 1024
    assert results.strengths[2].average_precision.shape == (7, 2)
    assert results.strengths[2].average_precision[5, 1] == 100 + 1 / 8
    assert results.costs["bagging_top_push", "bag_size", 200] == 50
    assert results.costs["published_top_push", "regularisation", 1000.0] == 250
    assert len(results.costs) == 7 + 3 + 8 + 9
    assert results.timings["bagging_top_push", 2].query_s == 2.0
