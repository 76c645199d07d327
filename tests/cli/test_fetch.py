"""`rarespec fetch` as a user meets it: from an archive to a survey that can be searched, counts, exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from conftest import small_survey_files
from fetching.archive_server import Answer, ArchiveServer, quick_patience, serving
from fetching.local_archives import archives_file, serve_lamost, serve_sdss, serve_sparcl
from rarespec.cli.app import app
from rarespec.mock.simulate import SkyChoice, simulate_files
from rarespec.spectrum import Spectra
from rarespec.survey import Survey

TOKEN = "S3cretToken1"


@pytest.fixture(scope="module")
def spectra(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    sky = SkyChoice(60, (("carbon", 12),), seed=5, layout="sdss")
    return simulate_files(sky, tmp_path_factory.mktemp("sky"), jobs=1)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[ArchiveServer]:
    """All archives, named by the environment; waiting takes no time."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.delenv("RARESPEC_LAMOST_TOKEN", raising=False)
    monkeypatch.setattr("rarespec.fetching.web.Patience", lambda: quick_patience(3))
    with serving() as archive:
        monkeypatch.setenv("RARESPEC_ARCHIVES", str(archives_file(archive, tmp_path / "archives.toml")))
        yield archive


def rarespec(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.mark.parametrize("archive", ["sdss", "lamost", "desi", "sparcl"])
def test_help_has_an_example(archive: str) -> None:
    result = rarespec("fetch", archive, "--help")
    assert result.exit_code == 0
    assert f"Example: rarespec fetch {archive}" in result.stdout


def test_from_the_archive_to_a_survey_that_can_be_searched(
    server: ArchiveServer, spectra: list[Path], tmp_path: Path
) -> None:
    paths = serve_sdss(server, spectra)
    (tmp_path / "ids.txt").write_text("".join(f"{id}\n" for id in paths))
    survey = tmp_path / "x.survey"
    result = rarespec("fetch", "sdss", "--table", tmp_path / "ids.txt", "--into", survey)
    assert result.exit_code == 0, result.output
    assert "72 objects requested" in result.stdout
    assert "72 match the archive's checksum; for 0 the archive has none" in result.stdout
    assert f"{survey}: 72 spectra" in result.stdout
    opened = Survey.open(survey)
    carbon = [id for id, kind in zip(opened.ids, opened.catalogue["subclass"], strict=True) if "Carbon" in str(kind)]
    assert len(carbon) == 12
    known = [word for id in carbon[:4] for word in ("--known", id)]
    found = rarespec("search", survey, *known, "--top", 10, "--out", tmp_path / "found.csv")
    assert found.exit_code == 0, found.output
    assert sum(id in (tmp_path / "found.csv").read_text() for id in carbon[4:]) >= 3


def test_counts_reasons_and_exit_code_when_some_fail(
    server: ArchiveServer, spectra: list[Path], tmp_path: Path
) -> None:
    ids = list(serve_sdss(server, spectra[:3]))
    words = ("fetch", "sdss", *ids, "9999-51000-0001", "--out", tmp_path / "out")
    result = rarespec(*words)
    assert result.exit_code == 1
    assert [" ".join(line.split()) for line in result.stdout.splitlines()[1:4]] == [
        "fetched 3",
        "already there 0",
        "failed 1",
    ]
    assert "9999-51000-0001: not in the archive (HTTP 404), at all 3 addresses" in result.stdout
    assert str(tmp_path / "out" / ".failed.csv") in result.stdout
    again = json.loads(rarespec(*words, "--json").stdout)
    assert again["objects"] == {"asked": 4, "fetched": 0, "already there": 3, "failed": 1}


def test_when_nothing_came_it_failed(server: ArchiveServer, tmp_path: Path) -> None:
    result = rarespec("fetch", "sdss", "9999-51000-0001", "--into", tmp_path / "x.survey")
    assert result.exit_code == 3
    assert not (tmp_path / "x.survey").exists()


def test_a_file_that_ingest_refuses_is_told(server: ArchiveServer, spectra: list[Path], tmp_path: Path) -> None:
    """Whole by all that fetch can see, but with no spectrum in it."""
    from astropy.io import fits

    ids = list(serve_sdss(server, spectra[:2]))
    empty = tmp_path / "spec-1234-52000-0001.fits"
    fits.PrimaryHDU().writeto(empty)
    serve_sdss(server, [empty])
    result = rarespec("fetch", "sdss", *ids, "1234-52000-0001", "--into", tmp_path / "x.survey")
    assert result.exit_code == 1
    assert "failed                 0" in result.stdout
    assert "defects by reason" in result.stdout


def test_a_dry_run_lists_files_and_sizes(server: ArchiveServer, spectra: list[Path], tmp_path: Path) -> None:
    paths = serve_sdss(server, spectra[:3])
    words = ("fetch", "sdss", *paths, "--into", tmp_path / "x.survey", "--dry-run")
    result = rarespec(*words)
    total = sum(path.stat().st_size for path in spectra[:3])
    assert result.exit_code == 0
    assert f"3 files to fetch, {total / 1000:.1f} kB" in result.stdout
    assert all(path in result.stdout for path in paths.values())
    view = json.loads(rarespec(*words, "--json").stdout)
    assert (view["bytes"], view["bytes are exact"], len(view["to fetch"])) == (total, True, 3)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["archives.toml"]


def test_a_dry_run_says_that_a_size_is_unknown(server: ArchiveServer, spectra: list[Path]) -> None:
    server.replies["/dr10/v2.0/spectrum/fits/1"] = Answer(b"", 405)
    result = rarespec("fetch", "lamost", "1", "--dry-run")
    assert "size unknown" in result.stdout
    assert "1 files to fetch, size unknown" in result.stdout
    sizes = rarespec("fetch", "sparcl", "00000000-b1ff-48ed-b162-46d9d65f829c", "--dry-run").stdout
    assert "1 files to fetch, size unknown" in sizes


def test_the_token_is_printed_nowhere(
    server: ArchiveServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    monkeypatch.setenv("RARESPEC_LAMOST_TOKEN", TOKEN)
    (obsid,) = serve_lamost(server, small_survey_files(tmp_path / "l", 1, "lamost-dr9"), TOKEN)
    server.replies["/dr10/v2.0/spectrum/fits/7"] = lambda request: Answer(f"<html>{request.query}".encode())
    for extra in ((), ("--dry-run",), ("--json",)):
        result = rarespec("fetch", "lamost", obsid, "7", "--into", tmp_path / "x.survey", *extra)
        assert result.exit_code in (0, 1)
        assert TOKEN not in result.output
    assert TOKEN not in caplog.text
    assert any(TOKEN in request.query for request in server.requests)
    assert not any(TOKEN in text for text in _all_text(tmp_path))


def _all_text(folder: Path) -> Iterator[str]:
    return (path.read_bytes().decode("latin-1") for path in folder.rglob("*") if path.is_file())


def test_there_is_no_option_for_the_token() -> None:
    assert rarespec("fetch", "lamost", "1", "--token", "x").exit_code == 2


def test_sparcl(server: ArchiveServer, tmp_path: Path) -> None:
    from conftest import make_spectra

    made: Spectra = make_spectra(2)
    result = rarespec("fetch", "sparcl", *serve_sparcl(server, made), "--into", tmp_path / "x.survey")
    assert result.exit_code == 0, result.output
    assert len(Survey.open(tmp_path / "x.survey")) == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("sdss", "--into", "x"), "give one of these"),
        (("sdss", "0355-51788-0579"), "give --into SURVEY"),
        (("sdss", "0355", "--out", "x"), "0355: not an SDSS id"),
        (("lamost", "--table", "missing.csv", "--out", "x"), "missing.csv: No such file"),
        (("sdss", "0355-51788-0579", "--out", "x", "--archives", "missing.toml"), "missing.toml"),
        (("desi", "main-dark-1", "--out", "x", "--release", "dr9"), "no release 'dr9'"),
        (("sdss", "0355-51788-0579", "--out", "x", "--connections", "99"), "to spare the archive"),
    ],
)
def test_wrong_use(server: ArchiveServer, words: tuple[str, ...], message: str) -> None:
    result = rarespec("fetch", *words)
    assert result.exit_code == 2
    assert message in result.stderr
    assert server.requests == []


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys; from rarespec.cli.app import app; app(['fetch', 'sdss', '--help'], standalone_mode=False);"
        "print([m for m in ('numpy', 'astropy', 'pyarrow', 'urllib3') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("[]")
