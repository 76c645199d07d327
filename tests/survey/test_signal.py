"""The space of signal and the graph in it: kept with the survey, made anew for other features or when it is damaged."""

import numpy as np
import pytest

from rarespec.features import PaperFeatures
from rarespec.mock.simulate import SkyChoice, simulate_survey
from rarespec.rankers import Auto
from rarespec.survey import Survey
from rarespec.survey.features.computing import features_of
from rarespec.survey.features.neighbours import signal_of


@pytest.fixture(scope="module")
def features(tmp_path_factory):
    path = tmp_path_factory.mktemp("survey") / "a.survey"
    simulate_survey(SkyChoice(250, (("carbon", 20),), seed=5), path)
    return features_of(Survey.open(path), PaperFeatures(n_components=12))


def files(features):
    return list(features.survey.path.glob("graphs/*/*/signal/*.npz"))


def test_it_is_read_again_when_it_is_kept(features):
    first = signal_of(features)
    (path,) = files(features)
    written = path.stat().st_mtime_ns
    again = signal_of(features)
    np.testing.assert_array_equal(again.graph.indices, first.graph.indices)
    assert path.stat().st_mtime_ns == written


def test_a_damaged_one_is_made_anew(features):
    first = signal_of(features)
    (path,) = files(features)
    path.write_bytes(path.read_bytes()[:100])
    np.testing.assert_array_equal(signal_of(features).graph.indices, first.graph.indices)


def test_one_for_another_measure_of_noise_takes_its_place(features):
    signal_of(features)
    signal_of(features, 3)
    (path,) = files(features)
    assert "walks3" in path.name


def test_auto_ranks_the_same_with_it(features):
    X = features.values[features.usable]
    known = np.arange(len(X)) % 50 == 0
    given = Auto(signal=signal_of(features)).fit(X, known)
    np.testing.assert_array_equal(given.decision_function(X), Auto().fit(X, known).decision_function(X))


def test_of_many_spectra_the_cells_are_kept_instead_of_a_graph(features, monkeypatch):
    for room in ("rarespec.rankers.auto.signal", "rarespec.survey.features.neighbours"):
        monkeypatch.setattr(f"{room}.WIDE", 200)
    monkeypatch.setattr("rarespec.rankers.neighbours.cell_search.N_SAMPLE", 20)
    first, again = signal_of(features, 2), signal_of(features, 2)
    assert first.graph is None and again.graph is None
    assert set(again.cells) == set(first.cells)
    for space, cells in first.cells.items():
        assert set(again.cells[space]) == set(cells)
        for name, values in cells.items():
            np.testing.assert_array_equal(again.cells[space][name], values)
    X = features.usable_values
    for name, size in {"auto.rows.N_REACHED": 40, "auto.rows.N_ALIKE": 60, "auto.query.N_DRAWN": 100}.items():
        monkeypatch.setattr(f"rarespec.rankers.{name}", size)
    known = np.arange(len(X)) % 50 == 0
    scores = [Auto(signal=signal).fit(X, known).decision_function(X) for signal in (first, again)]
    np.testing.assert_array_equal(*scores)
