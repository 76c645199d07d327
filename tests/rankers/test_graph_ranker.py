"""What rankers on a graph share: prepared once, asked many times, equal rows equal scores."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from rarespec.rankers.graph.emr import EMR
from rarespec.rankers.graph.label_propagation import LabelPropagation, ManifoldRanking
from rarespec.rankers.graph.lrga import LRGA
from rarespec.rankers.model_file import load_model, save_model
from rarespec.rankers.neighbours.neighbour_graph import build_neighbours
from rarespec.rankers.ranker import Kept

WALKING = [
    pytest.param(LabelPropagation(sigma="self-tuned"), id="LP"),
    pytest.param(ManifoldRanking(), id="MR"),
    pytest.param(LRGA(), id="LRGA"),
]
ALL = pytest.mark.parametrize("ranker", [*WALKING, pytest.param(EMR(20, random_state=0), id="EMR")])
ON_NEIGHBOURS = pytest.mark.parametrize("ranker", WALKING)


def rows(n=120, seed=0, dtype=np.float32):
    rng = np.random.default_rng(seed)
    return (rng.normal(0, 1, (6, 4))[rng.integers(0, 6, n)] + rng.normal(0, 0.3, (n, 4))).astype(dtype)


def known(n=120, n_known=3):
    return (np.arange(n) < n_known).astype(int)


@ALL
def test_fitted_state_is_arrays_and_numbers(ranker):
    fitted = clone(ranker).fit(rows(), known())
    state = {name: value for name, value in vars(fitted).items() if name.endswith("_")}
    assert {"scores_", "fitted_rows_"} <= set(state)
    assert all(value is None or isinstance(value, np.ndarray | int | float) for value in state.values())


@ALL
def test_fitted_rows_have_their_scores(ranker):
    X = rows()
    fitted = clone(ranker).fit(X, known())
    assert np.array_equal(fitted.decision_function(X), fitted.scores_)
    chosen = np.array([5, 0, 77, 5])
    assert np.array_equal(fitted.decision_function(X[chosen]), fitted.scores_[chosen])
    assert np.array_equal(fitted.decision_function(X[chosen].astype(np.float64)), fitted.scores_[chosen])
    assert fitted.decision_function(X) is not fitted.scores_


@ALL
def test_a_row_equal_to_several_has_the_best_of_their_scores(ranker):
    X = rows()
    X[60] = X[0]
    fitted = clone(ranker).fit(X, known())
    assert fitted.scores_[0] > fitted.scores_[60]
    assert fitted.decision_function(X[60:61])[0] == fitted.scores_[0]
    assert np.array_equal(fitted.decision_function(X), fitted.scores_)


@ALL
def test_many_queries_are_those_asked_one_by_one(ranker):
    X, Y = rows(), np.zeros((120, 21))
    Y[np.random.default_rng(0).integers(0, 120, 60), np.arange(60) % 21] = 1
    prepared = clone(ranker).prepare(X)
    together = prepared.scores_for(Y)
    assert together.shape == Y.shape
    for j in range(21):
        assert np.allclose(prepared.scores_for(Y[:, j]), together[:, j], rtol=1e-7, atol=1e-10)
    assert prepared.scores_for(Y[:, 0]).shape == (120,)
    assert np.allclose(clone(ranker).fit(X, Y[:, 0]).scores_, together[:, 0], rtol=1e-7, atol=1e-10)


@ALL
def test_queries_do_not_change_what_was_fitted(ranker):
    preparation = clone(ranker).prepare(rows())
    fitted = preparation.fit(known()).ranker
    before = {name: np.copy(value) for name, value in vars(fitted).items() if name.endswith("_")}
    preparation.scores_for(np.eye(120)[:, 50])
    preparation.fit(np.arange(120) == 70)
    assert all(np.array_equal(getattr(fitted, name), value) for name, value in before.items())


@ON_NEIGHBOURS
def test_a_graph_that_is_given_is_used(ranker, monkeypatch):
    X = rows()
    graph = build_neighbours(X, 8)
    expected = clone(ranker).fit(X, known()).scores_
    monkeypatch.setattr("rarespec.rankers.graph.graph_ranker.build_neighbours", None)
    assert np.array_equal(clone(ranker).set_params(graph=graph).fit(X, known()).scores_, expected)
    assert np.array_equal(clone(ranker).prepare(X, Kept(graph=graph)).scores_for(known()), expected)
    assert "8 neighbours each" in repr(clone(ranker).set_params(graph=graph))


@ON_NEIGHBOURS
@pytest.mark.parametrize(
    ("other", "message"),
    [
        (rows(119), "it has 119 rows and X has 120"),
        (rows(seed=1), "built on different values"),
    ],
)
def test_a_graph_of_other_rows_is_refused(ranker, other, message):
    with pytest.raises(ValueError, match=message):
        clone(ranker).set_params(graph=build_neighbours(other, 5)).fit(rows(), known())


@ON_NEIGHBOURS
def test_a_graph_with_too_few_neighbours_is_refused(ranker):
    with pytest.raises(ValueError, match="keeps 3"):
        clone(ranker).prepare(rows(), Kept(graph=build_neighbours(rows(), 3)))


@ON_NEIGHBOURS
def test_a_model_is_saved_without_its_graph(ranker, tmp_path):
    X = rows()
    fitted = clone(ranker).set_params(graph=build_neighbours(X, 8)).fit(X, known())
    save_model(tmp_path / "model.safetensors", fitted)
    loaded = load_model(tmp_path / "model.safetensors").ranker
    assert loaded.graph is None and fitted.graph is not None
    for wanted in (X, X[:9] + np.float32(0.1)):
        assert np.array_equal(loaded.decision_function(wanted), fitted.decision_function(wanted))


@ALL
@pytest.mark.parametrize("factor", [1e-200, 1e-50, 1e-20, 1e10, 1e20, 1e50, 1e200])
@pytest.mark.filterwarnings("ignore:.*rows are disconnected")
def test_scores_are_finite_whatever_the_size_of_the_features(ranker, factor):
    X = rows(dtype=np.float64)
    fitted = clone(ranker).fit(X * factor, known())
    assert np.isfinite(fitted.scores_).all() and np.isfinite(fitted.decision_function((X[:9] + 0.01) * factor)).all()


@ALL
def test_asking_too_early_is_said_and_preparing_is_no_fit(ranker):
    prepared = clone(ranker)
    prepared.prepare(rows())
    with pytest.raises(NotFittedError):
        prepared.decision_function(rows())
    fitted = clone(ranker).fit(rows(), known())
    before = fitted.scores_
    fitted.prepare(rows(seed=1))
    assert np.array_equal(fitted.decision_function(rows()), before)


@ALL
@pytest.mark.parametrize("wrong", [np.ones(119), np.ones((120, 2, 2)), np.full(120, np.nan)])
def test_wrong_queries_are_named(ranker, wrong):
    with pytest.raises(ValueError, match=r"Y (has|contains)"):
        clone(ranker).prepare(rows()).scores_for(wrong)


@ALL
def test_a_query_of_nothing(ranker):
    prepared = clone(ranker).prepare(rows())
    assert (prepared.scores_for(np.zeros(120)) == 0).all()
    assert prepared.scores_for(np.zeros((120, 0))).shape == (120, 0)
