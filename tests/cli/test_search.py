"""`rarespec search` as a user meets it."""

import json

import pytest
from astropy.table import Table
from typer.testing import CliRunner

from rarespec.cli.app import app
from rarespec.mock.simulate import SkyChoice, simulate_survey


def rarespec(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture(scope="module")
def survey(tmp_path_factory):
    return simulate_survey(SkyChoice(400, (("carbon", 15),), seed=5), tmp_path_factory.mktemp("s") / "a.survey")


@pytest.fixture(scope="module")
def carbon(survey):
    return survey.ids[survey.catalogue["class"] == "CARBON"].tolist()


def test_ids_in_table_out(survey, carbon, tmp_path):
    out = tmp_path / "candidates.ecsv"
    result = rarespec("search", survey.path, "--known", ",".join(carbon[:4]), "--top", 50, "--out", out)
    assert result.exit_code == 0, result.output
    assert "and 40 more of" in result.stdout and str(out) in result.output
    table = Table.read(out)
    assert len(table) == 50 and len(set(table["id"]) & set(carbon)) >= 7


def test_a_table_of_positions_works_as_well(survey, carbon, tmp_path):
    rows = {name: survey.catalogue[name][survey.rows_of(carbon[:4])] for name in ("ra", "dec")}
    Table(rows).write(tmp_path / "known.csv")
    result = rarespec("search", survey.path, "--known", tmp_path / "known.csv", "--top", 20, "--json")
    answer = json.loads(result.stdout)
    assert result.exit_code == 0 and len(answer["candidates"]) == 20 and answer["yield"]["why"]
    assert {row["id"] for row in answer["candidates"]} & set(carbon[4:])


def test_an_unknown_id_is_told_and_sets_the_exit_code(survey, carbon):
    result = rarespec("search", survey.path, "--known", f"{carbon[0]},nobody", "--method", "matched_filter")
    assert result.exit_code == 1 and "nobody" in result.output


def test_an_example_given_twice_is_one_example_and_a_word(survey, carbon):
    result = rarespec("search", survey.path, "--known", f"{carbon[0]},{carbon[1]},{carbon[0]}", "--method", "lrga")
    assert result.exit_code == 0 and f"{carbon[0]}: given 2 times" in result.stderr


def test_what_a_model_leaves_no_choice_of_is_refused(survey, tmp_path):
    result = rarespec("search", survey.path, "--model", tmp_path / "m", "--method", "lrga", "--not", "x")
    assert result.exit_code == 2 and "leave out method, non_members" in result.output


def test_options_reach_the_search(survey, carbon):
    words = ("--method", "bagging_top_push", "--param", "n_bags=7", "--min-snr", "10", "--class", "CARBON", "--json")
    result = rarespec("search", survey.path, "--known", ",".join(carbon[:3]), *words)
    rows = json.loads(result.stdout)["candidates"]
    assert rows and {row["class"] for row in rows} == {"CARBON"} and min(row["snr"] for row in rows) >= 10


def test_a_model_is_kept_and_used(survey, carbon, tmp_path):
    model = tmp_path / "carbon.safetensors"
    words = ("--method", "matched_filter", "--top", 30)
    first = rarespec("search", survey.path, "--known", ",".join(carbon[:4]), *words, "--save-model", model, "--json")
    again = rarespec("search", survey.path, "--model", model, "--top", 30, "--json")
    assert again.exit_code == 0, again.output
    ids = [[row["id"] for row in json.loads(result.stdout)["candidates"]] for result in (first, again)]
    assert ids[0] == ids[1]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "give --known"),
        (("--known", "x", "--model", "y"), "give either --known"),
        (("--known", "x", "--cone", "1,2"), "--cone 1,2"),
        (("--known", "x", "--param", "n_bags"), "--param n_bags"),
        (("--known", "nobody"), "nobody"),
        (("--known", "missing.csv"), "missing.csv"),
    ],
)
def test_wrong_use_is_told_in_one_line(survey, words, said):
    result = rarespec("search", survey.path, *words)
    assert result.exit_code == 2 and said in result.output and "Traceback" not in result.output


def test_an_ending_that_no_format_has_is_refused(survey, carbon, tmp_path):
    result = rarespec(
        "search", survey.path, "--known", carbon[0], "--method", "matched_filter", "--out", tmp_path / "x.doc"
    )
    assert result.exit_code == 2 and ".ecsv" in result.output


def test_the_list_on_the_terminal_has_whole_ids_under_the_right_headings(survey, carbon):
    result = rarespec("search", survey.path, "--known", ",".join(carbon[:4]), "--method", "matched_filter", "--top", 3)
    lines = result.stdout.splitlines()
    heading = next(i for i, line in enumerate(lines) if line.startswith("rank "))
    assert lines[heading].split() == ["rank", "id", "class", "S/N", "chance", "nearest", "known", "flags"]
    first = lines[heading + 1].split()
    assert first[0] == "1" and first[1] in survey.ids and set(first) & set(carbon[:4])
    at = lines[heading].index("nearest known")
    assert lines[heading + 1][at:].split()[0] in carbon[:4]


def test_the_first_line_says_how_many_to_expect_and_only_verbose_how_they_were_ranked(survey, carbon):
    words = ("search", survey.path, "--known", ",".join(carbon[:4]), "--method", "matched_filter", "--top", 3)
    plain, verbose = rarespec(*words).stdout, rarespec(*words, "--verbose").stdout
    assert plain.startswith("Expect about ") and ", then stop" in " ".join(plain.split())
    added = [line for line in verbose.splitlines() if line not in plain.splitlines()]
    assert added == ["method matched_filter: ranked by MatchedFilter from 4 known examples"]
