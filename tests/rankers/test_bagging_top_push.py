"""BaggingTopPush: Algorithm 1, reproducible, one weight vector."""

from __future__ import annotations

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from rarespec.rankers.bags import bag_size_for, draw_bags
from rarespec.rankers.toppush.bagging_top_push import BaggingTopPush
from rarespec.rankers.toppush.top_push import TopPush


@pytest.fixture(scope="module")
def survey() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, y with ten known, and which rows are of the wanted kind: 60 among 3000."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 8)).astype(np.float32) * np.linspace(4, 0.5, 8, dtype=np.float32)
    rare = np.arange(3000) < 60
    X[rare] += np.array([0, 0, 0, 0, 2, 2, 2, 2], dtype=np.float32)
    return X, (np.arange(3000) < 10).astype(int), rare


def test_is_the_mean_of_top_push_over_its_bags(survey: tuple) -> None:
    X, y, _ = survey
    ranker = BaggingTopPush(n_bags=7, bag_size=40, keep_bags=True, random_state=3, tol=1e-10).fit(X, y)
    single = []
    for rows in ranker.bag_rows_:
        both = np.concatenate([np.flatnonzero(y), rows])
        single.append(TopPush(tol=1e-10).fit(X[both], y[both]).coef_)
    np.testing.assert_allclose(ranker.bag_coef_, single, rtol=1e-4, atol=1e-7)
    np.testing.assert_allclose(ranker.coef_, np.mean(single, axis=0), rtol=1e-4, atol=1e-7)
    np.testing.assert_allclose(ranker.decision_function(X), X.astype(float) @ ranker.coef_, rtol=1e-12, atol=1e-12)


def test_finds_the_hidden_ones(survey: tuple) -> None:
    X, y, rare = survey
    order = BaggingTopPush(regularisation=1.0, random_state=0).fit(X, y).rank(X)
    hidden = rare[order][~np.isin(order, np.flatnonzero(y))]
    assert hidden[:50].mean() > 0.8


def test_known_rows_are_never_drawn_and_bags_have_no_repetition() -> None:
    known = np.zeros(100, dtype=bool)
    known[::3] = True
    bags = draw_bags(known, 200, 30, 0)
    assert not known[bags].any()
    assert all(len(np.unique(bag)) == 30 for bag in bags)
    assert np.ptp(np.bincount(bags.ravel(), minlength=100)[~known]) < 100  # every row has its chance
    assert (np.bincount(bags.ravel(), minlength=100)[~known] > 0).all()


def test_a_bag_does_not_depend_on_how_many_follow() -> None:
    known = np.arange(500) < 5
    np.testing.assert_array_equal(draw_bags(known, 3, 20, 7), draw_bags(known, 9, 20, 7)[:3])


def test_a_bag_larger_than_the_survey_is_the_survey() -> None:
    known = np.arange(30) < 5
    np.testing.assert_array_equal(draw_bags(known, 2, 200, 0), np.tile(np.arange(5, 30), (2, 1)))


@pytest.mark.parametrize("scaling", ["none", "whiten"])
def test_result_depends_on_the_seed_alone(survey: tuple, scaling: str) -> None:
    X, y, _ = survey

    def weights(n_jobs: int, seed: int) -> np.ndarray:
        return BaggingTopPush(n_bags=40, scaling=scaling, n_jobs=n_jobs, random_state=seed).fit(X, y).coef_

    one = weights(1, 0)
    np.testing.assert_array_equal(weights(2, 0), one)
    np.testing.assert_array_equal(weights(5, 0), one)
    with threadpool_limits(2):
        np.testing.assert_allclose(weights(2, 0), one, rtol=1e-12)
    assert np.abs(weights(1, 1) - one).max() > 1e-6


def test_reports_the_worst_bag(survey: tuple) -> None:
    X, y, _ = survey
    ranker = BaggingTopPush(n_bags=20, random_state=0, tol=1e-5).fit(X, y)
    assert ranker.converged_
    assert 0 <= ranker.relative_gap_ <= 1e-5
    assert ranker.n_iter_ > 3
    assert ranker.bag_size_ == 200
    with pytest.warns(UserWarning, match="relative duality gap"):
        assert not BaggingTopPush(n_bags=5, max_iter=1, random_state=0).fit(X, y).converged_


