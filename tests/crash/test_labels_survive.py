"""Promise: kill -9 of a process that labels, and every label that it was told is stored is there."""

import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from rarespec.labels.log import LabelLog

SCRIPT = Path(__file__).parents[1] / "labels" / "labelling_process.py"


def start(path, person, file_system):
    command = [sys.executable, SCRIPT, path, person, "0", file_system]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def acknowledged_before_kill(process, n_seen):
    """Killed as soon as so many labels are acknowledged, wherever in the next one it is then."""
    process.stdout.readline()
    process.stdin.write("go\n")
    process.stdin.flush()
    seen = [process.stdout.readline().strip() for _ in range(n_seen)]
    process.send_signal(signal.SIGKILL)
    rest = process.stdout.read()  # communicate() would miss what readline has read ahead
    process.wait()
    whole = rest[: rest.rfind("\n") + 1].split()  # a line may have been cut short by the kill
    assert process.returncode == -signal.SIGKILL
    for pipe in (process.stdin, process.stdout):
        pipe.close()
    return seen + whole


def stored(path):
    """What a later process finds; the file is sound."""
    with LabelLog(path) as log:
        events = [event for _, event in log.events()]
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()
    return events


def kill_again_and_again(n_kills, path, file_system):
    rng = np.random.default_rng(n_kills)
    acknowledged = []
    for kill in range(n_kills):
        acknowledged += acknowledged_before_kill(start(path, f"p{kill}", file_system), int(rng.integers(0, 12)))
        ids = [event.event_id for event in stored(path)]
        lost = set(acknowledged) - set(ids)
        assert not lost, f"{len(lost)} of {len(acknowledged)} acknowledged labels are lost after kill {kill + 1}"
        assert len(ids) == len(set(ids))
        assert len(ids) <= len(acknowledged) + kill + 1, "each kill may leave one label stored that was not told"
    assert len(acknowledged) > 2 * n_kills


@pytest.mark.parametrize("file_system", ["ext4", "nfs4"])
def test_ten_kills_lose_nothing(tmp_path, file_system):
    kill_again_and_again(10, tmp_path / "a.sqlite", file_system)


@pytest.mark.exhaustive
@pytest.mark.parametrize(("n_kills", "file_system"), [(200, "ext4"), (50, "nfs4")])
def test_two_hundred_kills_lose_nothing(tmp_path, n_kills, file_system):
    kill_again_and_again(n_kills, tmp_path / "a.sqlite", file_system)
