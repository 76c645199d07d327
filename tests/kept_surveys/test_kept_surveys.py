"""Promise: what an earlier version has written, every later one opens, searches and grows; see make.py beside this."""

import hashlib
import importlib.util
import json
import shutil
import warnings
from pathlib import Path

import numpy as np
import pytest

import rarespec as rs
from rarespec.errors import SurveyError, UsageError
from rarespec.labels.event import Label, LabelEvent, new_event_id
from rarespec.labels.log import LabelLog
from rarespec.searching.search import search_with_model
from rarespec.survey import Survey
from rarespec.survey.features.computing import features_of
from rarespec.survey.features.neighbours import graph_of, signal_of
from rarespec.survey.store.manifest import VERSION

HERE = Path(__file__).parent
SPEC = importlib.util.spec_from_file_location("make_kept_surveys", HERE / "make.py")
make = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(make)

VERSIONS = sorted(path.name for path in HERE.iterdir() if path.is_dir() and not path.name.startswith(("_", ".")))


@pytest.fixture(params=VERSIONS)
def kept(request, tmp_path):
    """A copy: opening a label log may write."""
    return shutil.copytree(HERE / request.param, tmp_path / request.param)


def require_contents(survey, n):
    """The first n spectra of make.py, and what is said about them, to the bit."""
    expected = make.spectra(0, n)
    found = survey.at(np.arange(n))
    for name in ("flux", "ivar", "bad"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)
    for name, values in expected.catalogue.items():
        assert found.catalogue[name] == values, name
    assert survey.ids.tolist() == expected.ids and survey.grid == make.GRID


def sound(survey):
    result = survey.verify()
    return not result.problems or pytest.fail("; ".join(result.problems))


def test_something_is_kept():
    assert VERSIONS


def test_it_is_small():
    assert sum(path.stat().st_size for path in HERE.rglob("*") if path.is_file()) < 300_000 * len(VERSIONS)


@pytest.mark.parametrize("name", make.SURVEYS)
def test_a_survey_is_what_was_written(kept, name):
    survey, n = Survey.open(kept / name), make.SURVEYS[name]
    assert len(survey) == n and sound(survey)
    if n:
        require_contents(survey, n)
    assert survey.defects == make.DEFECTS


@pytest.mark.filterwarnings("ignore")
def test_a_packed_survey_is_read_to_the_bit_searched_and_grown(kept):
    survey, expected, written = Survey.open(kept / "packed"), np.load(kept / "packed.npz"), make.spectra(0, make.PACKED)
    assert str(survey.precision) == "noise" and sound(survey) and survey.defects == make.DEFECTS
    for _ in range(2):
        found = survey.at(np.arange(make.PACKED))
        assert np.array_equal(found.flux, expected["flux"]) and np.array_equal(found.ivar, expected["ivar"])
        assert np.array_equal(found.bad, written.bad) and found.catalogue["note"] == written.catalogue["note"]
        good = ~written.bad
        assert np.abs(found.flux - written.flux)[good].max() < 0.175  # of a noise of 0.5 to 1
        np.testing.assert_allclose(found.ivar, written.ivar, rtol=0.045)
        ranking = rs.search(survey, make.KNOWN, "label_propagation", recipe=make.recipe())
        assert set(ranking.table["id"]) == set(survey.ids) - set(make.KNOWN)
        survey.append(make.spectra(make.PACKED, make.PACKED + 5))
        assert sound(survey)


@pytest.mark.parametrize("name", [name for name, n in make.SURVEYS.items() if n])
@pytest.mark.filterwarnings("ignore")
def test_a_survey_is_searched_grown_and_searched_again(kept, name):
    """Interleaved: what this version adds stands beside what the earlier one has written, and both are right."""
    survey, n = Survey.open(kept / name), make.SURVEYS[name]
    for _ in range(2):
        ranking = rs.search(survey, make.KNOWN, "label_propagation", recipe=make.recipe())
        assert set(ranking.table["id"]) == set(survey.ids) - set(make.KNOWN) and np.isfinite(ranking.scores).all()
        survey.append(make.spectra(n, n + 5))
        n += 5
        require_contents(Survey.open(survey.path), n)
        assert sound(survey)


def test_what_is_added_can_be_read_by_the_version_that_wrote_the_survey(kept):
    """As long as the format has the same number: no new piece in the manifest or in the arrays' own description."""
    described = [kept / "plain" / name for name in ("manifest.json", "flux/zarr.json", "mask/zarr.json")]
    before = [_shape_of(json.loads(path.read_text())) for path in described]
    Survey.open(kept / "plain").append(make.spectra(20, 23))
    assert [_shape_of(json.loads(path.read_text())) for path in described] == before


