"""Real clusters of several processes on this machine, over TCP, for the tests."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest


@contextmanager
def cluster_here(allowed_failures: int = 3, **options: Any) -> Iterator[Any]:
    """Two workers of one thread each."""
    dask = pytest.importorskip("dask", reason="dask is not installed")
    distributed = pytest.importorskip("distributed", reason="dask's distributed is not installed")
    settings = {
        "distributed.scheduler.allowed-failures": allowed_failures,
        # by default a nanny is dismissed when, 15 s after its worker was lost, it has just lost the next one
        "distributed.deploy.lost-worker-timeout": "1 hour",
    }
    how = {"protocol": "tcp://", "n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"} | options
    with dask.config.set(settings), distributed.LocalCluster(processes=True, silence_logs=50, **how) as cluster:
        yield cluster


def process_of(cluster: Any, address: str) -> int | None:
    """Its id; None for a worker that is just being replaced."""
    found = [nanny.pid for nanny in cluster.workers.values() if nanny.worker_address == address]
    return found[0] if found else None


class KillsWorkers:
    """An engine that kills a worker each time that so many results have come; what was in its hands is lost."""

    in_this_process = False

    def __init__(self, engine: Any, cluster: Any, kill_after: list[int]) -> None:
        self.engine, self.cluster = engine, cluster
        self.kill_after, self.n_results, self.n_killed = kill_after, 0, 0

    def require(self, path: Any) -> None:
        self.engine.require(path)

    def map(self, *arguments: Any, **options: Any) -> Iterator[Any]:
        for result in self.engine.map(*arguments, **options):
            self.n_results += 1
            if self.n_results in self.kill_after:
                os.kill(self._process(), signal.SIGKILL)
                self.n_killed += 1
            yield result

    def _process(self) -> int:
        """Of a worker that is up: one that dies while it starts is not started again by its nanny."""
        while True:
            for nanny in self.cluster.workers.values():
                process = nanny.process
                if process is not None and process.status.name == nanny.status.name == "running" and process.is_alive():
                    return int(process.pid)
            time.sleep(0.02)
