"""What every engine keeps: order, bounds, one thread of BLAS, errors as they are, deaths accounted for."""

from itertools import count

import pytest

import engine_functions as run
from dask_clusters import cluster_here
from rarespec.engines.here import Here
from rarespec.errors import EngineError

MOST_AHEAD = 8
"""Items that an engine of two threads or processes may take before the first result is handed out."""


@pytest.fixture(scope="module")
def cluster():
    with cluster_here(allowed_failures=0) as cluster:
        yield cluster


@pytest.fixture(scope="module", params=["threads", "one thread", "dask"])
def engine(request):
    if request.param == "dask":
        from rarespec.engines.dask_cluster import DaskCluster

        with DaskCluster(request.getfixturevalue("cluster").scheduler_address) as engine:
            yield engine
    else:
        yield {"threads": Here(2), "one thread": Here(1)}[request.param]


def test_results_come_in_the_order_of_the_items(engine):
    assert list(engine.map(run.plus, 100, range(20))) == list(range(100, 120))


def test_a_slow_first_item_is_still_the_first(engine):
    assert list(engine.map(run.slow_at_first, 0.2, range(8))) == list(range(8))


def test_no_items_no_results(engine):
    assert list(engine.map(run.plus, 1, [])) == []


def test_items_are_taken_as_they_are_needed(engine):
    taken = count()
    results = engine.map(run.plus, 0, taken)
    assert [next(results) for _ in range(3)] == [0, 1, 2]
    results.close()
    assert next(taken) <= 3 + MOST_AHEAD
    assert list(engine.map(run.plus, 1, [1])) == [2]


def test_an_error_of_the_function_reaches_the_caller_as_it_is(engine):
    results = engine.map(run.inverse, 1.0, [1.0, 2.0, 0.0, 4.0])
    assert next(results) == 1.0 and next(results) == 0.5
    with pytest.raises(ZeroDivisionError):
        next(results)
    assert list(engine.map(run.inverse, 1.0, [4.0])) == [0.25]


def test_an_error_in_the_items_reaches_the_caller(engine):
    with pytest.raises(ZeroDivisionError):
        list(engine.map(run.plus, 1, (1 // i for i in [1, 0])))
    assert list(engine.map(run.plus, 1, [1])) == [2]


def test_every_call_has_one_thread_of_blas(engine):
    assert set(engine.map(run.n_blas_threads, None, range(4))) == {1}


def test_it_says_where_it_runs(engine):
    import os

    here = {os.getpid()} == set(engine.map(run.process, None, range(3)))
    assert engine.in_this_process == here


def test_what_is_here_is_seen_there(engine, tmp_path):
    engine.require(tmp_path)


def test_an_item_that_takes_processes_down_is_an_error_that_names_it(engine):
    if engine.in_this_process:
        pytest.skip("it would take this process down")
    results = engine.map(run.die_at_three, 0, range(5))
    assert [next(results) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(EngineError, match=r"^3 crashed"):
        next(results)
