"""A survey in another precision: the same spectra, ids, catalogue, defects and history, whatever interrupts it."""

import shutil
import signal
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import rarespec as rs
from conftest import SMALL_GRID, make_spectra
from rarespec.cli.app import app
from rarespec.errors import UsageError
from rarespec.spectrum import Spectra
from rarespec.survey import Precision, Survey
from rarespec.survey.store.commit import Commit
from rarespec.survey.store.writer import SurveyWriter

N, BLOCK = 130, 50


@pytest.fixture
def exact(tmp_path, monkeypatch):
    """Three blocks, grown in two steps, with columns of every type, gaps, and a defect."""
    monkeypatch.setattr(SurveyWriter.__init__, "__defaults__", (False, BLOCK, None))
    survey = Survey.create(tmp_path / "exact.survey", SMALL_GRID, precision="exact")
    columns = {"objid": [2**62 + i for i in range(70)], "note": [None, "größer"] * 35, "good": [True, False] * 35}
    spectra = make_spectra(70, SMALL_GRID, **columns)
    spectra.flux[5] = np.nan
    survey.append(spectra)
    survey.append(make_spectra(N - 69, SMALL_GRID, seed=1, prefix="t", later=[0.5] * (N - 69)))
    assert len(survey) == N and len(survey.defects) == 1
    return survey


def require_same(new, old):
    assert new.ids.tolist() == old.ids.tolist() and new.grid == old.grid and new.defects == old.defects
    assert new.catalogue_at(np.arange(len(old))) == old.catalogue_at(np.arange(len(old)))
    assert new.manifest.columns == old.manifest.columns and new.manifest.block_rows == old.manifest.block_rows
    assert new.manifest.provenance[:-1] == old.manifest.provenance
    last = new.manifest.provenance[-1]
    assert (last["action"], last["before"], last["after"]) == ("repack", str(old.precision), str(new.precision))
    assert np.array_equal(new[:].bad, old[:].bad) and new.verify().sound


def arrays_of(survey):
    paths = (path for name in survey.precision.arrays for path in sorted((survey.path / name).rglob("*")))
    return {str(path.relative_to(survey.path)): path.read_bytes() for path in paths if path.is_file()}


def test_there_and_back(exact, tmp_path):
    before = arrays_of(exact)
    packed = rs.repack(exact, tmp_path / "packed.survey")
    require_same(packed, exact)
    assert packed.precision == Precision() and arrays_of(Survey.open(exact.path)) == before
    assert 0.1 < np.abs(packed[:].flux - exact[:].flux).max() < 0.175 * 1.5
    np.testing.assert_allclose(packed[:].ivar, exact[:].ivar, rtol=0.045)
    again = rs.repack(str(packed.path), tmp_path / "again.survey", "exact")
    require_same(again, packed)
    assert np.array_equal(again[:].flux, packed[:].flux) and np.array_equal(again[:].ivar, packed[:].ivar)


def test_it_is_what_an_ingest_in_that_precision_gives(exact, tmp_path):
    packed = rs.repack(exact, tmp_path / "packed.survey", Precision(0.2))
    direct = Survey.create(tmp_path / "direct.survey", SMALL_GRID, precision="noise:0.2")
    direct.append(exact[:])
    assert arrays_of(packed) == arrays_of(direct)


def test_an_empty_survey_stays_one_that_waits_for_its_grid(tmp_path):
    empty = Survey.create(tmp_path / "empty.survey", precision="exact")
    packed = rs.repack(empty, tmp_path / "packed.survey")
    assert len(packed) == 0 and not packed.manifest.has_grid and packed.precision == Precision()
    packed.append(make_spectra(3, SMALL_GRID))
    assert packed.grid.n_pixels == SMALL_GRID.n_pixels


@pytest.mark.parametrize("commits", [0, 1, 2])
def test_interrupted_it_goes_on(exact, tmp_path, monkeypatch, commits):
    whole = rs.repack(exact, tmp_path / "whole.survey")
    publish, done = Commit.publish, []

    def stop(self, manifest):
        if len(done) == commits:
            raise KeyboardInterrupt
        done.append(manifest)
        publish(self, manifest)

    with monkeypatch.context() as patched:
        patched.setattr(Commit, "publish", stop)
        with pytest.raises(KeyboardInterrupt):
            rs.repack(exact, tmp_path / "new.survey")
    read = []
    new = rs.repack(exact, tmp_path / "new.survey", progress=lambda n, total: read.append((n, total)))
    assert read == [(50, N), (100, N), (N, N)][commits:]
    require_same(new, exact)
    assert arrays_of(new) == arrays_of(whole)


