"""Places against loops, scikit-learn and the flags of whole lists."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, roc_auc_score

from rarespec.evaluation import (
    Places,
    average_precision_at_k,
    precision_at_k,
    recall_at_k,
    relevance_in_order,
    roc_auc,
)


@st.composite
def lists(draw: st.DrawFn) -> tuple[np.ndarray, int]:
    """(trials, r) places, and the length of the lists; at least one place is not relevant."""
    r = draw(st.integers(1, 8))
    n = draw(st.integers(r + 1, 40))
    row = st.permutations(range(1, n + 1)).map(lambda order: sorted(order[:r]))
    return np.array(draw(st.lists(row, min_size=1, max_size=5))), n


def metrics_by_loop(places: list[int], k: int) -> tuple[float, float, float]:
    """P@k, R@k and AP@k: the sum over l of the formula, place by place."""
    hits, total = 0, 0.0
    for place in range(1, k + 1):
        if place in places:
            hits += 1
            total += hits / place
    return hits / k, hits / len(places), total / min(len(places), k)


@given(lists(), st.lists(st.integers(1, 60), max_size=5))
def test_every_trial_and_depth_as_the_formula_says(drawn: tuple[np.ndarray, int], ks: list[int]) -> None:
    rows, n = drawn
    places, depths = Places(rows, n), np.array(ks, int)
    expected = np.array([[metrics_by_loop(row, k) for k in ks] for row in rows.tolist()]).reshape(len(rows), len(ks), 3)
    for axis, metric in enumerate((places.precision, places.recall, places.average_precision)):
        assert metric(depths).shape == (len(rows), len(ks))
        assert metric(depths) == pytest.approx(expected[:, :, axis], rel=1e-13)
        assert metric(7) == pytest.approx([metrics_by_loop(row, 7)[axis] for row in rows.tolist()], rel=1e-13)


@settings(max_examples=30)
@given(lists())
def test_whole_lists_as_scikit_learn_says(drawn: tuple[np.ndarray, int]) -> None:
    rows, n = drawn
    places, scores = Places(rows, n), -np.arange(n)
    flags = [np.isin(np.arange(1, n + 1), row) for row in rows]
    assert places.average_precision() == pytest.approx([average_precision_score(f, scores) for f in flags], rel=1e-12)
    assert places.auc() == pytest.approx([roc_auc_score(f, scores) for f in flags], rel=1e-12, abs=1e-15)


@given(lists(), st.data())
def test_flags_and_places_say_the_same_in_any_order_of_trials(
    drawn: tuple[np.ndarray, int], data: st.DataObject
) -> None:
    rows, n = drawn
    order = data.draw(st.permutations(range(len(rows))))
    flags = (np.arange(1, n + 1) == rows[:, :, None]).any(axis=1)
    places, ks = Places(rows[order], n), np.arange(1, n + 3)
    assert np.array_equal(places.precision(ks), precision_at_k(flags, ks)[order])
    assert np.array_equal(places.recall(ks), recall_at_k(flags, ks)[order])
    assert np.array_equal(places.average_precision(ks), average_precision_at_k(flags, ks)[order])
    assert np.array_equal(places.auc(), roc_auc(flags)[order])


SCORES = st.sampled_from([-np.inf, -1.0, 0.0, 0.5, 2.0, np.inf])


@given(st.integers(1, 30), st.integers(1, 4), st.data())
def test_places_of_scores_are_those_of_the_worst_order(n: int, trials: int, data: st.DataObject) -> None:
    rare = data.draw(st.lists(st.booleans(), min_size=n, max_size=n).filter(any))
    row = st.lists(SCORES, min_size=n, max_size=n)
    scores = data.draw(st.lists(row, min_size=trials, max_size=trials))
    places = Places.of_scores(scores, rare)
    expected = [(np.flatnonzero(relevance_in_order(row, rare)) + 1).tolist() for row in scores]
    assert places.places.tolist() == expected and places.n_listed == n
    assert Places.of_scores(scores[0], rare).places.tolist() == expected[:1]
    assert Places.of_scores(scores, [rare] * trials).places.tolist() == expected


def test_a_survey_of_the_size_of_the_paper() -> None:
    """Every depth at once, against the flags of the list itself."""
    rng = np.random.default_rng(1)
    rare = np.arange(100_450) < 450
    scores = rng.normal(size=(2, len(rare))) + 2 * rare
    places, ks = Places.of_scores(scores, rare), np.arange(1, 100_001)
    flags = relevance_in_order(scores[1], rare)
    hits = np.cumsum(flags)[:100_000]
    assert np.array_equal(places.precision(ks)[1], hits / ks)
    assert np.array_equal(places.recall(ks)[1], hits / 450)
    sums = np.cumsum(flags[:100_000] * hits / ks)
    assert np.allclose(places.average_precision(ks)[1], sums / np.minimum(450, ks), rtol=1e-12)


@pytest.mark.parametrize(
    ("places", "said"),
    [
        ([1, 2], "one row for each trial"),
        (np.empty((2, 0), int), "at least one in each"),
        ([[1.0, 2.0]], "whole numbers"),
        ([[0, 2]], "from 1 to 5, not from 0 to 2"),
        ([[1, 6]], "from 1 to 5, not from 1 to 6"),
        ([[2, 1]], "increase"),
        ([[1, 2], [3, 3]], "increase"),
    ],
)
def test_what_are_no_places(places: object, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Places(places, 5)  # type: ignore[arg-type]


def test_what_has_no_places() -> None:
    with pytest.raises(ValueError, match="not 1 to 2"):
        Places.of_scores([[3.0, 2.0, 1.0]] * 2, [[1, 1, 0], [1, 0, 0]])
    with pytest.raises(ValueError, match="at least one in each"):
        Places.of_scores([2.0, 1.0], [0, 0])
    with pytest.raises(ValueError, match="1 of 2 scores are NaN"):
        Places.of_scores([np.nan, 1.0], [0, 1])
    with pytest.raises(ValueError, match="value is undefined"):
        Places([[1, 2]], 2).auc()  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="k must be"):
        Places([[1, 2]], 2).recall(0)  # type: ignore[arg-type]
