"""A disk that fills up: the command fails with a message, the survey stays what it was, and a second try goes on."""

import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import rarespec as rs
from conftest import every, small_survey_files
from rarespec.survey import Survey


def stopped_ingest(files, survey, largest_file):
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, largest_file))

    command = [sys.executable, "-m", "rarespec", "ingest", str(files), "--into", str(survey), "--jobs", "1"]
    return subprocess.run(command, preexec_fn=limit, capture_output=True, text=True)


@pytest.fixture(scope="module")
def begun(tmp_path_factory):
    """A folder of 60 files, and a survey of 20 of them."""
    folder = tmp_path_factory.mktemp("begun")
    small_survey_files(folder / "first", 20)
    small_survey_files(folder / "all", 60)
    rs.ingest(folder / "first", into=folder / "a.survey", jobs=1)
    return folder


@pytest.mark.parametrize("largest_file", every(3, [100_000, 500, 20_000]))
def test_a_full_disk_stops_the_ingest_and_harms_nothing(begun, tmp_path, largest_file):
    """The size limit of the operating system stands in for the disk: writes fail in the middle of a file."""
    files, survey = begun / "all", Path(shutil.copytree(begun / "a.survey", tmp_path / "a.survey"))
    before = Survey.open(survey)

    stopped = stopped_ingest(files, survey, largest_file)
    assert stopped.returncode == 3
    assert "run the same command again" in stopped.stderr and "Traceback" not in stopped.stderr

    after = Survey.open(survey)
    assert len(after) == 20 and after.manifest == before.manifest and after.verify().sound
    again = rs.ingest(files, into=survey, jobs=1)
    assert len(again) == 60 and again.verify().sound