KILLED = """
import os, signal, sys
from rarespec.survey import Survey
from rarespec.survey.repack import repack
def kill(n, total):
    os.kill(os.getpid(), signal.SIGKILL)
repack(Survey.open(sys.argv[1]), sys.argv[2], progress=kill)
"""


def test_killed_it_goes_on(exact, tmp_path):
    killed = subprocess.run([sys.executable, "-c", KILLED, str(exact.path), str(tmp_path / "new.survey")])
    assert killed.returncode == -signal.SIGKILL and len(Survey.open(tmp_path / "new.survey")) == BLOCK
    new = rs.repack(exact, tmp_path / "new.survey")
    require_same(new, exact)
    assert arrays_of(new) == arrays_of(rs.repack(exact, tmp_path / "whole.survey"))


def test_done_twice_nothing_changes(exact, tmp_path):
    new = rs.repack(exact, tmp_path / "new.survey")
    assert rs.repack(exact, tmp_path / "new.survey").manifest == new.manifest


def test_the_same_precision_is_refused(exact, tmp_path):
    with pytest.raises(UsageError, match=r"exact\.survey: has the precision exact already"):
        rs.repack(exact, tmp_path / "new.survey", "exact")
    assert not (tmp_path / "new.survey").exists()


def another_survey(path, precision="noise"):
    survey = Survey.create(path, SMALL_GRID, precision=precision)
    survey.append(make_spectra(3, SMALL_GRID))
    return survey


@pytest.mark.parametrize("precision", ["noise", "exact"])
def test_another_survey_in_its_place_is_refused(exact, tmp_path, precision):
    other = another_survey(tmp_path / "other.survey", precision)
    before = shutil.copytree(other.path, tmp_path / "before")
    with pytest.raises(UsageError, match=r"other\.survey: already holds another survey; choose another directory"):
        rs.repack(exact, other.path)
    assert Survey.open(other.path).manifest == Survey.open(before).manifest


def test_a_survey_that_has_grown_since_is_another_one(exact, tmp_path):
    rs.repack(exact, tmp_path / "new.survey")
    exact.append(make_spectra(2, SMALL_GRID, prefix="u"))
    with pytest.raises(UsageError, match="already holds another survey"):
        rs.repack(exact, tmp_path / "new.survey")


def test_the_survey_itself_and_other_directories_are_refused(exact, tmp_path):
    with pytest.raises(UsageError, match="already holds another survey; choose another directory"):
        rs.repack(exact, exact.path)
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "a.jpg").write_text("x")
    with pytest.raises(UsageError, match="not a survey"):
        rs.repack(exact, tmp_path / "photos")


def test_the_command_tells_what_it_gained(exact, tmp_path):
    done = CliRunner().invoke(app, ["repack", str(exact.path), "--into", str(tmp_path / "new.survey")])
    assert done.exit_code == 0 and f"{N} spectra, precision noise; " in done.output and "before" in done.output
    again = CliRunner().invoke(
        app, ["repack", str(exact.path), "--into", str(tmp_path / "x.survey"), "--precision", "half"]
    )
    assert again.exit_code == 2 and "give noise, noise:STEP" in again.output and not (tmp_path / "x.survey").exists()
    same = CliRunner().invoke(
        app, ["repack", str(exact.path), "--into", str(tmp_path / "x.survey"), "--precision", "exact"]
    )
    assert same.exit_code == 2 and "already" in same.output
    missing = CliRunner().invoke(app, ["repack", str(tmp_path / "no.survey"), "--into", str(tmp_path / "x.survey")])
    assert missing.exit_code == 2 and "not a survey" in missing.output


def test_a_damaged_block_is_told_and_not_repacked(exact, tmp_path):
    chunk = exact.path / "flux/c/1/0"
    chunk.write_bytes(chunk.read_bytes()[:-100])
    with pytest.raises(rs.SurveyError, match="flux/c/1/0"):
        rs.repack(exact, tmp_path / "new.survey")
    assert len(Survey.open(tmp_path / "new.survey")) == BLOCK


def test_searches_of_both_agree(tmp_path):
    sky = rs.MockSky(300, {"carbon": 30}, seed=2)
    exact = Survey.create(tmp_path / "a.survey", precision="exact")
    exact.append(stack for stack in sky) if not isinstance(sky, Spectra) else exact.append(sky)
    packed = rs.repack(exact, tmp_path / "b.survey")
    known = exact.ids[exact.catalogue["class"] == exact.catalogue["class"][-1]][:3].tolist()
    first = [set(rs.search(survey, known, "matched_filter").table["id"][:50]) for survey in (exact, packed)]
    assert len(first[0] & first[1]) >= 45
