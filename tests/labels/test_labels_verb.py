"""`rarespec labels` as a user meets it."""

import json

import pytest
import typer
from typer.testing import CliRunner

from conftest import SMALL_GRID, make_spectra
from rarespec.cli import labels
from rarespec.labels.event import Label, LabelEvent, new_event_id
from rarespec.labels.log import LabelLog
from rarespec.survey import Survey

app = typer.Typer()
app.command()(labels.command)


def rarespec_labels(*words):
    return CliRunner().invoke(app, [str(word) for word in words], env={"COLUMNS": "140"})


@pytest.fixture(scope="module")
def survey(tmp_path_factory):
    survey = Survey.create(tmp_path_factory.mktemp("labels") / "a.survey", SMALL_GRID)
    survey.append(make_spectra(6, SMALL_GRID))
    return survey


@pytest.fixture
def log(tmp_path):
    """A log with a dispute, a comment from a stranger and an undo."""
    path = tmp_path / "a.sqlite"
    said = [
        ("s00000", "yes", "Ada", "C2 bands"),
        ("s00000", "no", "Bea", "\x1b[31m[b]F star"),
        ("s00001", "yes", "Ada", ""),
    ]
    with LabelLog(path) as log:
        for i, (spectrum, label, person, comment) in enumerate(said):
            at = f"2025-03-01T20:15:{i:02d}Z"
            event = log.append(LabelEvent(new_event_id(), spectrum, Label(label), None, person, at, comment=comment))
        gone = log.append(LabelEvent(new_event_id(), "s00002", Label.BAD, person="Ada"))
        log.append(LabelEvent(new_event_id(), "", None, gone.event_id, "Ada"))
    assert event.spectrum == "s00001"
    return path


def test_who_said_what_when_and_where_people_disagree(survey, log):
    result = rarespec_labels(survey.path, "--log", log)
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0].split() == ["id", "who", "label", "when", "(UTC)", "comment", "disagreement"]
    assert " ".join(lines[1].split()) == "s00000 Ada yes 2025-03-01 20:15 C2 bands yes; combined: undecided"
    assert "[b]F star" in lines[2] and "\x1b" not in result.stdout
    assert " ".join(lines[3].split()) == "s00001 Ada yes 2025-03-01 20:15"
    assert lines[4] == "3 labels of 2 spectra by 2 people: 1 yes, 1 undecided; people disagree on 1"


def test_what_is_said_about_one_spectrum_is_together(survey, log):
    with LabelLog(log) as more:
        more.append(LabelEvent(new_event_id(), "s00000", Label.NO, person="Cleo"))
    lines = rarespec_labels(survey.path, "--log", log).stdout.splitlines()
    assert [line.split()[0] for line in lines[1:5]] == ["s00000"] * 3 + ["s00001"]


def test_the_rule_decides_and_one_label_can_be_asked_for(survey, log):
    result = rarespec_labels(survey.path, "--log", log, "--rule", "latest", "--only", "no")
    assert "3 labels" not in result.stdout and "2 labels of 1 spectrum by 2 people: 1 no" in result.stdout


def test_as_json(survey, log):
    answer = json.loads(rarespec_labels(survey.path, "--log", log, "--json", "--rule", "any_yes").stdout)
    assert answer["rule"] == "any_yes" and answer["log"] == str(log)
    assert [(row["spectrum"], row["person"], row["label"]) for row in answer["labels"]] == [
        ("s00000", "Ada", "yes"),
        ("s00000", "Bea", "no"),
        ("s00001", "Ada", "yes"),
    ]
    first = answer["spectra"][0]
    assert first["id"] == "s00000" and first["label"] == "yes" and first["disagree"] and first["by"]["Bea"] == "no"


def test_looking_creates_nothing(survey, log):
    before = sorted(log.parent.iterdir())
    assert rarespec_labels(survey.path, "--log", log).exit_code == 0 and sorted(log.parent.iterdir()) == before
    result = rarespec_labels(survey.path)
    assert result.exit_code == 0 and "no labels yet" in result.stdout
    assert [path.name for path in survey.path.parent.iterdir()] == ["a.survey"]


