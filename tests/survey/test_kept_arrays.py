"""Promise: kept features, graphs and cells are not believed when a bit of them has changed; they are computed anew."""

import json
import os
import shutil
import warnings

import numpy as np
import pytest

import rarespec as rs
from conftest import SMALL_GRID, make_spectra
from rarespec.errors import SurveyError
from rarespec.features import PaperFeatures
from rarespec.survey import Survey
from rarespec.survey.features import kept as kept_arrays
from rarespec.survey.features.computing import features_of
from rarespec.survey.features.kept import current_content, load_arrays, model_content, model_named, name_of_model, npz
from rarespec.survey.features.neighbours import graph_of, signal_of
from rarespec.survey.store.writer import SurveyWriter

METHODS = ("auto", "label_propagation", "bagging_top_push")


def recipe():
    return PaperFeatures(n_components=5, width_angstrom=30)


def written(path):
    with SurveyWriter(path, SMALL_GRID, block_rows=30) as writer:
        writer.add(make_spectra(70, SMALL_GRID))
        writer.commit()
    return Survey.open(path)


def everything(survey, n_probes=2):
    """All that is kept, as it is given to whoever asks: features, graph, space of signal, graph or cells in it."""
    features = features_of(survey, recipe())
    graph, signal = graph_of(features, 4), signal_of(features, n_probes)
    given = {"values": features.values, "usable": features.usable, "n_bad": features.n_bad}
    given |= {"indices": graph.indices, "distances": graph.distances, "recall": np.array(graph.recall)}
    given |= {"mean": signal.space.mean, "whitening": signal.space.whitening, "noise": signal.space.noise}
    if signal.graph is not None:
        given |= {"signal": signal.graph.indices, "signal_distances": signal.graph.distances}
    for space, cells in (signal.cells or {}).items():
        given |= {f"{space}_{name}": values for name, values in cells.items()}
    return given


def assert_same(found, expected):
    assert set(found) == set(expected)
    for name, values in expected.items():
        np.testing.assert_array_equal(found[name], values, err_msg=name)


def keep_cells(monkeypatch):
    """As for surveys of very many spectra."""
    for room in ("rarespec.rankers.auto.signal", "rarespec.survey.features.neighbours"):
        monkeypatch.setattr(f"{room}.WIDE", 50)
    monkeypatch.setattr("rarespec.rankers.neighbours.cell_search.N_SAMPLE", 20)


@pytest.fixture(params=["graph", "cells"])
def survey(request, tmp_path, monkeypatch):
    """With everything kept: a graph in the space of signal, or cells instead."""
    if request.param == "cells":
        keep_cells(monkeypatch)
    survey = written(tmp_path / "a.survey")
    everything(survey)
    return survey


@pytest.fixture(scope="module")
def made_once(tmp_path_factory):
    survey = written(tmp_path_factory.mktemp("kept") / "a.survey")
    everything(survey)
    return survey.path


@pytest.fixture
def own(made_once, tmp_path):
    """A survey of its own, with everything kept."""
    return Survey.open(shutil.copytree(made_once, tmp_path / "a.survey"))


def kept_files(survey):
    folders = (survey.path / "features", survey.path / "graphs")
    return sorted(path for folder in folders for path in folder.rglob("*") if path.is_file())


def flipped(content, rng):
    damaged = bytearray(content)
    damaged[rng.integers(len(damaged))] ^= 1 << rng.integers(8)
    return bytes(damaged)


def read(path):
    return model_named(path.read_bytes()) if path.suffix == ".json" else load_arrays(path)


def count_accepted(survey, n_flips):
    """Of single flipped bits, spread over all kept files: files that were read as if nothing had happened."""
    rng, files, accepted = np.random.default_rng(5), kept_files(survey), 0
    contents = [path.read_bytes() for path in files]
    for i in range(n_flips):
        path, content = files[i % len(files)], contents[i % len(files)]
        path.write_bytes(flipped(content, rng))
        try:
            read(path)
            accepted += 1
        except ValueError:
            pass
        finally:
            path.write_bytes(content)
    return accepted


def test_no_flipped_bit_is_accepted(survey):
    assert len(kept_files(survey)) == 7  # current, model, three blocks, graph, signal
    assert count_accepted(survey, 350) == 0


@pytest.mark.exhaustive
def test_no_flipped_bit_of_14_000_in_each_survey_is_accepted(survey):
    assert count_accepted(survey, 14_000) == 0


