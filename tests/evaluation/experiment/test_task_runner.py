"""Tasks carried out: figures against scikit-learn's, batches against single queries, failures as values."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

from rarespec.evaluation.experiment.methods import METHODS
from rarespec.evaluation.experiment.plan import Task, as_text
from rarespec.evaluation.experiment.task_runner import TaskRunner, carry_out, unpack_places
from rarespec.evaluation.tuning import N_BAGS
from rarespec.rankers import EMR, BaggingTopPush, build_neighbours


@pytest.fixture(scope="module")
def runner():
    rng = np.random.default_rng(0)
    rare = np.arange(600) < 30
    X = rng.normal(size=(600, 5)).astype("f4")
    X[rare, 0] += 3
    return TaskRunner(X, rare, seed=3, trials=3, graph=build_neighbours(X, 10))


def task(method, kind="trial", params=None, n_known=4, draw=0):
    return Task(kind, method, as_text(params or {}), n_known, draw)


@pytest.mark.parametrize("method", ["lda", "bagging_top_push", "emr", "lrga"])
def test_figures_agree_with_another_implementation(runner, method):
    one = task(method, draw=1)
    (outcome,) = carry_out(runner, [one])
    known = one.known(runner.rare_rows, 3)
    y = np.isin(np.arange(600), known)
    ranker = METHODS[method].ranker(one.ranker_seed(3) if method != "emr" else 3)
    scores = ranker.fit(runner.X, y).decision_function(runner.X)[~y]
    assert outcome["auc"] == pytest.approx(roc_auc_score(runner.rare[~y], scores))
    assert outcome["ap"] == pytest.approx(average_precision_score(runner.rare[~y], scores))
    order = np.argsort(-scores)
    assert unpack_places(outcome["places"]).tolist() == (np.flatnonzero(runner.rare[~y][order]) + 1).tolist()
    assert "top" not in outcome


def test_the_first_draw_shows_what_is_on_top_and_no_known(runner):
    (outcome,) = carry_out(runner, [task("lda")])
    top = outcome["top"]
    assert len(top) == 500 and not set(top) & set(task("lda").known(runner.rare_rows, 3).tolist())
    places = unpack_places(outcome["places"])
    assert [place + 1 for place, row in enumerate(top) if runner.rare[row]] == places[places <= 500].tolist()


def test_queries_answered_together_are_answered_as_alone(runner):
    tasks = [task("label_propagation", n_known=n, draw=d) for n in (1, 5) for d in (0, 1)]
    together = carry_out(runner, tasks)
    assert together == [carry_out(runner, [one])[0] for one in tasks]


def test_fewer_bags_are_the_first_of_many(runner):
    one = task("bagging_top_push", "bags", {"bag_size": 20})
    (outcome,) = carry_out(runner, [one])
    assert len(outcome["auc"]) == len(outcome["ap"]) == len(N_BAGS)
    y = np.isin(np.arange(600), one.known(runner.rare_rows, 3))
    all_bags = BaggingTopPush(n_bags=100, bag_size=20, random_state=one.ranker_seed(3)).fit(runner.X, y)
    scores = all_bags.decision_function(runner.X)[~y]
    assert outcome["ap"][-1] == pytest.approx(average_precision_score(runner.rare[~y], scores))


def test_times_tell_set_up_from_query(runner):
    for method, sets_up in (("lda", False), ("emr", True)):
        (outcome,) = carry_out(runner, [task(method, "timing")])
        assert (outcome["setup_s"] > 0) is sets_up and outcome["query_s"] >= 0


def test_of_equal_scores_the_rare_come_last_in_figures_as_in_tables():
    X = np.zeros((50, 2), "f4")  # nothing tells the rows apart
    X[0] = 1
    tied = TaskRunner(X, np.arange(50) < 10, seed=0, trials=1, graph=None)
    (outcome,) = carry_out(tied, [task("lda", n_known=1)])
    assert not tied.rare[outcome["top"][:35]].any()


def test_one_query_that_fails_does_not_take_its_portion_with_it(runner, monkeypatch):
    def solve(self, ready, Y):
        if (Y.sum(axis=0) == 5).any():
            raise ValueError("five is too many")
        return original(self, ready, Y)

    original = EMR._solve
    monkeypatch.setattr(EMR, "_solve", solve)
    outcomes = carry_out(runner, [task("emr", n_known=n) for n in (4, 5, 6)])
    assert ["error" in outcome for outcome in outcomes] == [False, True, False]


def test_a_failure_is_an_outcome(runner):
    (outcome,) = carry_out(runner, [task("bagging_svm", params={"C": -1.0})])
    assert outcome["error"].startswith("ValueError") and "C" in outcome["error"]


def test_a_warning_is_kept(runner):
    (outcome,) = carry_out(runner, [task("bagging_top_push", params={"max_iter": 1, "solver": "published"})])
    assert any("converge" in said or "iterations" in said for said in outcome["warnings"])


@pytest.mark.parametrize("n_rare", [6, 30])
def test_nothing_is_tuned_on_a_draw_that_is_reported(n_rare):
    few = TaskRunner(np.zeros((40, 2), "f4"), np.arange(40) < n_rare, seed=0, trials=4, graph=None)
    reported = {tuple(few.known(task("lda", n_known=1, draw=draw))) for draw in range(4)}
    tuning = [task("lda", "tuning", n_known=1, draw=draw) for draw in range(30)]
    assert not reported & {tuple(few.known(one)) for one in tuning}
    assert few.count_tuned_on_reported(tuning) == 0


def test_a_class_without_other_draws_is_told():
    two = TaskRunner(np.zeros((40, 2), "f4"), np.arange(40) < 2, seed=0, trials=20, graph=None)
    assert two.count_tuned_on_reported([task("lda", "tuning", n_known=1, draw=draw) for draw in range(3)]) == 3


def test_the_distance_of_the_first_twenty_from_a_single_known_example(runner):
    one = task("lda", n_known=1)
    (outcome,) = carry_out(runner, [one])
    (known,) = runner.known(one)
    assert outcome["top_distance"] == pytest.approx(
        np.mean([np.linalg.norm(runner.X[row] - runner.X[known]) for row in outcome["top"][:20]])
    )
    assert "top_distance" not in carry_out(runner, [task("lda")])[0]
