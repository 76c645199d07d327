"""The neighbour graph against comparing all pairs, one by one."""

import builtins

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rarespec.rankers.neighbours import exact as exact_neighbours
from rarespec.rankers.neighbours import neighbour_graph as _neighbour_search
from rarespec.rankers.neighbours.exact import exact_nearest, pair_distances
from rarespec.rankers.neighbours.faiss_search import recall_of_each
from rarespec.rankers.neighbours.neighbour_graph import (
    NeighbourGraph,
    build_neighbours,
    extend_neighbours,
    fingerprint_of_rows,
    neighbours_of,
)


def literal(X, Z, k, own=True):
    """Every pair in turn: indices and distances of the k nearest rows of X to each row of Z, ties by index."""
    indices, distances = [], []
    for i, z in enumerate(np.asarray(Z, np.float64)):
        apart = [float(np.sqrt(((z - x) ** 2).sum())) for x in np.asarray(X, np.float64)]
        order = sorted((d, j) for j, d in enumerate(apart) if not (own and j == i))[:k]
        indices.append([j for _, j in order])
        distances.append([d for d, _ in order])
    return np.array(indices), np.array(distances)


def clusters(n, d=6, seed=0, dtype=np.float32):
    rng = np.random.default_rng(seed)
    return (rng.normal(0, 3, (12, d))[rng.integers(0, 12, n)] + rng.normal(0, 0.5, (n, d))).astype(dtype)


@pytest.fixture
def faiss_from_few_rows(monkeypatch):
    monkeypatch.setattr(_neighbour_search, "EXACT_BELOW", 100)
    monkeypatch.setattr(_neighbour_search, "FEW_PAIRS", 100)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("offset", [0.0, 1e4])  # far from 0, |x|^2 - 2 x.z + |z|^2 alone would cancel
def test_exact_graph_is_that_of_all_pairs(dtype, offset):
    X = (clusters(300) + offset).astype(dtype)
    graph = build_neighbours(X, 7)
    indices, distances = literal(X, X, 7)
    assert np.array_equal(graph.indices, indices) and np.allclose(graph.distances, distances, rtol=1e-6, atol=0)
    assert graph.indices.dtype == np.int32 and graph.distances.dtype == np.float32 and graph.recall == 1.0


@given(st.integers(2, 40), st.integers(1, 3), st.integers(1, 8), st.integers(0, 10**6))
def test_ties_and_duplicates_go_by_index(n, d, k, seed):
    X = np.random.default_rng(seed).integers(0, 3, (n, d)).astype(np.float64)
    k = min(k, n - 1)
    graph = build_neighbours(X, k)
    indices, distances = literal(X, X, k)
    assert np.array_equal(graph.indices, indices) and np.array_equal(graph.distances, distances.astype(np.float32))


@pytest.mark.parametrize("queries", [1, 300, 700])
def test_exact_search_in_several_pieces(queries):
    rng = np.random.default_rng(0)
    base, Z = rng.integers(0, 6, (5000, 3)).astype(np.float32), rng.integers(0, 6, (queries, 3)).astype(np.float32)
    indices, distances = exact_nearest(base, Z, 9)
    apart = np.sqrt(((Z[:, None].astype(float) - base) ** 2).sum(axis=2))
    expected = np.argsort(apart, axis=1, kind="stable")[:, :9]
    assert np.array_equal(indices, expected)
    assert np.array_equal(distances, np.take_along_axis(apart, expected, axis=1))


@pytest.mark.parametrize("apart", [1.0, 1e-5, 1e-9])
def test_rows_that_single_precision_cannot_tell_apart_are_compared_again(apart):
    """Thirty rows of a clump are nearer to each other than single precision resolves far from the centre."""
    rng = np.random.default_rng(1)
    base = rng.normal(0, 3, (3000, 8))
    base[:30] = 5 + apart * rng.normal(size=(30, 8))
    indices, distances = exact_nearest(base, base[:60], 6)
    by_pairs = np.sqrt(((base[:60, None] - base) ** 2).sum(axis=2))
    assert np.array_equal(indices, np.argsort(by_pairs, axis=1, kind="stable")[:, :6])
    assert np.allclose(distances, np.sort(by_pairs, axis=1)[:, :6], rtol=1e-12, atol=0)


@pytest.mark.parametrize("factor", [1e-200, 1e-30, 1e30, 1e200])
def test_extreme_values(factor):
    X = clusters(60, dtype=np.float64)
    graph = build_neighbours(X * factor, 4)
    assert np.array_equal(graph.indices, build_neighbours(X, 4).indices) and np.isfinite(graph.distances).all()


