"""Auto's searches among many rows, on a device: what comparing all rows on the CPU finds."""

import numpy as np
import pytest

from gpu import made_up
from rarespec.gpu import many_rows
from rarespec.gpu.many_rows import OnDevice
from rarespec.rankers import Auto
from rarespec.rankers.auto import signal
from rarespec.rankers.auto.signal import SPACES, n_neighbours, signal_of_rows, signal_space
from rarespec.rankers.neighbours import cell_search, neighbour_graph
from rarespec.rankers.neighbours.exact import exact_nearest
from rarespec.rankers.svm.kernel import squared_distances

KNOWN = np.array([3, 50, 700])


@pytest.fixture(params=["cpu", "cuda"])
def device(request, torch):
    if request.param == "cuda" and not torch.cuda.is_available():
        pytest.skip("there is no CUDA device here")
    return request.param


@pytest.fixture(scope="module")
def rows():
    X = made_up.features(3000, 12)
    X.flags.writeable = False  # as those of a mapped file
    return X, signal_space(X)


@pytest.fixture
def search(rows, device, monkeypatch):
    monkeypatch.setattr(many_rows, "WHITENED_AT_ONCE", 700)
    monkeypatch.setattr(many_rows, "COMPARED_AT_ONCE", 1000)
    return OnDevice(device).among(*rows)


@pytest.mark.parametrize("name", SPACES)
def test_the_nearest_in_each_space(rows, search, name):
    X, space = rows
    there, k = {"signal": space.all_units(X), "given": X}[name], n_neighbours(len(X))
    expected, apart = exact_nearest(there, there[KNOWN], k + 1)
    indices, distances = search.nearest(name, KNOWN)
    assert np.array_equal(indices, expected[:, 1:])
    assert np.allclose(distances, apart[:, 1:], rtol=1e-5)


def test_the_most_alike_in_both_spaces(rows, search):
    X, space = rows
    units = space.all_units(X)
    likeness = (units @ units[KNOWN].T).max(axis=1), -squared_distances(X, X[KNOWN]).min(axis=1)
    for found, wanted in zip(search.alike(KNOWN, 200), likeness, strict=True):
        assert set(found.tolist()) == set(np.argsort(-wanted)[:200].tolist())


def test_some_rows_are_joined_with_as_many_neighbours_as_befit_all(rows, search):
    graph = search.join(np.ascontiguousarray(rows[0][:500]))
    assert len(graph) == 500 and graph.n_neighbours == n_neighbours(3000) and graph.recall == 1.0


def test_neighbours_of_some_rows(rows, device):
    X, some = rows[0], np.arange(5, 3000, 7)
    assert np.array_equal(OnDevice(device).nearest(X, some, 4), exact_nearest(X, X[some], 5)[0][:, 1:])


@pytest.fixture
def few(monkeypatch):
    """Sizes at which a few thousand rows are many, and all searches on the CPU are exact: they open every cell."""
    monkeypatch.setattr(signal, "WIDE", 1000)
    monkeypatch.setattr(cell_search, "_enough_probes", lambda cells, wanted, recall: (cells.shape[1], 1.0))
    monkeypatch.setattr(neighbour_graph, "EXACT_BELOW", 10**6)
    for name, size in {"rows.N_REACHED": 400, "rows.N_ALIKE": 500, "query.N_DRAWN": 1500}.items():
        monkeypatch.setattr(f"rarespec.rankers.auto.{name}", size)


def test_auto_ranks_as_with_exact_searches_on_the_cpu(few, rows, device):
    X = rows[0]
    y = np.isin(np.arange(len(X)), KNOWN)
    there = signal_of_rows(X, elsewhere=OnDevice(device))
    assert there.cells is None and there.graph is None
    here = Auto().fit(X, y)
    found = Auto(signal=there).fit(X, y)
    assert np.array_equal(found.rank(X)[:300], here.rank(X)[:300])
    assert np.allclose(found.decision_function(X), here.decision_function(X), rtol=1e-4)
