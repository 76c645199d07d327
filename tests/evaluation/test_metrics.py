"""Metrics against literal loops, against scikit-learn, and at their edges."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, roc_auc_score

from rarespec.evaluation import (
    Places,
    average_precision_at_k,
    precision_at_k,
    recall_at_k,
    relevance_in_order,
    roc_auc,
    roc_auc_of_scores,
    top_loss,
)

lists_with_both = st.lists(st.booleans(), min_size=2, max_size=60).filter(lambda flags: 0 < sum(flags) < len(flags))
depths = st.integers(1, 90)


# --- literal transcriptions


def precision_by_loop(flags: list[bool], k: int) -> float:
    hits = 0
    for place in range(k):
        if place < len(flags) and flags[place]:
            hits += 1
    return hits / k


def average_precision_by_loop(flags: list[bool], k: int) -> float:
    total = 0.0
    for place in range(1, min(k, len(flags)) + 1):
        if flags[place - 1]:
            total += precision_by_loop(flags, place)
    return total / min(sum(flags), k)


def auc_by_loop(scores: list[float], rare: list[bool]) -> float:
    points, pairs = 0.0, 0
    for score, is_rare in zip(scores, rare, strict=True):
        for other, other_is_rare in zip(scores, rare, strict=True):
            if is_rare and not other_is_rare:
                pairs += 1
                points += 1.0 if score > other else 0.5 if score == other else 0.0
    return points / pairs


def top_loss_by_loop(scores: list[float], rare: list[bool]) -> float:
    """Equation 1 of the paper, word for word."""
    highest = max(score for score, is_rare in zip(scores, rare, strict=True) if not is_rare)
    positives = [score for score, is_rare in zip(scores, rare, strict=True) if is_rare]
    return sum(score <= highest for score in positives) / len(positives)


@given(lists_with_both, st.data())
def test_the_loss_of_equation_1_is_what_it_says_ties_and_all(rare: list[bool], data: st.DataObject) -> None:
    scores = data.draw(st.lists(st.integers(0, 5), min_size=len(rare), max_size=len(rare)))
    expected = top_loss_by_loop(scores, rare)
    assert top_loss(relevance_in_order(scores, rare)) == pytest.approx(expected)
    assert Places.of_scores(scores, rare).top_loss() == pytest.approx([expected])


def test_the_loss_at_its_ends() -> None:
    assert top_loss([1, 1, 0, 0]) == 0 and top_loss([0, 1, 1]) == 1 and top_loss([1, 0, 1, 1]) == pytest.approx(2 / 3)
    assert top_loss([1, 1]) == 0
    assert top_loss([[1, 0, 1], [1, 1, 0], [0, 0, 1]]).tolist() == [0.5, 0, 1]
    with pytest.raises(ValueError, match="value is undefined"):
        top_loss([0, 0])


@given(lists_with_both, depths)
def test_precision_recall_and_average_precision_are_what_their_definitions_say(flags: list[bool], k: int) -> None:
    assert precision_at_k(flags, k) == precision_by_loop(flags, k)
    assert recall_at_k(flags, k) == sum(flags[:k]) / sum(flags)
    assert average_precision_at_k(flags, k) == pytest.approx(average_precision_by_loop(flags, k), rel=1e-13)


@given(lists_with_both, st.lists(depths, max_size=5))
def test_many_depths_give_what_each_gives(flags: list[bool], ks: list[int]) -> None:
    for metric in (precision_at_k, recall_at_k, average_precision_at_k):
        together = metric(flags, np.array(ks, int))
        assert isinstance(together, np.ndarray)
        assert together.tolist() == [metric(flags, k) for k in ks]


@st.composite
def trials_with_both(draw: st.DrawFn) -> np.ndarray:
    """(trials, n) flags; the trials need not have as many relevant."""
    n = draw(st.integers(2, 30))
    row = st.lists(st.booleans(), min_size=n, max_size=n).filter(lambda flags: 0 < sum(flags) < n)
    return np.array(draw(st.lists(row, min_size=1, max_size=6)))


@given(trials_with_both(), st.lists(depths, max_size=4))
def test_trials_together_give_what_each_gives(flags: np.ndarray, ks: list[int]) -> None:
    for metric in (precision_at_k, recall_at_k, average_precision_at_k):
        together = metric(flags, np.array(ks, int))
        assert together.shape == (len(flags), len(ks))
        assert together.tolist() == [metric(row, np.array(ks, int)).tolist() for row in flags]
        assert metric(flags, 3).tolist() == [metric(row, 3) for row in flags]
    assert average_precision_at_k(flags).tolist() == [average_precision_at_k(row) for row in flags]
    assert roc_auc(flags).tolist() == [roc_auc(row) for row in flags]


@given(trials_with_both(), st.data())
def test_scores_of_trials_together_give_what_each_gives(rare: np.ndarray, data: st.DataObject) -> None:
    scores = np.array(data.draw(st.lists(st.integers(0, 3), min_size=rare.size, max_size=rare.size))).reshape(
        rare.shape
    )
    of_each = [roc_auc_of_scores(*pair) for pair in zip(scores, rare, strict=True)]
    assert roc_auc_of_scores(scores, rare).tolist() == of_each
    shared = roc_auc_of_scores(scores, rare[0])
    assert shared.tolist() == [roc_auc_of_scores(row, rare[0]) for row in scores]


@given(lists_with_both, depths)
def test_each_metric_within_its_bounds(flags: list[bool], k: int) -> None:
    ks = np.arange(1, k + 1)
    hits = precision_at_k(flags, ks) * ks
    assert hits == pytest.approx(np.rint(hits), abs=1e-12) and np.rint(hits).max() <= sum(flags)
    recall = recall_at_k(flags, ks)
    assert (np.diff(recall) >= 0).all() and recall[0] >= 0 and recall[-1] <= 1
    average_precision = average_precision_at_k(flags, k)
    assert 0 <= average_precision <= 1 + 1e-12
    is_perfect = all(flags[: min(k, sum(flags))])
    assert (average_precision > 1 - 1e-9) == is_perfect


@given(lists_with_both, st.data())
def test_moving_a_relevant_one_up_never_lowers_a_metric(flags: list[bool], data: st.DataObject) -> None:
    lower = data.draw(st.sampled_from([place for place, relevant in enumerate(flags) if relevant]))
    upper = data.draw(st.integers(0, lower))
    better = flags.copy()
    better[lower], better[upper] = better[upper], better[lower]
    ks = np.arange(1, len(flags) + 2)
    for metric in (precision_at_k, recall_at_k, average_precision_at_k):
        assert (metric(better, ks) >= metric(flags, ks) - 1e-12).all()
    assert roc_auc(better) >= roc_auc(flags)


@given(lists_with_both)
def test_the_area_of_the_reversed_list_is_what_is_left(flags: list[bool]) -> None:
    assert roc_auc(flags[::-1]) == pytest.approx(1 - roc_auc(flags), abs=1e-12)


@given(lists_with_both, st.data())
def test_auc_of_scores_counts_ties_one_half(rare: list[bool], data: st.DataObject) -> None:
    scores = data.draw(st.lists(st.sampled_from([-1.0, 0.0, 0.5, 2.0]), min_size=len(rare), max_size=len(rare)))
    assert roc_auc_of_scores(scores, rare) == pytest.approx(auc_by_loop(scores, rare), rel=1e-13)


@given(lists_with_both, st.data())
def test_ties_are_ordered_at_the_cost_of_the_rare_and_bound_the_auc(rare: list[bool], data: st.DataObject) -> None:
    scores = data.draw(st.lists(st.integers(0, 3), min_size=len(rare), max_size=len(rare)))
    shuffled = data.draw(st.permutations(range(len(rare))))
    worst = relevance_in_order(scores, rare)
    again = relevance_in_order(np.array(scores)[shuffled], np.array(rare)[shuffled])
    assert worst.tolist() == again.tolist()
    best = relevance_in_order(scores, rare, ties="best")
    assert (roc_auc(worst) + roc_auc(best)) / 2 == pytest.approx(roc_auc_of_scores(scores, rare), abs=1e-12)
    assert average_precision_at_k(worst) <= average_precision_at_k(best)


def test_a_million_flags_against_scikit_learn() -> None:
    rng = np.random.default_rng(3)
    rare = rng.random(1_000_000) < 1e-3
    scores = rng.normal(size=len(rare)) + 2 * rare
    flags = relevance_in_order(scores, rare)
    assert average_precision_at_k(flags) == pytest.approx(average_precision_score(rare, scores), rel=1e-12)
    assert roc_auc(flags) == pytest.approx(roc_auc_score(rare, scores), rel=1e-12)
    assert roc_auc_of_scores(scores, rare) == pytest.approx(roc_auc_score(rare, scores), rel=1e-12)


def test_known_values() -> None:
    flags = [1, 0, 1, 0, 0]
    assert precision_at_k(flags, [1, 2, 3]).tolist() == [1.0, 0.5, 2 / 3]  # type: ignore[union-attr]
    assert recall_at_k(flags, 2) == 0.5
    assert average_precision_at_k(flags) == (1 + 2 / 3) / 2
    assert average_precision_at_k(flags, 1) == 1.0
    assert average_precision_at_k(flags, 2) == 0.5
    assert roc_auc(flags) == 1 - 1 / 6
    assert roc_auc([True, False]) == 1.0
    assert roc_auc([False, True]) == 0.0


def test_beyond_the_end_nothing_is_relevant() -> None:
    assert precision_at_k([1], 2) == 0.5
    assert recall_at_k([1, 0], 9) == 1.0
    assert average_precision_at_k([0, 1], 9) == average_precision_at_k([0, 1]) == 0.5


def test_a_list_without_anything_relevant() -> None:
    assert precision_at_k([0, 0], 1) == 0.0
    for metric in (recall_at_k, average_precision_at_k):
        with pytest.raises(ValueError, match="none of the 2 flags is relevant"):
            metric([0, 0], 1)
    for area in (roc_auc, lambda flags: roc_auc_of_scores([1.0, 2.0], flags)):
        with pytest.raises(ValueError, match="none of the 2 flags is relevant"):
            area([False, False])
        with pytest.raises(ValueError, match="all 2 flags are relevant"):
            area([True, True])


def test_a_trial_without_anything_relevant_is_named() -> None:
    flags = [[1, 0], [0, 0], [1, 1]]
    assert precision_at_k(flags, 2).tolist() == [0.5, 0.0, 1.0]
    assert precision_at_k([[0, 0], [0, 0]], 1).tolist() == [0.0, 0.0]
    with pytest.raises(ValueError, match="none of the 2 flags of trial 1 is relevant"):
        recall_at_k(flags, 1)
    with pytest.raises(ValueError, match="all 2 flags of trial 1 are relevant"):
        roc_auc([[1, 0], [1, 1]])
    with pytest.raises(ValueError, match="all 2 flags of trial 0 are relevant"):
        roc_auc_of_scores([[1.0, 2.0]], [1, 1])


@pytest.mark.parametrize("flags", [[], [[]], [[[1, 0]]], [0, 2], [[0, 2]], [0.5, 1], ["a", "b"], [np.nan, 1.0], 1])
def test_what_are_no_flags(flags: object) -> None:
    with pytest.raises(ValueError, match="relevance flags must be"):
        precision_at_k(flags, 1)  # type: ignore[call-overload]


@pytest.mark.parametrize("k", [0, -1, 1.5, [1, 0], [[1]], "3", True, None])
def test_what_are_no_depths(k: object) -> None:
    with pytest.raises(ValueError, match="k must be a whole number"):
        precision_at_k([1, 0], k)  # type: ignore[call-overload]


def test_scores_must_be_orderable() -> None:
    with pytest.raises(ValueError, match="1 of 2 scores are NaN"):
        relevance_in_order([np.nan, 1.0], [0, 1])
    with pytest.raises(ValueError, match="give one score per row"):
        roc_auc_of_scores([1.0], [0, 1])
    with pytest.raises(ValueError, match="give one score per row"):
        roc_auc_of_scores([[1.0, 2.0, 3.0]], [0, 1])
    with pytest.raises(ValueError, match="must be one-dimensional"):
        relevance_in_order([[1.0, 2.0]], [0, 1])
    with pytest.raises(ValueError, match="'worst' or 'best'"):
        relevance_in_order([1.0, 2.0], [0, 1], ties="middle")  # type: ignore[arg-type]
    assert relevance_in_order([-np.inf, np.inf], [0, 1]).tolist() == [True, False]
