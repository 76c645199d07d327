"""Promise: a scheduler that dies stops the run with a clear sentence; the same command goes on from what is kept."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from functools import partial

import numpy as np
import pytest

import rarespec as rs
from conftest import small_survey_files
from dask_clusters import Disturbed
from rarespec.engines.dask_cluster import DaskCluster
from rarespec.errors import UsageError
from rarespec.mock.simulate import SkyChoice, simulate_survey
from rarespec.survey import Survey
from rarespec.survey.ingest.reading import IngestOptions
from rarespec.survey.ingest.run import run_ingest
from rarespec.survey.store.writer import SurveyWriter

pytest.importorskip("distributed", reason="dask's distributed is not installed")

BLOCK_ROWS = 25
WHAT_IS_SAID = r"^tcp://127\.0\.0\.1:\d+: lost the scheduler; .*run the same command again: it continues"


class Scheduler:
    """A scheduler and a worker, as people start them: two processes, at an address that stays the same."""

    def __init__(self, folder):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.address = f"tcp://127.0.0.1:{self.port}"
        self._folder = folder

    @contextmanager
    def running(self):
        here = ["--host", "127.0.0.1", "--no-dashboard"]
        self.process = self._start("scheduler", "--port", str(self.port), *here)
        self._wait_until_it_listens()
        worker = self._start("worker", self.address, "--nthreads", "1", *here)
        try:
            yield self
        finally:
            for process in (worker, self.process):
                process.terminate()
                process.wait()

    def _start(self, *words):
        environment = os.environ | {"PYTHONSAFEPATH": "1"}
        with open(self._folder / f"{words[0]}.log", "a") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "dask", *words], cwd=self._folder, env=environment, stdout=log, stderr=log
            )

    def _wait_until_it_listens(self):
        while self.process.poll() is None:
            with suppress(OSError):
                socket.create_connection(("127.0.0.1", self.port)).close()
                return
            time.sleep(0.1)

    def kill(self):
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()


@pytest.fixture
def scheduler(tmp_path):
    return Scheduler(tmp_path)


@contextmanager
def engine_of(scheduler):
    with scheduler.running(), DaskCluster(scheduler.address, workers_within=600) as engine:  # on a busy machine too
        yield engine


def in_small_blocks(folder):
    whole = simulate_survey(SkyChoice(190, (("carbon", 10),), seed=5), folder / "whole.survey", jobs=1)
    with SurveyWriter(folder / "sky.survey", whole.grid, block_rows=BLOCK_ROWS) as writer:
        writer.add(whole.at(np.arange(len(whole))))
        writer.commit()
    return Survey.open(folder / "sky.survey")


def written(folder):
    """When each file was written."""
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


def answer_of(ranking):
    return ranking.table["id"].tolist(), ranking.scores.tolist()


@pytest.mark.parametrize("stage", [pytest.param("learning", marks=pytest.mark.exhaustive), "features"])
def test_the_same_search_goes_on_from_what_is_kept(tmp_path, scheduler, stage, caplog):
    survey = in_small_blocks(tmp_path)
    here = Survey.open(shutil.copytree(survey.path, tmp_path / "here.survey"))
    known = survey.ids[survey.catalogue["class"] == "CARBON"].tolist()[:4]
    search = partial(rs.search, survey.path, known, top=20, method="bagging_top_push", recipe="paper")
    with engine_of(scheduler) as engine, pytest.raises(UsageError, match=WHAT_IS_SAID):
        search(engine=Disturbed(engine, scheduler.kill, after=(3,), stage=stage))
    assert "Traceback" not in caplog.text
    kept = written(survey.path / "features")
    with engine_of(scheduler) as engine:
        undisturbed = Disturbed(engine, lambda: None)
        ranking = search(engine=undisturbed)
    if stage == "features":
        assert len(kept) >= 3 + 2  # blocks, the model, and the name of the model
        assert "learning" not in undisturbed.stages
    assert kept.items() <= written(survey.path / "features").items()
    assert Survey.open(survey.path).verify().sound
    assert answer_of(ranking) == answer_of(rs.search(here, known, top=20, method="bagging_top_push", recipe="paper"))


@pytest.mark.exhaustive
def test_the_same_ingest_goes_on_from_what_is_kept(tmp_path, scheduler):
    folder = tmp_path / "files"
    folder.mkdir()
    small_survey_files(folder, 150)
    with SurveyWriter(tmp_path / "there.survey", rs.PAPER_GRID, block_rows=BLOCK_ROWS) as writer:
        writer.commit()
    with SurveyWriter(tmp_path / "here.survey", rs.PAPER_GRID, block_rows=BLOCK_ROWS) as writer:
        writer.commit()
    ingest = partial(run_ingest, [folder], tmp_path / "there.survey", IngestOptions())
    with engine_of(scheduler) as engine, pytest.raises(UsageError, match=WHAT_IS_SAID):
        ingest(engine=Disturbed(engine, scheduler.kill, after=(3,), stage="ingest"))
    kept = Survey.open(tmp_path / "there.survey")
    assert 0 < len(kept) < 150 and kept.verify().sound
    with engine_of(scheduler) as engine:
        survey, report = ingest(engine=engine)
    assert report.files == {"repeated": len(kept), "stored": 150 - len(kept)}
    here, _ = run_ingest([folder], tmp_path / "here.survey", IngestOptions())
    assert survey.manifest.blocks == here.manifest.blocks and survey.verify().sound
