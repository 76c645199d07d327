"""A worker counts as stalled when its last sign of life has not changed for a while, by our own clock."""

from rarespec.engines.dask_workers import Heartbeats


def test_stalled_workers_are_told_from_living_ones():
    now = [100.0]
    beats = Heartbeats(30.0, clock=lambda: now[0])
    assert beats.silent({"a": 5.0, "b": 5.0}) == []
    now[0] = 129.0
    assert beats.silent({"a": 5.0, "b": 34.0}) == []
    now[0] = 130.0
    assert beats.silent({"a": 5.0, "b": 35.0}) == ["a"]


def test_a_clock_that_is_set_wrong_over_there_does_not_matter():
    now = [0.0]
    beats = Heartbeats(30.0, clock=lambda: now[0])
    for second in range(0, 100, 10):
        now[0] = float(second)
        assert beats.silent({"a": 1e9 - second}) == []


def test_a_worker_that_left_and_came_back_starts_anew():
    now = [0.0]
    beats = Heartbeats(30.0, clock=lambda: now[0])
    beats.silent({"a": 1.0})
    now[0] = 20.0
    beats.silent({})
    now[0] = 40.0
    assert beats.silent({"a": 1.0}) == []
