"""Auto: parts trusted as far as they find hidden examples, noise told from signal, the same answer every time."""

import weakref
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest
from scipy.sparse import block_diag, csr_array

from rarespec.evaluation import average_precision_at_k, relevance_in_order
from rarespec.rankers import Auto, Kept, MatchedFilter, load_model, save_model
from rarespec.rankers.auto import parts
from rarespec.rankers.auto.parts import expand_direction
from rarespec.rankers.auto.query import query_of
from rarespec.rankers.auto.signal import signal_of_rows, signal_space
from rarespec.rankers.auto.trust import PRIOR, ranks_among, shares_by_places
from rarespec.rankers.auto.walks import ASTRAY, meeting_chances, step_chances, trust_leads
from rarespec.rankers.neighbours.neighbour_graph import build_neighbours


def survey(n_rare=40, n_common=3000, noise=0.3, families=1, seed=0):
    """Rows on a plane with noise; the rare ones aside of it, or on both sides when they are of two families."""
    rng = np.random.default_rng(seed)
    sheet = rng.normal(size=(n_rare + n_common, 3)) @ rng.normal(size=(3, 12)) * 3
    rare = np.arange(n_rare + n_common) < n_rare
    aside = rng.normal(size=12)
    aside *= 7 * noise / np.linalg.norm(aside)
    sheet[rare] += np.outer(np.where(np.arange(n_rare) % families, -1, 1), aside)
    return (sheet + rng.normal(size=sheet.shape) * noise).astype(np.float32), rare


def arc(n_rare=60, n_common=3000, noise=0.1, seed=0):
    """Rows in a cloud of ten dimensions with noise; the rare ones on three quarters of a circle around it."""
    rng = np.random.default_rng(seed)
    angle = np.linspace(0, 1.5 * np.pi, n_rare)
    rare = np.column_stack([4 * np.cos(angle), 4 * np.sin(angle), np.zeros((n_rare, 8))])
    signal = np.concatenate([rare, rng.normal(size=(n_common, 10))])
    X = signal @ rng.normal(size=(10, 16)) + rng.normal(size=(n_rare + n_common, 16)) * noise
    return X.astype(np.float32), np.arange(len(X)) < n_rare


def average_precisions(ranker, X, rare, queries):
    """Of each of several lists of known rows; the rows are prepared once."""
    prepared = ranker.prepare(X)
    flags = [np.isin(np.arange(len(X)), known) for known in queries]
    scores = [prepared.fit(known).scores for known in flags]
    orders = (relevance_in_order(found[~known], rare[~known]) for found, known in zip(scores, flags, strict=True))
    return [average_precision_at_k(order) for order in orders]


def average_precision(ranker, X, rare, known):
    return average_precisions(ranker, X, rare, [known])[0]


def test_a_rare_kind_that_differs_where_the_survey_has_only_noise_is_found():
    """Walks hardly see it: with one example they count less, with three hidden ones tell."""
    X, rare = survey()
    found = average_precisions(Auto(), X, rare, [[i] for i in range(6)] + [[i, i + 1, i + 2] for i in range(5)])
    assert np.mean(found[:6]) > 0.5
    assert np.median(found[6:]) > 0.85


def test_families_that_no_mean_describes_are_both_found():
    X, rare = survey(n_rare=60, families=2, seed=1)
    known = np.arange(12)
    assert average_precision(Auto(), X, rare, known) > average_precision(MatchedFilter(), X, rare, known) + 0.2


def test_shares_follow_where_hidden_examples_land():
    places = {name: np.full(5, 1000.0) for name in PRIOR} | {"expanded": np.full(5, 2.0)}
    shares = shares_by_places(places, PRIOR, 3000)
    assert max(shares, key=shares.get) == "expanded" and sum(shares.values()) == pytest.approx(1)
    assert shares_by_places(places | {"expanded": np.full(5, 3000.0)}, PRIOR, 3000)["expanded"] < 0.03


