"""A survey on an object store, read through a real S3 server on this machine, answers as it does from the disk."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import rarespec as rs
from rarespec.cli.app import app
from rarespec.errors import SurveyError, UsageError
from rarespec.labels.log import path_beside
from rarespec.mock.simulate import SkyChoice, simulate_survey
from rarespec.spectrum import WavelengthGrid
from rarespec.survey import Survey
from rarespec.survey.features.prepared import Scratch
from rarespec.survey.store.arrays import OnStore
from rarespec.survey.store.intake import append_to
from rarespec.survey.store.location import is_remote, location, put_file
from rarespec.survey.store.writer import SurveyWriter
from rarespec.survey.verify import verify

pytest.importorskip("s3fs", reason="s3fs is not installed (pip install 'rarespec[cloud]')")
pytest.importorskip("upath", reason="universal_pathlib is not installed (pip install 'rarespec[cloud]')")
moto_server = pytest.importorskip("moto.server", reason="no S3 server to test with (pip install 'moto[server]')")

KNOWN = 4
TOP = 40


@pytest.fixture(scope="module")
def server():
    """Its address; fsspec and s3fs find it as a user's would be found, through the environment."""
    running = moto_server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    running.start()
    address = "http://{}:{}".format(*running.get_host_and_port())
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("AWS_ACCESS_KEY_ID", "someone")
        environment.setenv("AWS_SECRET_ACCESS_KEY", "secret")
        environment.setenv("AWS_DEFAULT_REGION", "us-east-1")
        environment.setenv("FSSPEC_S3_ENDPOINT_URL", address)
        _set_fsspec_anew()
        yield address
    _set_fsspec_anew()
    running.stop()


def _set_fsspec_anew() -> None:
    """fsspec looks at the environment when it is imported, which another test may have done before."""
    import fsspec.config
    import s3fs

    fsspec.config.conf.pop("s3", None)
    fsspec.config.set_conf_env(fsspec.config.conf)
    s3fs.S3FileSystem.clear_instance_cache()


@pytest.fixture(scope="module")
def local(tmp_path_factory) -> Survey:
    """Two blocks: the second begins where a search would notice."""
    folder = tmp_path_factory.mktemp("local") / "sky.survey"
    whole = simulate_survey(SkyChoice(260, (("carbon", 15),), seed=5), folder.with_name("one-block.survey"), jobs=1)
    with SurveyWriter(folder, whole.grid, block_rows=150) as writer:
        writer.commit()
    survey = Survey.open(folder)
    append_to(survey, [whole.at(np.arange(len(whole)))])
    return Survey.open(folder)


@pytest.fixture(scope="module")
def url(server, local) -> str:
    return _uploaded(local.path, "surveys")


def _uploaded(folder: Path, bucket: str) -> str:
    import s3fs

    store = s3fs.S3FileSystem()
    store.makedirs(bucket, exist_ok=True)
    store.put(str(folder), f"{bucket}/{folder.name}", recursive=True)
    return f"s3://{bucket}/{folder.name}"


@pytest.fixture(scope="module")
def known(local) -> list[str]:
    return local.ids[local.catalogue["class"] == "CARBON"].tolist()[:KNOWN]


@pytest.fixture(scope="module")
def ranking(local, known, tmp_path_factory):
    """Of a copy, so that nothing is kept beside the survey that goes to the store."""
    copy = shutil.copytree(local.path, tmp_path_factory.mktemp("copy") / "sky.survey")
    return rs.search(copy, known, top=TOP)


def rarespec(*words: object):
    return CliRunner().invoke(app, [str(word) for word in words])


def same_ranking(one, other) -> bool:
    names = one.table.colnames
    return np.array_equal(one.scores, other.scores) and all(
        one.table[name].tolist() == other.table[name].tolist() or name == "z" for name in names
    )


def test_what_is_read_is_what_was_written(local, url):
    survey = Survey.open(url)
    assert str(survey.path) == url and is_remote(survey.path) and survey.n_blocks == 2
    assert survey.ids.tolist() == local.ids.tolist()
    for there, here in zip(survey.blocks(), local.blocks(), strict=True):
        assert np.array_equal(there.flux, here.flux) and np.array_equal(there.bad, here.bad)
    rows = np.array([270, 3, 4, 149, 150, 3])
    there, here = survey.at(rows), local.at(rows)
    assert np.array_equal(there.flux, here.flux) and np.array_equal(there.ivar, here.ivar)
    assert there.catalogue == here.catalogue


