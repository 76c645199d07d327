"""The command line as a user meets it: messages, exit codes, what a program reads."""

import json
import re
import subprocess
import sys

import pytest
from astropy.table import Table
from typer.testing import CliRunner

from conftest import every, make_spectra, small_survey_files
from rarespec.cli import demo
from rarespec.cli.app import app
from rarespec.survey import Survey

VERBS = (
    "demo",
    "simulate",
    "ingest",
    "info",
    "verify",
    "experiment",
    "search",
    "inspect",
    "labels",
    "report",
    "export",
    "doctor",
)


def rarespec(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli")
    small_survey_files(folder, 30)
    return folder


@pytest.fixture(scope="module")
def survey(files, tmp_path_factory):
    path = tmp_path_factory.mktemp("cli") / "a.survey"
    assert rarespec("ingest", files, "--into", path).exit_code == 0
    return path


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_with_an_example(verb):
    result = rarespec(verb, "--help")
    assert result.exit_code == 0 and f"Example: rarespec {verb}" in result.stdout


def test_ingest_gives_an_account(files, tmp_path):
    result = rarespec("ingest", files, "--into", tmp_path / "a.survey")
    assert result.exit_code == 0
    assert "30 spectra" in result.stdout and "stored" in result.stdout


def test_defects_are_summarised_and_set_the_exit_code(files, tmp_path):
    (tmp_path / "page.fits").write_text("<!DOCTYPE html><html>404</html>")
    result = rarespec("ingest", files, tmp_path / "page.fits", "--into", tmp_path / "a.survey")
    assert result.exit_code == 1
    assert "web page instead of data" in result.stdout and "defects.csv" in result.stdout
    assert "page.fits" in (tmp_path / "a.survey" / "defects.csv").read_text()


def test_where_nothing_is_stored_the_reason_is_told_at_once(tmp_path):
    (tmp_path / "page.fits").write_text("<!DOCTYPE html><html>404</html>")
    result = rarespec("ingest", tmp_path / "page.fits", "--into", tmp_path / "a.survey")
    assert result.exit_code == 1
    assert f"{tmp_path}/page.fits: an archive's error page" in result.stdout


def test_a_warning_is_one_line():
    code = (
        "import warnings, rarespec.cli as cli, rarespec.cli.app as verbs\n"
        "verbs.app = lambda: warnings.warn('look here')\n"
        "cli.main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "rarespec: look here\n"


def test_ingest_account_as_json(files, tmp_path):
    result = rarespec("ingest", files, "--into", tmp_path / "a.survey", "--json")
    assert json.loads(result.stdout)["files"] == {
        "seen": 30,
        "stored": 30,
        "repeated": 0,
        "defective": 0,
        "set aside": 0,
    }


def test_info_for_people_and_for_programs(survey):
    shown = rarespec("info", survey)
    assert shown.exit_code == 0 and "3861 pixels (sdss)" in shown.stdout and "STAR" in shown.stdout
    told = json.loads(rarespec("info", survey, "--json").stdout)
    assert told["spectra"] == 30 and told["classes"] == {"STAR": 30} and told["snr"]["known"] == 30
    assert 0.9 < told["coverage"]["p50"] <= 1


def test_verify_sound_and_damaged(files, tmp_path):
    rarespec("ingest", files, "--into", tmp_path / "a.survey")
    sound = rarespec("verify", tmp_path / "a.survey")
    assert sound.exit_code == 0 and "OK; 30 spectra" in sound.stdout
    chunk = tmp_path / "a.survey/flux/c/0/0"
    content = bytearray(chunk.read_bytes())
    content[1000] ^= 4
    chunk.write_bytes(content)
    damaged = rarespec("verify", tmp_path / "a.survey", "--json")
    assert damaged.exit_code == 1 and not json.loads(damaged.stdout)["sound"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["info", "nowhere"], "not a survey (it does not exist)"),
        (["verify", "nowhere"], "not a survey"),
        (["info", "afile"], "not a survey (no manifest.json)"),
        (["ingest", "x.fits", "--into", "afile"], "is a file"),
        (["ingest", "x.fits", "--into", "a.survey", "--bad-bits", "xx"], "0xFFFF0000"),
        (
            ["simulate", "--n", "5", "--as", "sdss", "--out", "d", "--grid", "paper"],
            "--grid and --as exclude each other",
        ),
        (["demo", "--out", "."], "not made by the demo"),
        (["ingest", "x.fits", "--into", "a.survey", "--grid", "papre"], "not a wavelength grid"),
        (["ingest", "x.fits", "--into", "a.survey", "--format", "pdf"], "there is no reader 'pdf'"),
        (["simulate", "--n", "5"], "either --into"),
        (["simulate", "--n", "5", "--into", "a.survey", "--rare", "unicorn=3"], "no class 'unicorn'"),
        (["simulate", "--n", "5", "--into", "a.survey", "--rare", "carbon"], "CLASS=NUMBER"),
        (["simulate", "--n", "5", "--as", "pdf", "--out", "d"], "pdf"),
    ],
)
def test_wrong_use_is_explained(words, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "afile").write_text("precious")
    result = rarespec(*words)
    assert result.exit_code == 2 and message in result.stderr
    assert "Traceback" not in result.output
    assert [path.name for path in tmp_path.iterdir()] == ["afile"]