def test_distances_below_single_precision_are_not_zero():
    graph = build_neighbours(clusters(60, dtype=np.float64) * 1e-60, 4)
    assert (graph.distances > 0).all() and graph.summary().n_duplicates == 0
    assert (neighbours_of([[0.0], [1e-60]], [[0.0]], 2)[1] > 0).tolist() == [[False, True]]


@pytest.mark.parametrize("far", [1e8, 1e12])
def test_one_row_far_off_does_not_make_all_pairs_candidates(far, monkeypatch):
    X = clusters(2000, dtype=np.float64)
    X[0] = far
    compared = []

    def counted(A, a, B, b):
        compared.append(len(a))
        return pair_distances(A, a, B, b)

    monkeypatch.setattr(exact_neighbours, "pair_distances", counted)
    graph = build_neighbours(X, 4)
    assert sum(compared) < 2 * 2000 * (5 + exact_neighbours.SPARE)
    assert np.array_equal(graph.indices[1:40], literal(X, X[:40], 4)[0][1:])


def test_close_pairs_far_from_the_origin_keep_their_distance():
    X = np.array([[1e6, 0.0], [1e6 + 1e-6, 0.0], [1e6, 3e-6], [0.0, 0.0]])
    assert np.allclose(build_neighbours(X, 1).distances[:2, 0], 1e-6, rtol=1e-3)


def test_minus_zero_is_zero():
    assert build_neighbours(np.array([[0.0], [-0.0], [1.0]]), 1).indices.tolist() == [[1], [0], [0]]
    assert fingerprint_of_rows(np.array([[0.0]])) == fingerprint_of_rows(np.array([[-0.0]], np.float32))


def test_all_rows_equal():
    graph = build_neighbours(np.ones((500, 4)), 3)
    assert graph.indices[:5].tolist() == [[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2], [0, 1, 2]]
    assert (graph.distances == 0).all()
    assert graph.summary().n_duplicates == 500 and graph.summary().n_components == 1


def counted_recall(graph, X):
    truth = exact_nearest(X, X, graph.n_neighbours + 1)[0]
    pairs = zip(graph.indices.tolist(), truth[:, 1:].tolist(), strict=True)
    return np.mean([len(set(found) & set(true)) / len(true) for found, true in pairs])


@pytest.mark.parametrize("target", [0.5, 0.9])
def test_faiss_reaches_the_recall_it_reports(faiss_from_few_rows, target):
    X = np.random.default_rng(0).normal(size=(5000, 16)).astype(np.float32)  # nothing is grouped: hard for cells
    graph = build_neighbours(X, 2, target_recall=target)
    assert target <= graph.recall < 1 and abs(counted_recall(graph, X) - graph.recall) < 0.04
    assert counted_recall(graph, X) >= target
    assert (graph.indices != np.arange(5000)[:, None]).all()
    apart = np.linalg.norm(X[:, None].astype(np.float64) - X[graph.indices], axis=2)
    assert np.allclose(graph.distances, apart, rtol=1e-6) and (np.diff(graph.distances, axis=1) >= 0).all()


def test_neighbours_in_groups_much_smaller_than_their_distance_are_found(faiss_from_few_rows):
    rng = np.random.default_rng(0)
    X = rng.normal(0, 1e3, (12, 6))[rng.integers(0, 12, 3000)] + rng.normal(0, 0.1, (3000, 6))
    graph = build_neighbours(X, 5)
    assert graph.recall >= 0.99 and counted_recall(graph, X) > 0.98


def test_rows_in_cells_of_few_find_as_many_as_the_others(faiss_from_few_rows):
    X = clusters(3000)
    X[:60] = 1000 * np.random.default_rng(0).normal(size=(60, 6))  # each nearly alone
    graph = build_neighbours(X, 20, target_recall=0.3)
    assert all(len(set(row)) == 20 for row in graph.indices.tolist())
    apart = np.linalg.norm(X[:, None].astype(np.float64) - X[graph.indices], axis=2)
    assert np.allclose(graph.distances, apart, rtol=1e-6)


def test_a_higher_target_gives_a_higher_recall(faiss_from_few_rows):
    X = np.random.default_rng(0).normal(size=(5000, 16)).astype(np.float32)
    low, high = (build_neighbours(X, 5, target_recall=target) for target in (0.5, 1.0))
    assert low.recall < 0.95 and high.recall == 1.0
    assert np.mean(high.indices == build_exactly(X, 5)) > 0.999


