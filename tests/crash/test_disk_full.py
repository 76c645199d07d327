"""A disk that fills up: the command fails with a message, the survey stays what it was, and a second try goes on."""

import resource
import subprocess
import sys

import pytest

from conftest import small_survey_files
from rarespec.survey import Survey


def ingest(files, survey, largest_file=None):
    def limit():
        if largest_file:
            resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, largest_file))

    command = [sys.executable, "-m", "rarespec", "ingest", str(files), "--into", str(survey), "--jobs", "1"]
    return subprocess.run(command, preexec_fn=limit, capture_output=True, text=True)


@pytest.mark.parametrize("largest_file", [500, 20_000, 300_000])
def test_a_full_disk_stops_the_ingest_and_harms_nothing(tmp_path, largest_file):
    """The size limit of the operating system stands in for the disk: writes fail in the middle of a file."""
    first = small_survey_files(tmp_path / "first", 20)
    small_survey_files(tmp_path / "all", 60)
    survey = tmp_path / "a.survey"
    assert ingest(tmp_path / "first", survey).returncode == 0
    before = Survey.open(survey)

    stopped = ingest(tmp_path / "all", survey, largest_file)
    assert stopped.returncode == 3
    assert "run the same command again" in stopped.stderr and "Traceback" not in stopped.stderr

    after = Survey.open(survey)
    assert len(after) == len(first) and after.manifest == before.manifest and after.verify().sound
    assert ingest(tmp_path / "all", survey).returncode == 0
    assert len(Survey.open(survey)) == 60 and Survey.open(survey).verify().sound
