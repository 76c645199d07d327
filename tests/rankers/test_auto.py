"""Auto: parts trusted as far as they find hidden examples, noise told from signal, the same answer every time."""

import numpy as np
import pytest

from rarespec.evaluation import average_precision_at_k, relevance_in_order
from rarespec.rankers import Auto, MatchedFilter, build_neighbours, load_model, save_model
from rarespec.rankers._kernel_discriminant import Others, discriminant
from rarespec.rankers._signal_space import signal_space
from rarespec.rankers.auto import PRIOR, _ranks, _weights


def survey(n_rare=40, n_common=3000, noise=0.3, families=1, seed=0):
    """Rows on a plane with noise; the rare ones aside of it, or on both sides when they are of two families."""
    rng = np.random.default_rng(seed)
    sheet = rng.normal(size=(n_rare + n_common, 3)) @ rng.normal(size=(3, 12)) * 3
    rare = np.arange(n_rare + n_common) < n_rare
    aside = rng.normal(size=12)
    aside *= 7 * noise / np.linalg.norm(aside)
    sheet[rare] += np.outer(np.where(np.arange(n_rare) % families, -1, 1), aside)
    return (sheet + rng.normal(size=sheet.shape) * noise).astype(np.float32), rare


def average_precision(ranker, X, rare, known):
    y = np.zeros(len(X), int)
    y[known] = 1
    scores = ranker.fit(X, y).decision_function(X)
    return average_precision_at_k(relevance_in_order(scores[y == 0], rare[y == 0]))


def test_a_rare_kind_that_differs_where_the_survey_has_only_noise_is_found_from_one_example():
    X, rare = survey()
    pairs = [[average_precision(r, X, rare, [i]) for r in (Auto(), MatchedFilter())] for i in range(6)]
    auto, matched = np.mean(pairs, axis=0)
    assert auto > 0.8 and auto > matched - 0.02


def test_families_that_no_mean_describes_are_both_found():
    X, rare = survey(n_rare=60, families=2, seed=1)
    known = np.arange(12)
    assert average_precision(Auto(), X, rare, known) > average_precision(MatchedFilter(), X, rare, known) + 0.2


def test_weights_follow_where_hidden_examples_land():
    places = {name: np.full(5, 1000.0) for name in PRIOR} | {"narrow": np.full(5, 2.0)}
    weights = _weights(places)
    assert max(weights, key=weights.get) == "narrow" and sum(weights.values()) == pytest.approx(1)
    assert _weights(places | {"narrow": np.full(5, 5000.0)})["narrow"] < 0.05


def test_with_one_known_the_prior_decides_and_says_so():
    X, _ = survey()
    y = np.arange(len(X)) == 0
    auto = Auto().fit(X, y)
    assert auto.weights_["expanded"] / auto.weights_["linear"] == pytest.approx(PRIOR["expanded"] / PRIOR["linear"])
    assert auto.weights_.keys() == {"linear", "expanded", "push"} and "cannot be hidden" in auto.why_


def test_hidden_examples_have_the_score_of_a_row_of_their_places():
    X, _ = survey()
    known = np.arange(len(X)) < 6
    auto = Auto().fit(X, known)
    ranked = np.sort(auto.decision_function(X)[~known])[::-1]
    place = 1 + (ranked[None] > auto.hidden_scores_[:, None]).sum(axis=1)
    assert len(place) == 6 and (place <= 60).all()
    poor = Auto().fit(X, np.isin(np.arange(len(X)), [100, 200, 300, 400]))  # nothing in common
    assert np.median(1 + (np.sort(poor.decision_function(X))[None] > poor.hidden_scores_[:, None]).sum(axis=1)) > 200


def test_why_names_the_parts_and_their_shares():
    X, rare = survey()
    auto = Auto().fit(X, np.arange(len(X)) < 5)
    assert "hidden known examples" in auto.why_ and "%" in auto.why_
    assert all(len(places) >= 5 for places in auto.hidden_places_.values())
    assert rare[auto.rank(X)[:10]].all()


def test_noise_is_found_where_it_was_put():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 1)) @ np.ones((1, 4)) * 5 + rng.normal(size=(4000, 4))
    space = signal_space(X, np.arange(4000) == 0, build_neighbours(X, 5).indices)
    signal = space.axes[:, np.argmin(space.noise)] @ space.whitening
    assert abs(signal @ np.ones(4)) / np.linalg.norm(signal) / 2 > 0.99
    assert (np.sort(space.noise)[1:] > 10 * space.noise.min()).all()


def test_what_the_known_have_beyond_noise_is_kept_where_the_survey_has_nothing():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(2000, 1)) * 30, rng.normal(size=(2000, 9))], axis=1)
    space = signal_space(X, np.arange(2000) == 0, build_neighbours(X, 5).indices)
    noisy = space.axes[:, np.argmax(space.noise)]
    kept = {size: float(space.direction(size * noisy, 1) @ noisy) / size for size in (0.3, 10.0)}
    assert kept[10.0] > 0.9 > kept[0.3]


def test_the_discriminant_solves_its_problem():
    rng = np.random.default_rng(0)
    K = np.exp(-((rng.normal(size=(60, 2))[:, None] - rng.normal(size=(20, 2))) ** 2).sum(-1))
    basis = K[:20] @ K[:20].T
    P, Q = K[:8], K[8:]
    a = discriminant(basis, P, Others.of(Q))

    def cost(a):
        fit = ((P @ a - 1) ** 2).sum() / (2 * len(P)) + ((Q @ a + 1) ** 2).sum() / (2 * len(Q))
        return fit + 2e-4 * a @ (basis + 1e-4 * np.eye(20)) @ a

    assert all(cost(a) <= cost(a + step) for step in rng.normal(size=(200, 20)) * 1e-3)


def test_others_can_be_added_and_taken_away():
    Q = np.random.default_rng(0).normal(size=(30, 4))
    for some in (Others.of(Q[:20]).plus(Q[20:]), Others.of(np.concatenate([Q, Q[:5]])).minus(Q[:5])):
        np.testing.assert_allclose(some.gram, Others.of(Q).gram)
        np.testing.assert_allclose(some.total, Others.of(Q).total)
        assert some.n == 30


def test_ranks_fall_with_the_score_and_go_on_above_the_best():
    levels = np.array([0.0, 1.0, 1.0, 4.0])
    assert _ranks(np.array([0.0, 4.0]), levels).tolist() == [4, 1]
    scores = np.linspace(-1, 9, 300)
    ranks = _ranks(scores, levels)
    assert (np.diff(ranks) <= 0).all() and (np.diff(ranks[scores > 4]) < 0).all() and ranks.min() > 0


def test_a_graph_of_other_rows_is_refused():
    X, _ = survey(n_common=300)
    with pytest.raises(ValueError, match="graph"):
        Auto(graph=build_neighbours(X[:-1], 5)).fit(X, np.arange(len(X)) == 0)


def test_a_model_file_gives_the_same_scores(tmp_path):
    X, _ = survey(n_common=500)
    auto = Auto().fit(X, np.arange(len(X)) < 4)
    save_model(tmp_path / "auto.safetensors", auto)
    again = load_model(tmp_path / "auto.safetensors").ranker
    np.testing.assert_array_equal(again.decision_function(X), auto.decision_function(X))
    assert again.why_ == auto.why_
