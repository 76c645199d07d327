"""The tasks of an experiment."""

from collections import Counter

import pytest

from rarespec.evaluation.experiment.methods import METHODS, PAPER_METHODS
from rarespec.evaluation.experiment.plan import (
    combinations,
    cost_tasks,
    further_tasks,
    most_neighbours,
    portions,
    timing_tasks,
    trial_tasks,
    tuning_tasks,
)
from rarespec.evaluation.experiment.setting import N_KNOWN, Setting
from rarespec.evaluation.tuning import BAG_SIZE, N_BAGS, REGULARISATION, C


def test_the_protocol_of_the_paper():
    tasks = trial_tasks(Setting("CARBON", PAPER_METHODS), {})
    assert len(tasks) == 6 * 7 * 50 == len({task.key for task in tasks})
    assert Counter(task.n_known for task in tasks) == dict.fromkeys(N_KNOWN, 300)


def test_the_grids_of_the_paper_are_tried():
    tried = combinations("bagging_top_push", "paper")
    for name, values in (("regularisation", REGULARISATION), ("bag_size", BAG_SIZE), ("n_bags", N_BAGS)):
        own = METHODS["bagging_top_push"].make().get_params()[name]
        assert {params[name] for params in tried if name in params} | {own} >= set(values)
    assert [params["C"] for params in combinations("bagging_svm", "paper")[1:]] == list(C)


FIXED_IN_PAPER = {
    "label_propagation": {"n_neighbours": 5, "sigma": 1.0, "alpha": 0.99},
    "emr": {"n_anchors": 1000, "alpha": 0.99},
    "lrga": {"n_neighbours": 5},
}
"""Section 3.3."""


@pytest.mark.parametrize("name", FIXED_IN_PAPER)
def test_what_the_paper_fixed_is_fixed_at_its_values_unless_all_is_tuned(name):
    own = METHODS[name].make().get_params()
    assert FIXED_IN_PAPER[name].items() <= own.items()
    assert combinations(name, "paper") == [{}] and len(combinations(name, "all")) > 1


def test_what_the_paper_tuned_is_tuned_and_nothing_when_nothing_is_to_be():
    tuned = {task.method for task in tuning_tasks(Setting("CARBON"))}
    assert tuned == {"ocsvm", "bagging_svm", "bagging_top_push", "whitened_top_push"}
    assert {task.method for task in tuning_tasks(Setting("CARBON", tune="all"))} >= {*PAPER_METHODS}
    assert not tuning_tasks(Setting("CARBON", tune="none"))
    assert not tuning_tasks(Setting("CARBON", tuning_draws=0)) and Setting("CARBON", tuning_draws=0).tuned == "none"


def test_costs_are_timed_one_after_the_other_parameter():
    tasks = cost_tasks(Setting("CARBON"))
    assert all(task.kind == "timing" and len(task.parameters) == 1 and task.n_known == 10 for task in tasks)
    over = [task.parameters["regularisation"] for task in tasks if task.method == "published_top_push"]
    assert over == [0.001, 1.0, 1000.0]
    assert {task.parameters.get("n_bags") for task in tasks} >= set(N_BAGS)
    assert not {task.key for task in tasks} & {task.key for task in timing_tasks(Setting("CARBON"), {})}
    assert not cost_tasks(Setting("CARBON", ("lda",))) and not cost_tasks(Setting("CARBON", sensitivity_draws=0))


@pytest.mark.parametrize("name", sorted(METHODS))
def test_every_method_tries_its_own_parameters_first_and_nothing_twice(name):
    tried = combinations(name, "all")
    assert tried[0] == {} and all(one not in tried[:i] for i, one in enumerate(tried))
    for params in tried:
        METHODS[name].make().set_params(**params)


def test_the_two_matched_filters_stay_what_they_are():
    assert combinations("lda", "all") == combinations("cosine", "all") == combinations("auto", "all") == [{}]
    assert not tuning_tasks(Setting("CARBON", ("lda", "cosine"), tune="all"))


def test_tuned_parameters_are_used_in_trials_and_timings():
    setting = Setting("CARBON", ("lda", "emr"), trials=1)
    for tasks in (trial_tasks(setting, {"emr": {"alpha": 0.5}}), timing_tasks(setting, {"emr": {"alpha": 0.5}})):
        assert {task.params for task in tasks if task.method == "emr"} == {'{"alpha": 0.5}'}
        assert {task.params for task in tasks if task.method == "lda"} == {"{}"}


def test_figures_8_and_9_need_the_method_they_are_about():
    assert not further_tasks(Setting("CARBON", ("lda",)))
    assert not further_tasks(Setting("CARBON", sensitivity_draws=0))
    tasks = further_tasks(Setting("CARBON", sensitivity_draws=2))
    assert Counter(task.kind for task in tasks) == {
        "bags": 3 * len(BAG_SIZE) * 2,
        "strength": 7 * len(REGULARISATION) * 2,
    }


def test_portions_hold_every_task_once_and_one_method_each():
    tasks = trial_tasks(Setting("CARBON", ("lda", "lrga"), n_known=(1, 3), trials=9), {})
    handed_out = list(portions(tasks))
    assert [task for portion in handed_out for task in portion] == tasks
    assert all(len({(task.method, task.params) for task in portion}) == 1 for portion in handed_out)
    assert {len(p) for p in handed_out if p[0].method == "lda"} == {1}
    assert max(len(p) for p in handed_out if p[0].method == "lrga") == 8


def test_the_graph_has_the_neighbours_that_tuning_asks_for():
    setting = Setting("CARBON", ("lda", "label_propagation"), tune="all")
    assert most_neighbours(tuning_tasks(setting)) == 20
    assert most_neighbours(trial_tasks(setting, {})) == 5
    assert most_neighbours(trial_tasks(Setting("CARBON", ("lda",)), {})) is None


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"methods": ("ldb",)}, "there is no method 'ldb'"),
        ({"methods": ()}, "methods"),
        ({"methods": ("lda", "lda")}, "each only once"),
        ({"n_known": (0, 1)}, "np"),
        ({"n_known": ()}, "np"),
        ({"n_known": (1, 1)}, "each only once"),
        ({"tuning_draws": -1}, "draws"),
        ({"trials": 0}, "trials"),
        ({"tune": "some"}, "tune must be one of paper, all, none"),
    ],
)
def test_a_setting_that_cannot_be_is_refused(wrong, said):
    with pytest.raises(ValueError, match=said):
        Setting("CARBON", **wrong)


def test_a_setting_without_a_class_is_refused():
    with pytest.raises(ValueError, match="rare"):
        Setting(" , ")