def test_a_search_gives_the_same_ranking_and_keeps_its_features_there(url, known, ranking):
    first = rs.search(url, known, top=TOP)
    assert same_ranking(first, ranking)
    kept = sorted(path.name for path in first.rows.features.folder.iterdir())
    assert len(kept) == 1 + 2  # a model and two blocks
    with pytest.MonkeyPatch.context() as patch:  # what is kept is read, not computed
        patch.setattr(Survey, "masked_flux", lambda *_: pytest.fail("computed again"))
        again = rs.search(url, known, top=TOP)
    assert same_ranking(again, ranking)


def test_some_rows_are_read_by_ranges(url, local, monkeypatch):
    asked = []
    fetch = OnStore._fetch
    monkeypatch.setattr(OnStore, "_fetch", lambda self, ranges: asked.append(ranges) or fetch(self, ranges))
    Survey.open(url).at(np.array([140]))
    n_bytes = sum(stop - start for ranges in asked for start, stop in ranges)
    in_all = sum((local.path / name / "c/0/0").stat().st_size for name in local.precision.arrays)
    assert asked and 0 < n_bytes < in_all / 6


def test_a_missing_chunk_is_told_as_on_disk(server, local, tmp_path):
    broken = shutil.copytree(local.path, tmp_path / "missing.survey")
    (broken / "flux/c/1/0").unlink()
    said = []
    for place in (broken, _uploaded(broken, "surveys")):
        survey = Survey.open(place)
        for read in (lambda s=survey: s.block(1), lambda s=survey: s.at(np.array([200]))):
            with pytest.raises(SurveyError, match="flux/c/1/0: missing or truncated; run `rarespec verify`") as told:
                read()
            said.append(str(told.value).replace(str(place), ""))
    assert len(set(said)) == 1


def test_a_chunk_that_was_cut_short_is_told(server, local, tmp_path):
    broken = shutil.copytree(local.path, tmp_path / "short.survey")
    chunk = broken / "flux/c/0/0"
    chunk.write_bytes(chunk.read_bytes()[:-1000])
    survey = Survey.open(_uploaded(broken, "surveys"))
    for read in (lambda: survey.block(0), lambda: survey.at(np.array([2]))):
        with pytest.raises(SurveyError, match="damaged"):
            read()


def test_verify_finds_a_changed_a_missing_and_a_strange_file(server, local, tmp_path):
    fine = _uploaded(shutil.copytree(local.path, tmp_path / "fine.survey"), "surveys")
    result = verify(fine)
    assert result.sound and result.n_rows == len(local)
    place = location(fine)
    put_file(place / "mask/c/0/0", b"something else")
    put_file(place / "stranger.txt", b"")
    (place / "ivar/c/1/0").unlink()
    problems = "\n".join(verify(fine).problems)
    assert "mask/c/0/0: changed" in problems and "ivar/c/1/0: missing" in problems and "stranger.txt" in problems


