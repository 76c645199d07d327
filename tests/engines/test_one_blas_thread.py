"""One thread of BLAS: a limit of the whole process, which the first sets and the last lifts."""

import sys
from types import ModuleType

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from rarespec.engines import here
from rarespec.engines.here import one_blas_thread


def n_threads():
    np.ones((2, 2)) @ np.ones((2, 2))
    return {pool["num_threads"] for pool in threadpool_info() if "numpy" in pool["filepath"]}


@pytest.fixture(autouse=True)
def _two_at_first():
    with threadpool_limits(2, user_api="blas"):
        yield


def test_the_last_to_go_lifts_the_limit():
    assert n_threads() == {2}
    with one_blas_thread():
        with one_blas_thread():
            assert n_threads() == {1}
        assert n_threads() == {1}
    assert n_threads() == {2}


def test_an_error_lifts_it_too():
    with pytest.raises(RuntimeError), one_blas_thread():
        raise RuntimeError
    assert n_threads() == {2}


def test_libraries_that_were_loaded_since_are_limited_too(monkeypatch):
    with one_blas_thread():
        n_limits = len(here._limits)
        with one_blas_thread():
            assert len(here._limits) == n_limits
        threadpool_limits(2, user_api="blas")  # as a library that comes with two threads
        monkeypatch.setitem(sys.modules, "loaded_since", ModuleType("loaded_since"))
        with one_blas_thread():
            assert n_threads() == {1}
    assert n_threads() == {2}
