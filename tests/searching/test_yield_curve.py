"""The yield curve: what it promises whatever comes in, and that its intervals hold where the truth is known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rarespec.searching.yields.list_models import WEIGHTS, ListModels, read_shape
from rarespec.searching.yields.yield_curve import SCATTERED, _interval, places_among, yield_curve

N = 3000


def smooth_scores(n=N):
    """Quantiles of an exponential tail: no group anywhere."""
    return -np.log((np.arange(n) + 0.5) / n)


def drawn_list(rng, n_common, n_members, n_known, separation, spread=1.0):
    """Scores in falling order, places of the members, places of hidden known ones; all members score alike."""
    members = rng.normal(separation, spread, n_members + n_known)
    scores = np.append(members[:n_members], rng.normal(size=n_common))
    order = np.argsort(-scores)
    return scores[order], np.flatnonzero(order < n_members) + 1, places_among(scores, members[n_members:])


def falling(rng, kind, n):
    scores = {
        "normal": rng.normal(size=n),
        "heavy": rng.pareto(1.0, n),
        "tied": rng.integers(0, 3, n).astype(float),
        "constant": np.zeros(n),
        "ranks": np.arange(n, dtype=float),
    }[kind]
    return np.sort(scores)[::-1]


@given(
    seed=st.integers(0, 10**6),
    kind=st.sampled_from(["normal", "heavy", "tied", "constant", "ranks"]),
    n=st.integers(10, 2000),
    m=st.integers(2, 30),
    reach=st.floats(0.0, 1.0),
)
def test_whatever_comes_in_counts_are_possible_ones(seed, kind, n, m, reach):
    rng = np.random.default_rng(seed)
    places = 1 + rng.integers(0, 1 + int(reach * n), m)
    curve = yield_curve(falling(rng, kind, n), places, m)
    k = np.arange(1, n + 1)
    assert curve.can_tell == (np.median(places) <= SCATTERED * n)
    for ends in (curve.low, curve.high):
        assert ends.shape == (n,) and (ends == np.round(ends)).all() and (np.diff(ends) >= 0).all()
    assert (curve.low >= 0).all() and (curve.low <= curve.high).all() and (curve.high <= k).all()
    if curve.can_tell:
        assert (curve.low <= curve.expected).all() and (curve.expected <= curve.high + 1e-9).all()
        assert (curve.chance >= 0).all() and (curve.chance <= 1).all() and (np.diff(curve.chance) <= 0).all()
        np.testing.assert_allclose(np.cumsum(curve.chance), curve.expected)
        assert (curve.n_total_low, curve.n_total_high) == (curve.low[-1], curve.high[-1])
    else:
        assert curve.stopping_rank is None and np.isnan(curve.expected).all() and np.isnan(curve.chance).all()
        assert (curve.low == 0).all() and (curve.high == k).all() and "does not find the class" in curve.why


def test_with_one_known_example_the_scores_alone_are_read():
    apart, _, _ = drawn_list(np.random.default_rng(3), N, 100, 1, separation=12.0)
    group, nothing = (yield_curve(scores, [], 1) for scores in (apart, smooth_scores()))
    assert group.can_tell and nothing.can_tell
    assert "from how the scores fall alone" in group.why and "little evidence" in nothing.why
    assert group.n_total_low <= 100 <= group.n_total_high and group.chance[0] > nothing.chance[0] + 0.2


@pytest.mark.parametrize("places", [[], [1]])
def test_where_examples_could_not_be_hidden_there_is_no_estimate(places):
    curve = yield_curve(smooth_scores(), places, 4)
    assert not curve.can_tell and curve.stopping_rank is None and "no estimate" in curve.why
    assert np.isnan(curve.expected).all() and np.isnan(curve.n_total)
    assert (curve.low == 0).all() and (curve.high == np.arange(1, N + 1)).all() and curve.n_total_high == N


@pytest.mark.parametrize("n", [0, 1, 9])
def test_short_lists_are_looked_at(n):
    curve = yield_curve(np.zeros(n), [1, 1], 2)
    assert not curve.can_tell and len(curve.expected) == n and "look at all of them" in curve.why


@pytest.mark.parametrize("m", [3, 5, 10, 30])
def test_nothing_else_of_the_kind_gives_almost_nothing(m):
    curve = yield_curve(smooth_scores(), np.ones(m, int), m)
    assert curve.n_total < 1.5 and curve.n_total_low == 0 and curve.n_total_high <= 6


def test_a_group_of_its_own_is_counted():
    scores, places, hidden = drawn_list(np.random.default_rng(3), N, 100, 10, separation=12.0)
    curve = yield_curve(scores, hidden, 10)
    assert places[-1] == 100
    assert curve.low[99] <= 100 <= curve.high[-1] and curve.expected[99] >= 75
    assert 100 <= curve.stopping_rank <= 200
    assert curve.chance[0] > 0.9 and curve.chance[300] < 0.1


def test_a_steep_fall_of_the_scores_narrows_the_interval():
    scores, _, hidden = drawn_list(np.random.default_rng(3), N, 100, 5, separation=12.0)
    with_fall = yield_curve(scores, hidden, 5)
    without = yield_curve(-np.log(np.arange(1.0, len(scores) + 1)), hidden, 5)
    assert with_fall.n_total_low > 10 and without.n_total_low < 5  # without, it could be a tail of common rows
    ratios = [(curve.n_total_high + 1) / (curve.n_total_low + 1) for curve in (with_fall, without)]
    assert ratios[0] < ratios[1] / 5 and 80 < with_fall.n_total < 120  # 100 were drawn


def test_more_known_examples_narrow_the_interval():
    scores = smooth_scores()
    scores[:100] += 30.0
    few, many = (yield_curve(scores, np.linspace(5, 100, m).astype(int), m) for m in (3, 30))
    assert many.high[-1] - many.low[-1] < few.high[-1] - few.low[-1]


def test_more_confidence_is_a_wider_interval():
    places = [5, 20, 60]
    ends = [yield_curve(smooth_scores(), places, 3, confidence=c) for c in (0.5, 0.9, 0.99)]
    widths = [(curve.high - curve.low).sum() for curve in ends]
    assert widths[0] < widths[1] < widths[2]


def test_units_of_the_scores_do_not_matter():
    scores, _, hidden = drawn_list(np.random.default_rng(4), N, 50, 5, separation=5.0)
    one, other = yield_curve(scores, hidden, 5), yield_curve(1e-3 * scores - 40.0, hidden, 5)
    np.testing.assert_allclose(one.expected, other.expected, rtol=1e-6)


def test_depth_cuts_the_curves_and_nothing_else():
    whole, cut = (yield_curve(smooth_scores(), [5, 20, 60], 3, k_max=k) for k in (None, 10))
    assert len(cut.expected) == len(cut.low) == len(cut.high) == len(cut.chance) == 10
    np.testing.assert_array_equal(cut.expected, whole.expected[:10])
    assert (cut.stopping_rank, cut.n_total, cut.why) == (whole.stopping_rank, whole.n_total, whole.why)
    assert len(yield_curve(smooth_scores(), [5, 20], 2, k_max=10 * N).expected) == N


def test_the_stopping_rank_is_the_last_place_worth_a_look():
    curve = yield_curve(smooth_scores(), [5, 20, 60], 3)
    stop = curve.stopping_rank
    assert curve.chance[stop - 1] >= 0.1 > curve.chance[stop]
    assert f"in the first {stop} candidates, then stop" in curve.why


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scores": [1.0, 2.0] * 10}, "decreasing"),
        ({"scores": [np.nan] * 20}, "finite"),
        ({"hidden_places": [0, 3]}, "whole numbers from 1"),
        ({"hidden_places": [22, 3]}, "whole numbers from 1 to 21"),
        ({"hidden_places": [1.5, 3]}, "whole numbers"),
        ({"hidden_places": [1, 2, 3, 4]}, "4 hidden places for 3"),
        ({"k_max": 0}, "k_max"),
        ({"confidence": 1.0}, "confidence"),
    ],
)
def test_wrong_input_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        yield_curve(**{"scores": np.arange(20.0)[::-1], "hidden_places": [1, 2], "n_known": 3} | change)


@given(seed=st.integers(0, 10**6), n=st.integers(1, 30), m=st.integers(1, 10))
def test_places_are_behind_equal_scores(seed, n, m):
    rng = np.random.default_rng(seed)
    listed, hidden = rng.integers(0, 5, n), rng.integers(-1, 6, m)
    assert places_among(listed, hidden).tolist() == [1 + int((listed >= score).sum()) for score in hidden]


def test_a_tail_that_falls_with_the_logarithm_has_no_shape():
    shape = read_shape(-np.log(np.arange(1, 20_001.0)), np.array([30.0, 100.0, 1000.0]))
    for values in (shape.steep, shape.steep_before, shape.reach):
        np.testing.assert_allclose(values, 0.0, atol=0.1)


def test_the_edge_of_a_group_is_steep_and_flat_before():
    scores = smooth_scores()
    scores[:100] += 30.0
    shape = read_shape(scores, np.array([20.0, 100.0, 1000.0]))
    assert shape.steep[1] > 2 > 0 > max(shape.steep[0], shape.steep[2]) and shape.steep_before[1] < 0
    assert max(shape.reach[:2]) < -1 < shape.reach[2]


def test_lists_of_ties_have_no_shape():
    shape = read_shape(np.zeros(N), np.array([3.0, 30.0]))
    assert not shape.steep.any() and not shape.reach.any()


def test_every_weight_has_its_evidence():
    models = ListModels.of_length(N)
    terms = models.evidence(smooth_scores(), np.array([3, 9]), 2)
    assert set(terms) == set(WEIGHTS)
    assert all(np.broadcast_shapes(term.shape, models.members.shape) == models.members.shape for term in terms.values())


def test_models_are_curves_of_counts():
    models = ListModels.of_length(N)
    assert (np.diff(models.recall, axis=-1) >= 0).all()
    np.testing.assert_allclose(models.recall[..., -1], 1.0)
    # a sharp edge at k0 with p = 1: k0 members, all but a few of them before it
    sharp = models.members[30, -1, 0, -1]
    assert sharp == pytest.approx(models.k0[30], rel=0.05)


def test_the_interval_holds_the_luck_of_the_draw_and_what_no_way_fits():
    """Ways that all expect 50 of 100: the number is binomial, 50 +- 5, about a mean that is off by 15 %."""
    depths, counts = np.array([1, 100]), np.tile([0.5, 50.0], (2000, 1))
    low, high = _interval(depths, counts, np.linspace(0.5, 50.0, 100), 0.9)
    assert abs(low[-1] - 36) <= 2 and abs(high[-1] - 66) <= 2


def share_that_holds(n_lists, n_common, seed):
    """Of 90 % intervals at six depths, over lists of all kinds: few or many members, apart from the rest or not."""
    rng, held = np.random.default_rng(seed), []
    for _ in range(n_lists):
        m, n_members = int(rng.choice([3, 5, 10, 30])), int(rng.choice([0, 10, 40, 150]))
        separation, spread = rng.uniform(3.0, 9.0), rng.uniform(0.7, 1.5)
        scores, true, hidden = drawn_list(rng, n_common, n_members, m, separation, spread)
        curve = yield_curve(scores, hidden, m)
        if curve.can_tell:
            depths = np.array([20, 100, max(n_members, 1), 500, 1000, max(curve.stopping_rank, 1)])
            counts = np.searchsorted(true, depths, side="right")
            held.append((curve.low[depths - 1] <= counts) & (counts <= curve.high[depths - 1]))
    return np.mean(held, axis=0)


def test_intervals_hold():
    assert (share_that_holds(40, N, seed=1) >= 0.8).all()


@pytest.mark.exhaustive
def test_intervals_hold_in_many_long_lists():
    assert (share_that_holds(600, 30_000, seed=2) >= 0.8).all()