@pytest.mark.parametrize("n_flips", [70, pytest.param(250, marks=pytest.mark.exhaustive)])
def test_verify_finds_every_flipped_bit(survey, n_flips):
    assert survey.verify().sound
    rng, files = np.random.default_rng(6), kept_files(survey)
    for i in range(n_flips):  # of each of the two surveys
        path = files[i % len(files)]
        content = path.read_bytes()
        path.write_bytes(flipped(content, rng))
        problems = survey.verify().problems
        path.write_bytes(content)
        assert any(path.name in problem and "computes it again" in problem for problem in problems), path
    assert survey.verify().sound


def damage_and_ask(survey, n_flips):
    """Each flip is told once, and what is given is as before; the file is then whole again."""
    expected, rng, files = everything(survey), np.random.default_rng(7), kept_files(survey)
    contents = {path: path.read_bytes() for path in files}
    for i in range(n_flips):
        path = files[i % len(files)]
        path.write_bytes(flipped(contents[path], rng))
        with pytest.warns(UserWarning, match=f"{path.name}: .*computing it again"):
            assert_same(everything(survey), expected)
        assert {path: path.read_bytes() for path in kept_files(survey)} == contents


def test_what_is_damaged_is_computed_anew_and_told(survey):
    damage_and_ask(survey, 7)


@pytest.mark.exhaustive
def test_what_is_damaged_is_computed_anew_1000_times(survey):
    damage_and_ask(survey, 500)


def rankings(survey):
    params = {"bagging_top_push": {"n_bags": 5, "bag_size": 20}}
    found = (
        rs.search(survey, ["s00003", "s00009"], method, params=params.get(method, {}), recipe=recipe())
        for method in METHODS
    )
    return [(list(ranking.table["id"]), ranking.scores.tolist()) for ranking in found]


def rank_with_damage(survey, n_flips):
    expected, rng, files = rankings(survey), np.random.default_rng(8), kept_files(survey)
    for i in range(n_flips):
        path = files[i % len(files)]
        path.write_bytes(flipped(path.read_bytes(), rng))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert rankings(survey) == expected, path


def test_rankings_are_the_same_after_a_flipped_bit(tmp_path):
    rank_with_damage(written(tmp_path / "a.survey"), 7)


@pytest.mark.exhaustive
def test_rankings_are_the_same_after_each_of_300_flipped_bits(tmp_path):
    rank_with_damage(written(tmp_path / "a.survey"), 300)


def test_a_missing_file_needs_no_word(own):
    expected = everything(own)
    for path in kept_files(own):
        if path.name != "model.npz":  # current.json says that it should be there
            path.unlink()
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                assert_same(everything(own), expected)


def test_a_file_is_read_once_in_a_search(own, monkeypatch):
    rankings(own)
    opened = []
    content_of = kept_arrays.content_of
    monkeypatch.setattr(kept_arrays, "content_of", lambda path: opened.append(path) or content_of(path))
    rs.search(own.path, ["s00003", "s00009"], "label_propagation", recipe=recipe())
    blocks_and_graphs = [path for path in opened if path.name not in ("current.json", "model.npz")]
    assert len(blocks_and_graphs) == len(set(blocks_and_graphs)) == 4


def test_numpy_can_open_what_is_kept(own):
    for path in kept_files(own):
        if path.suffix == ".npz":
            with np.load(path, allow_pickle=False) as arrays:
                assert_same(dict(arrays), load_arrays(path))


def test_files_of_an_earlier_version_have_no_digest_and_are_computed_anew(own):
    expected = everything(own)
    for path in kept_files(own):
        if path.suffix == ".npz" and path.name != "model.npz":
            arrays = load_arrays(path)
            np.savez(path, **arrays)
            with pytest.warns(UserWarning, match="earlier rarespec"):
                assert_same(everything(own), expected)


def forge(path, **changes):
    """A file as good as any of ours, with other arrays in it."""
    path.write_bytes(npz(load_arrays(path) | changes))


def first(survey, pattern):
    return next(path for path in survey.path.glob(pattern) if path.name != "current.json" or pattern.endswith("json"))


