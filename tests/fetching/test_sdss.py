"""SDSS: which address an id has, tables, queries, and the paper's sample."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import parse_qs

import numpy as np
import pytest
from astropy.table import Table

from fetching.archive_server import Answer, ArchiveServer, Request, quick_patience
from rarespec.errors import SurveyError, UsageError
from rarespec.fetching.addresses import Archive, archive, load_addresses
from rarespec.fetching.question import draw_targets, paper_sample, rows_of
from rarespec.fetching.record import Result
from rarespec.fetching.sdss_lamost import sdss_files
from rarespec.fetching.targets import RemoteFile, Target, make_targets, read_targets
from rarespec.fetching.web import Web

SAS = "https://data.sdss.org/sas"


def addresses(
    id: str, release: str | None = None, run2d: str | None = None, row: dict[str, object] | None = None
) -> list[str]:
    (remote,) = sdss_files([Target(id, row or {})], load_addresses(), release, run2d)
    assert isinstance(remote, RemoteFile)
    assert remote.checksums == "*.sha1sum"
    return [address.removeprefix(SAS) for address in remote.addresses]


def test_a_plate_of_the_first_spectrographs_is_looked_for_in_its_three_reductions() -> None:
    lite = "/dr17/sdss/spectro/redux/{}/spectra/lite/0355/spec-0355-51788-0579.fits"
    assert addresses("355-51788-579") == [lite.format(run) for run in ("26", "104", "103")]
    assert addresses("spec-0355-51788-0579.fits", run2d="103") == [lite.format("103")]
    assert addresses("0355-51788-0579", row={"run2d": 26}) == [lite.format("26")]


def test_a_plate_of_boss() -> None:
    path = "spectra/lite/10000/spec-10000-57346-0012.fits"
    assert addresses("10000-57346-12") == [f"/dr17/eboss/spectro/redux/v5_13_2/{path}"]
    assert addresses("10000-57346-0012", "18") == [f"/dr18/spectro/sdss/redux/v5_13_2/{path}"]
    path = "spectra/lite/3586/spec-3586-55181-0190.fits"
    assert addresses("3586-55181-190", "12") == [
        f"/dr12/boss/spectro/redux/{run}/{path}" for run in ("v5_7_0", "v5_7_2")
    ]


def test_dr10_has_lite_or_full_files() -> None:
    paths = addresses("0752-52251-0323", "10", "26")
    assert paths == [
        "/dr10/sdss/spectro/redux/26/spectra/lite/0752/spec-0752-52251-0323.fits",
        "/dr10/sdss/spectro/redux/26/spectra/0752/spec-0752-52251-0323.fits",
    ]


def test_objects_of_sdss_v() -> None:
    id, name = "015078-59187-4291570940", "spec-015078-59187-4291570940.fits"
    assert addresses(id) == [f"/dr20/spectro/boss/redux/v6_2_1/spectra/daily/lite/015XXX/015078/59187/{name}"]
    assert addresses(id, "19") == [f"/dr19/spectro/boss/redux/v6_1_3/spectra/lite/015078/59187/{name}"]
    (address,) = addresses("15000-59146-4377710888", "18")
    assert address == "/dr18/spectro/boss/redux/v6_0_4/spectra/lite/15000p/59146/spec-15000-59146-4377710888.fits"
    big = "112053-60334-63050396111356292"  # larger than a float can hold
    assert addresses(big)[0].endswith(f"/112XXX/112053/60334/spec-{big}.fits")


@pytest.mark.parametrize("id", ["", "0355", "0355-51788", "a-51788-0579", "0355-51788-0579-1", "0355/51788/0579"])
def test_what_is_no_id(id: str) -> None:
    (result,) = sdss_files([Target(id)], load_addresses())
    assert isinstance(result, Result)
    assert "plate-mjd-fiber" in result.reason


ROWS = {"PLATE": [355, 10000], "MJD": [51788, 57346], "FIBERID": [579, 12], "RUN2D": ["26", "v5_13_2"]}


@pytest.mark.parametrize("ending", ["fits", "csv", "ecsv", "vot", "parquet"])
def test_tables_of_all_kinds(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"t.{ending}"
    if ending == "parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.table(ROWS), path)
    else:
        Table(ROWS).write(path, format={"vot": "votable", "ecsv": "ascii.ecsv"}.get(ending))
    asked = read_targets(path)
    assert [(one.id, one.word("run2d")) for one in asked] == [
        ("0355-51788-0579", "26"),
        ("10000-57346-0012", "v5_13_2"),
    ]


def test_fields_and_catalogids_keep_all_their_digits(tmp_path: Path) -> None:
    rows = {"field": np.array([112053]), "mjd": np.array([60334]), "catalogid": np.array([63050396111356293])}
    Table(rows).write(tmp_path / "t.fits")
    assert [one.id for one in read_targets(tmp_path / "t.fits")] == ["112053-60334-63050396111356293"]


def test_a_list_of_ids(tmp_path: Path) -> None:
    (tmp_path / "ids.txt").write_text("# mine\n0355-51788-0579\n\n 0394-51913-0113 \n0355-51788-0579\n")
    assert [one.id for one in read_targets(tmp_path / "ids.txt")] == ["0355-51788-0579", "0394-51913-0113"]


@pytest.mark.parametrize(("content", "words"), [("a,b\n1,2\n", "no column of object ids"), (None, "No such file")])
def test_a_table_without_objects(tmp_path: Path, content: str | None, words: str) -> None:
    if content is not None:
        (tmp_path / "t.csv").write_text(content)
    with pytest.raises(UsageError, match=words):
        read_targets(tmp_path / "t.csv")


def test_ids_are_asked_for_once() -> None:
    assert [one.id for one in make_targets(["a", " b", "a ", ""])] == ["a", "b"]


# --- SkyServer


def local(server: ArchiveServer, release: str = "17", **values: object) -> Archive:
    address = f"{server.base}/dr{{release}}/sql?format=csv&cmd={{sql}}"
    return Archive("sdss", release, {**load_addresses()["sdss"], "sql": address, **values})


def answer_to(server: ArchiveServer, text: str, **values: object) -> list[Target]:
    server.replies["/dr17/sql"] = Answer(text.encode())
    with Web(quick_patience()) as web:
        return rows_of("select  plate,\n mjd from SpecObj where a = '%&'", local(server, **values), web)


def test_a_query(server: ArchiveServer) -> None:
    text = "#Table1\nplate,MJD,fiberID,run2d\n355,51788,579,26\n10000,57346,12,v5_13_2\n355,51788,579,26\n"
    found = answer_to(server, text)
    assert [(one.id, one.word("run2d")) for one in found] == [
        ("0355-51788-0579", "26"),
        ("10000-57346-0012", "v5_13_2"),
    ]
    (request,) = server.requests
    assert parse_qs(request.query)["cmd"] == ["select plate, mjd from SpecObj where a = '%&'"]


def test_a_query_for_sdss_v(server: ArchiveServer) -> None:
    (one,) = answer_to(server, "field,mjd,catalogid\n15078,59187,63050396111356293\n")
    assert one.id == "015078-59187-63050396111356293"


@pytest.mark.parametrize(
    "text",
    [
        "<!DOCTYPE html><html><title>Runtime Error</title></html>",
        "error_message: Invalid column name 'platte'",
        '{"error": "syntax"}',
        "",
    ],
)
def test_a_query_that_gives_no_table(server: ArchiveServer, text: str) -> None:
    with pytest.raises(UsageError, match="returned no table but the message"):
        answer_to(server, text)


def test_a_query_without_the_columns(server: ArchiveServer) -> None:
    with pytest.raises(UsageError, match=r"plate, mjd and fiberid.*there is ra, dec"):
        answer_to(server, "ra,dec\n1,2\n")


def test_an_answer_that_was_cut_off_is_not_taken_for_whole(server: ArchiveServer) -> None:
    rows = "plate,mjd,fiberid\n" + "".join(f"355,51788,{i}\n" for i in range(1, 6))
    with pytest.raises(SurveyError, match="truncated the result at 5 rows"):
        answer_to(server, rows, sql_rows=5)


def test_a_server_that_is_down(server: ArchiveServer) -> None:
    server.replies["/dr17/sql"] = Answer(b"", 503)
    with Web(quick_patience(2)) as web, pytest.raises(SurveyError, match="SkyServer, release 17: HTTP status 503"):
        rows_of("select 1", local(server), web)


# --- the paper's sample


def star_catalogue(request: Request) -> Answer:
    """Ten carbon stars, and a hundred other stars on ten plates."""
    sql = parse_qs(request.query)["cmd"][0]
    assert "class = 'STAR'" in sql
    if "subclass IN ('Carbon', 'Carbon_lines')" in sql:
        rows = [(300, 51000, i, 26) for i in range(1, 11)]
    else:
        assert "subclass NOT LIKE 'Carbon%'" in sql
        first, last = (int(word) for word in sql.split("BETWEEN ")[1].split(" AND "))
        plates = [plate for plate in range(400, 1400, 100) if first <= plate <= last]
        rows = [(plate, 52000, i, 26) for plate in plates for i in range(1, 11)]
    return Answer(("plate,mjd,fiberid,run2d\n" + "".join(",".join(map(str, row)) + "\n" for row in rows)).encode())


def sample(server: ArchiveServer, seed: int, n_carbon: int = 4, n_others: int = 30) -> list[str]:
    server.replies["/dr10/sql"] = star_catalogue
    with Web(quick_patience()) as web:
        found = paper_sample(local(server, "10"), web, seed, lambda *_: None, n_carbon, n_others)
    assert {one.word("run2d") for one in found} == {"26"}
    return [one.id for one in found]


def test_the_sample_has_carbon_stars_and_others(server: ArchiveServer) -> None:
    ids = sample(server, 1)
    assert len(set(ids)) == 34
    assert sum(id.startswith("0300") for id in ids) == 4
    assert len({id[:4] for id in ids if not id.startswith("0300")}) > 5  # from all over the plates


def test_the_seed_alone_decides(server: ArchiveServer) -> None:
    assert sample(server, 1) == sample(server, 1)
    assert sample(server, 1) != sample(server, 2)


def test_a_draw_stays_what_it_was() -> None:
    """Of other versions of Python, of NumPy, and of this code."""
    stars = [Target(f"0300-51000-{i:04d}") for i in range(1, 641)]
    assert [one.id[-4:] for one in draw_targets(stars, 5, 0, "stars")] == ["0056", "0371", "0386", "0588", "0627"]


def test_stars_that_a_release_adds_change_few() -> None:
    stars = [Target(f"0300-51000-{i:04d}") for i in range(1, 641)]
    before = {one.id for one in draw_targets(stars[:600], 100, 0, "stars")}
    after = {one.id for one in draw_targets(stars, 100, 0, "stars")}
    assert len(before & after) > 85


def test_too_few_stars(server: ArchiveServer) -> None:
    with pytest.raises(SurveyError, match="has only 10 carbon stars, but the paper used 11"):
        sample(server, 1, 11)


def test_the_paper_has_450_and_100_000() -> None:
    from rarespec.fetching import question as module

    assert (module.N_CARBON, module.N_OTHERS) == (450, 100_000)
    assert archive(load_addresses(), "sdss", "10").number("sql_rows") == 500_000
