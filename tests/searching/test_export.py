"""Candidate tables: whatever is written in any format is read again by astropy, Arrow and Python's csv as it was."""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from astropy.io import fits
from astropy.io.votable import parse, validate
from astropy.io.votable.ucd import parse_ucd
from astropy.table import MaskedColumn, QTable, Table
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import rarespec.searching.export as export
from rarespec.errors import UsageError
from rarespec.searching.candidates import COLUMNS, describe_columns
from rarespec.searching.export import SUFFIXES, read_provenance, unescape_text, write_table
from rarespec.searching.export.comma_separated import without_formula
from rarespec.searching.export.fits import find_unused_integer

TYPED = [".ecsv", ".fits", ".vot", ".parquet"]
"""One suffix for each format that keeps types, units and descriptions."""
INT64 = np.iinfo(np.int64)

few = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=12)
many = settings(few, max_examples=200)


def ranking(n: int = 3, **extra: Any) -> Table:
    columns: dict[str, Any] = {
        "rank": np.arange(1, n + 1),
        "id": np.array([f"0355-51788-{i:04d}" for i in range(n)], dtype=str),
        "ra": np.linspace(0, 359, n),
        "dec": np.linspace(-90, 90, n),
        "class": np.full(n, "STAR"),
        "subclass": np.full(n, "Carbon"),
        "z": np.linspace(-1e-3, 1e-3, n),
        "snr": np.full(n, 12.5),
        "score": np.linspace(1, 0, n),
        "chance": np.full(n, np.nan),
        "nearest_known": np.full(n, "0394-51913-0113"),
        "flags": np.full(n, "low_snr,sky"),
    }
    return Table(columns | extra)


def objects(values: list[Any]) -> np.ndarray:
    array = np.empty(len(values), object)
    array[:] = values
    return array