def test_places_before_which_members_may_stand_count_alike():
    places = {"signal": np.full(5, 1.0), "expanded": np.full(5, 9.0)}
    ratio = (lambda shares: shares["signal"] / shares["expanded"])(shares_by_places(places, PRIOR, 100_000))
    assert ratio < 2 * PRIOR["signal"] / PRIOR["expanded"]


def test_with_one_known_the_prior_decides():
    X, _ = survey()
    auto = Auto().fit(X, np.arange(len(X)) == 0)
    assert "cannot be hidden" in auto.why_ and len(auto.hidden_scores_) == 0
    assert auto.weights_["signal"] == auto.weights_["given"] < auto.weights_["expanded"]  # walks hardly see this kind
    clumps, _ = survey_of_two_clumps()
    weights = Auto().fit(clumps, np.arange(len(clumps)) == 1).weights_
    left = 1 - weights["taught"]
    assert {name: weights[name] / left for name in PRIOR} == pytest.approx(
        {name: weight / sum(PRIOR.values()) for name, weight in PRIOR.items()}
    )


def test_a_kind_that_whitening_hides_is_found_in_the_features_as_given():
    """Two axes in which the survey varies most tell the kind; twenty others, as strong after whitening, do not."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 22)) * np.r_[10.0, 10.0, np.ones(20)]
    rare = np.arange(len(X)) < 40
    X[rare, :2] = 22.0 + rng.normal(size=(40, 2))
    auto = Auto().fit(X, np.arange(len(X)) < 3)
    found = {name: (auto._fitted[name][rare].mean() - auto._fitted[name][~rare].mean()) for name in ("signal", "given")}
    assert found["given"] > found["signal"] and rare[auto.rank(X)[:20]].mean() > 0.8


def test_a_sequence_is_followed_from_its_ends():
    """The rare rows are an arc; the mean of what is known points where none of them is."""
    X, rare = arc(n_rare=150)
    known = np.flatnonzero(rare)[[0, -1]]
    assert average_precision(Auto(), X, rare, known) > average_precision(MatchedFilter(), X, rare, known) + 0.15


def median_place(scores, rows, among):
    return np.median([(scores[among] > score).sum() for score in scores[rows]])


def test_rows_like_refused_ones_sink():
    X, rare = survey(n_rare=60, families=2, seed=1)
    other_family = rare & (np.arange(len(X)) % 2 == 1)
    y = np.zeros(len(X), int)
    y[[0, 2, 4]] = 1
    before = Auto().fit(X, y).decision_function(X)
    y[[1, 3, 5, 7, 9, 11]] = -1
    auto = Auto().fit(X, y)
    after = auto.decision_function(X)
    left = other_family & (y == 0)
    assert median_place(after, left, y == 0) > median_place(before, left, y == 0)
    assert all(len(levels) == (y == 0).sum() for levels in auto.levels_.values())


def leant(refused):
    """Three of the rare rows of `survey` known, which are unusual, and these rows refused."""
    X, rare = survey()
    y = np.where(np.arange(len(X)) < 3, 1, 0)
    y[refused(X, rare)] = -1
    return Auto().fit(X, y), X, y


def by_length(X, rare):
    """Common rows, the most usual first."""
    return np.flatnonzero(~rare)[np.argsort(np.linalg.norm((X - X.mean(axis=0))[~rare], axis=1))]


def test_unusual_rows_come_earlier_when_members_are_more_unusual_than_what_was_refused():
    auto, X, _ = leant(lambda X, rare: by_length(X, rare)[:20])
    assert auto.leaning_ > 0.1 and "unusual spectra come earlier" in auto.why_
    added, order = auto._lean_towards_unusual(X), np.argsort(auto._fitted_unusual)
    assert added[order[-40:]].min() > added[order[:40]].max()


def test_unusual_rows_come_later_when_what_was_refused_is_more_unusual_than_members():
    def artefacts(X, rare):
        X[100:120] *= 30
        return np.arange(100, 120)

    auto, _, _ = leant(artefacts)
    assert auto.leaning_ < -0.1 and "unusual spectra come later" in auto.why_


def test_without_refused_rows_nothing_is_known_of_unusual_ones():
    auto, X, _ = leant(lambda X, rare: [])
    assert auto.leaning_ == 0 and not auto._lean_towards_unusual(X).any() and "unusual" not in auto.why_


def test_y_of_three_values_marks_refused_rows_and_of_two_does_not():
    X, _ = survey(n_common=300)
    y = np.zeros(len(X), int)
    y[:3] = 1
    plain = Auto().fit(X, y).decision_function(X)
    np.testing.assert_array_equal(Auto().fit(X, np.where(y == 1, 1, -1)).decision_function(X), plain)
    y[100:120] = -1
    assert not np.array_equal(Auto().fit(X, y).decision_function(X), plain)


def test_refused_rows_are_no_candidates_that_the_mean_is_taken_of():
    X, _ = survey(n_rare=40)
    y = np.zeros(len(X), int)
    y[:3] = 1
    query = query_of(Auto().prepare(X).ready, y == 1, np.zeros(len(X), bool), 0)
    best = np.argsort(-(query.ready.halved @ expand_direction(query)[0]))
    first = best[~np.isin(best, query.known)][:10]
    refused = query_of(Auto().prepare(X).ready, y == 1, np.isin(np.arange(len(X)), first), 0)
    assert not np.allclose(expand_direction(refused)[0], expand_direction(query)[0])


def test_many_known_of_one_family_do_not_drown_another(monkeypatch):
    monkeypatch.setattr(parts, "N_LEADS", 0)  # which a single example has beside it
    X, rare = survey_of_two_clumps()
    known = np.append(np.arange(30), 40)  # all but ten of the first family, one of the second
    left = rare & (np.arange(len(X)) > 40)
    y = np.isin(np.arange(len(X)), known).astype(int)
    alone = np.isin(np.arange(len(X)), [40]).astype(int)
    many, one = (Auto().fit(X, marks).edge_scores(X)[left] for marks in (y, alone))
    assert (many > one - 0.1).all()  # as likely to be met by a walk as if there were no other family


def survey_of_two_clumps(n_common=2000, seed=0):
    """Forty rows around one point and forty around another, in a cloud of ten dimensions."""
    rng = np.random.default_rng(seed)
    centres = 4 * np.eye(10)[[0] * 40 + [1] * 40]
    X = np.concatenate([centres + rng.normal(size=(80, 10)) * 0.5, rng.normal(size=(n_common, 10))])
    return X.astype(np.float32), np.arange(len(X)) < 80


def test_there_is_a_gap_in_the_scores_for_the_edge_where_a_kind_ends():
    X, rare = arc()
    known = rare & (np.arange(len(X)) % 6 == 0)
    auto = Auto().fit(X, known)
    edge = auto.edge_scores(X)
    members, others = np.sort(edge[rare & ~known]), np.sort(edge[~rare])
    assert members[len(members) // 4] > others[-30] and np.isfinite(edge).all()
    new = auto.edge_scores(X[:50] + np.float32(1e-3))
    assert new.shape == (50,) and np.isfinite(new).all()


def test_fits_on_prepared_rows_are_those_on_any():
    X, _ = survey(n_common=800)
    prepared = Auto().prepare(X)
    for known in (np.arange(len(X)) < 3, np.arange(len(X)) == 7):
        again = prepared.fit(known).scores
        np.testing.assert_array_equal(again, Auto().fit(X, known).decision_function(X))


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
    space = signal_space(X)
    signal = np.linalg.inv(space.whitening)[np.argmin(space.noise)]
    assert abs(signal @ np.ones(4)) / np.linalg.norm(signal) / 2 > 0.99
    assert (np.sort(space.noise)[1:] > 10 * space.noise.min()).all()


def test_noise_is_measured_between_the_neighbours_of_a_graph():
    X = np.random.default_rng(0).normal(size=(1000, 4)) @ np.diag([9.0, 3.0, 1.0, 1.0])
    graph = build_neighbours(X, 6)
    without, given = signal_space(X), signal_space(X, graph=graph)
    np.testing.assert_array_equal(given.noise, without.noise)
    np.testing.assert_array_equal(signal_of_rows(X).space.noise, without.noise)
    others = replace(graph, indices=graph.indices[::-1].copy())
    assert not np.allclose(signal_space(X, graph=others).noise, without.noise)
    np.testing.assert_array_equal(signal_space(X, graph=others.nearest(4)).noise, without.noise)  # too few


def test_what_the_known_have_beyond_noise_is_out_of_sight_of_walks():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(2000, 1)) * 30, rng.normal(size=(2000, 9))], axis=1)
    space = signal_space(X)
    noisy = np.eye(10)[np.argmax(space.noise)]
    assert space.beyond(0.3 * noisy[None]) == 0 < space.beyond(10 * noisy[None])
    assert space.seen(10 * noisy[None]) < 0.1 < space.seen(0.3 * noisy[None]) == 1


def test_axes_along_which_a_survey_hardly_varies_are_not_blown_up():
    spread = np.array([30.0, 3.0, 1.0, 1.0, 0.1, 0.01])
    X = (np.random.default_rng(0).normal(size=(20_000, 6)) * spread).astype(np.float32)
    space = signal_space(X)
    np.testing.assert_allclose(space.all_whitened_in_part(X).std(axis=0), spread / np.hypot(spread, 1), rtol=0.05)
    X[:, 5] = 0  # an axis without any variance
    assert np.isfinite(signal_space(X).all_whitened_in_part(X)).all()


def test_what_several_known_do_not_have_in_common_is_noise():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(2000, 1)) * 30, rng.normal(size=(2000, 9))], axis=1)
    space = signal_space(X)
    noisy = 10 * np.eye(10)[np.argsort(space.noise)[-2:]]
    assert space.beyond(noisy) == 0 < space.beyond(noisy[[0, 0]])


def test_ranks_fall_with_the_score_and_go_on_above_the_best():
    levels = np.array([0.0, 1.0, 1.0, 4.0])
    assert ranks_among(np.array([0.0, 4.0]), levels).tolist() == [4, 1]
    scores = np.linspace(-1, 9, 300)
    ranks = ranks_among(scores, levels)
    assert (np.diff(ranks) <= 0).all() and (np.diff(ranks[scores > 4]) < 0).all() and ranks.min() > 0


def test_a_fit_lets_go_of_the_preparation_and_keeps_its_parameters():
    X, _ = survey(n_common=500)
    known, signal = np.arange(len(X)) < 4, signal_of_rows(X)
    preparation = Auto(signal=signal).prepare(X)
    ready, fit = weakref.ref(preparation.ready), preparation.fit(known)
    scores, edges = fit.scores, fit.edge_scores
    del preparation
    assert ready() is None and fit.ranker.signal is signal
    np.testing.assert_array_equal(fit.ranker.decision_function(X), scores)
    np.testing.assert_array_equal(fit.ranker.edge_scores(X), edges)
    np.testing.assert_array_equal(Auto().prepare(X, Kept(signal=signal)).fit(known).scores, scores)


def test_the_signal_of_other_rows_is_refused():
    X, _ = survey(n_common=300)
    with pytest.raises(ValueError, match="signal"):
        Auto(signal=signal_of_rows(X[:-1])).fit(X, np.arange(len(X)) == 0)


@pytest.mark.parametrize("refused", [[], [300, 301, 302]])
def test_a_model_file_gives_the_same_scores(tmp_path, refused):
    X, _ = survey(n_common=500)
    y = np.where(np.arange(len(X)) < 4, 1, 0)
    y[refused] = -1
    auto = Auto(signal=signal_of_rows(X)).fit(X, y)
    save_model(tmp_path / "auto.safetensors", auto)
    again = load_model(tmp_path / "auto.safetensors").ranker
    np.testing.assert_array_equal(again.decision_function(X), auto.decision_function(X))
    assert again.why_ == auto.why_


def test_a_model_of_an_earlier_version_whitens_in_full(tmp_path):
    X, _ = survey(n_common=500)
    auto = Auto().fit(X, np.arange(len(X)) < 4)
    del auto.part_whitening_
    auto._fitted_rows = None
    save_model(tmp_path / "auto.safetensors", auto)
    again = load_model(tmp_path / "auto.safetensors").ranker
    whitened = (X - auto.mean_) @ auto.whitening_
    np.testing.assert_array_equal(again._along("expanded", X), parts.along(whitened, auto.directions_["expanded"]))
    np.testing.assert_array_equal(again.decision_function(X), auto.decision_function(X))


def test_an_odd_example_leads_to_its_kind_by_typical_ones(monkeypatch):
    X, rare = survey()
    prepared = Auto().prepare(X)
    odd = list(islice((i for i in range(12) if prepared.fit(np.arange(len(X)) == i).ranker.returns_ < ASTRAY), 3))

    def found():
        return np.mean(average_precisions(Auto(), X, rare, [[i] for i in odd]))

    led = found()
    monkeypatch.setattr(parts, "N_LEADS", 0)
    assert odd and led > found() + 0.1


def test_an_example_at_the_edge_of_its_kind_is_told():
    X, _ = survey_of_two_clumps()
    typical, odd = (Auto().fit(X, np.arange(len(X)) == row) for row in (1, 200))
    assert typical.returns_ > ASTRAY > odd.returns_
    assert "edge of its kind" in odd.advice() and not typical.advice()
    assert not Auto().fit(X, np.isin(np.arange(len(X)), [200, 201])).advice()


def test_leads_count_the_less_the_more_walks_come_back():
    assert trust_leads(0.0) == 1 and trust_leads(ASTRAY) == 0.5 and trust_leads(3 * ASTRAY) < 0.02


@pytest.mark.parametrize("n_steps", [1, 2, 3, 20, 100, 400])
def test_walks_by_a_series_are_the_walks_step_by_step(n_steps):
    rng = np.random.default_rng(3)
    weights = np.triu(rng.random((60, 60)) * (rng.random((60, 60)) < 0.1), 1)
    weights += weights.T
    steps = csr_array((weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-9)).astype(np.float32))
    sets = [np.array([0]), np.array([3, 17, 40]), np.array([], int)]
    f = np.zeros((60, 3))
    for _ in range(n_steps):
        for column, rows in enumerate(sets):
            f[rows, column] = 1
        f = (1 - 1e-3) * (steps.astype(np.float64) @ f)
    found = meeting_chances(steps, sets, n_steps)
    np.testing.assert_allclose(found, f, atol=2e-5)
    assert found.min() >= 0


def test_of_many_neighbours_a_walk_mostly_chooses_the_nearest():
    X = np.array([[0.0], [1.0], [-2.0], [4.0]])
    chances = step_chances(build_neighbours(X, 3)).toarray()[0]
    # distances 1, 2 and 4, in units of those from each row to its last neighbour: 4, and 3, 6 and 6
    expected = np.exp(-2 * np.array([1 / 12, 4 / 24, 16 / 24]))
    np.testing.assert_allclose(chances, [0, *expected / expected.sum()], rtol=1e-6)


def test_walks_meet_what_they_can_reach():
    """Five rows in a chain and one apart: from the middle, half of the walks meet each end first."""
    forth = csr_array(np.diag(np.ones(4), 1) + np.diag(np.ones(4), -1))
    steps = csr_array(block_diag([(forth / forth.sum(axis=1)[:, None]).astype(np.float32), csr_array((1, 1))]))
    f = meeting_chances(steps, [np.array([0]), np.array([0, 4]), np.array([], int)], n_steps=2000)
    assert f[:, 2].max() == 0 == f[5, :2].max()
    assert (f[:5, 0] > 0.98).all() and (np.diff(f[1:5, 0]) < 0).all()  # all arrive in the end, the nearer the likelier
    few = meeting_chances(steps, [np.array([0])], n_steps=2)[:, 0]
    assert few[1] == pytest.approx(0.5 * (1 - 1e-3)) and few[3] == 0 and few[0] == pytest.approx(0.5 * (1 - 1e-3) ** 2)
