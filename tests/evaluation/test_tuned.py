"""Tuning: what finds hidden examples again is chosen, failures are counted, one known example is no problem."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from rarespec.evaluation import PAPER_GRIDS, Tuned, paper_grid, recall_at_k
from rarespec.evaluation import tuning as tuned_module
from rarespec.rankers.by_name import NAMES, by_name
from rarespec.rankers.graph import graph_ranker
from rarespec.rankers.neighbours.neighbour_graph import build_neighbours
from rarespec.rankers.ranker import NOTHING_KEPT, Kept, Preparation, Ranker, Scores
from rarespec.rankers.rows import Rows


class OneColumn(Ranker):
    """Scores by one column; `column=-1` cannot be fitted, `column=-2` scores all rows alike."""

    def __init__(self, column: int = 0, sign: float = 1.0) -> None:
        self.column = column
        self.sign = sign

    def _fit(self, X: Rows, known: NDArray[np.bool_]) -> None:
        if self.column == -1:
            raise RuntimeError("no such column")
        self.n_known_ = int(known.sum())

    def _scores(self, X: Rows) -> Scores:
        return np.zeros(len(X)) if self.column == -2 else self.sign * X[:, self.column].astype(np.float64)


class Memory(Ranker):
    """Knows again the rows that it was told about, and nothing else; `worth` is what it says of them."""

    def __init__(self, worth: float = 1.0) -> None:
        self.worth = worth

    def _fit(self, X: Rows, known: NDArray[np.bool_]) -> None:
        self.known_rows_ = X[known]

    def _scores(self, X: Rows) -> Scores:
        return self.worth * (X[:, None] == self.known_rows_).all(axis=2).any(axis=1)


class PreparedMemory(Memory):
    """The same, asked for many queries at once as the rankers on a graph are."""

    answers_together = True
    n_prepared = 0

    def prepare(self, X: Rows, kept: Kept = NOTHING_KEPT) -> Preparation:
        PreparedMemory.n_prepared += 1
        return super().prepare(X, kept)

    def _solve_together(self, ready: Any, Y: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.worth * Y


def made_up(n_known: int, n: int = 60, seed: int = 0) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Known rows stand out in column 1 only."""
    X = np.random.default_rng(seed).normal(size=(n, 3))
    y = np.zeros(n, int)
    y[:n_known] = 1
    X[:n_known, 1] += 10
    return X, y


@pytest.mark.parametrize("metric", ["average_precision", "auc", lambda flags: recall_at_k(flags, 5)])
@pytest.mark.parametrize("n_known", [2, 3, 12])
def test_the_column_that_matters_is_found(metric: Any, n_known: int) -> None:
    X, y = made_up(n_known)
    tuned = Tuned(OneColumn(), {"column": [0, 1, 2], "sign": [-1.0, 1.0]}, metric=metric).fit(X, y)
    assert tuned.best_params_ == {"column": 1, "sign": 1.0}
    assert tuned.tuned_
    assert tuned.why_not_ is None
    assert tuned.best_ranker_.n_known_ == n_known  # type: ignore[attr-defined]
    np.testing.assert_array_equal(tuned.decision_function(X), X[:, 1])
    assert tuned.results_["scores"].shape == (6, min(n_known, 5))
    assert tuned.results_["mean"].max() == pytest.approx(1.0)


def test_known_examples_used_for_fitting_are_not_judged() -> None:
    X, y = made_up(4)
    X[:4, 1] = [7, 8, 9, 10]
    X[4:, 1] = -1
    tuned = Tuned(OneColumn(), {"column": [1]}).fit(X, y)
    # each hidden one stands first among the unlabelled, though other known ones score higher
    np.testing.assert_array_equal(tuned.results_["scores"], np.ones((1, 4)))


@pytest.mark.parametrize("kind", [Memory, PreparedMemory])
def test_nothing_is_told_of_the_hidden_ones(kind: type[Memory]) -> None:
    X, y = made_up(4)
    tuned = Tuned(kind(), {"worth": [1.0, 2.0]}).fit(X, y)
    # 57 rows are judged, all alike: the hidden one is the last of them
    np.testing.assert_allclose(tuned.results_["scores"], np.full((2, 4), 1 / 57))
    np.testing.assert_array_equal(tuned.decision_function(X), y)


def test_a_ranker_on_a_graph_is_prepared_once_for_all_folds() -> None:
    before = PreparedMemory.n_prepared
    Tuned(PreparedMemory(), {"worth": [1.0, 2.0, 3.0]}).fit(*made_up(4))
    assert PreparedMemory.n_prepared - before == 3


