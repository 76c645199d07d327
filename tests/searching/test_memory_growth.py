"""Promise: memory does not grow with the survey, from ten thousand to a hundred thousand spectra."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from rarespec.mock.simulate import SkyChoice, simulate_survey

MOST_GROWTH = 1.2
"""1.13 to 1.15 is seen; the peak of one process differs from that of the next by some per cent."""
SEARCH = """
import sys
import rarespec

survey = rarespec.Survey.open(sys.argv[1])
known = survey.ids[survey.catalogue["class"] == "CARBON"][:10].tolist()
rarespec.search(survey, known, top=1000)
"""


def peak(survey: Path) -> int:
    """Kilobytes that a process of its own takes for a search."""
    process = subprocess.Popen([sys.executable, "-c", SEARCH, str(survey)])
    _, status, used = os.wait4(process.pid, 0)
    assert status == 0
    return used.ru_maxrss


@pytest.mark.exhaustive
def test_a_search_of_ten_times_as_many_spectra_takes_hardly_more_memory(tmp_path):
    peaks = {}
    for n in (10_000, 100_000):
        path = tmp_path / f"{n}.survey"
        simulate_survey(SkyChoice(n, (("carbon", n // 220),), seed=1), path)
        peaks[n] = [peak(path), peak(path)]  # a first search, and one that finds features and graph
        shutil.rmtree(path)
    assert peaks[100_000][0] <= MOST_GROWTH * peaks[10_000][0]
    assert peaks[100_000][1] <= MOST_GROWTH * peaks[10_000][1]
