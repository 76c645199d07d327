"""From each archive to a survey."""

from __future__ import annotations

from collections import deque
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from astropy.table import Table

from conftest import make_spectra, small_survey_files
from fetching.archive_server import Answer, ArchiveServer, Request, quick_patience
from fetching.local_archives import (
    archives_file,
    serve_desi,
    serve_lamost,
    serve_sdss,
    serve_sdss_v,
    serve_sparcl,
)
from rarespec.errors import SurveyError, UsageError
from rarespec.fetching import fetch
from rarespec.fetching.job import Place, run_fetch, run_preview
from rarespec.fetching.question import Question, paper_sample
from rarespec.fetching.record import FetchReport, sole_user
from rarespec.survey import Survey

TOKEN = "S3cretToken1"


@pytest.fixture(scope="module")
def sdss_spectra(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return small_survey_files(tmp_path_factory.mktemp("sdss"), 6)


@pytest.fixture(scope="module")
def sdss_v_spectra(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return small_survey_files(tmp_path_factory.mktemp("sdss-v"), 4, "sdss-v")


@pytest.fixture(scope="module")
def lamost_spectra(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return small_survey_files(tmp_path_factory.mktemp("lamost"), 3, "lamost-dr9")


@pytest.fixture(scope="module")
def desi_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("desi")
    small_survey_files(folder, 8, "desi")
    return folder


@pytest.fixture
def place(server: ArchiveServer, tmp_path: Path) -> Place:
    archives = archives_file(server, tmp_path / "archives.toml")
    return Place(None, tmp_path / "x.survey", archives, patience=quick_patience(2))


def counts(report: FetchReport) -> dict[str, int]:
    return dict(report.counts)


def ids_in(place: Place) -> set[str]:
    assert place.into
    survey = Survey.open(place.into)
    assert survey.verify().sound
    return set(survey.ids)


# --- SDSS


def test_sdss_into_a_survey(server: ArchiveServer, place: Place, sdss_spectra: list[Path]) -> None:
    paths = serve_sdss(server, sdss_spectra)
    report = run_fetch(Question("sdss", tuple(paths)), place)
    assert counts(report) == {"fetched": 6}
    assert all(result.verified for result in report.results)
    assert ids_in(place) == set(paths)
    assert report.folder == place.folder
    assert report.folder.name == "x.survey.files"
    for result, file in zip(report.results, sdss_spectra, strict=True):
        assert (report.folder / result.name).read_bytes() == file.read_bytes()


def test_a_second_run_asks_for_nothing(server: ArchiveServer, place: Place, sdss_spectra: list[Path]) -> None:
    paths = serve_sdss(server, sdss_spectra)
    run_fetch(Question("sdss", tuple(paths)), place)
    server.requests.clear()
    assert counts(run_fetch(Question("sdss", tuple(paths)), place)) == {"already there": 6}
    assert server.requests == []


def test_what_the_survey_holds_is_not_fetched_again_when_its_files_are_gone(
    server: ArchiveServer, place: Place, sdss_spectra: list[Path]
) -> None:
    paths = serve_sdss(server, sdss_spectra)
    some, rest = tuple(paths)[:4], tuple(paths)[4:]
    report = run_fetch(Question("sdss", some), place)
    for path in report.files:
        path.unlink()
    server.requests.clear()
    assert counts(run_fetch(Question("sdss", (*some, *rest)), place)) == {"already there": 4, "fetched": 2}
    assert set(server.paths()) >= {paths[id] for id in rest}
    assert not set(server.paths()) & {paths[id] for id in some}
    assert ids_in(place) == set(paths)


def test_failures_do_not_stop_the_rest(server: ArchiveServer, place: Place, sdss_spectra: list[Path]) -> None:
    paths = serve_sdss(server, sdss_spectra)
    broken, *good = paths
    server.replies[paths[broken]] = Answer(b"", 500)
    report = run_fetch(Question("sdss", (*paths, "9999-51000-0001", "nonsense")), place)
    assert counts(report) == {"fetched": 5, "failed": 3}
    reasons = {result.ids[0]: result.reason for result in report.failures}
    assert reasons[broken].startswith("HTTP status 500")
    assert reasons["9999-51000-0001"].startswith("not in the archive")
    assert reasons["nonsense"].startswith("not an SDSS id")
    assert ids_in(place) == set(good)
    listed = Table.read(report.folder / ".failed.csv", format="ascii.csv")
    assert set(listed["id"]) == set(reasons)


def test_the_list_of_failures_can_be_tried_again(server: ArchiveServer, place: Place, sdss_spectra: list[Path]) -> None:
    paths = serve_sdss(server, sdss_spectra)
    broken = next(iter(paths))
    server.faults[paths[broken]] = deque([Answer(b"", 500)] * 2)
    report = run_fetch(Question("sdss", tuple(paths)), place)
    again = run_fetch(Question("sdss", table=report.folder / ".failed.csv"), place)
    assert counts(again) == {"fetched": 1}
    assert not (report.folder / ".failed.csv").exists()
    assert ids_in(place) == set(paths)


def test_the_list_of_failures_runs_nothing_in_a_spreadsheet(
    server: ArchiveServer, place: Place, sdss_spectra: list[Path]
) -> None:
    paths = serve_sdss(server, sdss_spectra)
    report = run_fetch(Question("sdss", (*paths, "=cmd|' /C calc'!A0", "+1")), place)
    listed = (report.folder / ".failed.csv").read_text()
    assert [line[:5] for line in listed.splitlines()] == ["id,re", "'=cmd", "'+1,n"]


def test_a_table_brings_the_reduction(
    server: ArchiveServer, place: Place, sdss_spectra: list[Path], tmp_path: Path
) -> None:
    paths = serve_sdss(server, sdss_spectra, run2d="103")
    plate, mjd, fiber = zip(*(map(int, id.split("-")) for id in paths), strict=True)
    Table({"plate": plate, "mjd": mjd, "fiberid": fiber, "run2d": ["103"] * 6}).write(tmp_path / "t.fits")
    assert counts(run_fetch(Question("sdss", table=tmp_path / "t.fits"), place)) == {"fetched": 6}
    assert all("/103/" in path for path in server.paths())
    server.requests.clear()
    (id,) = list(paths)[:1]
    elsewhere = Place(tmp_path / "other", None, place.archives)
    assert counts(run_fetch(Question("sdss", (id,)), elsewhere)) == {"fetched": 1}  # found by asking 26 and 104 first
    assert [path.split("/")[6] for path in server.paths() if path.endswith(".fits")] == ["26", "104", "103"]


def test_a_query_into_a_folder(server: ArchiveServer, place: Place, sdss_spectra: list[Path], tmp_path: Path) -> None:
    paths = serve_sdss(server, sdss_spectra)
    rows = "".join(f"{','.join(id.split('-'))},26\n" for id in paths)
    server.replies["/dr17/SkyServerWS/SearchTools/SqlSearch"] = Answer(
        f"#Table1\nplate,mjd,fiberid,run2d\n{rows}".encode()
    )
    report = run_fetch(Question("sdss", sql="select 1"), Place(tmp_path / "out", None, place.archives))
    assert counts(report) == {"fetched": 6}
    assert report.ingest is None
    assert sorted(path.name for path in report.files) == sorted(path.name for path in sdss_spectra)


def test_the_sample_of_the_paper(
    server: ArchiveServer, place: Place, sdss_spectra: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = ["{},{},{},26".format(*id.split("-")) for id in serve_sdss(server, sdss_spectra)]

    def stars(request: Request) -> Answer:
        others = rows[2:] if "BETWEEN%201000%20" in request.query else []
        some = rows[:2] if "IN%20%28%27Carbon%27" in request.query else others
        return Answer("\n".join(["plate,mjd,fiberid,run2d", *some, ""]).encode())

    server.replies["/dr17/SkyServerWS/SearchTools/SqlSearch"] = stars
    monkeypatch.setattr("rarespec.fetching.question.paper_sample", partial(paper_sample, n_carbon=1, n_others=3))
    samples = [run_fetch(Question("sdss", paper=True, seed=seed), place) for seed in (3, 3, 4)]
    assert [counts(report) for report in samples[:2]] == [{"fetched": 4}, {"already there": 4}]
    assert len(samples[2].objects) == 4
    assert sum(path.endswith("SqlSearch") for path in server.paths()) == 3 * 41


# --- SDSS-V


@pytest.mark.parametrize("release", [None, "19", "18"])
def test_sdss_v_into_a_survey(
    server: ArchiveServer, place: Place, sdss_v_spectra: list[Path], release: str | None
) -> None:
    paths = serve_sdss_v(server, sdss_v_spectra, release or "20")
    report = run_fetch(Question("sdss", tuple(paths), release=release), place)
    assert counts(report) == {"fetched": 4}
    assert all(result.verified for result in report.results)
    assert set(server.paths()) >= set(paths.values())
    for path, file in zip(report.files, sdss_v_spectra, strict=True):
        assert path.read_bytes() == file.read_bytes()
    assert ids_in(place) == set(paths)
    assert place.into
    assert set(Survey.open(place.into).catalogue["survey"]) == {"SDSS-V"}
    server.requests.clear()
    assert counts(run_fetch(Question("sdss", tuple(paths), release=release), place)) == {"already there": 4}
    assert server.requests == []


def test_sdss_v_and_plates_in_one_list(
    server: ArchiveServer, place: Place, sdss_v_spectra: list[Path], sdss_spectra: list[Path]
) -> None:
    """Of one list, plates come from their release and fields from theirs."""
    paths = serve_sdss_v(server, sdss_v_spectra) | serve_sdss(server, sdss_spectra)
    assert counts(run_fetch(Question("sdss", tuple(paths)), place)) == {"fetched": 10}
    assert ids_in(place) == set(paths)


def test_sdss_v_by_a_table_with_all_digits(
    server: ArchiveServer, place: Place, sdss_v_spectra: list[Path], tmp_path: Path
) -> None:
    paths = serve_sdss_v(server, sdss_v_spectra)
    field, mjd, catalogid = zip(*(map(int, id.split("-")) for id in paths), strict=True)
    assert max(catalogid) > 2**53  # a float would round it
    Table({"FIELD": field, "MJD": mjd, "CATALOGID": catalogid}).write(tmp_path / "t.csv")
    assert counts(run_fetch(Question("sdss", table=tmp_path / "t.csv"), place)) == {"fetched": 4}
    assert ids_in(place) == set(paths)


def test_a_wrong_checksum_of_sdss_v(server: ArchiveServer, place: Place, sdss_v_spectra: list[Path]) -> None:
    paths = serve_sdss_v(server, sdss_v_spectra)
    broken, *good = paths
    content = bytearray(server.files[paths[broken]])
    content[-1] ^= 1
    server.files[paths[broken]] = bytes(content)
    report = run_fetch(Question("sdss", tuple(paths)), place)
    assert counts(report) == {"fetched": 3, "failed": 1}
    assert "checksum" in report.failures[0].reason
    assert ids_in(place) == set(good)


# --- LAMOST


def test_lamost_with_a_token(
    server: ArchiveServer, place: Place, lamost_spectra: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = serve_lamost(server, lamost_spectra, TOKEN)
    monkeypatch.setenv("RARESPEC_LAMOST_TOKEN", TOKEN)
    report = run_fetch(Question("lamost", tuple(paths)), place)
    assert counts(report) == {"fetched": 3}
    assert ids_in(place) == set(paths)
    assert all(path.name.endswith(".fits.gz") for path in report.files)
    assert counts(run_fetch(Question("lamost", tuple(paths)), place)) == {"already there": 3}
    assert place.into
    written = [path for path in place.into.parent.rglob("*") if path.is_file()]
    assert len(written) > 5
    assert not [path for path in written if TOKEN.encode() in path.read_bytes()]
    assert TOKEN not in str(report.to_json())


def test_lamost_without_the_token(server: ArchiveServer, place: Place, lamost_spectra: list[Path]) -> None:
    paths = serve_lamost(server, lamost_spectra, TOKEN)
    report = run_fetch(Question("lamost", tuple(paths)), place)
    assert counts(report) == {"failed": 3}
    assert report.failures[0].reason == "a web page instead of data: 'Please log in'"
    assert place.into
    assert not place.into.exists()


def test_a_token_that_the_archive_repeats_is_hidden(
    server: ArchiveServer, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RARESPEC_LAMOST_TOKEN", TOKEN)
    server.replies["/dr10/v2.0/spectrum/fits/1"] = lambda request: Answer(
        f"<html><title>no: {request.query}</title></html>".encode()
    )
    (failure,) = run_fetch(Question("lamost", ("1",)), place).failures
    assert failure.reason == "a web page instead of data: 'no: token=***'"


def test_the_public_function(server: ArchiveServer, place: Place, lamost_spectra: list[Path], tmp_path: Path) -> None:
    paths = serve_lamost(server, lamost_spectra)
    report = fetch("lamost", [int(id) for id in paths], out=tmp_path / "out", archives=place.archives)
    assert counts(report) == {"fetched": 3}


# --- DESI


def test_desi_by_healpix(server: ArchiveServer, place: Place, desi_folder: Path) -> None:
    targets = serve_desi(server, desi_folder)
    report = run_fetch(Question("desi", tuple(targets)), place)
    assert counts(report) == {"fetched": len(targets)}
    assert len(report.files) == 2 * len(targets)
    assert all(result.verified for result in report.results)
    assert ids_in(place) == {id for ids in targets.values() for id in ids}
    assert place.into
    assert set(Survey.open(place.into).catalogue["class"]) != {""}  # the classes of redrock


def test_desi_by_targetid(server: ArchiveServer, place: Place, desi_folder: Path) -> None:
    targets = serve_desi(server, desi_folder)
    words, ids = next(iter(targets.items()))
    report = run_fetch(Question("desi", (*ids[:2], "39627652591521999")), place)
    assert counts(report) == {"fetched": 2, "failed": 1}
    assert "desi_dr1.zpix has no such TARGETID" in report.failures[0].reason
    assert {path.name for path in report.files} == {f"coadd-{words}.fits", f"redrock-{words}.fits"}
    assert ids_in(place) >= set(ids[:2])


def test_desi_by_a_table_needs_no_lookup(
    server: ArchiveServer, place: Place, desi_folder: Path, tmp_path: Path
) -> None:
    targets = serve_desi(server, desi_folder, "edr", "fuji")
    words, ids = next(iter(targets.items()))
    survey, program, pixel = words.split("-")
    n = len(ids)
    table = {"TARGETID": np.array(ids, np.int64), "SURVEY": [survey] * n, "PROGRAM": [program] * n}
    Table(table | {"HPXPIXEL": [int(pixel)] * n}).write(tmp_path / "t.fits")
    report = run_fetch(Question("desi", table=tmp_path / "t.fits", release="edr"), place)
    assert counts(report) == {"fetched": n}
    assert not server.paths("POST")


def test_a_coadd_waits_for_its_classes(server: ArchiveServer, place: Place, desi_folder: Path) -> None:
    """An ingest joins classes while it stores a file, and never later."""
    targets = serve_desi(server, desi_folder)
    words = next(iter(targets))
    redrock = next(path for path in server.files if path.endswith(f"redrock-{words}.fits"))
    server.faults[redrock] = deque([Answer(b"", 404)])
    report = run_fetch(Question("desi", (words,)), place)
    assert counts(report) == {"failed": 1}
    assert report.failures[0].name.startswith(f"{words}/redrock")
    assert report.ingest is None
    assert counts(run_fetch(Question("desi", (words,)), place)) == {"fetched": 1}
    assert ids_in(place) == set(targets[words])
    assert place.into
    assert set(Survey.open(place.into).catalogue["class"]) != {""}


@pytest.mark.parametrize("answer", [Answer(b"", 500), Answer(b"<VOTABLE>error</VOTABLE>"), Answer(b"oh\n")])
def test_a_lookup_that_fails_says_what_to_do_instead(server: ArchiveServer, place: Place, answer: Answer) -> None:
    server.replies["/tap/sync"] = answer
    with pytest.raises(SurveyError, match=r"cannot look up.*give a table with the columns TARGETID"):
        run_fetch(Question("desi", ("39627652591521181",)), place)


# --- SPARCL


def test_sparcl(server: ArchiveServer, place: Place) -> None:
    spectra = make_spectra(30)
    specids = serve_sparcl(server, spectra)
    seen: dict[str, tuple[int, int, str]] = {}
    question = Question("sparcl", (*specids, "ffffffff-b1ff-48ed-b162-46d9d65f829c", "x"))
    report = run_fetch(question, place, lambda stage: lambda *now: seen.update({stage: now}))
    assert counts(report) == {"fetched": 30, "failed": 2}
    assert ids_in(place) == set(specids)
    assert len(server.paths("POST")) == 2  # 25 spectra a request
    assert seen["fetch"] == (31, 31, "1 failed") and seen["ingest"] == (30, 30, "")
    assert place.into
    stored = Survey.open(place.into)[next(iter(specids))]
    good, sigma = ~stored.bad, 1 / np.sqrt(spectra.ivar[0])
    assert (np.abs(stored.flux - spectra.flux[0])[good] < 0.3 * sigma[good]).all()  # in steps of the noise
    np.testing.assert_array_equal(stored.bad, spectra.bad[0])
    row = Survey.open(place.into).select([next(iter(specids))]).catalogue
    assert (row["class"], row["ra"], row["z"], row["specid"]) == (["STAR"], [10.0], [0.25], ["39627652591521181"])
    assert counts(run_fetch(Question("sparcl", tuple(specids)), place)) == {"already there": 30}


def test_sparcl_by_specid(server: ArchiveServer, place: Place) -> None:
    specids = serve_sparcl(server, make_spectra(3))
    uuid, specid = next(iter(specids.items()))
    report = run_fetch(Question("sparcl", (specid, "12")), place)
    assert counts(report) == {"fetched": 1, "failed": 1}
    assert ids_in(place) == {uuid}


def test_bits_of_whole_fibres_make_no_pixel_of_sdss_bad() -> None:
    import io

    import pyarrow.parquet as pq

    from rarespec.fetching.sparcl import parquet_of

    record = {"sparcl_id": "u", "wavelength": [4000.0, 4001.0, 4002.0], "flux": [1, 1, 1], "ivar": [1, 1, 1]}
    record["mask"] = [0, 1 << 9, 1 << 25]
    for release, bad in (("SDSS-DR16", [False, False, True]), ("DESI-EDR", [False, True, True])):
        table = pq.read_table(io.BytesIO(parquet_of(record | {"data_release": release})))
        assert table["spectrum"].to_pylist()[0]["mask"] == bad


PICKLE = b"\x80\x04\x95"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (Answer(b"", 500), "HTTP status 500"),
        (Answer(b"<html><title>down</title></html>"), "a web page instead of data: 'down'"),
        (Answer(b'{"errorMessage": "no"}'), "unexpected answer"),
        (Answer(PICKLE + b"cposix\nsystem\n"), "not JSON"),
        (Answer(b'[{}, {"sparcl_id": "00000000-b1ff-48ed-b162-46d9d65f829c", "flux": [1]}]'), "a record without"),
        (Answer(b"[{}, {", length=100), "ended early"),
    ],
)
def test_answers_of_sparcl_that_are_no_spectra(server: ArchiveServer, place: Place, answer: Answer, words: str) -> None:
    server.replies["/sparc/spectras/"] = answer
    report = run_fetch(Question("sparcl", ("00000000-b1ff-48ed-b162-46d9d65f829c",)), place)
    assert counts(report) == {"failed": 1}
    assert words in report.failures[0].reason


# --- what would be fetched


def test_a_preview_tells_sizes_and_writes_nothing(
    server: ArchiveServer, place: Place, sdss_spectra: list[Path]
) -> None:
    paths = serve_sdss(server, sdss_spectra)
    view = run_preview(Question("sdss", (*paths, "9999-51000-0001")), place)
    assert view.total == sum(path.stat().st_size for path in sdss_spectra)
    assert view.total_is_exact
    assert [failure.ids for failure in view.failures] == [("9999-51000-0001",)]
    assert {request.method for request in server.requests} == {"HEAD"}
    assert not place.folder.exists()


def test_sizes_are_asked_at_the_next_address_too(server: ArchiveServer, place: Place, sdss_spectra: list[Path]) -> None:
    paths = serve_sdss(server, sdss_spectra, run2d="104")
    view = run_preview(Question("sdss", tuple(paths)), place)
    assert view.total == sum(path.stat().st_size for path in sdss_spectra)


def test_of_many_files_some_sizes_are_asked_for(
    server: ArchiveServer, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    place_of = "/sas/dr17/sdss/spectro/redux/26/spectra/lite/1000"
    ids = [f"1000-52000-{i:04d}" for i in range(1, 101)]
    server.files |= {f"{place_of}/spec-{id}.fits": b"x" * 1000 for id in ids}
    monkeypatch.setattr("rarespec.fetching.sizes.HEADS", 10)
    view = run_preview(Question("sdss", tuple(ids)), place)
    assert (len(server.requests), view.total, view.total_is_exact) == (10, 100_000, False)
    assert server.requests[-1].path > server.requests[0].path


def test_sizes_that_the_archive_does_not_tell_are_unknown(server: ArchiveServer, place: Place) -> None:
    server.replies["/dr10/v2.0/spectrum/fits/1"] = Answer(b"", 405)
    server.replies["/dr10/v2.0/spectrum/fits/2"] = Answer(b"", length=-1)
    view = run_preview(Question("lamost", ("1", "2")), place)
    assert (len(view.missing), view.total, view.failures) == (2, None, [])


# --- wrong use


@pytest.mark.parametrize(
    ("question", "words"),
    [
        (Question("sdss"), "give one of these"),
        (Question("sdss", ("a",), paper=True), "give one of these"),
        (Question("desi", sql="select 1"), "only with sdss, not with desi"),
        (Question("gaia", ("1",)), "there is no archive 'gaia'"),
        (Question("sdss", ("0355",)), "0355: not an SDSS id"),
        (Question("lamost", ("12x",)), "12x: not a LAMOST obsid"),
        (Question("sdss", (" ",)), "no objects given"),
        (Question("sdss", ("0355-51788-0579",), release="99"), "no release '99'"),
    ],
)
def test_wrong_questions(place: Place, question: Question, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        run_fetch(question, place)


def test_wrong_places(tmp_path: Path) -> None:
    question = Question("sdss", ("0355-51788-0579",))
    with pytest.raises(UsageError, match="give --into SURVEY"):
        run_fetch(question, Place())
    with pytest.raises(UsageError, match="to spare the archive"):
        run_fetch(question, Place(tmp_path, connections=64))


def test_one_fetch_at_a_time_in_a_folder(server: ArchiveServer, place: Place, sdss_spectra: list[Path]) -> None:
    paths = serve_sdss(server, sdss_spectra)
    with sole_user(place.folder), pytest.raises(UsageError, match="another fetch is writing here"):
        run_fetch(Question("sdss", tuple(paths)), place)


def test_words_of_a_table_cannot_lead_out_of_the_folder(server: ArchiveServer, place: Place, tmp_path: Path) -> None:
    serve_desi(server, tmp_path)
    table = {"TARGETID": [1], "SURVEY": ["../../x"], "PROGRAM": ["dark"], "HEALPIX": [1]}
    Table(table).write(tmp_path / "t.fits")
    Table({"plate": [1], "mjd": [52000], "fiberid": [1], "run2d": ["../x"]}).write(tmp_path / "s.fits")
    for question in (Question("desi", table=tmp_path / "t.fits"), Question("sdss", table=tmp_path / "s.fits")):
        try:
            report = run_fetch(question, place)
        except UsageError:
            continue
        assert counts(report) == {"failed": 1}
    assert {request.path for request in server.requests} <= {"/tap/sync"}
