"""The neighbour graph that is kept with a survey."""

import os

import numpy as np
import pytest

from conftest import SMALL_GRID, make_spectra
from rarespec.errors import SurveyError
from rarespec.features import Bridge, MinMax, PaperFeatures, Recipe
from rarespec.rankers.graph.label_propagation import LabelPropagation
from rarespec.rankers.neighbours.neighbour_graph import build_neighbours
from rarespec.survey import Survey
from rarespec.survey.features import neighbours as kept_graphs
from rarespec.survey.features.computing import features_of
from rarespec.survey.features.feature_set import FeatureSet
from rarespec.survey.features.neighbours import graph_of, rows_of_graph
from rarespec.survey.store.writer import SurveyWriter
from rarespec.survey.verify import verify


@pytest.fixture
def survey(tmp_path):
    """100 spectra, two of which have no usable pixel and so no features."""
    spectra = make_spectra(100, SMALL_GRID)
    spectra.flux[[7, 60]] = 1.0
    path = tmp_path / "a.survey"
    with SurveyWriter(path, SMALL_GRID, block_rows=40) as writer:
        writer.add(spectra)
        writer.commit()
    return Survey.open(path)


def features(survey, **options):
    return features_of(survey, PaperFeatures(n_components=5, width_angstrom=30), **options)


def forbid(monkeypatch, *names):
    def called(*_, **__):
        raise AssertionError(f"one of {names} was called")

    for name in names:
        monkeypatch.setattr(kept_graphs, name, called)


def assert_same(found, expected):
    assert np.array_equal(found.indices, expected.indices)
    assert np.allclose(found.distances, expected.distances, rtol=1e-5)
    assert found.fingerprint == expected.fingerprint


def files(survey):
    return sorted((survey.path / "graphs").rglob("*.npz"))


def test_spectra_without_features_are_left_out(survey):
    found = features(survey)
    graph = graph_of(found, 4)
    assert np.array_equal(rows_of_graph(found), np.delete(np.arange(100), [7, 60])) and len(graph) == 98
    assert_same(graph, build_neighbours(found.usable_values, 4))


def test_a_ranker_takes_the_graph_and_the_usable_features(survey):
    found = features(survey)
    X = found.usable_values
    with_graph = LabelPropagation(graph=graph_of(found), sigma="self-tuned").fit(X, np.arange(98) < 2)
    without = LabelPropagation(sigma="self-tuned").fit(X, np.arange(98) < 2)
    assert np.array_equal(with_graph.scores_, without.scores_)


def test_the_second_call_only_reads(survey, monkeypatch):
    first = graph_of(features(survey), 4)
    forbid(monkeypatch, "neighbours_on", "extend_neighbours", "keep_if_possible")
    again = graph_of(features(Survey.open(survey.path)), 4)
    assert_same(again, first)
    assert again.recall == first.recall == 1.0
    assert_same(graph_of(features(survey), 2), first.nearest(2))


def test_more_neighbours_replace_fewer(survey):
    graph_of(features(survey), 2)
    assert_same(graph_of(features(survey), 6), build_neighbours(features(survey).values[features(survey).usable], 6))
    assert len(files(survey)) == 1


def test_the_graph_grows_with_the_survey(survey, monkeypatch):
    graph_of(features(survey), 4)
    survey.append(make_spectra(50, SMALL_GRID, seed=9, prefix="t"))
    grown_features = features(survey)
    expected = build_neighbours(grown_features.values[grown_features.usable], 4)
    with monkeypatch.context() as patched:
        forbid(patched, "neighbours_on")
        assert_same(graph_of(grown_features, 4), expected)
    assert len(files(survey)) == 1


def test_features_learned_anew_have_a_graph_of_their_own(survey):
    graph_of(features(survey), 4)
    survey.append(make_spectra(50, SMALL_GRID, seed=9, prefix="t"))
    anew = features(survey, refit=True)
    assert_same(graph_of(anew, 4), build_neighbours(anew.values[anew.usable], 4))
    assert len(files(survey)) == 1  # that of the model which was replaced is gone


def test_a_graph_whose_distances_are_not_those_of_the_features_is_not_grown(survey, monkeypatch):
    graph_of(features(survey), 4)
    survey.append(make_spectra(50, SMALL_GRID, seed=9, prefix="t"))
    monkeypatch.setattr(kept_graphs, "_distances_hold", lambda graph, X: False)
    forbid(monkeypatch, "extend_neighbours")
    assert len(graph_of(features(survey), 4)) == 148


def test_distances_tell_rows_that_were_shuffled(survey):
    found = features(survey)
    X = found.usable_values
    graph = graph_of(found, 4)
    assert kept_graphs._distances_hold(graph, X * np.float32(1 + 1e-7))
    assert not kept_graphs._distances_hold(graph, X[::-1])


@pytest.mark.parametrize("keep", [0, 0.5])
def test_a_damaged_file_is_made_anew(survey, keep):
    first = graph_of(features(survey), 4)
    (path,) = files(survey)
    content = path.read_bytes()
    path.write_bytes(content[: int(keep * len(content))])
    assert_same(graph_of(features(survey), 4), first)
    assert path.read_bytes() == content


