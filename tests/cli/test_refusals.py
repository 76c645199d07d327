"""Wrong use is refused before anything is computed or made, in words that say what to do."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from conftest import make_spectra, small_survey_files
from rarespec.cli.app import app
from rarespec.cli.terminal import console, print_rows
from rarespec.errors import UsageError
from rarespec.searching import search as search_module
from rarespec.searching.known.known_examples import examples_of
from rarespec.storage.text import choose_from
from rarespec.storage.whole_file import write_whole
from rarespec.survey import Survey

N = 12


def rarespec(*words: object):
    return CliRunner().invoke(app, [str(word) for word in words])


def said(result: object) -> str:
    return " ".join(str(result.output).split())  # type: ignore[attr-defined]


@pytest.fixture(scope="module")
def survey(tmp_path_factory: pytest.TempPathFactory) -> Survey:
    made = Survey.create(tmp_path_factory.mktemp("r") / "a.survey")
    # one in each hour of the sky, in degrees
    place = {"ra": [15.0 * i + 0.5 for i in range(N)], "dec": [float(i) for i in range(N)]}
    made.append(make_spectra(N, **place))
    return made


@pytest.fixture
def nothing_is_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    def computed(*_: object, **__: object) -> None:
        raise AssertionError("features were computed before wrong use was refused")

    monkeypatch.setattr(search_module, "features_of", computed)


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--out", "cand.xyz", "unknown file format; use a name that ends in .ecsv, .csv"),
        ("--out", "cand.ecvs", "did you mean '.ecsv'? Use a name that ends in"),
        ("--out", "nodir/c.csv", "the directory nodir does not exist; create it first"),
        ("--save-model", "nodir/m.model", "the directory nodir does not exist; create it first"),
        (
            "--method",
            "bagging",
            "there is no method 'bagging'; did you mean 'bagging_svm'? Choose from auto, bagging_svm",
        ),
        ("--recipe", "papers", "there is no recipe 'papers'; did you mean 'paper'? Choose from paper, sky"),
        ("--param", "bags=3", "auto: has no parameter bags"),
    ],
)
def test_a_search_that_cannot_end_well_does_not_begin(
    survey: Survey, nothing_is_computed: None, monkeypatch, tmp_path: Path, option: str, value: str, words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    result = rarespec("search", survey.path, "--known", "s00001,s00002", option, value)
    assert result.exit_code == 2 and words in said(result)
    assert not list(tmp_path.iterdir())


def test_a_report_needs_a_directory(survey: Survey, nothing_is_computed: None, tmp_path: Path) -> None:
    (tmp_path / "there").write_text("precious")
    result = rarespec("report", survey.path, "--known", "s00001,s00002", "--out", tmp_path / "there")
    assert result.exit_code == 2 and "the report needs a directory" in said(result)


def test_a_directory_is_not_replaced_by_candidates(survey: Survey, nothing_is_computed: None, tmp_path: Path) -> None:
    (tmp_path / "mine.hats").mkdir()
    result = rarespec("search", survey.path, "--known", "s00001", "--out", tmp_path / "mine.hats")
    assert result.exit_code == 2 and "is not a HATS catalogue" in said(result)


@pytest.mark.parametrize("named", ["none/*.fits", "nofile.fits", "@nolist.txt", "empty"])
def test_what_names_no_file_makes_no_survey(tmp_path: Path, monkeypatch, named: str) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "free").mkdir()
    for into in ("new.survey", "free"):
        result = rarespec("ingest", named, "--into", into)
        assert result.exit_code == 2 and "no survey was made" in said(result)
    assert not (tmp_path / "new.survey").exists() and not list((tmp_path / "free").iterdir())


def test_a_survey_that_grows_keeps_what_is_wrong_with_its_inputs(tmp_path: Path) -> None:
    small_survey_files(tmp_path / "files", 2)
    assert rarespec("ingest", tmp_path / "files", "--into", tmp_path / "a.survey").exit_code == 0
    result = rarespec("ingest", tmp_path / "none/*.fits", "--into", tmp_path / "a.survey")
    assert result.exit_code == 1 and "every defect is listed" in said(result)


def source_tree(folder: Path, n: int) -> None:
    folder.mkdir(parents=True)
    for i in range(n):
        (folder / f"module_{i}.py").write_text(f'"""A module."""\n\nimport os\n\n\ndef f_{i}(x):\n    return x + {i}\n')
    (folder / "README.md").write_text("# A program\n\nIt does something.\n")
    (folder / "setup.json").write_text('{"name": "program", "numbers": [1, 2, 3]}\n')


def test_a_source_tree_is_one_sentence(tmp_path: Path) -> None:
    source_tree(tmp_path / "program", 60)
    result = rarespec("ingest", tmp_path / "program", "--into", tmp_path / "new.survey")
    assert result.exit_code == 2 and not (tmp_path / "new.survey").exists()
    assert "none of its 62 files could hold spectra (most are .py)" in said(result) and len(result.output) < 400


def test_a_source_tree_with_a_stray_table_is_one_sentence_too(tmp_path: Path) -> None:
    source_tree(tmp_path / "program", 60)
    (tmp_path / "program" / "lines.csv").write_text("name,wave\n1,4000.5\n2,4001.5\n3,4002.5\n")
    result = rarespec("ingest", tmp_path / "program", "--into", tmp_path / "new.survey")
    assert result.exit_code == 2 and "only 1 of its 63 files could hold spectra" in said(result)


def test_readme_files_among_data_are_counted(tmp_path: Path) -> None:
    files = small_survey_files(tmp_path / "files", 15)
    for i in range(4):
        (tmp_path / "files" / f"README{i}.txt").write_text("These are spectra.\nHandle with care.\n")
    result = rarespec("ingest", tmp_path / "files", "--into", tmp_path / "new.survey", "--json")
    counts = json.loads(result.stdout)["files"]
    assert result.exit_code == 1 and counts["stored"] == len(files) and counts["defective"] == 4


def test_text_tables_and_damaged_files_are_data(tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    rows = "".join(f"{4000 + i} {i % 7}\n" for i in range(200))
    for i in range(12):
        (tmp_path / "files" / f"spec{i}.dat").write_text("# wavelength flux\nwavelength flux\n" + rows)
        (tmp_path / "files" / f"cut{i}.fits").write_bytes(b"SIMPLE  =                    T")
    result = rarespec("ingest", tmp_path / "files", "--into", tmp_path / "new.survey", "--json")
    counts = json.loads(result.stdout)["files"]
    assert counts["stored"] == 12 and counts["defective"] == 12


def test_progress_and_account_count_the_same_files(tmp_path: Path, monkeypatch) -> None:
    """Sixty spectra, a catalogue that is set aside, and a pattern that matches nothing: 62 in both."""
    from rarespec.survey.ingest.reading import IngestOptions
    from rarespec.survey.ingest.run import run_ingest

    small_survey_files(tmp_path / "files", 20)
    (tmp_path / "files" / "zz.csv").write_text("id,ra,dec,z,class\n" + "".join(f"{i},1,2,0,STAR\n" for i in range(5)))
    shown: list[tuple[int, int]] = []
    _, report = run_ingest(
        [tmp_path / "files", tmp_path / "none*"],
        tmp_path / "a.survey",
        IngestOptions(),
        jobs=1,
        progress=lambda done, total, note="": shown.append((done, total)),
    )
    assert shown[-1] == (22, 22) == (report.files_seen, report.files_seen)
    assert all(done <= total for done, total in shown)
    assert sum(report.files.values()) == report.files_seen and report.to_json()["files"]["seen"] == 22


def hours_table(path: Path, rows: list[tuple[object, object]], name: str = "ra") -> Path:
    path.write_text(f"{name},dec\n" + "".join(f"{ra},{dec}\n" for ra, dec in rows))
    return path


def test_hours_are_recognised_and_asked_about(survey: Survey, tmp_path: Path) -> None:
    rows = [((15.0 * i + 0.5) / 15, float(i)) for i in range(1, 8)]
    table = hours_table(tmp_path / "known.csv", rows)
    with pytest.raises(UsageError, match=r"ascensions in hours\?.*7 of 7 match.*call the column ra_hours"):
        examples_of(survey, str(table))
    named = hours_table(tmp_path / "named.csv", rows, "ra_hours")
    assert examples_of(survey, str(named)).ids == [f"s{i:05d}" for i in range(1, 8)]
    text = hours_table(tmp_path / "text.csv", [("01:02:00", 1.0), ("02:02:00", 2.0)])
    assert examples_of(survey, str(text)).ids == ["s00001", "s00002"]


def test_degrees_below_24_are_not_asked_about(survey: Survey, tmp_path: Path) -> None:
    found = examples_of(survey, str(hours_table(tmp_path / "known.csv", [(15.5, 1.0), (0.5, 0.0), (3.25, 80.0)])))
    assert found.ids == ["s00001", "s00000"] and not any("hours" in problem for problem in found.problems)


def test_sexagesimal_positions_of_spectra_become_degrees(tmp_path: Path) -> None:
    from astropy.io import fits

    from rarespec.survey.ingest import ingest

    table = fits.BinTableHDU.from_columns(
        [
            fits.Column("wavelength", "D", array=[4000.0 + i for i in range(300)]),
            fits.Column("flux", "D", array=[1.0 + i % 3 for i in range(300)]),
        ]
    )
    for name, ra, dec in (("a", "12:30:00.0", "-01:30:00"), ("b", "12h30m00s", "-1d30m"), ("c", "north", "of here")):
        table.header["RA"], table.header["DEC"] = ra, dec
        table.writeto(tmp_path / f"{name}.fits")
    survey = ingest([tmp_path / f"{name}.fits" for name in "abc"], tmp_path / "a.survey", jobs=1)
    assert survey.catalogue["ra"] == pytest.approx([187.5, 187.5, float("nan")], nan_ok=True)
    assert survey.catalogue["dec"] == pytest.approx([-1.5, -1.5, float("nan")], nan_ok=True)


@pytest.mark.parametrize("width", [40, 80, 200])
def test_long_ids_never_wrap(capsys: pytest.CaptureFixture, monkeypatch, width: int) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    id, other = "spec-of-a-very-long-name-" * 4, "another-name-that-is-long-" * 2
    headings = ("rank", "id", "chance", "class", "nearest known")
    rows = [("1", id, "0.5", "a class of very many words indeed", other), ("2", "short", "0.4", "M", "s1")]
    print_rows(console(), headings, rows, ("id", "nearest known"), spare=("nearest known", "class"))
    shown = capsys.readouterr().out
    assert id in shown, "the id is cut or broken over lines"
    assert other in shown or "no room for" in shown
    assert ("nearest known" in shown) and (width < 200 or other in shown)


def test_a_search_shows_its_ids_whole(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    survey = Survey.create(tmp_path / "a.survey")
    spectra = make_spectra(30)
    ids = [f"a-survey-with-names-that-are-longer-than-a-terminal-is-wide-{i:05d}" for i in range(30)]
    spectra.catalogue["id"][:] = ids
    survey.append(spectra)
    result = rarespec("search", survey.path, "--known", ",".join(ids[:3]), "--method", "matched_filter")
    assert result.exit_code == 0 and sum(id in result.stdout for id in ids[3:]) == 10


def test_no_mark_stands_twice(survey: Survey) -> None:
    result = rarespec("search", survey.path, "--known", "s0000l,s0001O")
    assert result.exit_code == 2 and "did you mean" in said(result)
    assert not re.search(r"[.?!;:,][.;:,]|[.?!] [.;]", said(result).replace("...", "")), said(result)


def test_errors_name_the_file_that_was_asked_for(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        write_whole(tmp_path / "nodir" / "c.csv", b"")
    assert caught.value.filename == str(tmp_path / "nodir" / "c.csv") and str(caught.value).endswith("c.csv'")


def test_a_file_in_the_way_is_named_in_words(tmp_path: Path) -> None:
    (tmp_path / "there").write_text("precious")
    result = rarespec("simulate", "--n", 2, "--as", "sdss", "--out", tmp_path / "there", "--jobs", 1)
    assert result.exit_code == 2 and "File exists" not in result.output
    assert "a file has this name" in said(result) and "there" in said(result)
    below = rarespec("simulate", "--n", 2, "--into", tmp_path / "there" / "x.survey", "--jobs", 1)
    assert below.exit_code == 2 and "Not a directory" not in below.output


@pytest.mark.parametrize("verb", ["ingest", "search", "export", "simulate", "fetch sdss", "inspect"])
def test_help_speaks_of_text_and_not_of_python(verb: str) -> None:
    shown = CliRunner(env={"COLUMNS": "200"}).invoke(app, [*verb.split(), "--help"])
    assert shown.exit_code == 0 and "list[" not in shown.output and "<str>" not in shown.output


def test_the_most_similar_name_is_offered() -> None:
    assert choose_from(("paper", "sky"), "skye") == "did you mean 'sky'? Choose from paper, sky"
    assert choose_from(("paper", "sky"), "zzz") == "choose from paper, sky"
    assert choose_from(("paper", "sky"), "") == "choose from paper, sky"


def test_export_on_the_command_line(survey: Survey, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "candidates.csv").write_text("rank,id\n1,s00004\n2,s00001\n3,s00007\n")
    result = rarespec("export", survey.path, "--ids", "candidates.csv", "--top", 2, "--as", "parquet")
    assert result.exit_code == 0 and "2 spectra written to a-spectra.parquet" in said(result)
    again = rarespec("export", survey.path, "--ids", "candidates.csv", "--as", "parquet")
    assert again.exit_code == 2 and "already exists" in said(again)
    some = rarespec("export", survey.path, "--ids", "s00002,nobody", "--out", "two.fits", "--json")
    assert some.exit_code == 1 and "nobody" in some.stderr
    assert json.loads(some.stdout) == {"spectra": 1, "paths": ["two.fits"]}
    wrong = rarespec("export", survey.path, "--ids", "s00002", "--as", "specutil")
    assert wrong.exit_code == 2 and "did you mean 'specutils'? Choose from specutils, fits" in said(wrong)
