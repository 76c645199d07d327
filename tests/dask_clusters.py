"""Real clusters of several processes on this machine, over TCP, for the tests."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
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


def kill_a_worker(cluster: Any) -> None:
    """Kill one that is up: one that dies while it starts is not started again by its nanny."""
    while True:
        for nanny in cluster.workers.values():
            process = nanny.process
            if process is not None and process.status.name == nanny.status.name == "running" and process.is_alive():
                os.kill(process.pid, signal.SIGKILL)
                return
        time.sleep(0.02)


class Disturbed:
    """An engine that something happens to in the middle of its work.

    Parameters
    ----------
    engine : Engine
        Does the work.
    disturb : callable
        What happens; what a worker that it kills has in hand is lost.
    after : tuple of int
        In each pass over the items, how many results have come when it happens.
    stage : str, optional
        Only in this stage; by default in every one.
    once : bool
        Only in the first pass of each stage.
    """

    in_this_process = False

    def __init__(
        self,
        engine: Any,
        disturb: Callable[[], None],
        after: tuple[int, ...] = (2,),
        stage: str | None = None,
        once: bool = False,
    ) -> None:
        self.engine, self.disturb = engine, disturb
        self.after, self.stage, self.once = after, stage, once
        self.stages: list[str] = []
        """The stage of each pass so far."""
        self.disturbed: list[str] = []
        """The stage each time that it happened."""

    def require(self, path: Any) -> None:
        self.engine.require(path)

    def map(self, function: Any, shared: Any, items: Any) -> Iterator[Any]:
        stage = STAGES[function.__name__]
        is_first = stage not in self.stages
        self.stages.append(stage)
        meant = stage == (self.stage or stage) and (is_first or not self.once)
        for n, result in enumerate(self.engine.map(function, shared, items), start=1):
            if meant and n in self.after:
                self.disturb()
                self.disturbed.append(stage)
            yield result


STAGES = {
    "read_group": "ingest",
    "_look_at_block": "learning",
    "_compute_block": "features",
    "_scores_of_block": "scores",
}
"""What the functions that engines run are for; a new one has to be named here, and then its stage is disturbed too."""
