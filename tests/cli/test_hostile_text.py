"""Names that steer a terminal, in every field that others fill in: no verb lets one through, and JSON stays JSON."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import Result
from typer.testing import CliRunner

from conftest import SMALL_GRID, make_spectra
from fetching.archive_server import Answer, quick_patience, serving
from fetching.local_archives import archives_file
from rarespec.cli import one_line
from rarespec.cli.app import app
from rarespec.cli.progress import _bar
from rarespec.labels.event import Label, LabelEvent, new_event_id
from rarespec.labels.log import LabelLog
from rarespec.spectrum import Spectra
from rarespec.survey import Survey

EVIL = (
    "\x1b]0;owned\x07",
    "\x1b[2J\x1b[31m",
    "\x9b31m",
    "\u202egpj",
    "\u2066x",
    "\x7f",
    "\rrarespec: sound",
    "\x00",
    "a\nb",
)
"""A title, a screen wiped, C1, writing turned round, DEL, a line written over, NUL, a second line."""
MARKUP = "[red]x[/red][link=http://a]y[/link]:smile:"
N = 80


def evil(i: int) -> str:
    return f"{EVIL[i % len(EVIL)]}{MARKUP}{i}"


@pytest.fixture(scope="module")
def survey(tmp_path_factory: pytest.TempPathFactory) -> Survey:
    survey = Survey.create(tmp_path_factory.mktemp("evil") / "a\x1b[31m[red].survey", SMALL_GRID)
    made = make_spectra(N, SMALL_GRID)
    names = {name: [evil(i) for i in range(N)] for name in ("id", "class", "subclass", "survey", "c\x1b[31mlumn")}
    numbers = {"snr": [9.0, float("inf"), float("nan"), *[5.0] * (N - 3)], "ra": [1.0] * N, "dec": [1.0] * N}
    survey.append(Spectra(made.wavelength, made.flux, made.ivar, made.bad, made.catalogue | names | numbers))
    return survey


@pytest.fixture(scope="module")
def log(survey: Survey, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("labels") / "l\x1b[31m.sqlite"
    with LabelLog(path) as log:
        for i in range(2 * len(EVIL)):
            said = Label.YES if i % 2 else Label.NO
            log.append(LabelEvent(new_event_id(), evil(i), said, person=f"Ada{i % 2}", comment=evil(i)))
        log.append(LabelEvent(new_event_id(), "\x1b[5m stranger", Label.YES, person="Ada"))
    return path


def rarespec(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words], env={"COLUMNS": "200"})


def check_plain(result: Result, code: int | tuple[int, ...] = 0) -> None:
    text = result.stdout + result.stderr
    assert result.exit_code in (code if isinstance(code, tuple) else (code,)), text
    assert "bug in rarespec" not in text and "Traceback" not in text
    bad = sorted({character for character in text if character != "\n" and not character.isprintable()})
    assert not bad, (bad, text)
    assert "\nrarespec: sound" not in text


def strict(result: Result) -> Any:
    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is not JSON")

    assert result.stdout.isascii() and "\x7f" not in result.stdout
    return json.loads(result.stdout, parse_constant=refuse)


def known_table(folder: Path, n: int = 4) -> Path:
    path = folder / "known\x1b[31m.csv"
    path.write_text("id\n" + "".join(f"{evil(i)}\n" for i in range(1, 1 + 9 * n, 9)))
    return path


def test_info(survey: Survey) -> None:
    result = rarespec("info", survey.path)
    check_plain(result)
    assert MARKUP in result.stdout  # brackets are text
    as_json = rarespec("info", survey.path, "--json")
    check_plain(as_json)
    assert evil(0) in strict(as_json)["classes"]


def test_verify(survey: Survey, tmp_path: Path) -> None:
    check_plain(rarespec("verify", survey.path))
    check_plain(rarespec("verify", tmp_path / "\x1b[31m.survey"), (2, 3))
    strict(rarespec("verify", survey.path, "--json"))


def test_search_and_model(survey: Survey, tmp_path: Path) -> None:
    words = ("--known", known_table(tmp_path), "--method", "matched_filter", "--top", 20)
    model, out = tmp_path / "m\x1b[31m.safetensors", tmp_path / "o\x1b[31m.csv"
    result = rarespec("search", survey.path, *words, "--save-model", model, "--out", out)
    check_plain(result, (0, 1))
    assert MARKUP.split(":")[0] in result.stdout.replace("\n", "")
    for more in (words, ("--model", model, "--top", 20)):
        as_json = rarespec("search", survey.path, *more, "--json")
        check_plain(as_json, (0, 1))
        assert len(strict(as_json)["candidates"]) == 20
    check_plain(rarespec("search", survey.path, "--model", model))


@pytest.mark.parametrize(
    "words",
    [
        ("search", "--known", "\x1b[31mnobody"),
        ("search", "--known", "\x1b[31mnobody", "--method", "\x1b[31m"),
        ("search", "--cone", "\x1b[31m", "--known", "x"),
        ("search", "--param", "\x1b[31m", "--known", "x"),
        ("search", "--top", "\x1b[31m"),
        ("search", "--model", "/no/\x1b[31m"),
        ("search", "\x1b[31m"),
        ("search", "--\x1b[31m"),
        ("report", "--known", "\x1b[31mnobody"),
        ("labels", "--only", "\x1b[31m"),
        ("labels", "--import", "/no/\x1b[31m.csv"),
        ("labels", "--merge", "/no/\x1b[31m"),
        ("inspect", "--known", "\x1b[31mnobody"),
        ("experiment", "--rare", "\x1b[31mnobody", "--quick"),
    ],
    ids=lambda words: "-".join(words).replace("\x1b[31m", "ESC").replace("/", ""),
)
def test_what_is_wrong_is_told_plainly(survey: Survey, tmp_path: Path, words: tuple[str, ...]) -> None:
    verb, *rest = words
    more = ("--out", tmp_path / "out") if verb in ("report", "experiment") else ()
    check_plain(rarespec(verb, survey.path, *rest, *more), (2, 3))


def test_a_verb_that_is_none() -> None:
    check_plain(rarespec("\x1b[31m"), 2)


def test_labels(survey: Survey, log: Path, tmp_path: Path) -> None:
    result = rarespec("labels", survey.path, "--log", log)
    check_plain(result)
    assert MARKUP.split(":")[0] in result.stdout.replace("\n", "")
    strict(rarespec("labels", survey.path, "--log", log, "--json"))
    table = tmp_path / "e\x1b[31m.csv"
    check_plain(rarespec("labels", survey.path, "--log", log, "--export", table), (0, 1))
    check_plain(rarespec("labels", survey.path, "--log", tmp_path / "n\x1b.sqlite", "--import", table), (0, 1))
    check_plain(rarespec("labels", survey.path, "--log", tmp_path / "o\x1b.sqlite", "--merge", log), (0, 1))


def test_report(survey: Survey, tmp_path: Path) -> None:
    out = tmp_path / "r\x1b[31m"
    words = ("--known", known_table(tmp_path), "--method", "matched_filter", "--out", out, "--n", 9)
    check_plain(rarespec("report", survey.path, *words), (0, 1))
    assert all(place.resolve().is_relative_to(out.resolve()) for place in tmp_path.glob("r*/**/*"))
    page = next(out.rglob("*.html")).read_text()
    assert not any(character in page for character in "\x1b\x07\x9b\x7f\x00\u202e\u2066")


def test_ingest_of_files_with_such_names_and_contents(tmp_path: Path) -> None:
    folder = tmp_path / "f\x1b[31m"
    folder.mkdir()
    (folder / "a\x1b[2J[red].fits").write_bytes(b"no FITS\x1b[31m")
    (folder / "b\x1b[2J.csv").write_text("\x1b[31m,\x9b\n1,2\n")
    (folder / "c\udcff.npz").write_bytes(b"PK\x1b")
    np.savez(folder / "d\x07.npz", **{"fl\x1bux": np.zeros(3)})
    for words in ((), ("--json",)):
        result = rarespec("ingest", folder, "--into", tmp_path / "a\x1b[31m.survey", "--jobs", 1, *words)
        check_plain(result, (1, 3))
    check_plain(rarespec("ingest", folder / "\x1b[31mnone", "--into", tmp_path / "b.survey"), (1, 2, 3))


def test_doctor(survey: Survey, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", "/no/\x1b[31m")
    check_plain(rarespec("doctor", survey.path), (0, 1))


def test_what_an_archive_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr("rarespec.fetching.web.Patience", lambda: quick_patience(2))
    page = Answer(b"<html><title>\x1b[31m[red]owned\xc2\x9b</title></html>")
    with serving() as server:
        monkeypatch.setenv("RARESPEC_ARCHIVES", str(archives_file(server, tmp_path / "archives.toml")))
        monkeypatch.setattr(server, "answer", lambda request: page)
        for words in (
            ("sdss", "1000-55000-0001"),
            ("sdss", "\x1b[31m"),
            ("sdss", "--sql", "select"),
            ("lamost", "437513049"),
            ("desi", "main-dark-23040"),
            ("sparcl", "00000dd7-b1ff-48ed-b162-46d9d65f829c"),
        ):
            result = rarespec("fetch", *words, "--out", tmp_path / "files")
            check_plain(result, (1, 2, 3))
        as_json = rarespec("fetch", "sdss", "1000-55000-0001", "--out", tmp_path / "files", "--json")
        strict(as_json)


def test_warnings_and_bars(capsys: pytest.CaptureFixture[str]) -> None:
    assert one_line(UserWarning(f"\x1b[31m{MARKUP}")) == f"rarespec: \\x1b[31m{MARKUP}\n"
    with warnings.catch_warnings(), _bar("fetch", "files") as show:
        show(1, 2, "\x1b]0;x\x07[red]note[/red]")
    told = capsys.readouterr().err
    assert "\x07" not in told and "\x1b]" not in told and "[red]note[/red]" in told
