"""A cluster of two processes, and an engine on it, for the tests of one file."""

import pytest

from dask_clusters import cluster_here
from rarespec.engines.dask_cluster import DaskCluster


@pytest.fixture(scope="module")
def cluster():
    with cluster_here() as cluster:
        yield cluster


@pytest.fixture(scope="module")
def engine(cluster):
    with DaskCluster(cluster.scheduler_address) as engine:
        yield engine
