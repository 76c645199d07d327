"""Nearest rows in cells that are filled when they are looked into: the same as in all rows, nearly always."""

import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from rarespec.rankers.neighbours.cell_search import CellSearch, group_in_cells
from rarespec.rankers.neighbours.exact import exact_nearest
from rarespec.rankers.rows import choose_rows

K = 8


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    sheet = rng.normal(size=(3000, 3)) @ rng.normal(size=(3, 10))
    return (sheet + 0.1 * rng.normal(size=sheet.shape)).astype(np.float32)


@pytest.fixture(scope="module")
def cells(rows):
    return group_in_cells(rows, rows, K, target_recall=0.95, seed=0)


def test_as_many_neighbours_are_found_as_promised(rows, cells):
    queries = rows[1::7]
    found, truth = CellSearch(rows, K, cells).nearest(queries)[0], exact_nearest(rows, queries, K)[0]
    recall = np.mean([np.isin(one, other).mean() for one, other in zip(truth, found, strict=True)])
    assert recall > 0.95 and cells["recall"] >= 0.95


def test_distances_are_those_of_the_rows_found(rows, cells):
    found, distances = CellSearch(rows, K, cells).nearest(rows[:20])
    np.testing.assert_allclose(distances, np.linalg.norm(rows[:20, None] - rows[found], axis=2), rtol=1e-5, atol=1e-6)
    assert (found[:, 0] == np.arange(20)).all()


def test_every_row_is_in_one_cell(rows, cells):
    assert np.array_equal(np.sort(cells["by_cell"]), np.arange(len(rows)))
    assert cells["starts"][-1] == len(rows)


def test_only_the_cells_looked_into_are_filled(rows, cells):
    search = CellSearch(rows, K, cells)
    search.nearest(rows[:1])
    assert search.n_filled <= int(cells["n_probes"]) < len(cells["centroids"])
    first = search.n_filled
    search.nearest(rows[:1])
    assert search.n_filled == first


def test_what_was_asked_before_makes_no_difference(rows, cells):
    asked = CellSearch(rows, K, cells)
    asked.nearest(rows[500:900])
    for one, other in zip(asked.nearest(rows[:100]), CellSearch(rows, K, cells).nearest(rows[:100]), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_cell_that_two_threads_look_into_is_filled_once(rows, cells):
    class Slow:
        shape = rows.shape

        def __len__(self):
            return len(rows)

        def __getitem__(self, numbers):
            time.sleep(0.02)
            return rows[numbers]

    search = CellSearch(Slow(), K, cells)
    with ThreadPoolExecutor(2) as threads:
        found = [future.result()[0] for future in [threads.submit(search.nearest, rows[:20]) for _ in range(2)]]
    np.testing.assert_array_equal(found[0], CellSearch(rows, K, cells).nearest(rows[:20])[0])
    np.testing.assert_array_equal(found[1], found[0])


def test_an_emptied_search_finds_the_same(rows, cells):
    search = CellSearch(rows, K, cells)
    before = search.nearest(rows[:100])
    search.empty()
    assert search.n_filled == 0
    for one, other in zip(search.nearest(rows[:100]), before, strict=True):
        np.testing.assert_array_equal(one, other)


def test_where_the_cells_hold_too_few_rows_all_rows_are_compared(rows, cells):
    few = dict(cells) | {"n_probes": np.array(1)}
    k = int(np.diff(cells["starts"]).max()) + 5
    np.testing.assert_array_equal(CellSearch(rows, k, few).nearest(rows[:3])[0], exact_nearest(rows, rows[:3], k)[0])


def test_cells_do_not_depend_on_the_order_of_the_rows(rows, cells):
    order = np.random.default_rng(1).permutation(len(rows))
    other = group_in_cells(rows[order], rows[order], K, target_recall=0.95, seed=0)
    np.testing.assert_array_equal(other["centroids"], cells["centroids"])
    assert other["n_probes"] == cells["n_probes"] and other["recall"] == cells["recall"]


def test_the_same_rows_are_chosen_in_any_order(rows):
    order = np.random.default_rng(1).permutation(len(rows))
    np.testing.assert_array_equal(order[choose_rows(rows[order], 100)], choose_rows(rows, 100))
    assert len(choose_rows(rows, 10**6)) == len(rows)


def test_chosen_rows_lie_everywhere(rows):
    where = choose_rows(rows, 1000) / len(rows)
    assert np.histogram(where, 10, (0, 1))[0].min() > 60
    along = np.argsort(np.argsort(rows[:, 0]))[choose_rows(rows, 1000)] / len(rows)
    assert np.histogram(along, 10, (0, 1))[0].min() > 60