def test_growing_keeps_all_neighbours(survey):
    graph_of(features(survey), 8)
    survey.append(make_spectra(30, SMALL_GRID, seed=9, prefix="t"))
    assert graph_of(features(survey), 3).n_neighbours == 3
    (path,) = files(survey)
    assert path.stem.endswith("-k8")
    assert_same(graph_of(features(survey), 8), build_neighbours(features(survey).values[features(survey).usable], 8))


def test_an_earlier_state_leaves_the_graph_of_a_later_one(survey):
    earlier = features(survey)
    survey.append(make_spectra(30, SMALL_GRID, seed=9, prefix="t"))
    graph_of(features(survey), 4)
    (later,) = files(survey)
    graph_of(earlier, 4)
    assert later in files(survey) and len(files(survey)) == 2
    graph_of(features(survey), 6)
    assert len(files(survey)) == 1


def test_flipped_bits_are_found_and_the_graph_is_made_anew(survey):
    first = graph_of(features(survey), 4)
    (path,) = files(survey)
    content = path.read_bytes()
    directory = content.find(b"PK\x01\x02")
    for place in [*range(directory, directory + 46), *range(0, 30)]:
        damaged = bytearray(content)
        damaged[place] ^= 1 << place % 8
        path.write_bytes(damaged)
        kept = kept_graphs._read_graph(path)
        assert kept is None or np.array_equal(kept[0].indices, first.indices)
    for place in (6, 8, 10):  # a version, a flag and a method that zipfile does not know
        damaged = bytearray(content)
        damaged[directory + place] ^= 0x41
        path.write_bytes(damaged)
        assert_same(graph_of(features(survey), 4), first)
        assert path.read_bytes() == content


def full_disk(monkeypatch):
    def no_space(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", no_space)


def test_a_graph_that_cannot_be_kept_is_returned(survey, monkeypatch):
    found = features(survey)
    full_disk(monkeypatch)
    with pytest.warns(UserWarning, match="could not save results .No space left"):
        graph = graph_of(found, 4)
    assert_same(graph, build_neighbours(found.usable_values, 4))
    assert not [path for path in (survey.path / "graphs").rglob("*") if path.is_file()]


@pytest.mark.parametrize("kept_model", [False, True])
def test_features_that_cannot_be_kept_are_returned(survey, monkeypatch, kept_model):
    expected = features(survey).values
    folder = features(survey).folder
    for path in folder.iterdir():
        if path.name != "model.npz":
            path.unlink()
    full_disk(monkeypatch)
    with pytest.warns(UserWarning, match="could not save results .No space left"):
        found = features(survey, refit=not kept_model).values
    assert np.array_equal(found, expected, equal_nan=True)
    assert [path.name for path in folder.iterdir()] == ["model.npz"]


def test_features_that_cannot_be_kept_are_computed_once(survey, monkeypatch):
    computed, compute = [], FeatureSet.compute
    monkeypatch.setattr(FeatureSet, "compute", lambda self, i: computed.append(i) or compute(self, i))
    full_disk(monkeypatch)
    with pytest.warns(UserWarning, match="could not save results"):
        found = features(survey)
        found.usable, found.values, found.n_bad  # noqa: B018
    assert sorted(computed) == list(range(survey.n_blocks))


def test_kept_files_have_the_usual_mode(survey):
    graph_of(features(survey), 4)
    before = os.umask(0o027)
    try:
        survey.append(make_spectra(30, SMALL_GRID, seed=9, prefix="t"))
        graph_of(features(survey), 4)
        assert files(survey)[0].stat().st_mode & 0o777 == 0o640
    finally:
        os.umask(before)


def test_a_survey_with_a_graph_is_sound(survey):
    graph_of(features(survey), 4)
    assert verify(survey.path).sound


def flat_survey(path, n):
    """n spectra of which the first alone is not constant."""
    spectra = make_spectra(n, SMALL_GRID)
    spectra.flux[1:] = 1.0
    with SurveyWriter(path, SMALL_GRID) as writer:
        writer.add(spectra)
        writer.commit()
    return Survey.open(path)


def test_a_survey_of_one_usable_spectrum(tmp_path):
    found = features_of(flat_survey(tmp_path / "b.survey", 3), Recipe([Bridge(), MinMax()]))
    with pytest.warns(UserWarning, match="only 0 are possible"):
        graph = graph_of(found)
    assert graph.indices.shape == (1, 0) and rows_of_graph(found).tolist() == [0]


def test_a_survey_without_features_has_no_graph(tmp_path, monkeypatch):
    found = features_of(flat_survey(tmp_path / "b.survey", 3), Recipe([Bridge(), MinMax()]))
    monkeypatch.setitem(vars(found), "usable", np.zeros(3, bool))
    with pytest.raises(SurveyError, match="no spectrum has features"):
        graph_of(found)


def test_k_must_be_positive(survey):
    for k in (0, 2.5, "3", None):
        with pytest.raises(ValueError, match=f"k = {k!r}"):
            graph_of(features(survey), k)
