"""DESI in HATS as LSDB nests it: found by its structure, joined over the arms, searched like the coadd files."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from astropy.table import Table
from typer.testing import CliRunner

lsdb = pytest.importorskip("lsdb", reason="LSDB is not installed (pip install 'rarespec[hats]')")
npd = pytest.importorskip("nested_pandas")

import rarespec as rs  # noqa: E402
from conftest import every  # noqa: E402
from mock_hats import copy_of, frame_of_coadds, in_one_column, on_sky, partition_files, write_frame  # noqa: E402
from rarespec.cli.app import app  # noqa: E402
from rarespec.errors import UsageError  # noqa: E402
from rarespec.formats.matrices.nested_spectra import NOT_A_TARGET  # noqa: E402
from rarespec.hats.catalogue import is_hats  # noqa: E402
from rarespec.hats.search import search_hats  # noqa: E402
from rarespec.mock.files import native_wavelength, write_files  # noqa: E402
from rarespec.mock.files.desi_tables import target_id  # noqa: E402
from rarespec.mock.files.target import targets_of  # noqa: E402
from rarespec.mock.sky import MockSky  # noqa: E402
from rarespec.spectrum import NAMED_GRIDS  # noqa: E402

TOP, N_KNOWN = 30, 4
ROWS = 16
"""At most, in a partition."""
DESI_GRID = NAMED_GRIDS["desi"]


@pytest.fixture(scope="module")
def sky():
    """Spectra all over the sky."""
    spectra = MockSky(40, {"carbon": 10}, seed=5, wavelength=native_wavelength("desi")).block(0)
    return replace(spectra, catalogue=spectra.catalogue | on_sky(len(spectra)))


@pytest.fixture(scope="module")
def coadds(sky, tmp_path_factory):
    """DESI files, each with a sky fibre and a broken one."""
    return write_files(sky, "desi", tmp_path_factory.mktemp("coadds"))


@pytest.fixture(scope="module")
def survey(coadds, tmp_path_factory):
    return rs.ingest(
        [str(file) for file in coadds], tmp_path_factory.mktemp("s") / "desi.survey", grid=DESI_GRID, precision="exact"
    )


@pytest.fixture(scope="module")
def frame(coadds):
    return frame_of_coadds(coadds)


@pytest.fixture(scope="module")
def catalogue(frame, tmp_path_factory):
    return write_frame(frame, tmp_path_factory.mktemp("hats") / "sky", ROWS, "TARGET_")


@pytest.fixture(scope="module")
def carbon(sky):
    """TARGETIDs of the rare ones."""
    ids = [str(target_id(target)) for target in targets_of(sky, 0)]
    return [id for id, kind in zip(ids, sky.catalogue["class"], strict=True) if kind == "CARBON"]


@pytest.fixture(scope="module")
def model(survey, carbon, tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "carbon.safetensors"
    return rs.search(survey, carbon[:N_KNOWN], method="matched_filter").save(path)


def rarespec(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


# ---- The same answer as the coadd files.


@pytest.fixture(scope="module")
def expected(survey, model):
    return rs.search_with_model(survey, model, top=TOP).table


@pytest.mark.parametrize("layout", ["arms", "camera"])
def test_scores_are_those_of_a_survey_of_the_coadd_files(layout, frame, catalogue, survey, model, expected, tmp_path):
    place = catalogue if layout == "arms" else write_frame(in_one_column(frame), tmp_path / "sky", ROWS, "TARGET_")
    assert len(partition_files(place)) >= 3
    found = search_hats(place, model=model, top=TOP)
    assert_same(found.table, expected)
    account = found.account
    assert account.read == len(frame) == account.scored + sum(account.unusable.values())
    assert account.scored == len(survey) and not account.without_arms
    assert account.unusable == {NOT_A_TARGET: len(frame) - len(survey)}
    assert any(f"spectra, {NOT_A_TARGET}" in line for line in found.problems)


def assert_same(table, expected):
    assert table["id"].tolist() == expected["id"].tolist()
    # Features are sums over pixels in single precision: in another order of summing, scores move by some 1e-4.
    np.testing.assert_allclose(table["score"], expected["score"], rtol=1e-5, atol=1e-3)
    for name in ("ra", "dec", "z", "snr"):
        np.testing.assert_array_equal(table[name], expected[name])


def test_one_nested_column_of_any_name(coadds, model, expected, tmp_path):
    """Arms that another program has joined."""
    stacks = [found for file in coadds for found in rs.read(file) if isinstance(found, rs.Spectra)]
    frame = pd.concat([frame_of_joined(stack) for stack in stacks], ignore_index=True)
    found = search_hats(write_frame(frame, tmp_path / "sky", ROWS), model=model, top=TOP)
    assert_same(found.table, expected)


def frame_of_joined(stack):
    plain = pd.DataFrame({"object_id": stack.ids} | {name: stack.catalogue[name] for name in ("ra", "dec", "z")})
    pixels = {
        "wave": np.tile(stack.wavelength, len(stack)),
        "flux": stack.flux.ravel(),
        "ivar": stack.ivar.ravel(),
        "mask": stack.bad.astype("i4").ravel(),
    }
    nested = pd.DataFrame(pixels, index=np.repeat(np.arange(len(stack)), len(stack.wavelength)))
    return npd.NestedFrame(plain).join_nested(nested, "sed")


def test_files_of_the_catalogue_can_be_ingested(catalogue, survey, tmp_path):
    files = [str(file) for file in partition_files(catalogue)]
    again = rs.ingest(files, tmp_path / "again.survey", grid=DESI_GRID, precision="exact")
    assert sorted(again.ids) == sorted(survey.ids)
    one, other = again.select(survey.ids.tolist()), survey.select(survey.ids.tolist())
    for name in ("flux", "ivar", "bad"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


@pytest.mark.parametrize(
    "given", ["positions", *(pytest.param(given, marks=pytest.mark.exhaustive) for given in ("ids", "file"))]
)
def test_what_is_known_is_learned_on_the_grid_of_desi(catalogue, survey, carbon, given, tmp_path):
    rows = survey.rows_of(carbon[:N_KNOWN])
    places = Table({name: survey.catalogue[name][rows] for name in ("ra", "dec")})
    Table({"id": carbon[:N_KNOWN]}).write(tmp_path / "known.csv")
    known = {"ids": carbon[:N_KNOWN], "positions": places, "file": str(tmp_path / "known.csv")}[given]
    # the paper's components are the same in any order of rows; the changes that sky features learn from are drawn
    found = rs.search(catalogue, known, "matched_filter", TOP, recipe="paper")
    same = rs.search(survey, carbon[:N_KNOWN], "matched_filter", TOP, recipe="paper")
    assert found.provenance["grid"] == str(DESI_GRID)
    assert found.table["id"].tolist() == same.table["id"].tolist()
    assert len(set(found.table["id"][:10].tolist()) & set(carbon[N_KNOWN:])) >= 3


def test_the_command_writes_candidates_as_a_catalogue(catalogue, carbon, tmp_path):
    out = tmp_path / "candidates.hats"
    words = ("--known", ",".join(carbon[:N_KNOWN]), "--method", "matched_filter", "--top", TOP, "--out", out)
    result = rarespec("search", catalogue, *words)
    assert result.exit_code == 0, result.output
    assert is_hats(out) and NOT_A_TARGET in result.output
    assert len(lsdb.open_catalog(out).compute(progress_bar=False)) == TOP


@pytest.mark.parametrize("n_threads", every(2, [2, 1]))
def test_the_workers_of_a_cluster_do_it(catalogue, model, expected, n_threads):
    from distributed import Client

    with Client(n_workers=1, threads_per_worker=n_threads, processes=False, dashboard_address=None):
        assert_same(search_hats(catalogue, model=model, top=TOP).table, expected)


@pytest.mark.exhaustive
@pytest.mark.parametrize("n_workers", [1, 2])
def test_the_workers_are_processes(catalogue, carbon, survey, n_workers):
    from distributed import Client

    same = rs.search(survey, carbon[:N_KNOWN], "matched_filter", TOP)
    with Client(n_workers=n_workers, threads_per_worker=1, dashboard_address=None):
        found = rs.search(catalogue, carbon[:N_KNOWN], "matched_filter", TOP)
    assert found.table["id"].tolist() == same.table["id"].tolist()


def test_the_example_of_the_page_runs(coadds, carbon, survey, tmp_path, monkeypatch):
    page = (Path(__file__).parents[2] / "docs" / "hats.md").read_text()
    (code,) = [block for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "coadd-*.fits" in block]
    monkeypatch.chdir(tmp_path)
    shutil.copytree(coadds[0].parent, "coadds")
    Table({"id": carbon[:N_KNOWN]}).write("known.csv")
    names: dict[str, Any] = {}
    exec(compile(code, "hats.md", "exec"), names)
    assert is_hats("candidates.hats") and len(names["ranking"]) == len(survey) - N_KNOWN


# ---- Arms that are empty, masked, cut short or do not fit: counted, never silent.


def test_a_spectrum_is_used_without_an_arm_and_that_is_said(frame, model, tmp_path):
    odd = with_odd_arms(frame)
    found = search_hats(write_frame(odd, tmp_path / "sky", ROWS, "TARGET_"), model=model, top=TOP)
    account = found.account
    assert account.without_arms == {"r": 1, "z": 1}
    assert account.unusable["no good pixels"] == 1 and account.unusable["unexpected layout"] == 1
    assert account.read == len(odd) == account.scored + sum(account.unusable.values())
    said = "\n".join(found.problems)
    assert "scored without arm r, which is empty or masked: 1 spectra" in said
    assert "every arm is empty" in said and "do not share their pixels" in said


def with_odd_arms(frame):
    """Of the targets: one without r, one with z masked, one without anything, one that is shifted, one cut short."""
    targets = np.flatnonzero(frame["OBJTYPE"] == "TGT")[:5]
    no_r, z_masked, nothing, shifted, short = frame["TARGETID"].iloc[targets]
    frame = frame.copy()
    for arm in "brz":
        flat = frame[f"spectra_{arm}"].nest.to_flat()
        ids = frame["TARGETID"].loc[flat.index].to_numpy()
        kept = ids != nothing
        if arm == "r":
            kept &= ids != no_r
            flat.loc[ids == shifted, "wavelength"] += 0.3
        if arm == "z":
            flat.loc[ids == z_masked, "mask"] = 1
        if arm == "b":
            kept &= ~((ids == short) & (flat["wavelength"] < 3700).to_numpy())
        frame = frame.drop(columns=f"spectra_{arm}").join_nested(flat[kept], f"spectra_{arm}")
    return frame


def test_pixels_next_to_an_empty_arm_do_not_reach_into_it(frame, survey, tmp_path):
    odd = with_odd_arms(frame)
    odd = odd[odd["TARGETID"] == odd["TARGETID"].iloc[np.flatnonzero(odd["OBJTYPE"] == "TGT")[0]]]
    file = tmp_path / "one.parquet"
    odd.to_parquet(file)
    (found,) = rs.read(file)
    assert found.catalogue["empty_arms"] == ["r"]
    whole = survey[found.ids[0]]
    gap = (found.wavelength > 5800.5) & (found.wavelength < 7519.5)
    assert found.bad[0, gap].all() and gap.sum() > 2000
    pixel = DESI_GRID.offset_of(found.wavelength)
    assert pixel == 0
    blue = found.wavelength < 5750
    np.testing.assert_array_equal(found.flux[0, blue & ~found.bad[0]], whole.flux[blue & ~found.bad[0]])


def test_what_lies_outside_the_grid_of_a_model_is_said(catalogue, coadds, carbon, tmp_path):
    narrow = rs.ingest(
        [str(file) for file in coadds], tmp_path / "narrow.survey", grid=rs.PAPER_GRID, precision="exact"
    )
    path = rs.search(narrow, carbon[:N_KNOWN], "matched_filter").save(tmp_path / "m.safetensors")
    found = search_hats(catalogue, model=path, top=TOP)
    (said,) = [line for line in found.problems if "outside the grid" in line]
    share = np.mean((DESI_GRID.wavelength < rs.PAPER_GRID.edges[0]) | (DESI_GRID.wavelength > rs.PAPER_GRID.edges[-1]))
    assert said.startswith(f"{100 * share:.0f} % of the good pixels")


def test_a_unit_that_was_guessed_is_counted_and_said(frame, model, expected, tmp_path):
    in_micron = frame.copy()
    for arm in "brz":
        flat = in_micron[f"spectra_{arm}"].nest.to_flat()
        flat["wavelength"] = flat["wavelength"] / 1e4
        in_micron = in_micron.drop(columns=f"spectra_{arm}").join_nested(flat, f"spectra_{arm}")
    found = search_hats(write_frame(in_micron, tmp_path / "sky", ROWS, "TARGET_"), model=model, top=TOP)
    assert_same(found.table, expected)
    ((note, count),) = found.account.noted.items()
    assert "read as micron" in note and count == found.account.scored
    assert f"{count} spectra: {note}" in found.problems


def test_rows_without_a_type_are_no_targets_if_their_id_is_negative(frame, model, tmp_path):
    plain = frame.drop(columns=["OBJTYPE", "COADD_FIBERSTATUS"])
    found = search_hats(write_frame(plain, tmp_path / "sky", ROWS, "TARGET_"), model=model, top=TOP)
    negative = int((plain["TARGETID"] < 0).sum())
    assert negative and found.account.unusable["not a target (TARGETID is negative)"] == negative


# ---- Which columns hold the spectra.


def test_other_nested_columns_are_left_alone_and_not_read(frame, model, expected, tmp_path):
    curves = pd.DataFrame({"mjd": [1.0, 2.0], "flux": [3.0, 4.0]}, index=[0, 0])
    more = frame.join_nested(curves, "light_curve").assign(ra=1.0, dec=2.0, objectId=7)
    found = search_hats(write_frame(more, tmp_path / "sky", ROWS, "TARGET_"), model=model, top=TOP)
    assert_same(found.table, expected)


def test_what_cannot_be_guessed_is_asked_and_can_be_named(frame, model, expected, tmp_path):
    names = {"spectra_b": "first", "spectra_r": "second", "spectra_z": "third"}
    place = write_frame(frame.rename(columns=names), tmp_path / "sky", ROWS, "TARGET_")
    with pytest.raises(UsageError, match=r"several columns hold spectra \(first, second, third\).*--column spectrum="):
        search_hats(place, model=model)
    assert_same(search_hats(place, model=model, top=TOP, columns={"spectrum": list(names.values())}).table, expected)
    words = ("search", place, "--model", model, "--top", 5)
    assert rarespec(*words).exit_code == 2
    assert rarespec(*words, "--column", "spectrum=first,second,third").exit_code == 0


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"spectrum": "light"}, "no column 'light'"),
        ({"spectrum": "TARGETID"}, "TARGETID is no spectrum"),
        ({"spectrum": "spectra_b", "flux": "counts"}, "no flux: looked for counts"),
        ({"colour": "red"}, "no such role"),
    ],
)
def test_what_is_no_spectrum_is_refused_before_anything_is_read(catalogue, model, columns, said):
    with pytest.raises(UsageError, match=said):
        search_hats(catalogue, model=model, columns=columns)


# ---- Damage.


def test_a_partition_without_a_column_or_cut_off_is_named_and_the_others_are_searched(catalogue, model, tmp_path):
    damaged = copy_of(catalogue, tmp_path / "sky")
    victim, cut = partition_files(damaged)[:2]
    pq.write_table(pq.ParquetFile(victim).read().drop_columns("spectra_r"), victim)
    cut.write_bytes(cut.read_bytes()[:-2000])
    result = rarespec("search", damaged, "--model", model, "--top", 5)
    assert result.exit_code == 1
    said = " ".join(result.output.split())
    assert f"{victim.stem} has no spectra_r in any row" in said and "scored without arm r" in said
    assert f"{cut.stem} could not be read" in said