def test_out_of_bag_scores_leave_out_the_bags_that_drew_a_row(survey: tuple) -> None:
    X, y, _ = survey
    ranker = BaggingTopPush(n_bags=12, bag_size=500, keep_bags=True, random_state=0).fit(X, y)
    scores = ranker.out_of_bag_scores(X)
    origin = X.mean(axis=0, dtype=float)
    for row in (5, 100, 1000, 2999):
        unseen = [w for w, rows in zip(ranker.bag_coef_, ranker.bag_rows_, strict=True) if row not in rows]
        expected = np.mean(unseen, axis=0) @ (X[row] - origin) + ranker.coef_ @ origin
        assert scores[row] == pytest.approx(expected, rel=1e-6)
    with pytest.raises(ValueError, match="2999 rows, but fit saw 3000"):
        ranker.out_of_bag_scores(X[1:])


def test_out_of_bag_scores_do_not_depend_on_the_origin(survey: tuple) -> None:
    X, y, _ = survey
    here, there = (
        BaggingTopPush(n_bags=12, bag_size=500, keep_bags=True, random_state=0).fit(rows, y).out_of_bag_scores(rows)
        for rows in (X.astype(float), X + 100.0)
    )
    np.testing.assert_allclose(there - there.mean(), here - here.mean(), atol=1e-5 * np.ptp(here))


def test_bags_of_an_earlier_fit_are_forgotten(survey: tuple) -> None:
    X, y, _ = survey
    ranker = BaggingTopPush(n_bags=3, keep_bags=True, random_state=0).fit(X, y)
    ranker.set_params(keep_bags=False).fit(X, y)
    with pytest.raises(ValueError, match="keep_bags=True"):
        ranker.spread(X)


def test_rows_drawn_by_every_bag_have_the_score_of_all_bags() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), np.arange(40) < 4
    ranker = BaggingTopPush(n_bags=5, keep_bags=True, random_state=0).fit(X, y)
    np.testing.assert_allclose(ranker.out_of_bag_scores(X), ranker.decision_function(X))


def test_spread_over_bags(survey: tuple) -> None:
    X, y, _ = survey
    ranker = BaggingTopPush(n_bags=9, keep_bags=True, random_state=0).fit(X, y)
    by_hand = np.std((X - X.mean(axis=0)).astype(float) @ ranker.bag_coef_.T, axis=1)
    np.testing.assert_allclose(ranker.spread(X), by_hand, rtol=1e-3, atol=1e-7)
    with pytest.raises(ValueError, match="keep_bags=True"):
        BaggingTopPush(n_bags=2).fit(X, y).spread(X)


def test_automatic_bag_size_follows_the_prevalence(survey: tuple) -> None:
    X, y, _ = survey
    assert [bag_size_for(p) for p in (None, 0.5, 0.01, 0.005, 1e-6)] == [200, 50, 100, 200, 1000]
    estimated = BaggingTopPush(bag_size="auto", random_state=0).fit(X, y)
    assert 0.005 < estimated.prevalence_ < 0.05  # truly 50 of 2990
    assert estimated.bag_size_ == bag_size_for(estimated.prevalence_)
    assert BaggingTopPush(bag_size="auto", prevalence=0.01).fit(X, y).bag_size_ == 100
    few = BaggingTopPush(bag_size="auto").fit(X, np.arange(3000) < 2)
    assert (few.bag_size_, few.prevalence_) == (200, None)


@pytest.mark.parametrize(
    "parameters", [{"n_bags": 0}, {"bag_size": 0}, {"bag_size": "large"}, {"prevalence": 2}, {"n_jobs": 0}]
)
def test_wrong_parameters_are_named(parameters: dict) -> None:
    (name,) = parameters
    with pytest.raises(ValueError, match=f"BaggingTopPush: {name}="):
        BaggingTopPush(**parameters).fit([[0.0], [1.0]], [1, 0])
