"""Filtered spectra in a temporary file: the same features with and without it, and nothing of it stays."""

import os
import resource
import tempfile
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

from conftest import SMALL_GRID, make_spectra
from rarespec.features import Bridge, MedianFilter, MinMax, PaperFeatures, Recipe, SideBySide, StreamingPCA, UnitNorm
from rarespec.features.paper import for_grid
from rarespec.survey import Survey
from rarespec.survey.features import prepared as scratch_module
from rarespec.survey.features.computing import features_of
from rarespec.survey.features.prepared import OF_THIS_PROCESS, PreparedBlocks, Scratch
from rarespec.survey.store.writer import SurveyWriter

BLOCK_BYTES = 40 * 300 * 4


def recipe():
    return PaperFeatures(n_components=5, width_angstrom=30)


def survey_in(path):
    spectra = make_spectra(100, SMALL_GRID)
    spectra.bad[7, 20:] = True
    spectra.bad[50:55, 0] = True
    spectra.flux[9] = 3.0
    with SurveyWriter(path, SMALL_GRID, block_rows=40) as writer:
        writer.add(spectra)
        writer.commit()
    return Survey.open(path)


@pytest.fixture
def survey(tmp_path):
    return survey_in(tmp_path / "a.survey")


@pytest.fixture
def files(monkeypatch):
    """The temporary files that have been opened."""
    opened, make = [], tempfile.TemporaryFile

    def remember(**options):
        opened.append(make(**options))
        return opened[-1]

    monkeypatch.setattr(tempfile, "TemporaryFile", remember)
    return opened


def outcome(features):
    """All that a search sees of features, to the last bit, and the name of the model, which is that of its contents."""
    said = [(defect.id, defect.detail) for defect in features.defects]
    return features.folder.name, features.values.tobytes(), features.n_bad.tobytes(), said


def without_scratch(path, recipe):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scratch_module, "MOST_SCRATCH_BYTES", 0)
        return outcome(features_of(survey_in(path), recipe))


RECIPES = [
    (recipe(), 1),
    (Recipe([Bridge(), UnitNorm(), StreamingPCA(3), UnitNorm()]), 1),
    (Recipe([MedianFilter(), StreamingPCA(6), UnitNorm(), StreamingPCA(3)]), 1),
    (Recipe([MedianFilter(), SideBySide([StreamingPCA(3), Recipe([MinMax(), StreamingPCA(2)])])]), 1),
    (Recipe([SideBySide([recipe(), StreamingPCA(2)])]), 0),
    (Recipe([StreamingPCA(2, solver="randomised")]), 0),
    (Recipe([Bridge(), MinMax()]), 0),
]


@pytest.mark.parametrize(("recipe", "n_files"), RECIPES)
def test_features_are_the_same_with_and_without(survey, tmp_path, files, recipe, n_files):
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        found = outcome(features_of(survey, recipe))
    assert len(files) == n_files and all(file.closed for file in files)
    assert found == without_scratch(tmp_path / "b.survey", recipe)
    assert len(files) == n_files


def test_a_row_is_lost_where_it_is_empty_not_where_it_begins_with_a_bad_pixel(survey):
    lost = {defect.id: defect.detail for defect in features_of(survey, Recipe([UnitNorm(), StreamingPCA(2)])).defects}
    assert lost["s00050"].startswith("StreamingPCA")
    rows = np.full((2, 300), np.nan)
    assert Recipe([UnitNorm(), StreamingPCA(2)]).fit(make_spectra(9, SMALL_GRID).flux).prepare(rows)[1].tolist() == [
        1,
        1,
    ]


def test_every_spectrum_is_filtered_once(survey, monkeypatch):
    filtered, transform = [], MedianFilter.transform

    def count(step, X):
        filtered.append(len(X))
        return transform(step, X)

    monkeypatch.setattr(MedianFilter, "transform", count)
    features_of(survey, recipe())
    assert sorted(n for n in filtered if n > 1) == [20, 40, 40]


@pytest.mark.parametrize("here", [True, False])
def test_blocks_are_no_longer_kept_after_an_error(survey, here, monkeypatch):
    """In this process they are in a temporary file, in others in their memory."""
    prepared, made = [], MedianFilter.transform
    monkeypatch.setattr(MedianFilter, "transform", lambda step, X: prepared.append(len(X)) or made(step, X))
    blocks = PreparedBlocks(survey, for_grid(recipe(), survey.grid).fit(survey.block_of("flux", 2)))
    with pytest.raises(RuntimeError), blocks.keep(SimpleNamespace(in_this_process=here)):
        blocks[1], blocks[1]
        assert prepared.count(40) == 1
        raise RuntimeError
    assert not blocks._in_memory and blocks._known == {} and OF_THIS_PROCESS.get(blocks._place(1)) is None
    blocks[1], blocks[1]
    assert prepared.count(40) == 3


