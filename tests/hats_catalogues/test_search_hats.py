"""A HATS catalogue of spectra, searched partition by partition, gives what a survey of the same spectra gives."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from astropy.table import Table
from typer.testing import CliRunner

lsdb = pytest.importorskip("lsdb", reason="LSDB is not installed (pip install 'rarespec[hats]')")

import rarespec as rs  # noqa: E402
from conftest import every  # noqa: E402
from mock_hats import copy_of, on_sky, partition_files, write_catalogue  # noqa: E402
from rarespec.cli.app import app  # noqa: E402
from rarespec.errors import SurveyError, UsageError  # noqa: E402
from rarespec.hats.catalogue import is_hats  # noqa: E402
from rarespec.hats.search import search_hats  # noqa: E402
from rarespec.hats.training import apportion  # noqa: E402
from rarespec.hats.writing import provenance_in, write_hats  # noqa: E402
from rarespec.labels import Label, LabelEvent, LabelLog, new_event_id  # noqa: E402
from rarespec.mock.sky import MockSky  # noqa: E402
from rarespec.searching.model import SearchModel  # noqa: E402

TOP = 40
COARSE = rs.WavelengthGrid("log", 3.593, 4e-4, 900)


@pytest.fixture(scope="module")
def sky():
    """Coarse spectra all over the sky; three are of no use."""
    spectra = MockSky(260, {"carbon": 15}, seed=5, wavelength=COARSE.wavelength).block(0)
    spectra = replace(spectra, catalogue=spectra.catalogue | on_sky(len(spectra)))
    one, two, three = _common_ones(spectra)[:3]
    spectra.bad[[one, two]], spectra.ivar[[one, two]] = True, 0.0
    spectra.flux[three] = 0.0
    return spectra


def _common_ones(spectra):
    return [i for i, kind in enumerate(spectra.catalogue["class"]) if kind != "CARBON"]


@pytest.fixture(scope="module")
def catalogue(sky, tmp_path_factory):
    return write_catalogue(sky, tmp_path_factory.mktemp("hats") / "sky")


@pytest.fixture(scope="module")
def survey(catalogue, tmp_path_factory):
    """The same files, ingested."""
    return rs.ingest(
        [str(file) for file in partition_files(catalogue)],
        tmp_path_factory.mktemp("s") / "sky.survey",
        precision="exact",
    )


@pytest.fixture(scope="module")
def carbon(sky):
    return [id for id, kind in zip(sky.ids, sky.catalogue["class"], strict=True) if kind == "CARBON"]


@pytest.fixture(scope="module")
def model(survey, carbon, tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "carbon.safetensors"
    return rs.search(survey, carbon[:4], method="matched_filter").save(path)


@pytest.fixture(scope="module")
def ranking(catalogue, model):
    return search_hats(catalogue, model=model, top=TOP)


def rarespec(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def test_there_are_several_partitions(catalogue):
    assert len(partition_files(catalogue)) >= 5 and is_hats(catalogue)


def test_scores_are_those_of_a_survey_of_the_same_spectra(ranking, survey, model):
    other = rs.search_with_model(survey, model, top=TOP).table
    assert ranking.table["id"].tolist() == other["id"].tolist()
    # Features are sums over pixels in single precision: in another order of summing, scores move by some 2e-5.
    np.testing.assert_allclose(ranking.table["score"], other["score"], rtol=1e-5, atol=1e-4)
    for name in ("ra", "dec", "z", "snr"):
        np.testing.assert_array_equal(ranking.table[name], other[name])
    assert ranking.table["n_visits"].dtype.kind == "i"


def test_rare_ones_come_first_and_known_ones_are_not_listed(ranking, carbon):
    listed = ranking.table["id"].tolist()
    assert len(set(listed[:15]) & set(carbon[4:])) >= 8
    assert not set(listed) & set(carbon[:4])


def test_every_spectrum_is_accounted_for(ranking, sky):
    account = ranking.account
    assert account.read == len(sky) == account.scored + sum(account.unusable.values())
    assert account.unusable == {"no good pixels": 2, "no features": 1} and account.not_listed == 4
    assert ranking.n_listed == len(sky) - 3 - 4
    said = "\n".join(ranking.problems)
    assert "2 spectra, no good pixels" in said and any(sky.ids[i] in said for i in _common_ones(sky)[:2])


@pytest.mark.parametrize("given", every(2, ["positions", "ids", "file"]))
def test_what_is_known_is_learned_from_a_sample(catalogue, survey, carbon, given, tmp_path):
    rows = survey.rows_of(carbon[:4])
    places = Table({name: survey.catalogue[name][rows] for name in ("ra", "dec")})
    Table({"id": carbon[:4]}).write(tmp_path / "known.csv")
    known = {"ids": ",".join(carbon[:4]), "positions": places, "file": str(tmp_path / "known.csv")}[given]
    others = [carbon[5]]
    found = search_hats(
        catalogue, known, top=TOP, sample=120, non_members=others, method="matched_filter", workspace=tmp_path / "work"
    )
    sample = rs.Survey.open(tmp_path / "work" / "sky.survey")
    assert set(carbon[:4]) | set(others) <= set(sample.ids) and 115 <= len(sample) <= 125
    listed = found.table["id"].tolist()
    assert not set(listed) & {*carbon[:4], *others} and len(set(listed[:15]) & set(carbon[4:])) >= 6
    assert found.account.read == len(survey) + 2 and found.account.not_listed == 5


def test_progress_is_shown_while_examples_are_found_a_sample_is_drawn_and_all_is_scored(catalogue, carbon, model):
    n, seen = len(partition_files(catalogue)), []
    each = [(i, n) for i in range(1, n + 1)]
    search_hats(catalogue, model=model, top=TOP, progress=lambda done, total: seen.append((done, total)))
    assert seen == each
    seen.clear()
    rs.search(catalogue, carbon[:4], "matched_filter", TOP, progress=lambda done, total: seen.append((done, total)))
    assert seen == each * 3


@pytest.mark.parametrize("is_open", every(2, [True, False]))
def test_the_search_of_surveys_takes_a_catalogue(catalogue, carbon, is_open):
    same = search_hats(catalogue, carbon[:4], top=TOP, method="matched_filter", seed=3)
    place = lsdb.open_catalog(catalogue, columns="all") if is_open else str(catalogue)
    found = rs.search(place, carbon[:4], "matched_filter", TOP, seed=3)
    assert found.table["id"].tolist() == same.table["id"].tolist() and found.provenance["seed"] == 3


def test_the_inspector_is_refused_and_says_what_to_inspect_instead(ranking):
    with pytest.raises(UsageError, match=r"workspace=FOLDER.*rarespec inspect FOLDER/sky\.survey --known"):
        ranking.inspect(person="Ada")


def test_what_only_surveys_have_is_refused(catalogue):
    with pytest.raises(UsageError, match="leave --device out"):
        rs.search(catalogue, ["x"], device="cuda")
    with pytest.raises(UsageError, match="filter the catalogue with LSDB"):
        rs.search(catalogue, ["x"], selection=rs.Selection(min_snr=3))


@pytest.mark.parametrize(
    ("method", "recipe"), every(3, [("auto", "paper"), ("label_propagation", "paper"), ("matched_filter", "sky")])
)
def test_what_was_learned_scores_as_its_file_does(catalogue, carbon, method, recipe, tmp_path):
    file = tmp_path / "learned.safetensors"
    how = {"method": method, "recipe": recipe, "save_model": file}
    found = search_hats(catalogue, carbon[:4], top=TOP, sample=120, **how)
    again = search_hats(catalogue, model=file, top=TOP)
    assert found.table["id"].tolist() == again.table["id"].tolist() and found.why == again.why
    np.testing.assert_array_equal(found.table["score"], again.table["score"])


def test_no_file_is_written_unless_it_is_asked_for(catalogue, carbon, monkeypatch):
    def refuse(*_):
        raise AssertionError("a model was saved")

    monkeypatch.setattr(SearchModel, "save", refuse)
    assert len(search_hats(catalogue, carbon[:4], top=5, sample=120, method="matched_filter")) == 5


def test_the_same_seed_draws_the_same_sample(catalogue, carbon, tmp_path):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        options = {"sample": 60, "method": "matched_filter", "seed": seed, "workspace": tmp_path / name}
        search_hats(catalogue, carbon[:3], **options)
    first, same, other = (set(rs.Survey.open(tmp_path / name / "sky.survey").ids) for name in "abc")
    assert first == same != other


def test_a_sample_is_shared_out_in_proportion():
    assert apportion({"a": 100, "b": 50, "c": 51}, 20) == {"a": 10, "b": 5, "c": 5}
    assert apportion({"a": 3, "b": 2}, 10) == {"a": 3, "b": 2}
    assert sum(apportion({str(i): i for i in range(30)}, 101).values()) == 101


def test_a_catalogue_that_lsdb_has_filtered(catalogue, model, sky):
    north = lsdb.open_catalog(catalogue, columns="all").query("dec > 0")
    found = search_hats(north, model=model, top=TOP)
    assert found.account.read == sum(dec > 0 for dec in sky.catalogue["dec"]) and min(found.table["dec"]) > 0
    assert found.empty and any("partitions without a spectrum" in line for line in found.problems)


def test_a_damaged_partition_is_told_and_the_others_are_searched(catalogue, model, sky, tmp_path):
    damaged = copy_of(catalogue, tmp_path / "sky")
    victim = partition_files(damaged)[2]
    n_lost = pq.read_metadata(victim).num_rows
    content = bytearray(victim.read_bytes())
    content[100:-200] = bytes(len(content) - 300)
    victim.write_bytes(content)
    found = search_hats(damaged, model=model, top=TOP)
    (name,) = found.unread
    assert victim.stem in name and any(name in line and "could not be read" in line for line in found.problems)
    assert found.account.read == len(sky) - n_lost
    result = rarespec("search", damaged, "--model", model, "--top", 5)
    assert result.exit_code == 1 and name in result.output


def test_nothing_that_can_be_read_is_an_error(catalogue, model, tmp_path):
    damaged = copy_of(catalogue, tmp_path / "sky")
    for file in partition_files(damaged):
        file.write_bytes(b"PAR1")
    with pytest.raises(SurveyError, match="no partition can be read"):
        search_hats(damaged, model=model)


def test_the_workers_of_a_cluster_do_it(catalogue, model, ranking):
    from distributed import Client

    with Client(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None) as client:
        found = search_hats(catalogue, model=model, top=TOP)
        assert client.nthreads()
        named = search_hats(catalogue, model=model, top=TOP, engine=client)
    assert named.table["id"].tolist() == found.table["id"].tolist()
    assert found.table["id"].tolist() == ranking.table["id"].tolist()
    np.testing.assert_allclose(found.table["score"], ranking.table["score"], rtol=1e-6)


@pytest.mark.exhaustive
def test_the_workers_are_processes(catalogue, model, ranking):
    from distributed import Client

    with Client(n_workers=2, threads_per_worker=1, dashboard_address=None):
        found = search_hats(catalogue, model=model, top=TOP)
    assert found.table["id"].tolist() == ranking.table["id"].tolist()


def test_the_candidates_crossmatch_with_another_catalogue(ranking, catalogue, tmp_path):
    path = ranking.write(tmp_path / "carbon.hats")
    candidates = lsdb.open_catalog(path)
    assert len(candidates.compute(progress_bar=False)) == TOP
    sky = lsdb.open_catalog(catalogue, columns=["object_id", "ra", "dec"])
    matched = sky.crossmatch(candidates, radius_arcsec=1, suffixes=("_sky", "")).compute(progress_bar=False)
    assert len(matched) == TOP and (matched["id"] == matched["object_id_sky"]).all()
    assert provenance_in(path)["catalogue"] == "sky"


def test_candidates_just_across_the_edge_of_a_partition_are_matched(tmp_path):
    """HATS cuts the sky at ra = 90: LSDB finds a neighbour across it only in the margin."""
    table = Table({"id": ["a", "b"], "ra": [90 + 10 / 3600, 200.0], "dec": [5.0, 5.0]})
    candidates = lsdb.open_catalog(write_hats(table, tmp_path / "a.hats"))
    assert len(candidates.get_healpix_pixels()) == 2
    other = pd.DataFrame({"name": ["mine"], "ra": [90 - 10 / 3600], "dec": [5.0]})
    mine = lsdb.from_dataframe(other, ra_column="ra", dec_column="dec", catalog_name="mine", margin_threshold=None)
    matched = mine.crossmatch(candidates, radius_arcsec=30, suffixes=("_mine", "")).compute(progress_bar=False)
    assert matched["id"].tolist() == ["a"]


def test_a_ranking_of_a_survey_is_written_as_well(survey, carbon, tmp_path):
    found = rs.search(survey, carbon[:4], method="matched_filter", top=20)
    written = lsdb.open_catalog(write_hats(found, tmp_path / "some-name")).compute(progress_bar=False)
    assert set(written["id"]) == set(found.table["id"])
    again = write_hats(found.table[:7], tmp_path / "some-name")
    assert len(lsdb.open_catalog(again).compute(progress_bar=False)) == 7
    assert [path.name for path in tmp_path.iterdir()] == ["some-name"]


def test_what_has_no_position_is_told(ranking, tmp_path):
    table = ranking.table[:10].copy()
    table["ra"][3] = np.nan
    with pytest.warns(UserWarning, match="left out 1 rows without a position"):
        path = write_hats(table, tmp_path / "a.hats")
    assert len(lsdb.open_catalog(path).compute(progress_bar=False)) == 9
    table["ra"] = np.nan
    with pytest.raises(UsageError, match="but none has one"):
        write_hats(table, tmp_path / "b.hats")
    with pytest.raises(UsageError, match="no column ra"):
        write_hats(Table({"id": ["a"], "dec": [1.0]}), tmp_path / "b.hats")


def test_a_directory_that_is_something_else_stays(ranking, tmp_path):
    (tmp_path / "mine.hats").mkdir()
    (tmp_path / "mine.hats" / "thesis.tex").touch()
    with pytest.raises(UsageError, match="not a HATS catalogue"):
        ranking.write(tmp_path / "mine.hats")
    assert (tmp_path / "mine.hats" / "thesis.tex").exists()


def test_the_command_takes_a_catalogue(catalogue, model, ranking, carbon, tmp_path):
    result = rarespec("search", catalogue, "--model", model, "--top", TOP, "--json", "--out", tmp_path / "c.hats")
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout)
    assert [row["id"] for row in answer["candidates"]] == ranking.table["id"].tolist()
    assert answer["account"]["read"] == 275 and is_hats(tmp_path / "c.hats")
    assert "read 275 spectra, scored 272, could not use 3" in result.stderr
    kept = tmp_path / "again.safetensors"
    words = ("--known", ",".join([*carbon[:3], "nobody"]), "--method", "matched_filter", "--save-model", kept)
    result = rarespec("search", catalogue, *words, "--top", 20)
    assert result.exit_code == 1 and "nobody" in result.output and kept.exists() and "and 10 more" in result.stdout


def test_the_labels_of_a_log_are_learned_from(catalogue, carbon, sky, tmp_path):
    said = {carbon[3]: "yes", carbon[4]: "yes", carbon[5]: "unsure"} | {
        sky.ids[i]: "no" for i in _common_ones(sky)[3:5]
    }
    with LabelLog(tmp_path / "carbon.sqlite") as log:
        for id, label in said.items():
            log.append(LabelEvent(new_event_id(), str(id), Label(label), person="Ada"))
    words = ("--known", ",".join(carbon[:3]), "--labels", "--log", log.path, "--method", "matched_filter", "--json")
    result = rarespec("search", catalogue, *words, "--top", 400)
    assert result.exit_code == 0, result.output
    listed = [row["id"] for row in json.loads(result.stdout)["candidates"]]
    assert not set(listed) & {*carbon[:3], *said} and set(carbon[6:]) <= set(listed)
    assert "2 yes known, 2 no refused; left out: 1 unsure" in result.stderr
    beside = catalogue.with_name(f"{catalogue.name}.labels.sqlite")
    result = rarespec("search", catalogue, "--known", carbon[0], "--labels")
    assert result.exit_code == 2 and str(beside) in result.output.replace("\n", "")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "give --known"),
        (("--known", "x", "--min-snr", "3"), "filter the catalogue with LSDB"),
        (("--known", "x", "--device", "cuda"), "leave --device out"),
        (("--known", "x", "--method", "magic"), "no method 'magic'"),
        (("--model", "missing.safetensors"), "missing.safetensors"),
        (("--known", "nobody"), "nobody"),
    ],
)
def test_wrong_use_is_told_in_one_line(catalogue, words, said):
    result = rarespec("search", catalogue, *words)
    assert result.exit_code == 2 and said in result.output and "Traceback" not in result.output


def test_what_is_no_catalogue_of_spectra(ranking, model, tmp_path):
    with pytest.raises(UsageError, match="not a HATS catalogue"):
        search_hats(tmp_path, model=model)
    with pytest.raises(UsageError, match=r"no nested column .*--column spectrum="):
        search_hats(ranking.write(tmp_path / "plain.hats"), model=model)
