"""The exact neighbours, on arrays of any library."""

import numpy as np
import pytest

from gpu import made_up
from rarespec.gpu import exact_neighbours as module
from rarespec.gpu.exact_neighbours import nearest_rows, nearest_to, neighbours_on
from rarespec.rankers.neighbours.exact import exact_nearest
from rarespec.rankers.neighbours.neighbour_graph import build_neighbours


@pytest.fixture(autouse=True)
def with_the_kernel(monkeypatch):
    """However few rows there are."""
    monkeypatch.setattr(module, "FEW_ROWS", 0)


def by_the_cpu(X, k):
    indices, distances = exact_nearest(X, X, k + 1)
    return indices[:, 1:], distances[:, 1:]


@pytest.mark.parametrize(("n", "d", "k"), [(700, 20, 5), (1500, 3, 12), (40, 50, 39), (2, 1, 1), (300, 100, 4)])
def test_neighbours_of_the_exact_search(arrays, n, d, k):
    X = made_up.features(n, d)
    indices, distances = (arrays.back(result) for result in nearest_rows(arrays.of(X), k))
    expected, apart = by_the_cpu(X, k)
    assert np.array_equal(indices, expected)
    assert np.allclose(distances, apart, rtol=1e-12)


def test_neighbours_of_some_rows(arrays, monkeypatch):
    monkeypatch.setattr(module, "DISTANCES_AT_ONCE", 32 * 7 * 500)
    X, rows = made_up.features(500, 8), np.array([499, 3, 3, 77, *range(100, 130)])
    indices, distances = (arrays.back(result) for result in nearest_to(arrays.of(X), arrays.of(rows), 6))
    expected, apart = by_the_cpu(X, 6)
    assert np.array_equal(indices, expected[rows])
    assert np.allclose(distances, apart[rows], rtol=1e-12)


def test_equal_rows_are_at_distance_zero_and_come_by_number(arrays):
    X = np.repeat(made_up.features(30, 5), 3, axis=0)
    indices, distances = (arrays.back(result) for result in nearest_rows(arrays.of(X), 2))
    first = 3 * (np.arange(90) // 3)[:, None] + np.arange(3)
    assert np.array_equal(np.sort(np.column_stack([np.arange(90), indices]), axis=1), first)
    assert (np.diff(indices, axis=1) > 0).all() and (distances == 0).all()


def test_rows_far_from_the_origin_and_one_far_from_all(arrays):
    X = made_up.features(600, 10).astype(np.float64) + 1000
    X[17] *= 500
    indices, _ = (arrays.back(result) for result in nearest_rows(arrays.of(X), 5))
    assert np.array_equal(indices, by_the_cpu(X, 5)[0])


def test_batches_and_progress(arrays, monkeypatch):
    monkeypatch.setattr(module, "DISTANCES_AT_ONCE", 32 * 100 * 500)
    monkeypatch.setattr(module, "QUERIES_AT_ONCE", 128)
    seen, X = [], made_up.features(500, 8)
    indices, _ = nearest_rows(arrays.of(X), 3, lambda done, total: seen.append((done, total)))
    assert np.array_equal(arrays.back(indices), by_the_cpu(X, 3)[0])
    assert len(seen) > 3 and seen[-1] == (500, 500)


@pytest.mark.parametrize("k", [0, 10])
def test_impossible_numbers_of_neighbours(arrays, k):
    with pytest.raises(ValueError, match="k ="):
        nearest_rows(arrays.of(made_up.features(10, 3)), k)


def test_uncertain_candidates_are_searched_again(torch):
    """A search whose candidates miss the nearest, but whose bound says so."""

    class Careless:
        def __call__(self, start, stop):
            rows = torch.arange(start, stop)
            return module.Candidates((rows[:, None] + torch.arange(20)) % 400, torch.where(rows % 3 == 0, 1e9, 0.0))

        def slack(self, rows, squares):
            return torch.zeros(len(rows))

    X = made_up.features(400, 6)
    indices, _ = module._search_candidates(torch.asarray(X), torch.arange(400), 4, Careless())
    right = (indices.numpy() == by_the_cpu(X, 4)[0]).all(axis=1)
    assert right[np.arange(400) % 3 != 0].all() and not right.all()


def test_more_rows_than_one_kernel_compares(gpu, monkeypatch):
    from rarespec.gpu import neighbour_candidates as kernel_candidates

    monkeypatch.setattr(kernel_candidates, "MOST_TILE_BITS", 4)
    X = made_up.features(5000, 30)
    indices, _ = nearest_rows(gpu.asarray(X, device="cuda"), 5)
    assert np.array_equal(indices.cpu().numpy(), by_the_cpu(X, 5)[0])


def test_the_bound_of_the_kernel_holds(gpu):
    """What the kernel keeps differs from the true squared distance by less than it says, and the bits it cut off."""
    from rarespec.gpu.neighbour_candidates import CLASSES, KernelCandidates

    n, bits = 20_000, 9
    X = gpu.asarray(made_up.features(n, 50), device="cuda")
    search, queries = KernelCandidates(X, 16), gpu.arange(512, device="cuda")[:, None]
    kept = search._keep_best(0, 512, 0, -(-n // CLASSES), bits)
    rows = (kept.view(gpu.int32) & (2**bits - 1)).long() * CLASSES + gpu.arange(kept.shape[1], device="cuda") % CLASSES
    true = (X.double()[rows] - X.double()[queries]).square().sum(dim=2)
    values, slack = kept.double() * search.split.scale**2, search.slack(queries, true)
    assert (values <= true + slack).all()
    assert (values >= (true - slack) * (1 - 2.0 ** (bits - 23))).all()


@pytest.mark.parametrize("few_rows", [0, 3000])
def test_a_graph_on_a_device_is_that_of_the_cpu(gpu, few_rows, monkeypatch):
    """By the kernel, and without it."""
    monkeypatch.setattr(module, "FEW_ROWS", few_rows)
    X = made_up.features(3000, 20)
    there, here = neighbours_on("cuda", X, 5), build_neighbours(X, 5)
    assert np.array_equal(there.indices, here.indices) and np.allclose(there.distances, here.distances, rtol=1e-6)
    assert there.fingerprint == here.fingerprint and there.recall == 1.0


def test_a_graph_without_a_gpu_is_built_by_the_cpu(monkeypatch):
    monkeypatch.setattr("rarespec.gpu.device.find_spec", lambda name: None)
    X = made_up.features(100, 5)
    with pytest.warns(UserWarning, match="using the CPU"):
        graph = neighbours_on("cuda", X, 3)
    assert np.array_equal(graph.indices, build_neighbours(X, 3).indices)