BLOCK, GRAPH, SIGNAL = "features/*/*/000000-*.npz", "graphs/*/*/*-k4.npz", "graphs/*/*/signal/*.npz"
FORGED = {
    "index beyond the rows": (GRAPH, "indices", lambda a: a + np.int32(1000)),
    "index below": (GRAPH, "indices", lambda a: a - np.int32(71)),
    "indices of another type": (GRAPH, "indices", lambda a: a.astype(np.int64)),
    "indices of another shape": (GRAPH, "indices", lambda a: a.T.copy()),
    "fewer neighbours than the name says": (GRAPH, "indices", lambda a: a[:, :2]),
    "distance not a number": (GRAPH, "distances", lambda a: a * np.float32(np.nan)),
    "negative distance": (GRAPH, "distances", lambda a: -a),
    "rows not rising": (GRAPH, "rows", lambda a: a[::-1].copy()),
    "rows of another survey": (GRAPH, "rows", lambda a: a[:10]),
    "recall above 1": (GRAPH, "recall", lambda a: a + 5),
    "fingerprint of another": (GRAPH, "fingerprint", lambda a: np.array("0" * 32)),
    "values not finite": (BLOCK, "values", lambda a: a * np.float32(np.inf)),
    "values in double": (BLOCK, "values", lambda a: a.astype(np.float64)),
    "fewer rows": (BLOCK, "values", lambda a: a[:3]),
    "fewer features": (BLOCK, "values", lambda a: a[:, :3]),
    "lost at a step there is not": (BLOCK, "lost_at", lambda a: a + np.int8(100)),
    "more bad pixels than pixels": (BLOCK, "n_bad", lambda a: a + np.int32(1000)),
    "whitening not finite": (SIGNAL, "whitening", lambda a: a * np.nan),
    "space of fewer axes": (SIGNAL, "whitening", lambda a: a[:2, :2]),
    "noise above 1": (SIGNAL, "noise", lambda a: a + 1),
    "graph of signal beyond the rows": (SIGNAL, "indices", lambda a: a + np.int32(1000)),
}


@pytest.mark.parametrize("forged", FORGED)
def test_a_well_formed_file_with_wrong_contents_is_computed_anew(own, forged):
    expected, (pattern, name, change) = everything(own), FORGED[forged]
    path = first(own, pattern)
    forge(path, **{name: change(load_arrays(path)[name])})
    with pytest.warns(UserWarning, match="unexpected contents"):
        assert_same(everything(own), expected)


FORGED_CELLS = {
    "starts beyond the rows": ("signal_cells_starts", lambda a: a + 10_000),
    "starts that fall": ("signal_cells_starts", lambda a: np.concatenate([a[:1], a[-2:0:-1], a[-1:]])),
    "rows there are not": ("signal_cells_by_cell", lambda a: a + np.int32(10_000)),
    "a row twice": ("signal_cells_by_cell", lambda a: a * np.int32(0)),
    "no cells": ("signal_cells_centroids", lambda a: a[:0]),
    "centroids of fewer features": ("signal_cells_centroids", lambda a: a[:, :1]),
    "too many probes": ("signal_cells_n_probes", lambda a: a + 10_000),
    "scale of nothing": ("signal_cells_scale", lambda a: a * 0),
}


@pytest.mark.parametrize("forged", FORGED_CELLS)
def test_cells_with_wrong_contents_are_computed_anew(tmp_path, monkeypatch, forged):
    keep_cells(monkeypatch)
    survey = written(tmp_path / "a.survey")
    expected, (name, change) = everything(survey), FORGED_CELLS[forged]
    path = first(survey, SIGNAL)
    forge(path, **{name: change(load_arrays(path)[name])})
    with pytest.warns(UserWarning, match="unexpected contents"):
        assert_same(everything(survey), expected)


def test_what_a_gpu_keeps_of_many_spectra_belongs_to_the_survey(tmp_path, monkeypatch):
    keep_cells(monkeypatch)
    survey = written(tmp_path / "a.survey")
    everything(survey)
    path = first(survey, SIGNAL)
    path.rename(path.with_name(path.name.replace("grouped", "space")))
    assert "space" in first(survey, SIGNAL).name and survey.verify().sound


FORGED_STATES = {
    "components not finite": {"2.components": np.full((5, 300), np.nan)},
    "components of fewer pixels": {"2.components": np.ones((5, 100))},
    "components without a shape": {"2.components": np.ones(())},
    "a mean of text": {"2.mean": np.array(["a"] * 300)},
    "as many pixels as memory": {"n_features_in": np.array(2**40)},
    "several numbers of pixels": {"n_features_in": np.array([300, 300])},
    "learned from nothing": {"n_fitted": np.array(0)},
}


@pytest.mark.parametrize("forged", FORGED_STATES)
def test_a_model_with_wrong_contents_is_learned_anew(own, forged):
    expected, home = everything(own), first(own, "features/*")
    state = load_arrays(first(own, "features/*/*/model.npz")) | FORGED_STATES[forged]
    content = npz(state)
    folder = home / name_of_model(content)
    folder.mkdir()
    (folder / "model.npz").write_bytes(content)
    (home / "current.json").write_bytes(current_content(folder.name, "forged", 70))
    with pytest.warns(UserWarning, match="unexpected contents"):
        assert_same(everything(own), expected)


