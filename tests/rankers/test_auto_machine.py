"""Auto's part that the list teaches."""

import numpy as np
import pytest

from rarespec.rankers import Auto
from rarespec.rankers.auto import auto as auto_module
from rarespec.rankers.auto.machine import FEWEST_FIRST, N_OTHERS, PASSED_OVER, WEIGHT, lesson_of_list, teach
from rarespec.rankers.auto.trust import confirm


def two_groups(n=3000, n_rare=60, seed=0):
    """Rows of which the first are a group apart."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    X[:n_rare] += np.r_[5.0, np.zeros(5)]
    return X, np.arange(n) < n_rare


def lesson(n, sureness, refused=(), seed=0):
    chances = {"signal": np.full(n, sureness), "given": np.ones(n)}
    return lesson_of_list(np.arange(n)[::-1], chances, np.array(refused, np.intp), np.random.default_rng(seed))


def test_the_first_teach_and_those_after_them_are_passed_over():
    found = lesson(30_000, 1.0, refused=[7])
    assert found.first.tolist() == list(range(29_999, 29_899, -1))
    assert found.others[0] == 7 and len(found.others) == 1 + N_OTHERS
    assert found.others[1:].max() < 30_000 - PASSED_OVER * 100


def test_a_list_without_rows_of_other_kinds_teaches_nothing():
    assert lesson(PASSED_OVER * FEWEST_FIRST, 1.0) is None
    assert len(lesson(PASSED_OVER * FEWEST_FIRST + 1, 1.0).others) == 1


@pytest.mark.parametrize(("sureness", "weight"), [(1.0, WEIGHT), (0.5, WEIGHT), (0.1, 0.2 * WEIGHT), (0.0, 0.0)])
def test_the_less_sure_walks_are_the_less_the_machine_counts(sureness, weight):
    assert lesson(3000, sureness).weight == pytest.approx(weight)


def test_a_machine_tells_members_it_has_not_seen_from_others():
    X, rare = two_groups()
    order = np.concatenate([np.arange(5, 40), np.arange(60, 3000), np.arange(40, 60)])
    taught = lesson_of_list(order, {"signal": rare.astype(float)}, np.empty(0, np.intp), np.random.default_rng(0))
    scores = teach(taught, X, X[:5], gamma=1 / 6).scores(X)
    assert np.median(scores[40:60]) > np.quantile(scores[60:], 0.99)


def test_rows_that_walks_are_not_sure_of_do_not_teach():
    """All of the first rows are wrong but five; only these, and the known, decide."""
    X, _ = two_groups()
    order = np.concatenate([np.arange(5, 10), np.arange(100, 3000), np.arange(10, 100)])
    sure = np.isin(np.arange(3000), np.arange(5, 10)).astype(float)
    machine = teach(lesson_of_list(order, {"s": sure}, order[:0], np.random.default_rng(0)), X, X[:5], gamma=1 / 6)
    scores = machine.scores(X)
    assert np.median(scores[10:60]) > np.quantile(scores[105:110], 1.0)


def test_hidden_examples_are_placed_by_a_machine_that_does_not_know_them():
    """One known row is like no other: the machine that knows it puts it among the first."""
    X, rare = two_groups()
    X[-1] = np.r_[np.zeros(5), 40.0]
    known = np.isin(np.arange(len(X)), [0, 1, 2, 3, len(X) - 1])
    auto = Auto().fit(X, known)
    scores = auto._fitted["taught"]
    n_before = (scores[~known] > scores[-1]).sum()
    assert auto.hidden_places_["taught"][-1] > max(50, 5 * n_before)
    assert np.median(auto.hidden_places_["taught"]) < rare.sum()


def test_rows_far_down_a_long_list_are_not_judged(monkeypatch):
    X, rare = two_groups()
    all_judged = Auto().fit(X, np.arange(len(X)) < 3)
    monkeypatch.setattr(auto_module, "MAX_JUDGED", 500)
    some_judged = Auto().fit(X, np.arange(len(X)) < 3)
    scores = some_judged._fitted["taught"]
    assert (scores == scores.min()).sum() >= len(X) - 3 - 500
    first = int(rare.sum()) - 3
    assert np.isin(some_judged.rank(X)[:first], all_judged.rank(X)[:first]).mean() > 0.95
    # rows that were fitted are scored alike when they come again
    again = some_judged._score_by("taught", X.copy())
    judged = scores > scores.min()
    np.testing.assert_allclose(again[judged], scores[judged])


def test_the_machine_counts_as_far_as_hidden_examples_confirm_it():
    as_good, worse = np.array([3.0, 20.0, 5.0]), np.array([300.0, 2000.0, 500.0])
    others = {"signal": np.array([4.0, 30.0, 6.0]), "expanded": worse}
    assert confirm("taught", others | {"taught": as_good}, 3000) == 1
    assert confirm("taught", others | {"taught": worse}, 3000) < 0.1
    none = np.empty(0)  # one known example: nothing can be hidden, and nothing speaks against it
    assert confirm("taught", {"signal": none, "expanded": none, "taught": none}, 3000) == 1


def test_a_machine_that_loses_hidden_examples_hardly_counts(monkeypatch):
    X, rare = two_groups()
    known = rare & (np.arange(len(X)) < 12)
    trusted = Auto().fit(X, known).weights_["taught"]
    monkeypatch.setattr(auto_module, "_places_when_hidden", lambda *given: np.full(10, 2000.0))
    assert Auto().fit(X, known).weights_["taught"] < 0.01 < 0.2 < trusted
