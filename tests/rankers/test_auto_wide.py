"""Auto on many rows: the same kind of answer without a graph of all rows."""

from functools import partial

import numpy as np
import pytest

from rarespec.evaluation import average_precision_at_k, relevance_in_order
from rarespec.rankers import Auto, load_model, save_model
from rarespec.rankers.auto import signal
from rarespec.rankers.auto.walks import reach_rows
from rarespec.rankers.neighbours import cell_search


@pytest.fixture
def few(monkeypatch):
    """Sizes at which a few thousand rows are many."""
    monkeypatch.setattr(signal, "WIDE", 2000)
    monkeypatch.setattr(cell_search, "N_SAMPLE", 50)
    sizes = {"auto.rows.N_REACHED": 800, "auto.rows.N_ALIKE": 1200, "auto.query.N_DRAWN": 1500}
    for name, size in sizes.items():
        monkeypatch.setattr(f"rarespec.rankers.{name}", size)


def rows_with_a_kind(n_rare=40, n_common=4000, noise=0.3, seed=0):
    rng = np.random.default_rng(seed)
    sheet = rng.normal(size=(n_rare + n_common, 3)) @ rng.normal(size=(3, 12)) * 3
    rare = np.arange(n_rare + n_common) < n_rare
    aside = rng.normal(size=12)
    sheet[rare] += aside * 7 * noise / np.linalg.norm(aside)
    return (sheet + rng.normal(size=sheet.shape) * noise).astype(np.float32), rare


def precision(auto, X, rare, known):
    left = ~np.isin(np.arange(len(X)), known)
    scores = auto.fit(X, ~left).decision_function(X)
    return average_precision_at_k(relevance_in_order(scores[left], rare[left]), left.sum())


@pytest.mark.parametrize("known", [[3], [3, 5, 8, 12]])
def test_it_finds_what_the_graph_of_all_rows_finds(few, monkeypatch, known):
    X, rare = rows_with_a_kind(seed=1)
    found = precision(Auto(), X, rare, known)
    monkeypatch.setattr(signal, "WIDE", 10**6)
    assert found > precision(Auto(), X, rare, known) - 0.05


def test_no_graph_of_all_rows_is_built(few):
    X, _ = rows_with_a_kind()
    assert signal.signal_of_rows(X).graph is None
    none = np.array([], int)
    near = Auto().prepare(X).ready.surroundings(np.arange(len(X)) < 3, none, np.array([7]))
    assert all(steps.shape[0] < len(X) * 0.75 for steps in near.steps.values()) and 7 in near.rows


def test_rows_are_reached_in_both_spaces_from_the_known_and_the_leads(few):
    X, _ = rows_with_a_kind()
    ready, known, lead = Auto().prepare(X).ready, 0, 3000
    near = ready.surroundings(np.arange(len(X)) == known, np.array([lead]), np.array([], int))
    for space in signal.SPACES:
        reached = reach_rows(np.array([known, lead]), 800, partial(ready.search.nearest, space))
        assert len(reached) == 800 and np.isin(reached, near.rows).all()


def test_places_of_hidden_examples_are_those_among_all_rows(few):
    X, _ = rows_with_a_kind()
    auto = Auto().fit(X, np.arange(len(X)) < 6)
    poor = Auto().fit(X, np.isin(np.arange(len(X)), [100, 700, 1300, 1900]))
    assert all((places >= 1).all() and (places <= len(X)).all() for places in poor.hidden_places_.values())
    assert np.median(poor.hidden_places_["expanded"]) > 1500 / 4 > np.median(auto.hidden_places_["expanded"])
    assert np.isfinite(auto.hidden_scores_).all()


def test_non_members_are_learned_from(few):
    X, _ = rows_with_a_kind()
    y = np.zeros(len(X), int)
    y[:3] = 1
    first = [row for row in Auto().fit(X, y).rank(X) if y[row] == 0][:2]
    scores = Auto().fit(X, y).decision_function(X)
    y[first] = -1
    assert not np.array_equal(Auto().fit(X, y).decision_function(X), scores)


def test_a_campaign_keeps_its_surroundings_and_another_query_does_not(few):
    X, _ = rows_with_a_kind()
    known, none = np.arange(len(X)) < 3, np.array([], int)
    ready = Auto().prepare(X).ready
    first = ready.surroundings(known, none, none)
    grown = known.copy()
    grown[first.rows[:50]] = True
    assert ready.surroundings(grown, none, none) is first
    assert ready.surroundings(np.arange(len(X)) == 2000, none, none) is not first


def test_cells_are_let_go_unless_other_queries_need_them(few):
    X, _ = rows_with_a_kind()
    known, none = np.arange(len(X)) < 3, np.array([], int)
    ready = Auto().prepare(X).ready
    ready.afresh().surroundings(known, none, none)
    assert all(search.n_filled for search in ready.search._searches.values())
    ready.surroundings(known, none, none)
    assert not any(search.n_filled for search in ready.search._searches.values())


def test_the_same_query_gives_the_same_answer_whatever_was_asked_before(few):
    X, _ = rows_with_a_kind()
    prepared = Auto().prepare(X)
    for known in (np.arange(len(X)) < 4, np.arange(len(X)) == 3000, np.arange(len(X)) < 4):
        again = prepared.fit(known).scores
        np.testing.assert_array_equal(again, Auto().fit(X, known).decision_function(X))


def test_a_model_file_ranks_other_rows_alike(few, tmp_path):
    X, _ = rows_with_a_kind()
    other, other_rare = rows_with_a_kind(seed=0)
    save_model(tmp_path / "auto.safetensors", Auto().fit(X, np.arange(len(X)) < 4))
    scores = load_model(tmp_path / "auto.safetensors").ranker.decision_function(other + 1e-4)
    assert other_rare[np.argsort(-scores)[:20]].mean() > 0.9


def chain(n=100):
    """Rows on a line, of which each has the one before and the one after as neighbours."""

    def neighbours_of(rows):
        near = np.clip(np.stack([rows - 1, rows + 1], axis=1), 0, n - 1)
        return near, np.abs(near - rows[:, None]).astype(float)

    return neighbours_of


def test_a_chain_is_followed_from_the_known_outwards():
    found = reach_rows(np.array([50]), 21, chain())
    assert found.tolist() == list(range(40, 61))


def test_following_ends_where_no_edge_leads_on():
    assert reach_rows(np.array([2]), 1000, chain(10)).tolist() == list(range(10))
