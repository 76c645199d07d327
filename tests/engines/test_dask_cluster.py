"""A Dask cluster as an engine: what is shared travels once, stalled workers are named, wrong use is told clearly."""

import os
import signal
import warnings
from pathlib import Path

import pytest

import engine_functions as run
from dask_clusters import cluster_here, process_of
from rarespec.engines import dask_cluster, dask_workers
from rarespec.engines.dask_cluster import PER_THREAD, UNEVEN, DaskCluster, _Shares, connect_client
from rarespec.errors import EngineError, UsageError
from rarespec.survey.engine_for import engine_for


def test_what_is_shared_is_opened_once_in_each_process(engine, tmp_path):
    shared = run.CountsOpenings(tmp_path)
    assert list(engine.map(run.opened, shared, range(40))) == list(range(40))
    first = len(list(tmp_path.iterdir()))
    assert 1 <= first <= 2
    list(engine.map(run.opened, shared, range(40)))
    assert len(list(tmp_path.iterdir())) <= 2


def test_equal_items_go_where_they_went_before(engine):
    before = list(engine.map(run.process, None, range(12)))
    assert len(set(before)) == 2
    again = list(engine.map(run.process, "something else", range(12)))
    assert sum(a == b for a, b in zip(before, again, strict=True)) >= 11  # one that had nearly all may lose one


class ManyWorkers:
    """Eight of one thread each."""

    n_threads = 8

    def n_threads_of(self, address):
        return 1

    def is_ready(self, address):
        return address != "gone"


def test_workers_that_joined_later_get_their_share():
    shares = _Shares(ManyWorkers())
    homes = [shares.home_for(["first", "second"][i % 2]) for i in range(400)]
    fair = 400 / 8
    for busy in ("first", "second"):
        assert fair < homes.count(busy) <= UNEVEN * fair + PER_THREAD
    evenly = _Shares(ManyWorkers())
    assert [evenly.home_for(f"worker {i % 8}") for i in range(400)] == [f"worker {i % 8}" for i in range(400)]
    assert evenly.home_for("gone") is None and evenly.home_for(None) is None


def test_who_is_there_is_asked_of_the_scheduler(engine, monkeypatch):
    """A client refreshes its own view every two seconds, and then knows of no worker."""
    monkeypatch.setattr("distributed.Client.scheduler_info", lambda *_, **__: {"workers": {}})
    assert list(engine.map(run.plus, 0, range(3))) == [0, 1, 2]
    assert engine._workers.n_threads == 2


def test_a_client_or_a_cluster_will_do_and_a_client_that_was_given_stays_open(cluster):
    with connect_client(cluster) as client:
        with engine_for(client) as engine:
            assert list(engine.map(run.plus, 1, [1])) == [2]
        assert client.status == "running"
    with engine_for(cluster) as engine:
        assert list(engine.map(run.plus, 1, [1])) == [2]


def test_a_greeting_that_goes_wrong_is_not_the_end(cluster, monkeypatch):
    import distributed

    tries = []

    class BusyAtFirst(distributed.Client):
        def __init__(self, *arguments, **options):
            tries.append(arguments)
            assert len(tries) > 1
            super().__init__(*arguments, **options)

    monkeypatch.setattr(distributed, "Client", BusyAtFirst)
    with engine_for(cluster.scheduler_address) as engine:
        assert list(engine.map(run.plus, 1, [1])) == [2]
    assert len(tries) == 2


def test_nobody_answers(monkeypatch):
    monkeypatch.setattr(dask_cluster, "CONNECT_WITHIN", 0.5)
    refused = pytest.raises(UsageError, match=r"tcp://127\.0\.0\.1:9: no Dask scheduler answers")
    with refused, engine_for("tcp://127.0.0.1:9") as engine:
        engine.require(Path("/"))


@pytest.mark.parametrize("address", ["ftp://host:1", "tls://127.0.0.1:9"])
def test_an_address_that_cannot_be(address):
    with pytest.raises(UsageError, match=address), engine_for(address) as engine:
        engine.require(Path("/"))


def test_a_cluster_without_workers():
    refused = pytest.raises(EngineError, match=r"has had no worker.*dask worker tcp://")
    with (
        cluster_here(n_workers=0) as empty,
        DaskCluster(empty.scheduler_address, workers_within=0.2) as engine,
        refused,
    ):
        list(engine.map(run.plus, 1, [1]))


def test_another_version_over_there(engine, monkeypatch):
    monkeypatch.setattr(dask_workers, "__version__", "0.0.1")
    with pytest.raises(EngineError, match=r"has rarespec .*, but this process has 0\.0\.1"):
        engine.require(Path("/"))


def test_a_path_that_a_worker_does_not_see(engine, cluster, tmp_path):
    with pytest.raises(EngineError, match=rf"worker \d at tcp://.* cannot see {tmp_path}/nowhere"):
        engine.require(tmp_path / "nowhere")


def test_a_worker_without_rarespec(tmp_path, monkeypatch):
    (tmp_path / "rarespec").mkdir()
    (tmp_path / "rarespec" / "__init__.py").write_text("raise ModuleNotFoundError('no rarespec here')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.syspath_prepend(tmp_path)
    refused = pytest.raises(EngineError, match=r"worker 0 at .* does not have rarespec")
    with cluster_here(n_workers=1) as bare, DaskCluster(bare.scheduler_address) as engine, refused:
        engine.require(Path("/"))


def test_a_stalled_worker_is_named_and_its_work_goes_to_others():
    with cluster_here() as cluster, DaskCluster(cluster.scheduler_address, stalled_after=2.0) as engine:
        assert list(engine.map(run.plus, 0, range(8))) == list(range(8))
        stalled = next(iter(cluster.scheduler.workers))
        pid = process_of(cluster, stalled)
        os.kill(pid, signal.SIGSTOP)
        try:
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                assert list(engine.map(run.plus, 0, range(8))) == list(range(8))
            (told,) = [str(one.message) for one in said if "stalled" in str(one.message)]
            assert stalled in told and "no heartbeat for 2 s" in told
            assert stalled not in cluster.scheduler.workers
        finally:
            os.kill(pid, signal.SIGKILL)


def test_a_scheduler_that_goes_away_is_told():
    with cluster_here(n_workers=1) as cluster, DaskCluster(cluster.scheduler_address) as engine:
        results = engine.map(run.plus, 0, iter(range(10**6)))
        assert next(results) == 0
        cluster.close()
        with pytest.raises(EngineError, match=r"scheduler"):
            list(results)
