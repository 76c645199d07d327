"""How the ranks of Auto's parts become one score."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rarespec.rankers.auto import trust
from rarespec.rankers.auto.trust import fuse, levels_and_ranks, ranks_among

SCORES = arrays(float, st.integers(2, 40), elements=st.sampled_from([0.0, 0.0, 0.25, 0.5, 1.0, 3.0]))


@given(SCORES, st.data())
def test_ranks_of_fitted_rows_are_those_among_the_levels(scores, data):
    is_unlabelled = data.draw(arrays(bool, len(scores)))
    is_unlabelled[data.draw(st.integers(0, len(scores) - 1))] = True
    levels, ranks = levels_and_ranks(scores, np.flatnonzero(is_unlabelled))
    np.testing.assert_array_equal(levels, np.sort(scores[is_unlabelled]))
    np.testing.assert_array_equal(ranks, ranks_among(scores, levels))


def test_many_rows_are_fused_in_pieces(monkeypatch):
    rng = np.random.default_rng(0)
    ranks, weights = {name: rng.uniform(1, 500, 500) for name in "ab"}, {"a": 0.7, "b": 0.3, "c": 0.0}
    whole = fuse(ranks, weights, 500)
    monkeypatch.setattr(trust, "RANKED_AT_ONCE", 64)
    np.testing.assert_array_equal(fuse(ranks, weights, 500), whole)