def build_exactly(X, k):
    return exact_nearest(X, X, k + 1)[0][:, 1:]


def test_recall_counts_neighbours_that_are_as_near():
    truth = np.array([[1.0, 2.0], [1.0, 2.0]])
    assert recall_of_each(np.array([[1.0, 2.0], [1.0, 3.0]]), truth).tolist() == [1.0, 0.5]
    assert recall_of_each(np.array([[2.0, 2.0], [4.0, 5.0]]), truth).tolist() == [1.0, 0.0]


@pytest.mark.parametrize("kind", ["exact", "faiss"])
def test_row_order_changes_nothing(kind, request):
    if kind == "faiss":
        request.getfixturevalue("faiss_from_few_rows")
    X = clusters(3000)
    shuffle = np.random.default_rng(1).permutation(3000)
    graph, shuffled = build_neighbours(X, 5), build_neighbours(X[shuffle], 5)
    assert np.array_equal(shuffle[shuffled.indices], graph.indices[shuffle])
    assert np.array_equal(shuffled.distances, graph.distances[shuffle])
    assert shuffled.recall == graph.recall and shuffled.fingerprint != graph.fingerprint


@pytest.mark.parametrize("kind", ["exact", "faiss"])
def test_thread_count_changes_nothing(kind, request):
    if kind == "faiss":
        request.getfixturevalue("faiss_from_few_rows")
    X = clusters(9000)
    one, three = build_neighbours(X, 5, n_jobs=1), build_neighbours(X, 5, n_jobs=3)
    assert np.array_equal(one.indices, three.indices) and np.array_equal(one.distances, three.distances)
    assert one.recall == three.recall


def test_duplicates_with_faiss(faiss_from_few_rows):
    X = clusters(400)
    X[40:160] = X[:120]
    X[360:] = X[0]
    graph = build_neighbours(X, 3, target_recall=1.0)
    indices, _ = literal(X, X, 3)
    assert np.array_equal(graph.indices, indices)


@pytest.mark.parametrize("n_old", [3, 150, 299, 300])
def test_a_graph_grows_as_if_built_anew(n_old):
    X = clusters(300)
    X[200:230] = X[:30]
    k = min(5, n_old - 1)
    grown, anew = extend_neighbours(build_neighbours(X[:n_old], k), X), build_neighbours(X, k)
    assert np.array_equal(grown.indices, anew.indices) and np.array_equal(grown.distances, anew.distances)
    assert grown.fingerprint == anew.fingerprint and grown.recall == 1.0


def test_a_faiss_graph_grows(faiss_from_few_rows):
    X = clusters(6000)
    grown, exact = extend_neighbours(build_neighbours(X[:4500], 5), X), build_exactly(X, 5)
    assert 0.99 <= grown.recall <= 1 and np.mean(grown.indices == exact) > 0.97