STRANGE_NAMES = ["../../..", "/etc", ".", "a/b", None, ["x"], "../" + "0" * 17]


@pytest.mark.parametrize(
    "name", ["..", "", 7, *(pytest.param(name, marks=pytest.mark.exhaustive) for name in STRANGE_NAMES)]
)
def test_the_model_in_use_is_a_plain_name(own, name):
    expected, home = everything(own), first(own, "features/*")
    (home / "current.json").write_bytes(current_content(name, "forged", 70))
    with pytest.warns(UserWarning, match="cannot be a model of this survey"):
        assert_same(everything(own), expected)


def test_the_model_of_another_directory_is_not_taken(own):
    expected, path = everything(own), first(own, "features/*/*/model.npz")
    forge(path, n_fitted=np.array(12))
    with pytest.warns(UserWarning, match="from another directory"):
        assert_same(everything(own), expected)


@pytest.mark.parametrize("place", ["features", "features/*", "features/*/*", "graphs", "graphs/*", "graphs/*/*/signal"])
def test_nothing_is_kept_or_swept_away_behind_a_link(own, place, tmp_path):
    """A survey from a stranger may have links in it: what is behind them is neither read, written nor removed."""
    inside = first(own, place)
    outside = tmp_path / "outside"
    shutil.move(inside, outside)
    (outside / "precious").mkdir()
    (outside / "precious" / "data.npz").write_bytes(b"mine")
    (outside / "mine.npz").write_bytes(b"mine")
    before = sorted(path for path in outside.rglob("*"))
    inside.symlink_to(outside, target_is_directory=True)
    with pytest.raises(SurveyError, match="symbolic link"):
        everything(own)
    assert sorted(path for path in outside.rglob("*")) == before
    assert any("symbolic link" in problem for problem in own.verify().problems)


@pytest.mark.parametrize("pattern", [BLOCK, GRAPH, SIGNAL, "features/*/current.json", "features/*/*/model.npz"])
def test_a_file_that_is_a_link_or_a_pipe_is_not_read(own, pattern, tmp_path):
    expected, path = everything(own), first(own, pattern)
    elsewhere = tmp_path / "elsewhere"
    shutil.move(path, elsewhere)
    content = elsewhere.read_bytes()
    for make in (lambda: path.symlink_to(elsewhere), lambda: os.mkfifo(path)):
        path.unlink(missing_ok=True)
        make()
        assert any(path.name in problem and "not a regular file" in problem for problem in own.verify().problems)
        with pytest.warns(UserWarning, match="not a regular file"):
            assert_same(everything(own), expected)
        assert elsewhere.read_bytes() == content and path.is_file() and not path.is_symlink()


def test_packed_arrays_are_refused(tmp_path):
    """They could inflate to far more than the file."""
    path = tmp_path / "bomb.npz"
    np.savez_compressed(path, values=np.zeros(10**6))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(np, "savez", np.savez_compressed)
        content = npz({"values": np.zeros(10**6)})
    path.write_bytes(content)
    with pytest.raises(ValueError, match="compressed"):
        load_arrays(path)


def test_verify_names_what_does_not_belong(own):
    for name in ("features/notes.txt", "graphs/x/y/z.npz", "features/0123456789abcdef/other/model.npz"):
        stray = own.path / name
        stray.parent.mkdir(parents=True, exist_ok=True)
        stray.write_bytes(b"?")
        assert [problem for problem in own.verify().problems if "does not belong" in problem and stray.name in problem]
        stray.unlink()
    half_written = first(own, GRAPH)
    half_written.with_name(f"{half_written.name}.{'0' * 32}.tmp").write_bytes(b"half")
    assert own.verify().sound  # somebody may be writing it


def test_verify_still_checks_the_spectra_when_something_kept_is_damaged(own):
    path = first(own, BLOCK)
    path.write_bytes(path.read_bytes()[:-1])
    (problem,) = own.verify().problems
    assert path.name in problem
    flux = own.path / "flux/c/0/0"
    flux.write_bytes(flipped(flux.read_bytes(), np.random.default_rng(0)))
    assert len(own.verify().problems) == 2


def test_a_model_says_in_words_what_it_is(own):
    said = json.loads(first(own, "features/*/current.json").read_text())
    assert "PaperFeatures" in said["recipe"] and said["n_fitted"] == 70


def test_contents_are_the_same_whenever_they_are_written():
    """Models are named after their content: learned twice, they must have the same name."""
    fitted = recipe().set_params(grid=SMALL_GRID).fit(make_spectra(20, SMALL_GRID).flux)
    assert model_content(fitted, 20) == model_content(fitted, 20)