def _shape_of(content):
    """Which names there are, at every depth, and of what kind their values; of a list, its first item."""
    if isinstance(content, dict):
        paths = any("/" in key for key in content)  # digests by file, of which there are more now
        names = [key for key in content if key not in ("columns", "provenance")]  # which depend on what was added
        return "files" if paths else {key: _shape_of(content[key]) for key in names}
    if isinstance(content, list):
        return [_shape_of(item) for item in content[:1]]
    return type(content).__name__


def test_an_empty_survey_grows(kept):
    survey = Survey.open(kept / "empty")
    survey.append(make.spectra(0, 9))
    require_contents(Survey.open(survey.path), 9)
    assert sound(survey)


def digests(folder):
    return {path: hashlib.sha256(path.read_bytes()).digest() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_kept_features_and_graphs_are_used_as_they_are(kept):
    """Without a warning, and no file is written; they are what would be computed anew."""
    survey = Survey.open(kept / "searched")
    before = digests(survey.path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        features = features_of(survey, make.recipe())
        graph = graph_of(features, 5)
    assert digests(survey.path) == before and features.n_fitted == len(survey)
    anew = features_of(Survey.open(shutil.copytree(kept / "searched", kept / "anew")), make.recipe(), refit=True)
    np.testing.assert_allclose(features.values, anew.values, atol=1e-4)
    assert graph.indices.shape == (24, 5)


def test_the_signal_that_an_earlier_auto_kept_is_found_anew_once(kept):
    """Auto follows one graph more than it did: its file takes the place of the earlier one; no other changes."""
    survey = Survey.open(kept / "searched")
    before = digests(survey.path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        features = features_of(survey, make.recipe())
        signal = signal_of(features, 5)
        after = digests(survey.path)
        signal_of(features, 5)
    assert digests(survey.path) == after and len(signal.graph) == len(signal.given) == 24
    assert {path.parent.name for path, _ in before.items() ^ after.items()} == {"signal"}
    assert len(after) == len(before) and sound(survey)


def test_labels_are_read_and_added_to(kept):
    with LabelLog(kept / "labels.sqlite") as log:
        found = [event for _, event in log.events()]
        assert [(e.event_id, e.label, e.undoes, e.person, e.comment) for e in found] == [
            (e.event_id, e.label, e.undoes, e.person, e.comment) for e in make.EVENTS
        ]
        assert found[2].spectrum == "k-0001" and found[1].rank == 2 and found[1].score == 0.5
        log.append(LabelEvent(new_event_id(), "k-0005", Label.UNSURE, person="bob"))
    with LabelLog(kept / "labels.sqlite", read_only=True) as log:
        assert len(log.events()) == 4


def test_a_model_of_an_auto_that_worked_otherwise_is_refused_with_what_to_do(kept):
    """The parts that it learned are gone: better no ranking than another one under the same name."""
    path, survey = kept / "carbon.safetensors", Survey.open(kept / "searched")
    with pytest.raises(UsageError, match=r"carbon.safetensors: Auto has different parameters .*: fit it again"):
        search_with_model(survey, path)


def with_manifest(survey, **changes):
    """As a later version might write it, with a digest that is right."""
    path = survey / "manifest.json"
    content = json.loads(path.read_text()) | changes
    content.pop("digest")
    text = json.dumps(content, indent=1, ensure_ascii=False)
    digest = hashlib.sha256(text.encode()).hexdigest()
    path.write_text(json.dumps(content | {"digest": digest}, indent=1, ensure_ascii=False))


def test_a_survey_of_a_later_format_is_refused_with_what_to_do(kept):
    with_manifest(kept / "plain", version=VERSION + 1)
    with pytest.raises(
        SurveyError, match=f"survey format {VERSION + 1}; this rarespec reads up to {VERSION}, use a newer one"
    ):
        Survey.open(kept / "plain")


def test_a_piece_that_only_a_later_version_knows_is_named(kept):
    with_manifest(kept / "plain", redshifts={"file": "redshifts.parquet"})
    with pytest.raises(SurveyError, match="redshifts"):
        Survey.open(kept / "plain")


def test_files_that_only_a_later_version_knows_are_named(kept):
    for name in ("redshifts/c/0/0", "features/0123456789abcdef/tree.npz", "graphs/later.bin"):
        path = kept / "searched" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"later")
        assert [problem for problem in Survey.open(kept / "searched").verify().problems if name in problem]
        path.unlink()