def test_progress_of_growing_ends_at_all_rows():
    X, seen = clusters(900), []
    extend_neighbours(build_neighbours(X[:600], 3), X, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (900, 900) and seen == sorted(seen) and seen[0][0] <= 300


def test_a_recall_below_the_target_is_said(faiss_from_few_rows):
    X = clusters(1000, dtype=np.float64)
    X[0] = 1e12  # beside it all others are one point in single precision
    with pytest.warns(UserWarning, match="instead of 99.0%"):
        assert build_neighbours(X, 5).recall < 0.99


def test_a_graph_of_other_rows_is_not_grown():
    X = clusters(50)
    graph = build_neighbours(X[:40], 3)
    for other in (X[::-1], X[:30]):
        with pytest.raises(ValueError, match="first 40 rows"):
            extend_neighbours(graph, other)


def test_neighbours_of_new_rows():
    X, new = clusters(400), clusters(30, seed=5)
    new[3] = X[17]
    indices, distances = neighbours_of(X, new, 4)
    expected_indices, expected_distances = literal(X, new, 4, own=False)
    assert np.array_equal(indices, expected_indices) and np.allclose(distances, expected_distances, rtol=1e-6)
    assert indices[3, 0] == 17 and distances[3, 0] == 0


def test_neighbours_of_new_rows_with_faiss(faiss_from_few_rows):
    X, new = clusters(4000), clusters(500, seed=5)
    indices, _ = neighbours_of(X, new, 4)
    assert np.mean(indices == exact_nearest(X, new, 4)[0]) > 0.97


def test_fewer_rows_than_neighbours():
    with pytest.warns(UserWarning, match="5 neighbours requested but only 2 are possible"):
        graph = build_neighbours(clusters(3), 5)
    assert graph.indices.shape == (3, 2)
    with pytest.warns(UserWarning, match="only 0"):
        assert str(build_neighbours(clusters(1), 5).summary()).startswith("1 rows, 0 neighbours each")


def test_summary_names_duplicates_isolated_rows_and_components():
    X = np.concatenate([clusters(40), clusters(30) + 1000.0, clusters(20) - 1000.0])
    X[5] = X[6]
    X[-1] += 30.0  # no row of its component has it among its nearest
    summary = build_neighbours(X, 2).summary()
    assert summary.n_duplicates == 2 and summary.n_isolated >= 1
    labels = components(build_neighbours(X, 2).indices)
    assert summary.component_sizes.tolist() == sorted(np.bincount(labels).tolist(), reverse=True)
    assert summary.n_components == labels.max() + 1 >= 3
    assert "2 rows equal another" in str(summary) and f"{summary.n_components} components" in str(summary)


def components(indices):
    """By spreading the smallest label until nothing changes."""
    labels = np.arange(len(indices))
    while True:
        before = labels.copy()
        for i, row in enumerate(indices):
            group = [i, *row]
            labels[group] = labels[group].min()
        if np.array_equal(before, labels):
            return np.unique(labels, return_inverse=True)[1]


def test_nearest_cuts_the_graph():
    graph = build_neighbours(clusters(50), 6)
    assert np.array_equal(graph.nearest(2).indices, graph.indices[:, :2]) and graph.nearest(6).n_neighbours == 6
    for k in (0, 7, 2.5):
        with pytest.raises(ValueError, match=f"k = {k}: this graph keeps 6"):
            graph.nearest(k)
    assert repr(graph) == "<NeighbourGraph: 50 rows, 6 neighbours each, recall 1.0>"


def test_progress_ends_at_all_rows(faiss_from_few_rows):
    for n in (90, 5000):
        seen = []
        build_neighbours(clusters(n), 3, progress=lambda done, total: seen.append((done, total)))  # noqa: B023
        assert seen[-1] == (n, n) and seen == sorted(seen)


def test_missing_faiss_is_named(faiss_from_few_rows, monkeypatch):
    real = builtins.__import__

    def without_faiss(name, *rest):
        if name == "faiss":
            raise ModuleNotFoundError("No module named 'faiss'")
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without_faiss)
    with pytest.raises(ImportError, match="pip install faiss-cpu"):
        build_neighbours(clusters(200), 3)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"k": 0}, "k = 0"),
        ({"k": 2.5}, "k = 2.5"),
        ({"k": "3"}, "k = '3'"),
        ({"target_recall": "high"}, "target_recall = 'high'"),
        ({"target_recall": 1.5}, "target_recall = 1.5"),
        ({"X": np.array([[0.0], [np.nan], [1.0]])}, "rows 1"),
    ],
)
def test_wrong_use_is_named(wrong, message):
    with pytest.raises(ValueError, match=message):
        build_neighbours(**({"X": clusters(10), "k": 2} | wrong))


def test_the_target_is_checked_wherever_it_is_given():
    X = clusters(10)
    with pytest.raises(ValueError, match="target_recall = 0"):
        neighbours_of(X, X, 2, target_recall=0)
    with pytest.raises(ValueError, match="target_recall = 2"):
        extend_neighbours(build_neighbours(X[:8], 2), X, target_recall=2)


def test_a_seed_or_a_generator(faiss_from_few_rows):
    X = clusters(1500)
    first, second = (build_neighbours(X, 3, random_state=np.random.RandomState(3)) for _ in range(2))
    assert np.array_equal(first.indices, second.indices)
    assert isinstance(build_neighbours(X, 3, random_state=None), NeighbourGraph)


@pytest.mark.exhaustive
def test_recall_at_full_size():
    X = clusters(100_450, d=50)
    graph = build_neighbours(X, 5)
    rows = np.random.default_rng(3).choice(len(X), 2000, replace=False)
    truth = exact_nearest(X, X[rows], 6)[0][:, 1:]
    pairs = zip(graph.indices[rows].tolist(), truth.tolist(), strict=True)
    recall = np.mean([len(set(found) & set(true)) / 5 for found, true in pairs])
    assert graph.recall > 0.99 and recall > 0.99