def test_export_and_import_into_another_log(survey, log, tmp_path):
    table, other = tmp_path / "t.csv", tmp_path / "b.sqlite"
    result = rarespec_labels(survey.path, "--log", log, "--export", table)
    assert result.exit_code == 0 and "3 labels written to" in result.output and "who" not in result.stdout
    for told in ("3 events added", "0 events added to"):
        result = rarespec_labels(survey.path, "--log", other, "--import", table)
        assert result.exit_code == 0 and told in result.output
    listed = [rarespec_labels(survey.path, "--log", path).stdout for path in (log, other)]
    assert listed[0] == listed[1]


def test_what_prospect_cannot_take_is_told_without_a_line_of_code(survey, log, tmp_path):
    result = rarespec_labels(survey.path, "--log", log, "--export", tmp_path / "vi.csv", "--format", "prospect")
    assert result.exit_code == 0 and "3 ids are not whole numbers" in result.stderr
    assert "UserWarning" not in result.output


def test_ids_that_the_survey_does_not_have_are_left_out_and_told(survey, tmp_path):
    (tmp_path / "t.csv").write_text("id,label,ra\ns00003,no,1\nnobody,yes,2\n")
    words = ("--log", tmp_path / "b.sqlite", "--import", tmp_path / "t.csv", "--person", "Cleo", "--json")
    result = rarespec_labels(survey.path, *words)
    assert result.exit_code == 1 and "nobody" in result.stderr and "ra" in result.stderr
    rows = json.loads(result.stdout)["labels"]
    assert [(row["spectrum"], row["person"]) for row in rows] == [("s00003", "Cleo")]


def test_logs_are_merged_and_again_without_effect(survey, log, tmp_path):
    other = tmp_path / "b.sqlite"
    for told in ("5 events added", "0 events added"):
        result = rarespec_labels(survey.path, "--log", other, "--merge", log)
        assert result.exit_code == 0 and told in result.output
    with LabelLog(log) as one, LabelLog(other) as two:
        assert one.events() == two.events()


def test_a_log_about_another_survey_is_not_merged(survey, tmp_path):
    with LabelLog(tmp_path / "b.sqlite") as log:
        log.append(LabelEvent(new_event_id(), "nobody", Label.NO, person="Ada"))
    words = (survey.path, "--log", tmp_path / "a.sqlite", "--merge", tmp_path / "b.sqlite")
    result = rarespec_labels(*words)
    assert result.exit_code == 2 and "another survey" in result.output and not (tmp_path / "a.sqlite").exists()
    with LabelLog(tmp_path / "b.sqlite") as log:
        log.append(LabelEvent(new_event_id(), "s00001", Label.NO, person="Ada"))
    result = rarespec_labels(*words)
    assert result.exit_code == 0 and "nobody" in result.output and "2 events added" in result.output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--rule", "loudest"), "majority"),
        (("--only", "maybe"), "unsure"),
        (("--merge", "missing.sqlite"), "missing.sqlite: there is no label log here"),
        (("--import", "missing.csv"), "no such file"),
        (("--export", "x.doc"), ".ecsv"),
        (("--export", "x.csv", "--format", "marz"), "prospect"),
    ],
)
def test_wrong_use_is_told_in_one_line(survey, tmp_path, words, said):
    result = rarespec_labels(survey.path, "--log", tmp_path / "a.sqlite", *words)
    assert result.exit_code == 2 and said in result.output and "Traceback" not in result.output
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("words", "mode"), [((), 0o600), (("--shared",), 0o660)])
def test_a_new_log_is_private_unless_it_is_to_be_shared(survey, log, tmp_path, words, mode):
    new = tmp_path / "new.sqlite"
    assert rarespec_labels(survey.path, "--merge", log, "--log", new, *words).exit_code == 0
    assert new.stat().st_mode & 0o777 == mode
