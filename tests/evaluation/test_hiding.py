"""Every known example is hidden exactly once, and nothing else changes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rarespec.evaluation import hide_known


@given(st.integers(2, 40), st.integers(1, 30), st.integers(2, 8), st.integers(0, 5))
def test_each_known_example_is_hidden_once(n_known: int, n_unlabelled: int, n_splits: int, seed: int) -> None:
    y = np.random.default_rng(seed).permutation([1] * n_known + [0] * n_unlabelled)
    folds = list(hide_known(y, n_splits, seed))
    assert len(folds) == min(n_splits, n_known)
    hidden = np.concatenate([fold.hidden for fold in folds])
    assert sorted(hidden) == np.flatnonzero(y).tolist()
    sizes = [len(fold.hidden) for fold in folds]
    assert max(sizes) - min(sizes) <= 1
    for fold in folds:
        expected = y.copy()
        expected[fold.hidden] = 0
        assert fold.y.tolist() == expected.tolist()
        assert fold.y.any()


def test_few_are_hidden_one_at_a_time() -> None:
    assert [len(fold.hidden) for fold in hide_known([1, 1, 1, 0], n_splits=5)] == [1, 1, 1]


def test_one_seed_one_draw() -> None:
    y = np.repeat([1, 0], 20)
    draws = [[fold.hidden.tolist() for fold in hide_known(y, 4, seed)] for seed in (1, 1, 2)]
    assert draws[0] == draws[1] != draws[2]


def test_judged_are_the_rows_that_the_ranker_was_not_told_about() -> None:
    fold = next(hide_known([1, 0, 1, 0], 2, 0))
    scores, wanted = fold.select_judged(np.array([10.0, 11.0, 12.0, 13.0]))
    other = {0: 2, 2: 0}[int(fold.hidden[0])]
    assert scores.tolist() == np.delete([10.0, 11.0, 12.0, 13.0], other).tolist()
    assert scores[wanted].tolist() == [10.0 + fold.hidden[0]]


def test_one_known_example_cannot_be_hidden() -> None:
    with pytest.raises(ValueError, match="a single known example cannot be hidden"):
        hide_known([1, 0, 0])


@pytest.mark.parametrize("n_splits", [1, 0, 2.5, True, "3"])
def test_number_of_folds_is_checked(n_splits: object) -> None:
    with pytest.raises(ValueError, match="n_splits must be"):
        hide_known([1, 1, 0], n_splits)  # type: ignore[arg-type]


def test_labels_are_checked_at_once() -> None:
    with pytest.raises(ValueError, match="3 different values"):
        hide_known([0, 1, 2])
