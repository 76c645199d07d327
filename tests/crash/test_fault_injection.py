"""Promise: whatever file-system call of a change fails, or is the last before a crash, the old or new state is there.

And the same command, run again without a look in between, ends where an undisturbed one does.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def results_of(script, *arguments):
    path = os.pathsep.join([str(HERE.parent), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, str(HERE / script), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": path})
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


SAMPLES = {"append": 1}
"""Of ingest, `test_interrupted_ingest.py` tries a crash and `test_disk_full.py` an error by default."""


@pytest.mark.parametrize(("change", "sample"), SAMPLES.items())
def test_a_fault_at_some_calls_harms_nothing(change, sample):
    results = results_of("fault_injection.py", change, sample)
    assert results["violations"] == [] and results["trials"] == 3 * sample


@pytest.mark.exhaustive
@pytest.mark.parametrize("change", [*SAMPLES, "ingest", "create", "recover", "grow", "features", "simulate", "search"])
def test_a_fault_at_every_call_harms_nothing(change):
    results = results_of("fault_injection.py", change, 0)
    assert results["violations"] == [] and results["trials"] == 3 * results["calls"] > 100


def test_the_same_faults_are_seen_to_harm_a_survey_without_its_journal():
    """The positive control: this harness can fail."""
    results = results_of("fault_injection.py", "append", 2, "--without-journal")
    assert len(results["violations"]) > 1


ORDERS = {"look": 2}


@pytest.mark.parametrize(("order", "sample"), ORDERS.items())
def test_two_processes_at_one_survey(order, sample):
    """One stands still before some of its calls, and there the other runs to its end."""
    results = results_of("two_processes.py", order, sample)
    assert results["violations"] == [] and results["trials"] == sample


@pytest.mark.exhaustive
@pytest.mark.parametrize("order", [*ORDERS, "write", "grow", "search"])
def test_two_processes_at_one_survey_at_every_call(order):
    results = results_of("two_processes.py", order, 0)
    assert results["violations"] == [] and results["trials"] == results["calls"] > 40
