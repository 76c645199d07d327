"""Promise: many people label at once, no label is lost and none is doubled."""

import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rarespec.labels.event import Label, LabelEvent, new_event_id
from rarespec.labels.log import LabelLog

SCRIPT = Path(__file__).with_name("labelling_process.py")


def writer(path, person, n, file_system):
    command = [sys.executable, SCRIPT, path, person, str(n), file_system]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    process.stdout.readline()
    return process


def processes_label_at_once(n_processes, n_labels, path, file_system):
    """All of them create the log at the same moment, too."""
    processes = [writer(path, f"p{i}", n_labels, file_system) for i in range(n_processes)]
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    told = [process.communicate()[0].split() for process in processes]
    assert [process.returncode for process in processes] == [0] * n_processes
    assert [len(ids) for ids in told] == [n_labels] * n_processes
    with LabelLog(path, read_only=True) as log:
        events = log.events()
    assert sorted(event.event_id for _, event in events) == sorted(id for ids in told for id in ids)
    assert [number for number, _ in events] == list(range(1, n_processes * n_labels + 1))
    for i, ids in enumerate(told):
        assert [event.event_id for _, event in events if event.person == f"p{i}"] == ids


def threads_label_at_once(n_threads, n_labels, path):
    def label(person):
        ids = []
        for i in range(n_labels):
            event = LabelEvent(new_event_id(), f"s{i}", Label.YES, person=person)
            ids += [log.append(event).event_id, log.append(event).event_id][:1]
        return ids

    with LabelLog(path) as log, ThreadPoolExecutor(n_threads) as pool:
        told = list(pool.map(label, [f"p{i}" for i in range(n_threads)]))
        events = [event for _, event in log.events()]
    assert sorted(event.event_id for event in events) == sorted(id for ids in told for id in ids)
    assert Counter(event.person for event in events) == {f"p{i}": n_labels for i in range(n_threads)}


@pytest.mark.parametrize("file_system", ["ext4", "nfs4"])
def test_processes(tmp_path, file_system):
    processes_label_at_once(4, 25, tmp_path / "a.sqlite", file_system)


def test_threads(tmp_path):
    threads_label_at_once(8, 20, tmp_path / "a.sqlite")


@pytest.mark.exhaustive
@pytest.mark.parametrize("file_system", ["ext4", "nfs4"])
def test_sixteen_processes_with_250_labels_each(tmp_path, file_system):
    processes_label_at_once(16, 250, tmp_path / "a.sqlite", file_system)


@pytest.mark.exhaustive
def test_sixteen_threads_with_250_labels_each(tmp_path):
    threads_label_at_once(16, 250, tmp_path / "a.sqlite")