def test_a_grown_survey_needs_it_only_to_learn_anew(survey, files):
    features_of(survey, recipe())
    survey.append(make_spectra(50, SMALL_GRID, seed=9, prefix="t"))
    features_of(survey, recipe())
    assert len(files) == 1
    features_of(survey, recipe(), refit=True)
    assert len(files) == 2


def test_not_used_above_the_limit(survey, files, monkeypatch):
    monkeypatch.setattr(scratch_module, "MOST_SCRATCH_BYTES", 100 * 300 * 4 - 1)
    features_of(survey, recipe())
    assert files == []
    monkeypatch.setattr(scratch_module, "MOST_SCRATCH_BYTES", 100 * 300 * 4)
    features_of(survey, recipe(), refit=True)
    assert len(files) == 1


def refuse(**_):
    raise PermissionError(13, "Permission denied")


def test_features_where_no_file_can_be_made(survey, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)
    with pytest.warns(UserWarning, match="Permission denied"):
        found = outcome(features_of(survey, recipe()))
    assert found == without_scratch(tmp_path / "b.survey", recipe())


def test_features_where_the_disk_has_too_little_room(survey, tmp_path, files, monkeypatch):
    monkeypatch.setattr(scratch_module.shutil, "disk_usage", lambda _: SimpleNamespace(free=200_000))
    with pytest.warns(UserWarning, match="GB are free"):
        found = outcome(features_of(survey, recipe()))
    assert files == [] and found == without_scratch(tmp_path / "b.survey", recipe())


@pytest.fixture
def largest_file():
    """Sets the operating system's limit, which stands in for a full disk: it takes a part of a write, then refuses."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    yield lambda n_bytes: resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_features_where_the_disk_fills_up(survey, tmp_path, files, largest_file):
    largest_file(100 * 300 * 4 - 4096)
    with pytest.warns(UserWarning, match="too large"):
        found = outcome(features_of(survey, recipe()))
    assert len(files) == 1 and files[0].closed
    assert found == without_scratch(tmp_path / "b.survey", recipe())


@pytest.mark.parametrize("harm", ["cut", "zeros"])
def test_what_comes_back_wrong_is_made_anew(survey, tmp_path, files, monkeypatch, harm):
    keep, n_blocks = Scratch.keep, survey.n_blocks

    def keep_and_harm(scratch, number, array):
        keep(scratch, number, array)
        if len(scratch._places) == n_blocks:  # all are written, and none has been read back yet
            os.truncate(files[0].fileno(), 2 * BLOCK_BYTES)
            if harm == "zeros":
                os.truncate(files[0].fileno(), 100 * 300 * 4)

    monkeypatch.setattr(Scratch, "keep", keep_and_harm)
    with pytest.warns(UserWarning, match="read back"):
        found = outcome(features_of(survey, recipe()))
    assert found == without_scratch(tmp_path / "b.survey", recipe())


def names_in(folder):
    return sorted(path.relative_to(folder) for path in folder.rglob("*"))


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_nothing_is_left_behind(survey, files, monkeypatch, error):
    before, seen = names_in(survey.path), []

    def stop(*_):
        seen.extend(names_in(survey.path))
        raise error

    monkeypatch.setattr("rarespec.features.pca.solvers._measure_subspace", stop)
    with pytest.raises(error):
        features_of(survey, PaperFeatures(n_components=5, width_angstrom=30, solver="randomised"))
    assert len(files) == 1 and files[0].closed
    assert seen == before == names_in(survey.path)


def test_only_features_are_added_to_a_survey(survey):
    before = names_in(survey.path)
    features_of(survey, recipe())
    assert survey.verify().sound
    assert all(path.parts[0] == "features" for path in set(names_in(survey.path)) - set(before))


def test_arrays_come_back_in_memory_of_their_own(tmp_path):
    arrays = [np.arange(12, dtype="f4").reshape(3, 4), np.ones((2, 5)), np.zeros((4, 3), "f4").T]
    with Scratch(tmp_path).open_for(1000) as scratch:
        for number, array in enumerate(arrays):
            scratch.keep(number, array)
        for _ in range(2):
            back = [scratch.get(number) for number in range(3)]
            assert all(np.array_equal(a, b) and a.dtype == b.dtype for a, b in zip(back, arrays, strict=True))
            back[0][:] = -1
        assert scratch.get(3) is None
    assert not scratch.is_open and scratch.get(0) is None
    scratch.keep(0, arrays[0])
    assert scratch.get(0) is None and list(tmp_path.iterdir()) == []
