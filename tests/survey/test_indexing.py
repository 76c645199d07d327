"""A survey and its catalogue behave as arrays and tables do: numbers, slices, masks, lists, loops; ids are shown."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from astropy.table import Table

from conftest import SMALL_GRID, make_spectra
from rarespec.errors import UsageError
from rarespec.spectrum import Spectra
from rarespec.survey import Survey
from rarespec.survey.store import arrays as survey_arrays
from rarespec.survey.store.catalogue import Catalogue
from rarespec.survey.store.precision import EXACT
from rarespec.survey.store.writer import SurveyWriter

N, BLOCK = 25, 10


@pytest.fixture
def stack() -> Spectra:
    kinds = ["STAR", None] * 12 + ["QSO"]
    return make_spectra(N, SMALL_GRID, **{"class": kinds, "plate": [*range(24), None]})


@pytest.fixture
def survey(tmp_path: Path, stack: Spectra) -> Survey:
    """Three blocks, the last one not full."""
    with SurveyWriter(tmp_path / "s.survey", SMALL_GRID, block_rows=BLOCK, precision=EXACT) as writer:
        writer.add(stack)
        writer.commit()
    return Survey.open(tmp_path / "s.survey")


def blocks_read(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, list[str] | None]]:
    read: list[tuple[int, list[str] | None]] = []
    block = Catalogue.block

    def noted(self, i, columns=None):
        read.append((i, columns))
        return block(self, i, columns)

    monkeypatch.setattr(Catalogue, "block", noted)
    return read


@pytest.mark.parametrize("which", [0, 7, -1, -N, np.int64(24), np.uint8(3)])
def test_a_number_is_one_spectrum(survey: Survey, stack: Spectra, which: int) -> None:
    found = survey[which]
    assert found.id == stack.ids[int(which)]
    assert np.array_equal(found.flux, stack.flux[int(which)]) and np.array_equal(found.bad, stack.bad[int(which)])


@pytest.mark.parametrize(
    "which",
    [
        slice(8, 22),
        slice(None, None, -4),
        slice(3, 3),
        slice(20, 999),
        [24, 0, -2],
        np.array([11, 3]),
        [],
        np.arange(N) % 3 == 0,
        [True] + [False] * (N - 1),
    ],
)
def test_several_come_as_numpy_would_give_them(survey: Survey, stack: Spectra, which: object) -> None:
    wanted = np.array(stack.ids)[which if len(np.shape(which)) != 1 or len(which) else slice(0)]  # type: ignore[arg-type,index]
    rows = [stack.ids.index(id) for id in wanted]
    assert survey[which].ids == survey.catalogue[which]["id"].tolist() == wanted.tolist()  # type: ignore[index]
    assert np.array_equal(survey[which].flux, stack.flux[rows])  # type: ignore[index]


@pytest.mark.parametrize("kind", [list, tuple, np.array, lambda ids: np.array(ids, object)])
def test_ids_one_or_many(survey: Survey, kind: type) -> None:
    assert survey["s00011"].id == "s00011"
    assert survey[kind(["s00024", "s00003"])].ids == ["s00024", "s00003"]
    with pytest.raises(KeyError, match="s99999"):
        survey[kind(["s00024", "s99999"])]


def test_a_condition_on_a_column_chooses_spectra(survey: Survey) -> None:
    assert survey[survey.catalogue["class"] == "QSO"].ids == ["s00024"]
    pandas = pytest.importorskip("pandas")
    frame = survey.catalogue.to_pandas(["id", "plate"])
    assert isinstance(frame, pandas.DataFrame)
    assert survey[frame["plate"] > 22].ids == ["s00023"]


@pytest.mark.parametrize("which", [N, -N - 1, [0, N], np.array([-N - 1]), np.ones(N - 1, bool), np.ones((N, 1), bool)])
def test_what_is_not_there_is_an_index_error(survey: Survey, which: object) -> None:
    for sequence in (survey, survey.catalogue):
        with pytest.raises(IndexError, match=r"row"):
            sequence[which]  # type: ignore[index]


@pytest.mark.parametrize("which", [1.0, None, [1.5], {"a": 1}, [[0, 1]], b"s00001"])
def test_what_says_no_rows_is_a_type_error(survey: Survey, which: object) -> None:
    with pytest.raises((TypeError, KeyError), match=r"which rows|no spectrum|is no id"):
        survey[which]  # type: ignore[index]


def test_true_is_no_row_number(survey: Survey) -> None:
    with pytest.raises((TypeError, IndexError)):
        survey[True]


def test_an_id_that_is_a_number_is_refused_in_words(survey: Survey) -> None:
    assert 0 not in survey and "s00000" in survey
    with pytest.raises(TypeError, match=r"ids are text, not int"):
        survey.select([0])  # type: ignore[list-item]


def test_an_empty_survey_has_no_first(tmp_path: Path) -> None:
    empty = Survey.create(tmp_path / "e.survey", SMALL_GRID)
    with pytest.raises(IndexError, match="nothing is stored"):
        empty[0]
    assert list(empty) == [] and len(empty[:]) == 0 and "0 rows" in repr(empty.catalogue)


def test_each_file_of_a_block_is_opened_once(tmp_path: Path, stack: Spectra, monkeypatch: pytest.MonkeyPatch) -> None:
    survey = Survey.create(tmp_path / "noise.survey", SMALL_GRID)
    survey.append(stack)
    opened: list[str] = []
    open_ranges = survey_arrays.open_ranges
    monkeypatch.setattr(survey_arrays, "open_ranges", lambda path: opened.append(path.parts[-4]) or open_ranges(path))
    found = survey.at(np.array([3, 7, 3]))
    assert sorted(opened) == ["flux", "ivar", "mask", "steps"] and found.ids == [stack.ids[i] for i in (3, 7, 3)]


def test_a_loop_reads_one_block_at_a_time(survey: Survey, stack: Spectra, monkeypatch: pytest.MonkeyPatch) -> None:
    most = 0
    stored_rows = survey_arrays.stored_rows

    def noted(root, name, rows, *rest):
        nonlocal most
        most = max(most, len(rows))
        return stored_rows(root, name, rows, *rest)

    monkeypatch.setattr(survey_arrays, "stored_rows", noted)
    found = list(survey)
    assert [one.id for one in found] == stack.ids and most == BLOCK
    assert [one.catalogue["plate"] for one in found] == stack.catalogue["plate"]
    assert [row["id"] for row in survey.catalogue] == stack.ids


def test_the_catalogue_prints_itself(survey: Survey, monkeypatch: pytest.MonkeyPatch) -> None:
    read = blocks_read(monkeypatch)
    text = repr(survey.catalogue)
    lines = text.splitlines()
    assert lines[0] == "<Catalogue: 25 rows, 4 columns>" and lines[1].split() == ["id", "z", "class", "plate"]
    assert len(lines) == 13 and lines[2].startswith("s00000") and lines[11].startswith("s00009")
    assert lines[12] == "... and 15 more rows; see .colnames"
    assert {i for i, _ in read} == {0}, "printing ten rows read more than their block"
    read.clear()
    html = survey.catalogue._repr_html_()
    assert "s00009" in html and "s00010" not in html and "and 15 more" in html
    assert {i for i, _ in read} == {0}


def test_a_wide_catalogue_shows_what_fits_and_a_long_id_whole(tmp_path: Path) -> None:
    survey = Survey.create(tmp_path / "w.survey", SMALL_GRID)
    wide = {f"column_{i}": [1.25] for i in range(60)}
    spectra = make_spectra(1, SMALL_GRID, **wide)
    id = "x" * 150
    spectra.catalogue["id"][0] = id
    spectra.catalogue["note"] = ["<script>\x1b[31m" + "y" * 90]
    survey.append(spectra)
    text = repr(survey.catalogue)
    assert id in text and "more columns" in text
    narrow = repr(survey.catalogue[["note", "z"]])
    assert "\x1b" not in narrow and "…" in narrow and max(map(len, narrow.splitlines())) <= 100
    html = survey.catalogue[["id", "note"]]._repr_html_()
    assert "<script" not in html and "\x1b" not in html and id in html


def test_only_the_rows_and_columns_asked_for_are_read(survey: Survey, monkeypatch: pytest.MonkeyPatch) -> None:
    read = blocks_read(monkeypatch)
    part = survey.catalogue[12:18]
    assert len(part) == 6 and part.colnames == survey.catalogue.colnames and not read
    assert part["z"].tolist() == survey.at(np.arange(12, 18)).catalogue["z"]
    assert (1, ["z"]) in read and {i for i, _ in read} == {1}


def test_rows_and_columns_of_rows_and_columns(survey: Survey) -> None:
    part = survey.catalogue[5:20][["plate", "id"]][[2, -1]]
    assert part.colnames == ["plate", "id"] and part["id"].tolist() == ["s00007", "s00019"]
    assert part[0] == {"plate": 7, "id": "s00007"} and "z" not in part and "plate" in part
    assert survey.catalogue[24] == survey.catalogue[-1]
    assert survey.catalogue[-1]["plate"] is None and np.isnan(survey.catalogue["plate"][-1])
    with pytest.raises(UsageError, match="no catalogue column 'zz'"):
        survey.catalogue[["id", "zz"]]


def test_rows_as_tables_of_astropy_and_pandas(survey: Survey) -> None:
    table = survey.catalogue[survey.catalogue["plate"] > 21].to_table()
    assert isinstance(table, Table) and table["id"].tolist() == ["s00022", "s00023"]
    assert table["class"].tolist() == ["STAR", ""] and survey.catalogue[:0].to_table(["z"]).colnames == ["z"]
    pytest.importorskip("pandas")
    frame = survey.catalogue[20:].to_pandas()
    assert frame["id"].tolist() == [f"s{i:05d}" for i in range(20, 25)] and list(frame.columns) == [
        "id",
        "z",
        "class",
        "plate",
    ]