def test_simulate_into_a_survey_is_reproducible(tmp_path):
    for name in ("a", "b"):
        words = ["simulate", "--n", 60, "--rare", "carbon=5", "--seed", 3, "--into", tmp_path / name]
        assert rarespec(*words).exit_code == 0
    a, b = Survey.open(tmp_path / "a"), Survey.open(tmp_path / "b")
    assert len(a) == 65 and (a.catalogue["class"] == "CARBON").sum() == 5
    assert [block.digests for block in a.manifest.blocks] == [block.digests for block in b.manifest.blocks]


@pytest.mark.parametrize("layout", ["sdss", "sdss-v", "lamost-dr1", "lamost-dr8", "lamost-dr9", "desi"])
def test_simulated_files_can_be_ingested(layout, tmp_path):
    words = ["simulate", "--n", 12, "--rare", "dz=2", "--as", layout, "--out", tmp_path / "files"]
    assert rarespec(*words).exit_code == 0
    assert rarespec("ingest", tmp_path / "files", "--into", tmp_path / "a.survey").exit_code == 0
    assert len(Survey.open(tmp_path / "a.survey")) >= 10


@pytest.mark.parametrize(
    ("n_common", "n_reported"),
    [(400, 20), pytest.param(demo.N_COMMON, demo.N_REPORTED, marks=pytest.mark.exhaustive)],
)
def test_the_demo_runs_and_draws(tmp_path, monkeypatch, n_common, n_reported):
    monkeypatch.setattr(demo, "N_COMMON", n_common)
    monkeypatch.setattr(demo, "N_REPORTED", n_reported)
    result = rarespec("demo", "--out", tmp_path / "demo")
    assert result.exit_code == 0, result.output
    assert result.stdout.count("with your own data:") == 6
    assert (tmp_path / "demo" / "spectra.png").stat().st_size > 20_000
    report = (tmp_path / "demo" / "report" / "report.html").read_text()
    assert report.count("<h3") >= 20 and (tmp_path / "demo" / "report" / "contact-sheet.pdf").exists()
    assert len(Table.read(tmp_path / "demo" / "candidates.ecsv")) == 200
    found = re.search(r"of the 27 other carbon stars, (\d+) are in the first 27", result.stdout)
    assert found and int(found[1]) > 15
    assert "defects by reason" in result.stdout
    assert f"rarespec inspect {tmp_path}/demo/demo.survey --known " in result.stdout.splitlines()[-1]


def test_the_demo_never_removes_labels(tmp_path):
    (tmp_path / ".rarespec-demo").touch()
    (tmp_path / "demo.survey.labels.sqlite").write_text("precious")
    result = rarespec("demo", "--out", tmp_path)
    assert result.exit_code == 2 and "contains labels" in result.stderr
    assert (tmp_path / "demo.survey.labels.sqlite").read_text() == "precious"


def loaded_by(statement):
    code = f"import sys; {statement}; print(*sys.modules)"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())


@pytest.mark.parametrize("statement", ["import rarespec", "import rarespec.cli.app"])
def test_nothing_heavy_is_loaded_before_it_is_needed(statement):
    heavy = {
        "astropy",
        "scipy",
        "sklearn",
        "zarr",
        "pyarrow",
        "matplotlib",
        "h5py",
        "numpy",
        "dust_extinction",
        "faiss",
    }
    assert not heavy & loaded_by(statement)


def test_a_process_that_reads_files_loads_nothing_that_learns():
    """An ingest starts one for each core: scikit-learn and what it loads took four fifths of their start."""
    assert not {"scipy", "sklearn", "pandas", "matplotlib"} & loaded_by("import rarespec.survey.ingest.pool")


def test_every_public_name_resolves():
    import rarespec

    assert all(getattr(rarespec, name) is not None for name in rarespec.__all__)


def test_names_are_shown_as_they_are(tmp_path):
    """Square brackets mean something to the library that prints tables."""
    survey = Survey.create(tmp_path / "mk[bold].survey")
    survey.append(make_spectra(2, **{"class": ["[/b]", ":star:"], "subclass": ["", ""]}))
    shown = rarespec("info", survey.path)
    assert shown.exit_code == 0 and "[/b]" in shown.stdout and ":star:" in shown.stdout


def test_a_fault_of_our_own_is_no_exit_code_for_defects(survey, monkeypatch):
    monkeypatch.setattr("rarespec.survey.summary.summarise", lambda survey: 1 / 0)
    result = rarespec("info", survey)
    assert result.exit_code == 3 and "please report" in result.stderr


def test_a_survey_without_classes(tmp_path):
    survey = Survey.create(tmp_path / "a.survey")
    survey.append(make_spectra(2))
    assert json.loads(rarespec("info", survey.path, "--json").stdout)["classes"] == {"": 2}


@pytest.mark.parametrize("closed", every(3, ["<&- >&- 2>&-", "<&-", "2>&-"]))
def test_closed_streams_do_no_harm(closed, files, tmp_path):
    """Pipes to the readers took the numbers of the streams, and nothing was stored."""
    command = f'"$@" {closed}'
    words = [sys.executable, "-m", "rarespec", "ingest", min(files.glob("*.fits")), "--into", tmp_path / "a.survey"]
    done = subprocess.run(["sh", "-c", command, "sh", *words], capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert len(Survey.open(tmp_path / "a.survey")) == 1


def test_a_folder_that_is_gone_does_no_harm(files, tmp_path):
    (tmp_path / "gone").mkdir()
    words = [sys.executable, "-m", "rarespec", "ingest", min(files.glob("*.fits")), "--into", tmp_path / "a.survey"]
    command = f'cd "{tmp_path}/gone" && rmdir "{tmp_path}/gone" && "$@"'
    done = subprocess.run(["sh", "-c", command, "sh", *words], capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr
