"""`rarespec search --kinds` as a user meets it."""

import json

import pytest
from astropy.table import Table
from typer.testing import CliRunner

import rarespec as rs
from rarespec.cli.app import app
from rarespec.labels import Label, LabelEvent, LabelLog, new_event_id, path_beside
from rarespec.mock.simulate import SkyChoice, simulate_survey

RARE = ("carbon", "dz")
QUICK = ("--method", "matched_filter", "--top", 12)


def rarespec(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture(scope="module")
def survey(tmp_path_factory):
    rare = tuple((name, 12) for name in RARE)
    return simulate_survey(SkyChoice(300, rare, seed=5), tmp_path_factory.mktemp("s") / "a.survey")


@pytest.fixture(scope="module")
def known(survey):
    return {name: survey.ids[survey.catalogue["class"] == name.upper()][:4].tolist() for name in RARE}


@pytest.fixture
def kinds(known, tmp_path):
    return write_kinds(tmp_path / "kinds.csv", [(kind, id) for kind, ids in known.items() for id in ids])


def write_kinds(path, rows, header="kind,id"):
    path.write_text("\n".join([header, *(",".join(map(str, row)) for row in rows)]))
    return path


def test_one_table_for_each_kind(survey, known, kinds, tmp_path):
    result = rarespec("search", survey.path, "--kinds", kinds, "--out", tmp_path / "new" / "lists", *QUICK)
    assert result.exit_code == 0, result.output
    assert "2 kinds searched" in result.stdout and "24 candidates of 2 kinds written" in result.stderr
    for kind, ids in known.items():
        table = Table.read(tmp_path / "new" / "lists" / f"{kind}.ecsv")
        alone = rs.search(survey, ids, "matched_filter", top=12).table
        assert table["id"].tolist() == alone["id"].tolist()
        assert alone["id"][0] in result.stdout


def test_the_format_is_chosen(survey, kinds, tmp_path):
    rarespec("search", survey.path, "--kinds", kinds, "--out", tmp_path / "lists", "--format", "vot", *QUICK)
    assert sorted(path.name for path in (tmp_path / "lists").iterdir()) == ["carbon.vot", "dz.vot"]


def test_positions_name_examples_too(survey, known, tmp_path):
    place = {id: [survey.catalogue[name][survey.rows_of([id])[0]] for name in ("ra", "dec")] for id in known["dz"]}
    kinds = write_kinds(tmp_path / "k.csv", [("dz", *place[id]) for id in known["dz"]], "kind,ra,dec")
    answer = json.loads(rarespec("search", survey.path, "--kinds", kinds, "--json", *QUICK).stdout)
    alone = rs.search(survey, known["dz"], "matched_filter", top=12)
    assert [row["id"] for row in answer["kinds"]["dz"]["candidates"]] == alone.table["id"].tolist()
    assert answer["kinds"]["dz"]["n_known"] == 4 and answer["unsearched"] == {}


def test_a_kind_that_cannot_be_searched_is_named_and_sets_the_exit_code(survey, known, tmp_path):
    rows = [("lost", "nobody"), *(("carbon", id) for id in known["carbon"])]
    kinds = write_kinds(tmp_path / "k.csv", rows)
    result = rarespec("search", survey.path, "--kinds", kinds, *QUICK)
    assert result.exit_code == 1 and "1 kinds searched; 1 could not be searched" in result.stdout
    assert "lost: not searched" in result.stderr and "nobody" in result.stderr


def test_no_kind_that_can_be_searched_is_wrong_use(survey, tmp_path):
    kinds = write_kinds(tmp_path / "k.csv", [("lost", "nobody"), ("gone", "noone")])
    result = rarespec("search", survey.path, "--kinds", kinds, *QUICK)
    assert result.exit_code == 2 and "none of the 2 kinds" in result.stderr


@pytest.mark.parametrize(
    "content, options, said",
    [
        ("id\na", (), "no column kind"),
        ("kind,flux\ncarbon,1", (), "no column of ids"),
        ("kind,id\ncarbon,a\n,b", (), "1 rows have no kind, the first of them row 2"),
        ("kind,id\n../up,a", (), "letters, digits"),
        ("kind,id\nDZ,a\ndz,b", (), "differ in capital letters"),
        ("kind,id\ndz,a", ("--known", "b"), "leave out --known"),
        ("kind,id\ndz,a", ("--model", "m"), "leave out --model"),
        ("kind,id\ndz,a", ("--send",), "leave out --send"),
        ("kind,id\ndz,a", ("--method", "nothing"), "no method"),
        ("kind,id\ndz,a", ("--tag", "x"), "labels"),
        ("kind,id\ndz,a", ("--out", "lists", "--format", "doc"), "doc"),
    ],
)
def test_wrong_use_is_refused_before_anything_is_computed(survey, tmp_path, content, options, said):
    path = tmp_path / "kinds.csv"
    path.write_text(content)
    result = rarespec("search", survey.path, "--kinds", path, *options)
    assert result.exit_code == 2 and said in result.output


def test_a_file_that_is_missing_and_a_format_without_kinds_are_refused(survey, tmp_path):
    assert "no such file" in rarespec("search", survey.path, "--kinds", tmp_path / "none.csv").output
    assert "--kinds" in rarespec("search", survey.path, "--known", "a", "--format", "csv").output


def test_each_kind_learns_from_its_own_labels(survey, known, kinds):
    yes = survey.ids[survey.catalogue["class"] == "DZ"][5]
    with LabelLog(path_beside(survey.path, kind="dz")) as log:
        log.append(LabelEvent(new_event_id(), yes, Label.YES, person="Ada"))
    result = rarespec("search", survey.path, "--kinds", kinds, "--labels", "--json", *QUICK)
    answer = json.loads(result.stdout)
    alone = rs.search(survey, known["dz"], "matched_filter", top=12, labels=True, kind="dz")
    assert [row["id"] for row in answer["kinds"]["dz"]["candidates"]] == alone.table["id"].tolist()
    assert answer["kinds"]["dz"]["n_known"] == 5 and answer["kinds"]["carbon"]["n_known"] == 4
    assert answer["notes"] == ["no labels yet, searched from the known examples alone: carbon"]
