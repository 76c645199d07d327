"""Promise: a search of a survey on an object store reads every block once, and a later one none as a whole."""

import numpy as np
import pytest

import rarespec as rs
from conftest import every
from counted_store import readings, store_here
from dask_clusters import cluster_here
from rarespec.engines.dask_cluster import DaskCluster
from rarespec.features import SkyFeatures
from rarespec.mock.simulate import SkyChoice, simulate_survey
from rarespec.survey import Survey
from rarespec.survey.features.prepared import OF_THIS_PROCESS
from rarespec.survey.store.writer import SurveyWriter

for needed in ("s3fs", "upath", "moto.server"):
    pytest.importorskip(needed, reason=f"{needed} is not installed (pip install 'rarespec[test]')")

SETTINGS = {"top": 10, "method": "bagging_top_push", "recipe": "paper"}
BLOCKS = 12


@pytest.fixture(scope="module")
def local(tmp_path_factory):
    folder = tmp_path_factory.mktemp("local")
    whole = simulate_survey(SkyChoice(290, (("carbon", 10),), seed=5), folder / "whole.survey", jobs=1)
    with SurveyWriter(folder / "sky.survey", whole.grid, block_rows=25) as writer:
        writer.add(whole.at(np.arange(len(whole))))
        writer.commit()
    return Survey.open(folder / "sky.survey")


@pytest.fixture(scope="module")
def store():
    with store_here() as store:
        yield store


@pytest.fixture(scope="module")
def cluster(store):
    """Its workers find the store through the environment; on a busy machine they may take their time."""
    with cluster_here() as here, DaskCluster(here.scheduler_address, stalled_after=120, workers_within=600) as engine:
        yield engine


@pytest.mark.parametrize("where", every(2, ["threads", "cluster"]))
def test_every_block_is_read_once(local, store, where, request):
    known = local.ids[local.catalogue["class"] == "CARBON"].tolist()[:4]
    engine = request.getfixturevalue("cluster") if where == "cluster" else None
    url = store.upload(local.path, f"{where}.survey")
    store.noted()
    first = rs.search(url, known, engine=engine, **SETTINGS)
    asked = store.noted()
    for array in ("flux", "mask"):
        times = readings(asked, array)
        assert len(times) == BLOCKS
        # one block is looked at before anything else is done, and by a worker before it is known who keeps it
        assert sum(times.values()) <= BLOCKS + 2
    assert not [
        one for one in asked if one.method == "HEAD" and "/catalogue/" in one.key
    ]  # no request before a request
    again = rs.search(url, known, engine=engine, **SETTINGS)
    assert not readings(store.noted(), "flux")
    assert again.table["id"].tolist() == first.table["id"].tolist()
    assert np.array_equal(again.scores, first.scores)


def test_what_is_read_for_a_sample_is_not_read_again_for_the_features(local, store):
    known = local.ids[local.catalogue["class"] == "CARBON"].tolist()[:4]
    url = store.upload(local.path, "sampled.survey")
    store.noted()
    remote = rs.search(url, known, top=10)
    asked = store.noted()
    for array in ("flux", "mask"):
        times = readings(asked, array)
        assert len(times) == BLOCKS
        assert sum(times.values()) <= BLOCKS + 1  # one block is looked at before anything else is done
    rs.features_of(Survey.open(url), SkyFeatures(), refit=True)  # the same again: all features are there
    assert not [place for place in OF_THIS_PROCESS._kept if place.job[0] == str(Survey.open(url).path)]
    here = rs.search(local, known, top=10)
    assert remote.table["id"].tolist() == here.table["id"].tolist()
    assert np.array_equal(remote.scores, here.scores)