def test_the_verbs_take_a_url(url, known, ranking, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    info = json.loads(rarespec("info", url, "--json").stdout)
    assert info["path"] == url and info["spectra"] == 275 and info["bytes"] > 1_000_000
    assert rarespec("verify", url).exit_code == 0
    found = json.loads(rarespec("search", url, "--known", ",".join(known), "--top", TOP, "--json").stdout)
    assert [row["id"] for row in found["candidates"]] == ranking.table["id"].tolist()
    report = rarespec("report", url, "--known", ",".join(known), "--n", 1, "--top", 1)
    assert report.exit_code == 0 and (tmp_path / "report" / "report.html").exists()
    assert not (tmp_path / "s3:").exists()


def test_candidates_there_can_be_labelled(url, known, tmp_path, monkeypatch):
    from rarespec.labels.campaign import Campaign
    from rarespec.labels.campaign_start import start_beside

    monkeypatch.chdir(tmp_path)
    survey = Survey.open(url)
    campaign = Campaign.start(survey, known, method="matched_filter", top=5)
    campaign.keep()
    assert start_beside(survey) == tmp_path / "sky.survey.campaign.json" and start_beside(survey).exists()
    assert len(campaign.ranking.table) == 5


def test_nothing_is_written_into_a_survey_there(url, local, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="ingest into a local directory"):
        Survey.open(url).append(local.at(np.array([0])))
    with pytest.raises(UsageError, match="ingest into a local directory"):
        Survey.create("s3://surveys/new.survey")
    result = rarespec("ingest", tmp_path, "--into", "s3://surveys/new.survey")
    assert result.exit_code == 2 and "then copy it there" in result.output
    assert list(tmp_path.iterdir()) == []


def test_a_bucket_that_may_only_be_read_still_gives_the_ranking(server, local, known, ranking):
    place = _uploaded(local.path, "archive")
    reader = _someone_who_may_only_read(server)
    try:
        with pytest.warns(UserWarning, match="could not save results"):
            found = rs.search(location_for(place, reader), known, top=TOP)
    finally:
        _let_everyone_do_everything(server)
    assert found.table["id"].tolist() == ranking.table["id"].tolist()
    assert np.array_equal(found.scores, ranking.scores)
    assert not (location(place) / "features").exists()


def location_for(place: str, key: dict[str, str]):
    from upath import UPath

    return UPath(place, key=key["AccessKeyId"], secret=key["SecretAccessKey"], use_listings_cache=False)


def _someone_who_may_only_read(server: str) -> dict[str, str]:
    """From here on the server looks at who asks, and this person may read and nothing else."""
    import boto3

    iam = boto3.client("iam", endpoint_url=server)
    iam.create_user(UserName="reader")
    allowed = {"Effect": "Allow", "Action": ["s3:Get*", "s3:List*", "s3:Head*"], "Resource": "*"}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [allowed]})
    iam.put_user_policy(UserName="reader", PolicyName="read", PolicyDocument=policy)
    key = iam.create_access_key(UserName="reader")["AccessKey"]
    _count_of_free_requests(server, "0")
    return key


def _let_everyone_do_everything(server: str) -> None:
    _count_of_free_requests(server, "inf")


def _count_of_free_requests(server: str, n: str) -> None:
    from urllib.request import Request, urlopen

    plain = {"Content-Type": "text/plain"}
    urlopen(Request(f"{server}/moto-api/reset-auth", n.encode(), plain, method="POST")).close()


def test_the_same_url_is_opened_by_another_process(url, local):
    there = pickle.loads(pickle.dumps(Survey.open(url)))
    assert np.array_equal(there.masked_flux(1), local.masked_flux(1), equal_nan=True)


def test_a_store_that_is_not_there_is_told_in_one_line(server, monkeypatch):
    with pytest.raises(UsageError, match="not a survey"):
        Survey.open("s3://surveys/nothing.survey")
    monkeypatch.setenv("FSSPEC_S3_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("FSSPEC_S3_CONFIG_KWARGS", '{"retries": {"max_attempts": 0}}')
    _set_fsspec_anew()
    try:
        monkeypatch.setattr("s3fs.S3FileSystem.retries", 1)
        result = rarespec("info", "s3://surveys/sky.survey")
    finally:
        monkeypatch.undo()
        _set_fsspec_anew()
    assert result.exit_code == 3 and "cannot reach the store" in result.output and "Traceback" not in result.output


def test_what_cannot_live_on_a_store_is_kept_on_this_machine(server, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert path_beside("s3://surveys/sky.survey") == tmp_path / "sky.survey.labels.sqlite"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with Scratch(location("s3://surveys/sky.survey")).open_for(1000) as scratch:
            scratch.keep(0, np.arange(5.0))
            assert os.fstat(scratch._file.fileno()).st_dev == os.stat(tempfile.gettempdir()).st_dev


def test_local_places_stay_plain_paths(tmp_path):
    for place in ("a.survey", tmp_path, "a:b", "C:/x", "dir/s3:/x", "/s3://x"):
        assert type(location(place)) is type(Path())
    assert location(f"file://{tmp_path}/a b.survey") == tmp_path / "a b.survey"
    assert str(location(Path("s3://bucket/x.survey"))) == "s3://bucket/x.survey"


def test_a_kind_of_store_that_nobody_knows(server):
    with pytest.raises(UsageError, match="nowhere://x"):
        Survey.open("nowhere://x/y.survey")


def test_any_store_that_fsspec_knows(tmp_path):
    """The memory of this process is one."""
    import fsspec

    from conftest import make_spectra

    grid = WavelengthGrid("log", 3.6, 1e-3, 300)
    survey = Survey.create(tmp_path / "small.survey", grid)
    survey.append(make_spectra(20, grid))
    fsspec.filesystem("memory").put(str(survey.path), "/small.survey", recursive=True)
    assert np.array_equal(Survey.open("memory://small.survey")["s00007"].flux, survey["s00007"].flux)
