"""Orders of looking, and places that stay."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rarespec.labels.campaign_progress import arrange, find_moved, in_order


def test_informative_looks_at_even_chances_first_and_at_unlikely_ones_last() -> None:
    precision = np.array([0.99, 0.75, 0.55, 0.4, 0.2, 0.09, 0.01])
    assert in_order("informative", precision).tolist() == [2, 3, 1, 4, 0, 5, 6]
    assert in_order("likely", precision).tolist() == list(range(7))


def test_informative_is_likely_where_nothing_can_be_told() -> None:
    assert in_order("informative", np.full(4, np.nan)).tolist() == [0, 1, 2, 3]


@given(st.lists(st.integers(0, 30), unique=True, max_size=20), st.integers(0, 30))
def test_ids_stand_at_their_places_and_the_others_keep_their_order(places: list[int], n_others: int) -> None:
    fixed = {f"fixed {place}": place for place in places}
    others = [f"other {number}" for number in range(n_others)]
    listed = arrange([*others, *fixed], fixed)
    assert sorted(listed) == sorted([*others, *fixed])
    assert [id for id in listed if id not in fixed] == others
    within = sum(1 for place in places if place < len(listed))
    if within == len(places):
        assert all(listed[place] == id for id, place in fixed.items())


def test_only_what_moved_is_told() -> None:
    assert find_moved(["a", "b", "c"], np.array([1, 3, 0])) == {"b": (3, 2), "c": (None, 3)}
