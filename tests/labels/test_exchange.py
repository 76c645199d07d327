"""Labels as tables: they come back as they were, whatever is in them, and no spreadsheet runs them."""

import csv
import io
import re
import warnings

import pytest
from astropy.table import Table
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conftest import SMALL_GRID, make_spectra
from rarespec.errors import UsageError
from rarespec.labels.event import Label, LabelEvent, new_event_id
from rarespec.labels.exchange import read_labels, write_labels
from rarespec.labels.exchange.own_columns import ORDER
from rarespec.labels.exchange.text_rows import with_one_more, without_added
from rarespec.labels.log import LabelLog
from rarespec.searching.export.comma_separated import without_formula
from rarespec.survey import Survey

NASTY = (
    "=1+1",
    "+1",
    "-1",
    "@x",
    "'=1",
    "''=1",
    " =1",
    "\t=1",
    "a;=1",
    "a;'=1",
    "=\n+1",
    '"',
    "a,b",
    "\\u0041",
    "--",
    "nan",
    "",
)
VI_NAMES = (
    "TARGETID,EXPID,NIGHT,TILEID,Spec_version,Redrock_version,Template_version,Redrock_spectype,Redrock_z,"
    "Redrock_deltachi2,VI_scanner,VI_quality,VI_issue,VI_z,VI_spectype,VI_comment"
)


def event(spectrum="s1", label=Label.YES, person="Ada", second=0, **more):
    at = f"2025-03-01T20:15:{second:02d}.000000Z"
    return LabelEvent(new_event_id(), spectrum, label, None, person, at, **more)


def quietly_written(path, events, **how):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of characters that are written as \uXXXX
        return write_labels(path, events, **how)


def cells(path):
    return list(csv.reader(io.StringIO(path.read_text(), newline="")))


@pytest.mark.parametrize("ending", ["csv", "ecsv"])
def test_what_is_written_is_read_again(tmp_path, ending):
    path = tmp_path / f"labels.{ending}"
    events = [event(f"{text}{i}", comment=text, second=i) for i, text in enumerate(NASTY)]
    events += [event("b", Label.BAD, "Zoë", 30, rank=0, score=-1.5e-7, revision=0), event("c", rank=3, score=0.1)]
    assert quietly_written(path, events) == len(events)
    table = read_labels(path)
    assert sorted(table.events, key=repr) == sorted(events, key=repr) and table.left_out == []


@pytest.mark.parametrize("ending", ["csv", "ecsv"])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from("'=+-@;\t\r\n \\u,\"#"), max_size=12))
def test_any_comment_comes_back(tmp_path, ending, text):
    path = tmp_path / f"labels.{ending}"
    events = [event(comment=text)]
    quietly_written(path, events)
    assert read_labels(path).events == events


@given(st.text(st.sampled_from("'=+-@; \t\r\nx"), max_size=10))
def test_apostrophes_are_undone_exactly(text):
    written = without_formula(with_one_more(text))
    assert without_added(written) == text and without_formula(written) == written


def test_an_import_into_the_log_it_came_from_adds_nothing(tmp_path):
    with LabelLog(tmp_path / "a.sqlite") as log:
        for text in NASTY:
            log.append(LabelEvent(new_event_id(), f"s{text}", Label.NO, person="Ada", comment=text))
        quietly_written(tmp_path / "a.csv", log.events())
        assert log.add(read_labels(tmp_path / "a.csv").events) == 0


def test_only_what_stands_is_written_with_what_all_say_together(tmp_path):
    first, second, other = event(), event(label=Label.NO, second=1), event(label=Label.YES, person="Bea", second=2)
    write_labels(tmp_path / "a.csv", [first, second, other, event("b", Label.BAD, second=3)], rule="latest")
    names, *rows = cells(tmp_path / "a.csv")
    assert names == list(ORDER)
    shown = [(row[0], row[1], row[2], row[-2], row[-1]) for row in rows]
    assert shown == [
        ("s1", "no", "Ada", "yes", "True"),
        ("s1", "yes", "Bea", "yes", "True"),
        ("b", "bad", "Ada", "bad", "False"),
    ]
    assert write_labels(tmp_path / "a.csv", [first, other, event("b", Label.BAD)], only=Label.YES) == 2


@pytest.mark.parametrize("form", ["rarespec", "prospect"])
def test_no_cell_begins_like_a_formula(tmp_path, form):
    events = [
        event(f"{text}x", person=f"{text.strip() or 'p'}x"[:9].strip(), comment=text)
        for text in NASTY
        if "\n" not in text and "\t" not in text
    ]
    quietly_written(tmp_path / "a.csv", events, form=form)
    for row in cells(tmp_path / "a.csv"):
        for cell in row:
            assert not re.match(r"\s*[=+@]|\s*-\D", cell), cell