@pytest.mark.parametrize("name", ["label_propagation", "lrga", "manifold_ranking"])
def test_one_graph_serves_all_combinations(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    built = []

    def noted(X: Any, k: int) -> Any:
        built.append(k)
        return build_neighbours(X, k)

    monkeypatch.setattr(tuned_module, "build_neighbours", noted)
    monkeypatch.setattr(graph_ranker, "build_neighbours", noted)
    X, y = made_up(4)
    grid = {"n_neighbours": [3, "many", 7, 100, 5]}
    with pytest.warns(UserWarning, match="1 of 5 combinations .*n_neighbours='many'"):
        tuned = Tuned(by_name(name)(), grid).fit(X, y)
    assert built[0] == len(X) - 1
    assert len(built) == 2  # the other for the last fit
    with_graph = Tuned(by_name(name)(graph=build_neighbours(X, 20)), {"n_neighbours": [3, 7]}).fit(X, y)
    assert len(built) == 2
    np.testing.assert_array_equal(with_graph.results_["mean"], tuned.results_["mean"][[0, 2]])


def test_of_equally_good_ones_the_earliest_is_taken() -> None:
    X, y = made_up(3)
    for values in ([2.0, 1.0], [1.0, 2.0]):
        assert Tuned(OneColumn(column=1), {"sign": values}).fit(X, y).best_params_ == {"sign": values[0]}


def test_ties_in_scores_earn_nothing() -> None:
    X, y = made_up(3)
    X[:, 0] = np.where(np.arange(60) < 40, 1.0, 2.0)  # the known stand in the first, lower group of 40
    tuned = Tuned(OneColumn(), {"column": [-2, 1]}).fit(X, y)
    assert tuned.best_params_ == {"column": 1}
    assert tuned.results_["mean"][0] == pytest.approx(1 / 58)


def test_one_failing_combination_is_counted_and_the_others_go_on() -> None:
    X, y = made_up(3)
    with pytest.warns(UserWarning, match="1 of 3 combinations of parameters failed.*no such column") as heard:
        tuned = Tuned(OneColumn(), {"column": [0, -1, 1]}).fit(X, y)
    assert heard[0].filename == __file__
    assert tuned.best_params_ == {"column": 1}
    assert tuned.n_failed_ == 1
    assert tuned.results_["error"] == [None, "RuntimeError: no such column", None]
    assert np.isnan(tuned.results_["mean"]).tolist() == [False, True, False]


def test_all_failing_is_an_error_that_lists_the_reasons() -> None:
    X, y = made_up(3)
    with pytest.raises(ValueError, match=r"all 2 combinations(.|\n)*no such column(.|\n)*the metric gave nan"):
        Tuned(OneColumn(), {"column": [-1, 0]}, metric=lambda flags: float("nan")).fit(X, y)


def test_one_known_example_leaves_the_parameters_as_they_are() -> None:
    X, y = made_up(1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tuned = Tuned(OneColumn(column=2), {"column": [0, 1]}).fit(X, y)
    assert not tuned.tuned_
    assert "single known example" in str(tuned.why_not_)
    assert tuned.best_params_ == {}
    assert tuned.results_["params"] == []
    np.testing.assert_array_equal(tuned.decision_function(X), X[:, 2])


@pytest.mark.parametrize("grid", [{}, []])
def test_an_empty_grid_leaves_the_parameters_as_they_are(grid: Any) -> None:
    tuned = Tuned(OneColumn(column=2), grid).fit(*made_up(3))
    assert not tuned.tuned_
    assert "nothing to choose from" in str(tuned.why_not_)


def test_wrong_parameters_are_named() -> None:
    X, y = made_up(3)
    for wrong, message in [
        ({"grid": "mine"}, "grid must be 'paper'"),
        ({"grid": {"colour": [1]}}, "grid has colour; OneColumn has column, sign"),
        ({"grid": "paper"}, "OneColumn is not one of the rankers"),
        ({"grid": {"column": [1]}, "metric": "f1"}, "metric must be"),
        ({"grid": {"column": [1]}, "n_splits": 1}, "n_splits must be"),
    ]:
        with pytest.raises(ValueError, match=message):
            Tuned(OneColumn(), **wrong).fit(X, y)


def test_the_seed_decides_the_folds() -> None:
    X, y = made_up(12)
    X[:12, 1] -= 8
    results = [Tuned(OneColumn(), {"column": [0, 1]}, random_state=s).fit(X, y).results_["scores"] for s in (1, 1, 2)]
    np.testing.assert_array_equal(results[0], results[1])
    assert (results[0] != results[2]).any()


def test_the_ranker_given_is_not_changed() -> None:
    ranker = OneColumn()
    tuned = Tuned(ranker, {"column": [1]}).fit(*made_up(3))
    assert ranker.column == 0
    assert not hasattr(ranker, "n_known_")
    assert clone(tuned).get_params()["ranker__column"] == 0


def test_the_papers_grids() -> None:
    assert set(PAPER_GRIDS) == set(NAMES)
    one_at_a_time = paper_grid("bagging_top_push")
    assert [list(values) for values in one_at_a_time] == [["regularisation"], ["bag_size"], ["n_bags"]]
    assert [len(next(iter(values.values()))) for values in one_at_a_time] == [7, 8, 9]
    assert paper_grid("bagging_top_push", product=True) == [PAPER_GRIDS["bagging_top_push"]]
    assert PAPER_GRIDS["bagging_svm"]["C"][0] == pytest.approx(np.exp(-8))
    assert len(PAPER_GRIDS["bagging_svm"]["C"]) == 9
    with pytest.raises(ValueError, match="there is no grid for 'nearest'"):
        paper_grid("nearest")


@parametrize_with_checks([Tuned(OneColumn(), {"column": [0]})])
def test_scikit_learns_checks(estimator: Any, check: Any) -> None:
    check(estimator)