def read(path: Path) -> Table:
    """By the reader that people would use."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # units and names that the standards do not know
        if path.suffix == ".ecsv":
            return Table.read(path, format="ascii.ecsv")
        if path.suffix == ".vot":
            return parse(path).get_first_table().to_table(use_names_over_ids=True)
        if path.suffix == ".parquet":
            return read_parquet(path)
        return Table.read(path, hdu="CANDIDATES", unit_parse_strict="silent")


def read_parquet(path: Path) -> Table:
    import pyarrow as pa
    import pyarrow.parquet as pq

    arrow = pq.read_table(path)
    columns = []
    for name in arrow.column_names:
        column, told = (
            arrow[name],
            {key.decode(): word.decode() for key, word in (arrow.field(name).metadata or {}).items()},
        )
        gone = column.is_null().to_numpy()
        filled = column.fill_null(pa.scalar(0).cast(column.type)) if gone.any() else column
        ucd = {"ucd": told.pop("ucd")} if "ucd" in told else {}
        columns.append(MaskedColumn(filled.to_numpy(), name=name, mask=gone, meta=ucd, **told))
    return Table(columns, names=arrow.column_names)


def values_of(column: Any) -> list[Any]:
    """Python values: None where a whole number or a boolean is missing, NaN where a real one is; text unescaped."""
    gone = np.ma.getmaskarray(column)
    if column.dtype.kind in "OSU":
        return ["" if missing else unescape_text(str(text)) for text, missing in zip(column, gone, strict=True)]
    values = np.ma.getdata(column).tolist()
    absent = math.nan if column.dtype.kind == "f" else None
    return [absent if missing else value for value, missing in zip(values, gone, strict=True)]


def same(found: list[Any], expected: list[Any]) -> bool:
    def equal(one: Any, other: Any) -> bool:
        both_nan = isinstance(one, float) and isinstance(other, float) and math.isnan(one) and math.isnan(other)
        return both_nan or one == other

    return len(found) == len(expected) and all(map(equal, found, expected))


def written(table: Table, path: Path, provenance: dict[str, Any] | None = None) -> Path:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # texts that had to be escaped
        return write_table(table, path, provenance or {})


texts = st.text(
    st.characters(codec="utf-8") | st.sampled_from("\x00\t\n\r\x85\u2028\uffff\ud800 \\u#'\"é<&,;=+-@"), max_size=12
)
long_texts = texts | st.text(min_size=300, max_size=3000)
whole_numbers = st.integers(INT64.min, INT64.max) | st.sampled_from([2**53 + 1, INT64.min, INT64.min + 1, INT64.max])
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=10,
)


@st.composite
def tables(draw: st.DrawFn) -> Table:
    """A ranking with extra columns of every kind, missing values included."""
    n = draw(st.integers(0, 5))

    def column(elements: st.SearchStrategy[Any]) -> list[Any]:
        return draw(st.lists(elements, min_size=n, max_size=n))

    gone = column(st.booleans())
    table = ranking(n)
    table["id"] = objects(column(long_texts))
    table["flags"] = objects(column(texts))
    table["score"] = np.array(column(st.floats()), dtype=float)
    table["narrow"] = np.array(column(st.floats(width=32)), dtype=np.float32)
    table["masked"] = MaskedColumn(np.array(column(st.floats()), dtype=float), mask=gone)
    table["targetid"] = MaskedColumn(np.array(column(whole_numbers), dtype=np.int64), mask=gone)
    table["primary"] = MaskedColumn(np.array(column(st.booleans()), dtype=bool), mask=gone)
    table["clean"] = np.array(column(st.booleans()), dtype=bool)
    return table


def check_every_value(table: Table, path: Path) -> None:
    found = read(written(table, path))
    assert found.colnames == table.colnames
    for name in table.colnames:
        assert same(values_of(found[name]), _expected(table[name])), name


@pytest.mark.parametrize("suffix", TYPED)
@few
@given(table=tables())
def test_every_value_is_read_again_as_it_was(table: Table, suffix: str, tmp_path: Path) -> None:
    check_every_value(table, tmp_path / f"t{suffix}")


@pytest.mark.exhaustive
@pytest.mark.parametrize("suffix", TYPED)
@many
@given(table=tables())
def test_every_value_of_many_tables_is_read_again_as_it_was(table: Table, suffix: str, tmp_path: Path) -> None:
    check_every_value(table, tmp_path / f"t{suffix}")


def _expected(column: Any) -> list[Any]:
    gone = np.ma.getmaskarray(column)
    absent = {"f": math.nan, "O": "", "U": ""}.get(column.dtype.kind)
    return [absent if missing else value for value, missing in zip(np.ma.getdata(column).tolist(), gone, strict=True)]


provenances = st.dictionaries(texts, json_values, max_size=4)


@pytest.mark.parametrize("suffix", [*TYPED, ".csv"])
@few
@given(provenance=provenances)
def test_the_provenance_is_read_again_as_it_was(provenance: dict[str, Any], suffix: str, tmp_path: Path) -> None:
    assert read_provenance(write_table(ranking(), tmp_path / f"t{suffix}", provenance)) == provenance


@pytest.mark.exhaustive
@pytest.mark.parametrize("suffix", [*TYPED, ".csv"])
@many
@given(provenance=provenances)
def test_many_kinds_of_provenance_are_read_again(provenance: dict[str, Any], suffix: str, tmp_path: Path) -> None:
    assert read_provenance(write_table(ranking(), tmp_path / f"t{suffix}", provenance)) == provenance


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_thousands_of_known_ids_and_numpy_numbers_fit_into_the_provenance(suffix: str, tmp_path: Path) -> None:
    known = [f"objet-é-{i}" for i in range(3000)]
    path = write_table(ranking(), tmp_path / f"t{suffix}", {"known ids": known, "seed": np.int64(7), "grid": (1, 2)})
    assert read_provenance(path) == {"known ids": known, "seed": 7, "grid": [1, 2]}


@pytest.mark.parametrize("suffix", TYPED)
def test_units_ucds_and_descriptions_are_in_the_file(suffix: str, tmp_path: Path) -> None:
    table = ranking(2, gaia_g=[15.0, 16.0])
    table["gaia_g"].unit, table["gaia_g"].description, table["gaia_g"].meta["ucd"] = "mag", "G", "phot.mag;em.opt"
    path = write_table(table, tmp_path / f"t{suffix}", {})
    expected = {name: (meaning.unit, meaning.ucd, meaning.description) for name, meaning in COLUMNS.items()}
    assert _meanings(path) == expected | {"gaia_g": ("mag", "phot.mag;em.opt", "G")}


def _meanings(path: Path) -> dict[str, tuple[str, str, str]]:
    if ".fits" in path.name:
        header = fits.getheader(path, "CANDIDATES")
        keys = ("TUNIT", "TUCD", "TCOMM")
        return {
            header[f"TTYPE{i}"]: tuple(header.get(f"{key}{i}", "") for key in keys)
            for i in range(1, header["TFIELDS"] + 1)
        }  # type: ignore[misc]
    table = read(path)
    return {
        name: (str(column.unit or ""), column.meta.get("ucd", ""), column.description or "")
        for name, column in zip(table.colnames, table.itercols(), strict=True)
    }


def test_the_ucds_are_words_of_the_controlled_vocabulary() -> None:
    for meaning in COLUMNS.values():
        parse_ucd(meaning.ucd, check_controlled_vocabulary=True)


def test_describing_keeps_what_a_column_has_and_leaves_the_given_table_alone() -> None:
    table = ranking()
    table["ra"].unit, table["ra"].description = "rad", "mine"
    done = describe_columns(table)
    assert (str(done["ra"].unit), done["ra"].description, done["ra"].meta["ucd"]) == ("rad", "mine", COLUMNS["ra"].ucd)
    assert table["dec"].unit is None and not table["dec"].meta
    assert describe_columns(done)["ra"].description == "mine"


def test_virtual_observatory_tools_find_nothing_wrong_with_the_votable(tmp_path: Path) -> None:
    path = write_table(ranking(0), tmp_path / "empty.vot", {"seed": 1})
    path = write_table(ranking(), tmp_path / "t.vot", {"seed": 1, "known ids": ["<a>", '"b"']})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        document = parse(path, verify="exception")
    assert [info.value for info in document.resources[0].infos] == ['{"seed": 1}', '{"known ids": ["<a>", "\\"b\\""]}']
    assert validate(path, output=None, xmllint=False)


def test_parquet_describes_its_columns_as_a_votable(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    kept = pq.read_schema(write_table(ranking(), tmp_path / "t.parquet", {})).metadata
    assert kept[b"IVOA.VOTable-Parquet.version"] == b"1.0"
    fields = parse(io.BytesIO(kept[b"IVOA.VOTable-Parquet.content"]), verify="exception").get_first_table().fields
    assert {field.name: field.ucd for field in fields} == {name: meaning.ucd for name, meaning in COLUMNS.items()}


def test_fits_checksums_hold_and_equal_tables_are_equal_files(tmp_path: Path) -> None:
    one, other = (write_table(ranking(), tmp_path / name, {"seed": 1}) for name in ("a.fits.gz", "b.fits.gz"))
    assert one.read_bytes() == other.read_bytes()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with fits.open(one, checksum=True) as hdus:
            assert [hdu.name for hdu in hdus] == ["PRIMARY", "CANDIDATES", "PROVENANCE"]
            assert {hdu.header.comments["CHECKSUM"] for hdu in hdus} == {"sum of this unit"}  # not the time
            hdus.verify("exception")
    assert gzip.decompress(one.read_bytes())[:6] == b"SIMPLE"


def test_fits_holds_printable_characters_only(tmp_path: Path) -> None:
    path = write_table(ranking(0), tmp_path / "t.fits", {"delete": "\x7f", "é": "\n"})
    assert set(path.read_bytes()) - {0} <= set(range(32, 127))
    assert read_provenance(path) == {"delete": "\x7f", "é": "\n"}


def test_parquet_tells_nan_from_a_missing_number(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    table = ranking(2, targetid=MaskedColumn([1, 2], mask=[True, False]))
    found = pq.read_table(write_table(table, tmp_path / "t.parquet", {}))
    assert (found["chance"].null_count, found["targetid"].null_count) == (0, 1)


def test_votable_spells_infinity_as_the_standard_does(tmp_path: Path) -> None:
    content = write_table(ranking(2, limit=[np.inf, -np.inf]), tmp_path / "t.vot", {}).read_bytes()
    assert b"<TD>+Inf</TD>" in content and b"<TD>-Inf</TD>" in content


def test_an_id_at_the_beginning_of_an_ecsv_line_is_not_a_comment(tmp_path: Path) -> None:
    path = written(Table({"id": ["#1", "2"], "rank": [1, 2]}), tmp_path / "t.ecsv")
    assert values_of(read(path)["id"]) == ["#1", "2"]


@given(st.lists(whole_numbers, max_size=5))
def test_the_number_for_missing_ones_is_used_by_no_row(values: list[int]) -> None:
    assert find_unused_integer(np.array(values, dtype=np.int64)) not in values


formula_starts = "=+-@\t\r＝＋－＠"
hostile = st.builds(
    "".join,
    st.lists(st.sampled_from([*formula_starts, ";", " ", "\n", ",", '"', "'", "cmd|' /C calc'!A0", "é"]), max_size=8),
)


@settings(few, max_examples=60)
@given(cells=st.lists(hostile, max_size=4))
def test_no_cell_of_a_csv_is_a_formula_and_quoting_keeps_the_rest(cells: list[str], tmp_path: Path) -> None:
    table = ranking(len(cells))
    table["id"] = objects(cells)
    table["=SUM(A1)"] = table["z"]
    path = write_table(table, tmp_path / "t.csv", {})
    with open(path, newline="", encoding="utf-8") as file:
        names, *rows = csv.reader(file)
    assert names == [*COLUMNS, "'=SUM(A1)"]
    assert [row[1] for row in rows] == [without_formula(cell) for cell in cells]
    assert [[float(row[6]), float(row[-1])] for row in rows] == [[z, z] for z in table["z"]]  # -0.001 is a number still
    found = [row[1] for row in rows]
    assert not any(
        cell.lstrip().startswith(tuple(formula_starts)) or cell[:1] in formula_starts for cell in found if cell
    )
    for separator in ";\t\n":  # where another character separates cells
        assert not any(part.lstrip(" ")[:1] in [*"=+-@"] for cell in found for part in cell.split(separator)[1:])
    assert [cell.replace("'", "") for cell in found] == [cell.replace("'", "") for cell in cells]


def test_a_csv_keeps_commas_quotes_and_lines_and_has_its_provenance_beside_it(tmp_path: Path) -> None:
    ids = ['a,"b"', "two\nlines\r\nand a third", "NGC 1;2"]
    table = ranking(targetid=MaskedColumn([2**62 + 1, 0, 3], mask=[0, 1, 0]))
    table["id"] = objects(ids)
    path = write_table(table, tmp_path / "t.csv", {"seed": 1})
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["id"] for row in rows] == ids
    assert [row["targetid"] for row in rows] == [str(2**62 + 1), "", "3"]
    assert [row["chance"] for row in rows] == ["", "", ""]
    assert json.loads((tmp_path / "t.csv.provenance.json").read_text()) == {"seed": 1}
    write_table(table, path, {"seed": 2})
    assert read_provenance(path) == {"seed": 2}


def test_pandas_reads_the_csv_without_options(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    found = pandas.read_csv(write_table(ranking(), tmp_path / "t.csv", {}))
    assert list(found.columns) == list(COLUMNS) and found["score"].tolist() == ranking()["score"].tolist()


@pytest.mark.parametrize("suffix", [".fits", ".vot", ".ecsv"])
def test_text_that_a_format_cannot_hold_is_counted_in_a_warning(suffix: str, tmp_path: Path) -> None:
    table = ranking()
    table["id"] = objects(["plain", "bell\x07", r"a\u00e9"])
    table["flags"] = objects(["", "", " edge "])
    with pytest.warns(UserWarning, match=r"3 texts \(id, flags\)") as seen:
        path = write_table(table, tmp_path / f"t{suffix}", {})
    assert seen[0].filename == __file__
    raw = [str(text) for text in read(path)["id"]]
    assert raw == ["plain", r"bell\u0007", r"a\u005cu00e9"]
    assert [unescape_text(text) for text in raw] == table["id"].tolist()


@pytest.mark.parametrize("suffix", [".csv", ".ecsv", ".vot", ".parquet"])
def test_words_of_any_language_need_no_escape_outside_fits(suffix: str, tmp_path: Path) -> None:
    table = ranking(2)
    table["id"] = ["étoile", "星 𝛼"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        path = write_table(table, tmp_path / f"t{suffix}", {})
    content = path.read_bytes()
    assert "étoile".encode() in content and "星 𝛼".encode() in content


@pytest.mark.parametrize("suffix", TYPED)
def test_odd_columns_are_written_whole(suffix: str, tmp_path: Path) -> None:
    table = QTable(ranking(2))
    table["é <name>"] = [1.5, 2.5]
    table["Objekt, \\u00e9"] = [b"byt\xff", b""]
    table["big"] = np.array([2**64 - 1, 0], dtype=np.uint64)
    table["mixed"] = objects([None, 3])
    table["small"] = np.array([-7, 7], dtype=">i2")
    table["none"] = objects([None, None])
    table["flux"] = np.array([1.0, 2.0]) * describe_columns(ranking())["ra"].unit
    table["odd"] = Table({"odd": [1.0, 2.0]})["odd"]
    table["odd"].info.unit = "electron"
    found = read(written(table, tmp_path / f"t{suffix}"))
    columns = {unescape_text(name): values_of(found[name]) for name in found.colnames}
    assert columns["é <name>"] == [1.5, 2.5]
    assert columns["Objekt, \\u00e9"] == ["byt\udcff", ""]
    assert columns["big"] == [str(2**64 - 1), "0"]
    assert columns["mixed"] == [None, 3]
    assert columns["small"] == [-7, 7]
    assert columns["none"] == ["", ""]
    assert str(found["flux"].unit) == "deg"
    assert str(found["odd"].unit) == "electron"


@pytest.mark.parametrize(
    ("column", "what"),
    [
        (np.ones((2, 3)), "one value per row"),
        (np.array([1j, 2j]), "one value per row"),
        (np.array([1, 2], "M8[s]"), "one value"),
    ],
)
def test_columns_that_files_cannot_hold_are_refused_by_name(column: np.ndarray, what: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=f"'odd'.*{what}"):
        write_table(ranking(2, odd=column), tmp_path / "t.fits", {})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_is_replaced_whole_or_stays(suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_table(ranking(), tmp_path / f"t{suffix}", {"seed": 1})
    before = path.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr("os.replace", _no_room)
        with pytest.raises(OSError, match="no room"):
            write_table(ranking(2), path, {"seed": 2})
    assert path.read_bytes() == before
    assert not list(tmp_path.glob("*.tmp"))
    assert write_table(ranking(2), path, {"seed": 2}) == path
    assert read_provenance(path) == {"seed": 2} and path.read_bytes() != before


def _no_room(*_: Any) -> None:
    raise OSError("no room")


def test_an_interrupted_csv_has_no_provenance_rather_than_that_of_another_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_table(ranking(), tmp_path / "t.csv", {"seed": 1})
    monkeypatch.setattr("os.replace", _no_room)
    with pytest.raises(OSError, match="no room"):
        write_table(ranking(), path, {"seed": 2})
    with pytest.raises(UsageError, match="no provenance"):
        read_provenance(path)


def test_a_wrong_name_is_told_with_the_formats_there_are(tmp_path: Path) -> None:
    for name in ("t.txt", "t", "t.gz"):
        with pytest.raises(UsageError, match=r"\.ecsv, \.csv, \.fits.*\.parquet"):
            write_table(ranking(), tmp_path / name, {})
    with pytest.raises(UsageError, match="does not exist; create it first"):
        write_table(ranking(), tmp_path / "nowhere" / "t.csv", {})
    (tmp_path / "f.csv").mkdir()
    with pytest.raises(UsageError, match="this is a directory"):
        write_table(ranking(), tmp_path / "f.csv", {})
    assert write_table(ranking(), str(tmp_path / "T.FITS"), {}).is_file()


def test_provenance_that_is_not_json_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"PosixPath|WindowsPath"):
        write_table(ranking(), tmp_path / "t.csv", {"file": tmp_path})


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_files_of_others_have_no_provenance_and_damaged_ones_are_told(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"t{suffix}"
    with pytest.raises(UsageError, match="no such file"):
        read_provenance(path)
    forms = {".ecsv": "ascii.ecsv", ".csv": "ascii.csv", ".parquet": "parquet", ".vot": "votable", ".xml": "votable"}
    form = forms.get(suffix, "votable" if suffix == ".votable" else "fits")
    Table({"a": [1]}).write(path, format=form)
    with pytest.raises(UsageError, match="no provenance"):
        read_provenance(path)
    if suffix != ".csv":
        path.write_bytes(b"\x00\x01 not a table")
        with pytest.raises(UsageError, match="damaged"):
            read_provenance(path)


def test_all_formats_have_a_writer_and_a_reader() -> None:
    for suffix in SUFFIXES:
        module = export._format_of(Path(f"t{suffix}"))
        assert callable(module.write) and callable(module.provenance_in)


@pytest.mark.parametrize("suffix", [".csv", ".ecsv", ".fits", ".vot", ".parquet"])
def test_numbers_that_json_has_not_are_null(tmp_path: Path, suffix: str) -> None:
    odd = {"radius": float("inf"), "deep": [np.float32("nan"), {"low": -np.inf}]}
    path = write_table(ranking(), tmp_path / f"t{suffix}", odd)
    assert read_provenance(path) == {"radius": None, "deep": [None, {"low": None}]}