def test_ecsv_is_read_by_astropy_with_types(tmp_path):
    write_labels(tmp_path / "a.ecsv", [event(rank=3, score=0.5), event("b")])
    table = Table.read(tmp_path / "a.ecsv")
    assert table["rank"][0] == 3 and table["rank"].mask.tolist() == [False, True] and table["disagree"].dtype == bool
    assert "Person who gave the label" in table["person"].description


def test_no_labels_at_all_are_a_table_without_rows(tmp_path):
    for name in ("a.csv", "a.ecsv"):
        for form in ("rarespec", "prospect"):
            assert write_labels(tmp_path / name, [], form=form) == 0
            assert read_labels(tmp_path / name, form=form).events == []


# --- tables of others


def table(tmp_path, text, name="a.csv"):
    (tmp_path / name).write_bytes(text.encode() if isinstance(text, str) else text)
    return tmp_path / name


def test_id_and_label_are_enough(tmp_path):
    read = read_labels(table(tmp_path, "\ufeffID;Label;ra\n0012;YES;1\n\n s 2 ; no;2\n"), person="Ada")
    assert [(e.spectrum, e.label, e.person, e.at) for e in read.events] == [
        ("0012", "yes", "Ada", ""),
        (" s 2 ", "no", "Ada", ""),
    ]
    assert len(read.left_out) == 1 and "ra" in read.left_out[0]


def test_empty_columns_of_a_spreadsheet_do_no_harm(tmp_path):
    read = read_labels(table(tmp_path, "id,label,,\na,yes,,\n,,,\n"), person="Ada")
    assert [event.spectrum for event in read.events] == ["a"] and read.left_out == []


def test_the_same_row_gets_the_same_id_and_another_row_another(tmp_path):
    path = table(tmp_path, "id,label\na,yes\na,yes\na,no\n")
    first, again = read_labels(path, person="Ada").events, read_labels(path, person="Ada").events
    assert first == again and first[0] == first[1] and len({e.event_id for e in first}) == 2
    with LabelLog(tmp_path / "a.sqlite") as log:
        assert log.add(first) == 2 and log.add(again) == 0


def test_rows_without_a_label_are_counted(tmp_path):
    read = read_labels(table(tmp_path, "id,label\na,yes\nb,\nc,\n"), person="Ada")
    assert len(read.events) == 1 and "2 rows have no label" in read.left_out[0]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "needs a column id"),
        ("id,verdict\na,yes\n", "needs a column label"),
        ("id,label,Label\na,yes,no\n", "two columns are called label"),
        ("id,label\na,maybe\n", "row 1: the label 'maybe'"),
        ("id,label\na,yes\nb\n", "row 2 has 1 cells"),
        ("id,label,rank\na,yes,first\n", "row 1: rank 'first' is not a number"),
        ("id,label,at\na,yes,2025-03-01 20:15\n", "row 1: .*no time zone"),
        ("id,label,event_id\na,yes,17\n", "row 1: '17' is not an event id"),
        ("id,label\n,yes\n", "row 1: .*id of a spectrum"),
        ("id,label\n" + "a,x\n" * 9, "and 4 more rows"),
        (b"id,label\n\xff,yes\n", "not UTF-8 text"),
        (f"{VI_NAMES}\n", "--format prospect"),
    ],
)
def test_what_cannot_be_read_is_told_with_the_row(tmp_path, content, said):
    with pytest.raises(UsageError, match=rf"a\.csv: .*{said}"):
        read_labels(table(tmp_path, content), person="Ada")


def test_names_and_forms_that_do_not_exist(tmp_path):
    for use in (lambda: read_labels(tmp_path / "a.xlsx"), lambda: write_labels(tmp_path / "a.txt", [])):
        with pytest.raises(UsageError, match=r"\.csv, \.ecsv, \.vot"):
            use()
    with pytest.raises(UsageError, match="no such file"):
        read_labels(tmp_path / "a.csv")
    with pytest.raises(UsageError, match="rarespec, prospect"):
        write_labels(tmp_path / "a.csv", [], form="marz")
    with pytest.raises(UsageError, match="ECSV"):
        read_labels(table(tmp_path, "no header", "a.ecsv"))


# --- prospect


def test_prospect_gets_its_columns(tmp_path):
    said = [event("39627652595714901", Label.YES), event("-12", Label.NO, second=1, comment="F, not C")]
    said += [event("3", Label.UNSURE, second=2), event("4", Label.BAD, second=3)]
    write_labels(tmp_path / "vi.csv", said, form="prospect")
    assert (tmp_path / "vi.csv").read_text().splitlines() == [
        VI_NAMES,
        "39627652595714901,-1,-1,-1,-1,-1,-1,,-1,-1,Ada,4,,,,",
        '-12,-1,-1,-1,-1,-1,-1,,-1,-1,Ada,1,,,,"F, not C"',
        "3,-1,-1,-1,-1,-1,-1,,-1,-1,Ada,2,,,,",
        "4,-1,-1,-1,-1,-1,-1,,-1,-1,Ada,0,S,,,",
    ]
    read = read_labels(tmp_path / "vi.csv", form="prospect")
    assert [(e.spectrum, e.label, e.person, e.comment) for e in read.events] == [
        (e.spectrum, e.label, e.person, e.comment) for e in said
    ]


