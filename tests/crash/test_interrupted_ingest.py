"""Promise: kill -9 during an ingest, run it again, and the survey is the same as without."""

import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest

from conftest import every, small_survey_files
from crash.interrupted_ingest import SMALL_BLOCK
from rarespec.errors import UsageError
from rarespec.mock.damage import damage
from rarespec.survey import Survey
from rarespec.survey.ingest.reading import IngestOptions
from rarespec.survey.ingest.run import run_ingest
from rarespec.survey.store.commit import JOURNAL, STAGING
from rarespec.survey.store.writer import SurveyWriter

SCRIPT = Path(__file__).with_name("interrupted_ingest.py")
N_FILES = 150


def start(survey, files, jobs=1, crash_at=0):
    command = [sys.executable, SCRIPT, survey, str(jobs), str(crash_at), files]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def crashed_at(step, survey, files):
    process = start(survey, files, crash_at=step)
    process.communicate()
    return process.returncode


def finish(survey, files):
    """As the script does, in this process: another than the one that died."""
    with patch.object(SurveyWriter.__init__, "__defaults__", (False, SMALL_BLOCK, None)):
        run_ingest([str(files)], survey, IngestOptions(), jobs=1)


def contents(path):
    survey = Survey.open(path)
    everything = survey.select(list(survey.ids))
    return (
        everything.ids,
        everything.flux,
        everything.ivar,
        everything.bad,
        everything.catalogue,
        sorted((d.source, d.reason) for d in survey.defects),
    )


def assert_same(one, other):
    assert one[0] == other[0]
    assert all(np.array_equal(a, b) for a, b in zip(one[1:4], other[1:4], strict=True))
    assert one[4:] == other[4:]


def assert_sound_beginning(path, reference):
    """After a crash there is either no survey yet or a sound one that holds the first spectra."""
    try:
        survey = Survey.open(path)
    except UsageError:
        return
    assert survey.verify().sound, survey.verify().problems
    assert list(survey.ids) == reference[0][: len(survey)]
    assert not (Path(path) / STAGING).exists() and not (Path(path) / JOURNAL).exists()


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    paths = small_survey_files(folder, N_FILES)
    for path in paths[7::40]:
        damage(path, "truncated-data", path.with_suffix(".cut.fits"), np.random.default_rng(0))
    return folder


@pytest.fixture(scope="module")
def reference(files, tmp_path_factory):
    path = tmp_path_factory.mktemp("reference") / "a.survey"
    finish(path, files)
    return contents(path)


def crash_and_resume(step, files, reference, tmp_path):
    """As a user does, the same command is run again at once; what one finds who looks first is tried on a copy."""
    path = tmp_path / "a.survey"
    code = crashed_at(step, path, files)
    assert code in (0, 9)
    looked_at = Path(shutil.copytree(path, tmp_path / "looked_at")) if path.exists() else path
    assert_sound_beginning(looked_at, reference)
    shutil.rmtree(looked_at, ignore_errors=True)
    finish(path, files)
    assert_same(contents(path), reference)
    return code == 9


@pytest.mark.parametrize("step", every(2, [41, 13]))
def test_a_crash_at_a_step_on_disk_changes_nothing(step, files, reference, tmp_path):
    assert crash_and_resume(step, files, reference, tmp_path)


@pytest.mark.exhaustive
def test_a_crash_at_every_step_on_disk_changes_nothing(files, reference, tmp_path):
    step = 1
    while crash_and_resume(step, files, reference, tmp_path):
        shutil.rmtree(tmp_path / "a.survey")
        step += 1
    assert step > 60


def kill_again_and_again(n_kills, files, reference, tmp_path):
    rng = np.random.default_rng(n_kills)
    path = tmp_path / "a.survey"
    killed = 0
    while killed < n_kills:
        process = start(path, files, jobs=1 + killed % 2)
        process.stdout.readline()
        time.sleep(rng.uniform(0, 0.9))
        process.send_signal(signal.SIGKILL)
        finished = "done" in process.communicate()[0]
        killed += not finished
        if rng.random() < 0.5:  # otherwise the next run is the first to see what was left
            assert_sound_beginning(path, reference)
        if finished:
            assert_same(contents(path), reference)
            shutil.rmtree(path)
    finish(path, files)
    assert_same(contents(path), reference)


def test_two_kills_change_nothing(files, reference, tmp_path):
    kill_again_and_again(2, files, reference, tmp_path)


@pytest.mark.exhaustive
def test_thirty_kills_change_nothing(files, reference, tmp_path):
    kill_again_and_again(30, files, reference, tmp_path)
