"""What tuning chooses."""

from rarespec.evaluation.experiment.plan import Task, as_text
from rarespec.evaluation.experiment.run import choose_parameters


def tried(method, params, *figures):
    return [
        (Task("tuning", method, as_text(params), 1, draw), {"error": "no"} if ap is None else {"ap": ap, "auc": 0.5})
        for draw, ap in enumerate(figures)
    ]


def test_the_best_mean_is_chosen_for_each_method():
    outcomes = tried("emr", {}, 0.2, 0.4) + tried("emr", {"alpha": 0.5}, 0.1, 0.6) + tried("lrga", {}, 0.9, 0.9)
    assert choose_parameters(outcomes) == {"emr": {"alpha": 0.5}, "lrga": {}}


def test_equally_good_leaves_the_methods_own():
    assert choose_parameters(tried("emr", {}, 0.3) + tried("emr", {"alpha": 0.5}, 0.3)) == {"emr": {}}


def test_what_failed_once_is_not_chosen():
    outcomes = tried("emr", {}, 0.1, 0.1) + tried("emr", {"alpha": 0.5}, 0.9, None)
    assert choose_parameters(outcomes) == {"emr": {}}
