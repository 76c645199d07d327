"""Promise: a disk that fills up, or a crash in the middle of a write, loses no label that was acknowledged.

SQLite writes by itself, so the limit of the operating system on the size of files stands in for the disk: at the limit
a write is cut short and the next one fails or, where asked for, the process dies in the middle of it.
"""

import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from rarespec.labels.log import LabelLog

SCRIPT = Path(__file__).parents[1] / "labels" / "labelling_process.py"
N_LABELS = 12
DEADLY = """
import runpy, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # which Python ignores otherwise
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def label_all(path, file_system, largest_file=None, dies=False):
    """The ids of all labels that were acknowledged, and how it ended."""

    def limit():
        if largest_file is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, largest_file))

    how = [sys.executable, "-c", DEADLY] if dies else [sys.executable]
    command = [*how, str(SCRIPT), str(path), "p", str(N_LABELS), file_system]
    done = subprocess.run(command, input="go\n", capture_output=True, text=True, preexec_fn=limit)
    lines = done.stdout[: done.stdout.rfind("\n") + 1].split()
    return lines[1:], done


def stored(path):
    with LabelLog(path) as log:
        return [event.event_id for _, event in log.events()]


def try_limits(tmp_path, file_system, dies, limits):
    n_stopped = n_kept = 0
    for limit in limits:
        path = tmp_path / str(limit) / "a.sqlite"
        path.parent.mkdir()
        seen, done = label_all(path, file_system, limit, dies)
        n_stopped += done.returncode != 0
        n_kept += len(seen)
        if dies:
            assert done.returncode in (0, -signal.SIGXFSZ), done.stderr
        elif done.returncode:
            assert "LabelLogError" in done.stderr, done.stderr
        ids = stored(path)
        assert set(seen) <= set(ids) and len(ids) == len(set(ids)) <= len(seen) + 1
        again, done = label_all(path, file_system)  # and it goes on
        assert done.returncode == 0 and stored(path) == [*ids, *again]
    assert 0 < n_stopped < len(limits) and n_kept > 0


@pytest.mark.parametrize("file_system", ["ext4", "nfs4"])
@pytest.mark.parametrize("dies", [False, True])
def test_labels_at_some_sizes_of_the_disk(tmp_path, file_system, dies):
    try_limits(tmp_path, file_system, dies, [0, 30_000, 60_000, 10**6])


@pytest.mark.exhaustive
@pytest.mark.parametrize("file_system", ["ext4", "nfs4"])
@pytest.mark.parametrize("dies", [False, True])
def test_labels_at_all_sizes_of_the_disk(tmp_path, file_system, dies):
    try_limits(tmp_path, file_system, dies, [*range(0, 160_000, 2000), 10**6])
