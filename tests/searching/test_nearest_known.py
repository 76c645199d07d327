"""The nearest known example: by cosine after whitening, block by block."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rarespec.rankers import MatchedFilter
from rarespec.rankers.covariance import inverse_square_root, ledoit_wolf
from rarespec.rankers.rows import BLOCK_ROWS
from rarespec.searching.candidates import nearest_known


def rows(seed: int, n: int, d: int = 5) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return (rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + 3).astype("f4")


@given(st.integers(0, 10**6), st.integers(1, 7), st.integers(1, 20))
def test_same_as_one_by_one(seed, n_known, n_candidates):
    survey, known, candidates = rows(seed, 60), rows(seed + 1, n_known), rows(seed + 2, n_candidates)
    mean, covariance, _ = ledoit_wolf(survey)
    root = inverse_square_root(covariance)
    found = nearest_known(candidates, known, survey)
    for candidate, index, cosine in zip(candidates, *found, strict=True):
        a, b = root @ (candidate - mean), (known - mean) @ root
        cosines = b @ a / np.linalg.norm(a) / np.linalg.norm(b, axis=1)
        assert cosine == pytest.approx(cosines.max(), abs=1e-9)
        assert cosines[index] == pytest.approx(cosines.max(), abs=1e-9)


def test_with_one_known_it_is_the_matched_filter():
    survey = rows(3, 500)
    y = np.zeros(500)
    y[7] = 1
    by_filter = MatchedFilter(method="cosine").fit(survey, y).decision_function(survey)
    found = nearest_known(survey, survey[[7]], np.delete(survey, 7, axis=0))
    np.testing.assert_allclose(found.cosine, by_filter, atol=1e-9)
    assert not found.known.any()


def test_a_known_example_is_nearest_to_itself_in_every_block():
    survey = rows(4, BLOCK_ROWS + 50)
    places = np.array([3, BLOCK_ROWS - 1, BLOCK_ROWS + 40])
    found = nearest_known(survey, survey[places], survey)
    assert found.known[places].tolist() == [0, 1, 2]
    np.testing.assert_allclose(found.cosine[places], 1)


def test_of_equally_near_ones_the_first():
    survey = rows(5, 50)
    assert nearest_known(survey[:5], survey[[9, 9]], survey).known.tolist() == [0] * 5


def test_a_candidate_at_the_very_centre_is_like_none():
    survey = np.array([[1.0, 0], [-1, 0], [0, 1], [0, -1]])
    assert nearest_known(np.zeros((1, 2)), survey[:2], survey).cosine.tolist() == [0.0]


def test_nothing_known_or_not_finite():
    survey = rows(6, 20)
    with pytest.raises(ValueError, match="no known example"):
        nearest_known(survey, survey[:0], survey)
    survey[3, 0] = np.nan
    with pytest.raises(ValueError, match="rows 3"):
        nearest_known(survey, survey[:2], survey[5:])