def test_the_catalogue_fills_in_what_prospect_tells_about_an_observation(tmp_path):
    survey = Survey.create(tmp_path / "a.survey", SMALL_GRID)
    columns = {"id": ["17", "18"], "z": [0.123456, None], "class": ["QSO", None], "tileid": [80605, 80606]}
    survey.append(make_spectra(2, SMALL_GRID, **columns))
    write_labels(tmp_path / "vi.csv", [event("17"), event("18"), event("19")], form="prospect", survey=survey)
    rows = cells(tmp_path / "vi.csv")[1:]
    assert [(row[0], row[3], row[7], row[8]) for row in rows] == [
        ("17", "80605", "QSO", "0.1235"),
        ("18", "80606", "", "-1.0"),
        ("19", "-1", "", "-1.0"),
    ]


def test_what_prospect_cannot_take_is_told(tmp_path):
    with pytest.warns(UserWarning) as told:
        write_labels(tmp_path / "vi.csv", [event("0355-1", person="A" * 11, comment="x" * 101)], form="prospect")
    assert [re.search(r"^1 (ids|names|comments)", str(one.message))[1] for one in told] == ["ids", "names", "comments"]


def test_files_as_prospect_writes_them(tmp_path):
    """A comma inside a cell becomes quote, comma, quote, without quotes around the cell."""
    rows = [
        "1,-1,-1,-1,-1,-1,-1,STAR,0.0003,9.1,Ada,4,C,0.0004,STAR,carbon star",
        '2,-1,-1,-1,-1,-1,-1,STAR,0.0003,9.1,Ada,3,,,,bands"," not ""sure""',
        "3,-1,-1,-1,-1,-1,-1,STAR,0.0003,9.1,Ada,2.0,,,,",
        "4,-1,-1,-1,-1,-1,-1,STAR,0.0003,9.1,,1,R,,,",
        "5,-1,-1,-1,-1,-1,-1,STAR,0.0003,9.1,Ada,0,,,,",
        "6,-1,-1,-1,-1,-1,-1,STAR,0.0003,9.1,Ada,-1,RS,,,",
        "7,-1,-1,-1,-1,-1,-1,STAR,0.0003,9.1,Ada,-1,,,,a remark only",
    ]
    read = read_labels(table(tmp_path, "\n".join([VI_NAMES, *rows, ""])), form="prospect", person="Bea")
    assert [(e.spectrum, e.label, e.person, e.comment) for e in read.events] == [
        ("1", "yes", "Ada", "carbon star"),
        ("2", "yes", "Ada", 'bands, not "sure"'),
        ("3", "unsure", "Ada", ""),
        ("4", "no", "Bea", ""),
        ("5", "bad", "Ada", ""),
        ("6", "bad", "Ada", ""),
    ]
    assert "1 rows have no label" in read.left_out[0]


def test_older_files_of_prospect_and_files_by_the_rules_of_csv(tmp_path):
    old = (
        f"{VI_NAMES.replace(',', ' , ')}\n" + " , ".join(["1", *["-1"] * 9, "Ada", "4", "--", "--", "--", "--"]) + "\n"
    )
    assert [(e.person, e.label, e.comment) for e in read_labels(table(tmp_path, old), form="prospect").events] == [
        ("Ada", "yes", "")
    ]
    proper = f'{VI_NAMES}\n1,-1,-1,-1,-1,-1,-1,STAR,0,9,Ada,4,,0.1,"S,T","a, b"\n'
    assert read_labels(table(tmp_path, proper), form="prospect").events[0].comment == "a, b"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("id,label\na,yes\n", "no column TARGETID"),
        (f"{VI_NAMES}\n" + ",".join(["1", *["-1"] * 9, "Ada", "2.5", "", "", "", ""]), "row 1: VI_quality '2.5'"),
        (f'{VI_NAMES}\n1,2,3","4\n', "row 1 has 3 cells"),
    ],
)
def test_a_vi_file_that_cannot_be_read_is_told(tmp_path, content, said):
    with pytest.raises(UsageError, match=said):
        read_labels(table(tmp_path, content), form="prospect", person="Ada")


def test_an_ecsv_whose_header_unfolds_without_end_is_refused(tmp_path):
    """YAML may name a part again and again: nine times nine, ten levels deep."""
    levels = [f"# - &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 10)]
    lines = ["# %ECSV 1.0", "# ---", "# meta: !!omap", "# - x:", "#   - &a0 [lol, lol]", *levels]
    lines += ["# datatype:", "# - {name: id, datatype: string}", "# schema: astropy-2.0", "id", "1"]
    (tmp_path / "bomb.ecsv").write_text("\n".join(lines) + "\n")
    with pytest.raises(UsageError, match=r"bomb\.ecsv: cannot be read as ECSV"):
        read_labels(tmp_path / "bomb.ecsv")
