"""Work in subprocesses: order, failures, deaths."""

import os
import time

import pytest

from rarespec.processes import Died, map_as_finished, map_in_order


def slow_square(shared, item):
    time.sleep(0.02 * (item % 3))
    return shared + item * item


def fails_on_three(shared, item):
    if item == 3:
        raise ValueError("three")
    return item


def dies_on_three(shared, item):
    print("a library that talks on standard output does not disturb the answers")
    if item == 3:
        os._exit(9)
    return item


def test_results_come_in_order():
    assert list(map_in_order(slow_square, 100, range(20), 2)) == [(i, 100 + i * i) for i in range(20)]


def test_an_exception_reaches_the_caller():
    with pytest.raises(ValueError, match="three"):
        list(map_in_order(fails_on_three, None, range(10), 2))


def test_a_death_costs_one_item():
    results = dict(map_in_order(dies_on_three, None, range(8), 2))
    assert results[3] == Died(9)
    assert all(results[i] == i for i in range(8) if i != 3)


def test_only_a_bounded_number_of_items_is_taken_ahead():
    taken = 0

    def items():
        nonlocal taken
        for i in range(100):
            taken += 1
            yield i

    results = map_in_order(slow_square, 0, items(), 2)
    next(results)
    assert taken <= 6
    results.close()


def test_results_as_they_are_finished_are_the_same_results():
    results = list(map_as_finished(slow_square, 100, range(20), 2))
    assert sorted(results) == [(i, 100 + i * i) for i in range(20)]


def first_is_slow(shared, item):
    time.sleep(1.0 if item == 0 else 0.0)
    return item


def test_a_finished_result_does_not_wait_behind_a_slow_one():
    assert [item for item, _ in map_as_finished(first_is_slow, None, range(4), 2)][-1] == 0


def test_a_death_costs_one_item_in_any_order():
    results = dict(map_as_finished(dies_on_three, None, range(8), 2))
    assert results == {i: i for i in range(8) if i != 3} | {3: Died(9)}


def test_nothing_to_do_is_done_at_once():
    assert list(map_as_finished(slow_square, 0, [], 2)) == []
